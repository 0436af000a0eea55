/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A comparison as tables, as a verdict in words, and as a CSV file.
 */
#ifndef UCXRI_PERF_COMPARE_PRINT_H
#define UCXRI_PERF_COMPARE_PRINT_H

#include "ucxri_perf_compare.h"

#include <stdio.h>

/**
 * Print a table for each state that was seen, its verdict in words, and what was dropped.
 *
 * @param cpus  the two cores, -1: not known
 */
void perf_compare_print(FILE *file, const perf_compare_t *compare, const int *cpus);

/** Write the summaries of all lines and states as a CSV file; ends the program if that fails */
void perf_compare_print_csv(const char *path, const perf_compare_t *compare);

/**
 * The verdict of one state in words, as "the library is faster in 14 of 16 sizes, equal in 2,
 * slower in 0".
 *
 * @return whether anything was compared; if not, the text says so
 */
int perf_compare_print_verdict(const perf_compare_t *compare, perf_state_t state,
                               char *text, size_t length);

#endif
