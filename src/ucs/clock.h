/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The time.
 */
#ifndef RI_CLOCK_H
#define RI_CLOCK_H

#include <stdint.h>
#include <time.h>

/** @return A monotonic time in seconds. */
double ri_time(void);

/** @return A clock that is cheap to read, in units of its own. */
static inline uint64_t ri_ticks(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ul + now.tv_nsec;
#endif
}

#endif
