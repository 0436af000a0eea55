/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See ucxri_perf_stats.h.
 */
#include "ucxri_perf_stats.h"

#include <stdlib.h>

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The value at a fraction of the way through the sorted values */
static double quantile(const double *sorted, size_t n, double fraction)
{
    double position = fraction * (n - 1);
    size_t below    = (size_t)position;

    if (below + 1 >= n) {
        return sorted[n - 1];
    }
    return sorted[below] + (position - below) * (sorted[below + 1] - sorted[below]);
}

perf_quartiles_t perf_quartiles(double *values, size_t n)
{
    perf_quartiles_t quartiles;

    qsort(values, n, sizeof(*values), compare_double);
    quartiles.q1     = quantile(values, n, 0.25);
    quartiles.median = quantile(values, n, 0.5);
    quartiles.q3     = quantile(values, n, 0.75);
    return quartiles;
}

size_t perf_keep(double *values, const unsigned char *dropped, size_t n, size_t min)
{
    size_t kept = 0;
    size_t i;

    for (i = 0; i < n; ++i) {
        kept += !dropped[i];
    }
    if (kept < min) {
        return n;
    }
    for (i = 0, kept = 0; i < n; ++i) {
        if (!dropped[i]) {
            values[kept++] = values[i];
        }
    }
    return kept;
}

int perf_is_outlier(const perf_quartiles_t *quartiles, double value)
{
    double margin = PERF_OUTLIER_SPREADS * (quartiles->q3 - quartiles->q1);
    double least  = quartiles->median / 10;

    margin = (margin > least) ? margin : least;
    return (value < quartiles->q1 - margin) || (value > quartiles->q3 + margin);
}
