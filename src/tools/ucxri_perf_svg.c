/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The viewer chooses the font, so the width of a text is an estimate from its number of characters:
 * CHAR_WIDTH.
 */
#include "ucxri_perf_svg.h"
#include "ucs/size_text.h"

#include <string.h>

#define COLOR_TITLE "#111827"
#define COLOR_TEXT  "#4b5563"
#define COLOR_AXIS  "#9ca3af"
#define COLOR_GRID  "#e5e7eb"

#define MARGIN_LEFT   76.0
#define MARGIN_RIGHT  28.0
#define TITLE_Y       32.0
#define SUBTITLE_Y    52.0
#define LEGEND_Y      78.0
#define LEGEND_ROW    20.0
#define LEGEND_SYMBOL 26.0
#define LEGEND_GAP    22.0
#define DATA_GAP      18.0 /* between the legend and the data */

/* Room for one character of a label */
#define CHAR_WIDTH 7.2

const char *perf_svg_color(int n)
{
    static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                         "#e69f00", "#56b4e9", "#6b7280", "#111827"};

    return colors[n % (int)(sizeof(colors) / sizeof(colors[0]))];
}

/* Length of the UTF-8 sequence at the beginning of text, 0 if it is none */
static int sequence_length(const unsigned char *text)
{
    int length, i;

    if (text[0] < 0x80) {
        return (text[0] >= 0x20) && (text[0] != 0x7f);
    }
    length = ((text[0] & 0xe0) == 0xc0) ? 2 :
             ((text[0] & 0xf0) == 0xe0) ? 3 :
             ((text[0] & 0xf8) == 0xf0) ? 4 :
                                          0;
    for (i = 1; i < length; ++i) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
}

void perf_svg_escape(FILE *file, const char *text)
{
    int length;

    while (*text != '\0') {
        length = sequence_length((const unsigned char *)text);
        if (*text == '&') {
            fputs("&amp;", file);
        } else if (*text == '<') {
            fputs("&lt;", file);
        } else if (*text == '>') {
            fputs("&gt;", file);
        } else if (length == 0) {
            fputc('?', file);
        } else {
            fwrite(text, 1, length, file);
        }
        text += (length > 0) ? length : 1;
    }
}

void perf_svg_text(perf_svg_t *svg, double x, double y, const char *anchor, int size,
                   const char *color, const char *text)
{
    fprintf(svg->file,
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\""
            " fill=\"%s\">",
            x, y, anchor, size, color);
    perf_svg_escape(svg->file, text);
    fprintf(svg->file, "</text>\n");
}

void perf_svg_line(perf_svg_t *svg, double x1, double y1, double x2, double y2,
                   const char *color, double width)
{
    fprintf(svg->file,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\""
            " stroke-width=\"%g\"/>\n",
            x1, y1, x2, y2, color, width);
}

void perf_svg_mark(perf_svg_t *svg, double x, double y, perf_svg_symbol_t symbol,
                   const char *color)
{
    switch (symbol) {
    case PERF_SVG_DOT:
        fprintf(svg->file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.4\" fill=\"%s\"/>\n", x,
                y, color);
        break;
    case PERF_SVG_CROSS:
        perf_svg_line(svg, x - 4, y - 4, x + 4, y + 4, color, 1.6);
        perf_svg_line(svg, x - 4, y + 4, x + 4, y - 4, color, 1.6);
        break;
    case PERF_SVG_DIAMOND:
        fprintf(svg->file,
                "<path d=\"M%.1f %.1f l5 5 l-5 5 l-5 -5 z\" fill=\"#ffffff\""
                " stroke=\"%s\" stroke-width=\"1.6\"/>\n",
                x, y - 5, color);
        break;
    default:
        fprintf(svg->file,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" rx=\"2\" fill=\"%s\"/>\n",
                x - 6, y - 6, color);
        break;
    }
}

static void legend_symbol(perf_svg_t *svg, const perf_legend_t *entry, double x, double y)
{
    switch (entry->symbol) {
    case PERF_SVG_LINE:
        perf_svg_line(svg, x, y, x + 18, y, entry->color, 2.5);
        break;
    case PERF_SVG_DASHES:
        perf_svg_line(svg, x, y, x + 7, y, entry->color, 2.5);
        perf_svg_line(svg, x + 11, y, x + 18, y, entry->color, 2.5);
        break;
    default:
        perf_svg_mark(svg, x + 10, y, entry->symbol, entry->color);
        break;
    }
}

static double legend_width(const perf_legend_t *entry)
{
    return LEGEND_SYMBOL + strlen(entry->label) * CHAR_WIDTH + LEGEND_GAP;
}

/* Where the next entry goes: behind the last one, or in the next row */
static void legend_place(const perf_svg_t *svg, const perf_legend_t *entry, double *x,
                         double *y)
{
    if ((*x > svg->left) && (*x + legend_width(entry) - LEGEND_GAP > svg->right)) {
        *x = svg->left;
        *y += LEGEND_ROW;
    }
}

/* Returns the vertical position of the last row */
static double draw_legend(perf_svg_t *svg, const perf_legend_t *legend, int count,
                          int draw)
{
    double x = svg->left;
    double y = LEGEND_Y;
    int i;

    for (i = 0; i < count; ++i) {
        legend_place(svg, &legend[i], &x, &y);
        if (draw) {
            legend_symbol(svg, &legend[i], x, y - 4);
            perf_svg_text(svg, x + LEGEND_SYMBOL, y, "start", 13, COLOR_TITLE,
                          legend[i].label);
        }
        x += legend_width(&legend[i]);
    }
    return y;
}

void perf_svg_begin(perf_svg_t *svg, const char *title, const char *subtitle,
                    const perf_legend_t *legend, int count, double data_width,
                    double data_height, double foot)
{
    svg->left   = MARGIN_LEFT;
    svg->right  = svg->left + data_width;
    svg->width  = svg->right + MARGIN_RIGHT;
    svg->top    = draw_legend(svg, legend, count, 0) + DATA_GAP;
    svg->bottom = svg->top + data_height;
    svg->height = svg->bottom + foot;
    fprintf(svg->file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\""
            " viewBox=\"0 0 %.0f %.0f\""
            " font-family=\"'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif\">\n"
            "<title>",
            svg->width, svg->height, svg->width, svg->height);
    perf_svg_escape(svg->file, title);
    fprintf(svg->file, "</title>\n"
                       "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n");
    perf_svg_text(svg, svg->left, TITLE_Y, "start", 19, COLOR_TITLE, title);
    perf_svg_text(svg, svg->left, SUBTITLE_Y, "start", 12, COLOR_TEXT, subtitle);
    draw_legend(svg, legend, count, 1);
}

void perf_svg_end(perf_svg_t *svg)
{
    fprintf(svg->file, "</svg>\n");
}

void perf_svg_axis_y(perf_svg_t *svg, perf_scale_t *scale, const char *title)
{
    double middle = (svg->top + svg->bottom) / 2;
    char text[32];
    double y;
    int i;

    scale->from = svg->bottom;
    scale->to   = svg->top;
    for (i = 0; i < scale->num_ticks; ++i) {
        y = perf_scale_position(scale, scale->ticks[i]);
        perf_svg_line(svg, svg->left, y, svg->right, y, COLOR_GRID, 1);
        perf_scale_format_value(text, sizeof(text), scale->ticks[i]);
        perf_svg_text(svg, svg->left - 8, y + 4, "end", 12, COLOR_TEXT, text);
    }
    perf_svg_line(svg, svg->left, svg->bottom, svg->right, svg->bottom, COLOR_AXIS, 1.2);
    fprintf(svg->file, "<g transform=\"translate(20 %.1f) rotate(-90)\">\n", middle);
    perf_svg_text(svg, 0, 0, "middle", 13, COLOR_TEXT, title);
    fprintf(svg->file, "</g>\n");
}

static void set_range(perf_svg_t *svg, perf_scale_t *scale)
{
    scale->from = svg->left + 16;
    scale->to   = svg->right - 16;
}

void perf_svg_grid_sizes(perf_svg_t *svg, perf_scale_t *scale)
{
    double x;
    int i;

    set_range(svg, scale);
    for (i = 0; i < scale->num_ticks; ++i) {
        x = perf_scale_position(scale, scale->ticks[i]);
        perf_svg_line(svg, x, svg->top, x, svg->bottom, COLOR_GRID, 1);
    }
}

void perf_svg_axis_sizes(perf_svg_t *svg, perf_scale_t *scale)
{
    char text[32];
    double x;
    int i;

    perf_svg_grid_sizes(svg, scale);
    for (i = 0; i < scale->num_ticks; ++i) {
        x = perf_scale_position(scale, scale->ticks[i]);
        perf_svg_line(svg, x, svg->bottom, x, svg->bottom + 4, COLOR_AXIS, 1.2);
        ri_size_text((size_t)scale->ticks[i], text, sizeof(text));
        perf_svg_text(svg, x, svg->bottom + 19, "middle", 12, COLOR_TEXT, text);
    }
    perf_svg_text(svg, (svg->left + svg->right) / 2, svg->bottom + 44, "middle", 13,
                  COLOR_TEXT, "message size");
}
