/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Charts of results as SVG files: lines over the message size, or grouped bars for the
 * progress benchmark.
 */
#ifndef UCXRI_PERF_CHART_H
#define UCXRI_PERF_CHART_H

#include "ucxri_perf_result.h"

/* The most series of one chart */
#define PERF_MAX_SERIES 8

typedef struct {
    const char *label; /* in the legend */
    perf_results_t results;
} perf_series_t;

/**
 * Draw series into one chart. Ends the program if they are of different benchmarks, or if the file
 * cannot be written.
 *
 * @param title   of the chart, or NULL for that of the benchmark
 * @param series  their results are sorted by size
 * @param count   1 to PERF_MAX_SERIES
 */
void perf_chart_write(const char *path, const char *title, perf_series_t *series,
                      int count);

#endif
