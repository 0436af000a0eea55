/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Axes of a chart: range, ticks, labels, and the position of a value.
 */
#ifndef UCXRI_PERF_SCALE_H
#define UCXRI_PERF_SCALE_H

#include <stddef.h>

#define PERF_SCALE_MAX_TICKS 64

typedef struct {
    int log; /* logarithmic, otherwise linear from 0 */
    double min;
    double max;
    double from; /* position of min, in pixels */
    double to;   /* position of max, in pixels */
    int num_ticks;
    double ticks[PERF_SCALE_MAX_TICKS];
} perf_scale_t;

/**
 * A linear axis from 0 to a round number that is at least max, with about `wanted` ticks.
 * Where max is not above 0, the axis ends at 1.
 */
void perf_scale_linear(perf_scale_t *scale, double max, int wanted);

/**
 * A logarithmic axis that includes min and max, both above 0. The ticks are the powers of
 * ten, and where these would be few also 2 and 5 times them. The axis begins and
 * ends at a tick.
 */
void perf_scale_log10(perf_scale_t *scale, double min, double max);

/**
 * A logarithmic axis for message sizes, with ticks at powers of two, thinned out to at most
 * max_ticks, so that most of the sizes have one. Size 0, which has no logarithm, takes the place of
 * half the smallest other size; that place is min, and its tick is 0.
 */
void perf_scale_sizes(perf_scale_t *scale, const double *sizes, int count, int max_ticks);

/** @return the position of a value in pixels; outside of the range, that of the nearer end */
double perf_scale_position(const perf_scale_t *scale, double value);

/** Write the label of a tick of the vertical axis, whose unit value has: 0.5, 20, 5000, 1M */
void perf_scale_format_value(char *text, size_t length, double value);

#endif
