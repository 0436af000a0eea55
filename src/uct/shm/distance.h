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

/* The number of slow reads in succession after which the other side is far. */
#define RI_DISTANCE_FAR_TIMES 3

/** A read of one of the other side's lines is slow from this number of ticks on (ucs/clock.h); 0:
 * no read is slow. Set by the configuration. */
extern uint64_t ri_distance_far_ticks;

/* One process's record of the distance of another one. All 0: near, and nothing was read. */
typedef struct ri_distance {
    uint32_t word; /* the word as it was read last */
    /* number of reads in succession that took long, at most RI_DISTANCE_FAR_TIMES */
    uint32_t times;
} ri_distance_t;

/** @return Whether the other side is far, as was seen until now. */
static inline int ri_distance_is_far(const ri_distance_t *distance)
{
    return distance->times >= RI_DISTANCE_FAR_TIMES;
}

/** Read a word that the other side writes, in a line that it writes nothing else in. If the word
 * has changed, note how long that has taken. What was written before the word is seen afterwards.
 * @return The word. */
uint32_t ri_distance_timed_read(ri_distance_t *distance, const _Atomic(uint32_t) *word);

#endif
