/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "distance.h"

uint64_t ri_distance_far_ticks;

/* A line has taken @a ticks. A line that was on its way already, or an interrupt, misleads once. So
 * the other side becomes near at once, but far only after several slow lines in succession. */
static void distance_note(ri_distance_t *distance, uint64_t ticks)
{
    if ((ri_distance_far_ticks == 0) || (ticks < ri_distance_far_ticks)) {
        distance->times = 0;
    } else if (distance->times < RI_DISTANCE_FAR_TIMES) {
        ++distance->times;
    }
}

uint32_t ri_distance_timed_read(ri_distance_t *distance, const _Atomic(uint32_t) *word)
{
    uint64_t begin = ri_clock_ticks_in_order();
    uint32_t value = atomic_load_explicit(word, memory_order_acquire);
    uint64_t end   = ri_clock_ticks_in_order();

    /* Else the line may have been in this core's cache */
    if (value != distance->word) {
        distance_note(distance, end - begin);
        distance->word = value;
    }
    return value;
}
