/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The clock of ucxri_perf.
 */
#ifndef UCXRI_PERF_CLOCK_H
#define UCXRI_PERF_CLOCK_H

#include <time.h>

/** @return seconds of a clock that all processes of a host share */
static inline double perf_clock_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + ts.tv_nsec * 1e-9;
}

#endif
