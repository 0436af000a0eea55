/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Order statistics of a few samples.
 */
#ifndef UCXRI_PERF_STATS_H
#define UCXRI_PERF_STATS_H

#include <stddef.h>

#define PERF_OUTLIER_SPREADS 3

typedef struct {
    double q1;
    double median;
    double q3;
} perf_quartiles_t;

/** Sort n > 0 values in place. @return their quartiles, interpolated between neighbours */
perf_quartiles_t perf_quartiles(double *values, size_t n);

/**
 * Move the values whose dropped[] is 0 to the front, in their order. If they are fewer than min,
 * nothing is moved.
 *
 * @return how many values at the front count: those that were moved, or all n
 */
size_t perf_keep(double *values, const unsigned char *dropped, size_t n, size_t min);

/**
 * Whether a value is a far outlier: beyond the quartiles by more than PERF_OUTLIER_SPREADS times
 * their distance, and by more than a tenth of the median, as few values may have quartiles close
 * together.
 *
 * @return 1 or 0
 */
int perf_is_outlier(const perf_quartiles_t *quartiles, double value);

#endif
