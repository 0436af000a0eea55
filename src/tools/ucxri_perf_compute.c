/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See ucxri_perf_compute.h.
 */
#include "ucxri_perf_compute.h"
#include "ucxri_perf_clock.h"

#define CALIBRATION_TURNS 20
#define CALIBRATION_TIME  1e-3

void perf_compute(uint64_t loops)
{
    uint64_t x = 1;
    uint64_t i;

    for (i = 0; i < loops; ++i) {
        x = x * 3 + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

static double time_loops(uint64_t loops)
{
    double start = perf_clock_now();

    perf_compute(loops);
    return perf_clock_now() - start;
}

uint64_t perf_compute_calibrate(double seconds)
{
    uint64_t loops = 1000;
    double best, time;
    int i;

    while (time_loops(loops) < CALIBRATION_TIME) {
        loops *= 2;
    }
    /* Whatever disturbs makes it longer */
    best = time_loops(loops);
    for (i = 0; i < CALIBRATION_TURNS; ++i) {
        time = time_loops(loops);
        best = (time < best) ? time : best;
    }
    return (uint64_t)(seconds / best * loops + 0.5);
}
