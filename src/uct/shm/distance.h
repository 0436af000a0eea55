/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How far the core of another process is: it shows when a word is read that the other side has
 * written since. From a near one, which shares a cache, the line comes sooner than a line of
 * memory; from a far one, as of another socket, later.
 */
#ifndef RI_DISTANCE_H
#define RI_DISTANCE_H

#include <stdatomic.h>
#include <stdint.h>

#include "../../ucs/base.h"
#include "../../ucs/clock.h"

/* How often the word has to have been far in succession. */
#define RI_DISTANCE_FAR_TIMES 3

/** From how many ticks (ucs/clock.h) on for a line of the other side's it is far; 0: never. */
extern uint64_t ri_distance_far_ticks;

/* Of one pair of processes, in one direction. All 0: near, and nothing was read. */
typedef struct ri_distance {
    uint32_t word;  /* as it was read last */
    uint32_t times; /* far in so many reads, in succession */
} ri_distance_t;

/** @return Whether the other side is far, as was seen until now. */
static inline int ri_distance_is_far(const ri_distance_t *distance)
{
    return distance->times >= RI_DISTANCE_FAR_TIMES;
}

/** Read a word that the other side writes, in a line that it writes nothing else in, and note how
 * long that has taken. @return The word. */
uint32_t ri_distance_read(ri_distance_t *distance, const _Atomic(uint32_t) *word);

#endif
