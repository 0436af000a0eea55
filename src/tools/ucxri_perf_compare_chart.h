/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A comparison as a chart.
 */
#ifndef UCXRI_PERF_COMPARE_CHART_H
#define UCXRI_PERF_COMPARE_CHART_H

#include "ucxri_perf_compare.h"

/**
 * Draw medians and quartiles of both sides, and below them the ratios. Ends the program if the file
 * cannot be written, or if lines have different units.
 *
 * @param title  of the chart, or NULL for the benchmark's name
 */
void perf_compare_chart_write(const char *path, const char *title,
                              const perf_compare_t *compare);

#endif
