/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An SVG file with a frame for a chart: title, legend, axes, grid.
 */
#ifndef UCXRI_PERF_SVG_H
#define UCXRI_PERF_SVG_H

#include "ucxri_perf_scale.h"

#include <stdio.h>

typedef struct {
    FILE *file;
    double width;
    double height;
    /* The area of the data */
    double left;
    double right;
    double top;
    double bottom;
} perf_svg_t;

/* The sign in front of an entry of the legend, and of a mark in the data */
typedef enum {
    PERF_SVG_BOX,
    PERF_SVG_LINE,
    PERF_SVG_DASHES, /* a broken line */
    PERF_SVG_DOT,
    PERF_SVG_CROSS,
    PERF_SVG_DIAMOND
} perf_svg_symbol_t;

/* An entry of the legend */
typedef struct {
    const char *label;
    const char *color;
    perf_svg_symbol_t symbol;
} perf_legend_t;

/** @return the color of the n-th series; colors can be told apart with any color vision */
const char *perf_svg_color(int n);

/**
 * Begin an image: title, a smaller line below it, and the legend, which takes as many rows
 * as it needs. The data's area is data_width by data_height pixels; foot is the space below it.
 * Sets all members of svg, of which the caller has set file.
 */
void perf_svg_begin(perf_svg_t *svg, const char *title, const char *subtitle,
                    const perf_legend_t *legend, int count, double data_width,
                    double data_height, double foot);

/** The end of the image; the file stays open */
void perf_svg_end(perf_svg_t *svg);

/** Write a text with the characters that XML reserves, or does not allow, replaced */
void perf_svg_escape(FILE *file, const char *text);

/** A text at x, y, in pixels from the upper left corner; anchor is start, middle or end */
void perf_svg_text(perf_svg_t *svg, double x, double y, const char *anchor, int size,
                   const char *color, const char *text);

/** A straight line from x1, y1 to x2, y2, of a width, in pixels from the upper left corner */
void perf_svg_line(perf_svg_t *svg, double x1, double y1, double x2, double y2,
                   const char *color, double width);

/** A mark at x, y, in pixels from the upper left corner, which is none of the lines */
void perf_svg_mark(perf_svg_t *svg, double x, double y, perf_svg_symbol_t symbol,
                   const char *color);

/** The vertical axis with its grid and title; sets the positions of the scale */
void perf_svg_axis_y(perf_svg_t *svg, perf_scale_t *scale, const char *title);

/** The horizontal axis of message sizes, which is otherwise as perf_svg_axis_y() */
void perf_svg_axis_sizes(perf_svg_t *svg, perf_scale_t *scale);

/** Only the grid of that axis, for a panel above the one that has the axis */
void perf_svg_grid_sizes(perf_svg_t *svg, perf_scale_t *scale);

#endif
