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
double ri_clock_now(void);

/** @return That time in microseconds, modulo 2^32. */
static inline uint32_t ri_clock_now_us(void)
{
    return (uint32_t)(uint64_t)(ri_clock_now() * 1e6);
}

/** @return A clock that is cheap to read, in units of its own. */
static inline uint64_t ri_clock_ticks(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ul + now.tv_nsec;
#endif
}

/** @return ri_clock_ticks(), read after all loads before it, and before all that follow. */
static inline uint64_t ri_clock_ticks_in_order(void)
{
    uint64_t ticks;

#ifdef __x86_64__
    __builtin_ia32_lfence();
    ticks = ri_clock_ticks();
    __builtin_ia32_lfence();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    ticks = ri_clock_ticks();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    return ticks;
}

#endif
