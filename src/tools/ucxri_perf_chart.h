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

typedef struct {
    const char *label;
    perf_results_t results;
} perf_series_t;

/*
 * Draw up to PERF_MAX_FILES series into one chart; title may be NULL. Sorts their
 * results by size. Ends the program if they are of different benchmarks, or if the file
 * cannot be written.
 */
void perf_chart_write(const char *path, const char *title, perf_series_t *series,
                      int count);

#endif
