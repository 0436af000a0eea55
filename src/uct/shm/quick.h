/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a ring is quick: its sender writes to it so fast that two copies through it are the best
 * way for longer messages, too. It is so between cores that share a cache.
 *
 * It shows by the time that it takes to write a payload of at least RI_QUICK_LENGTH bytes by the
 * caches. A ring is slow after RI_QUICK_TIMES slow payloads, of which each quick one makes up for
 * two: the first lap is always slow, as no cache has its lines. A slow ring is tried again after
 * RI_QUICK_RETRY payloads that a quick one would have taken, by as many as at first: they are more
 * than a lap. If it is still slow, twice as many pass it by until the next trial.
 */
#ifndef RI_QUICK_H
#define RI_QUICK_H

#include <stdint.h>

#define RI_QUICK_LENGTH 16384 /* bytes: shorter payloads tell nothing */
#define RI_QUICK_TIMES  64    /* slow payloads after which a ring is slow */
#define RI_QUICK_RETRY  4096u /* payloads after which a slow ring is tried again */
#define RI_QUICK_DOUBLE 3     /* the most times that the number of others is doubled */

/** A payload is quick if at least this number of bytes is written in a tick (ucs/clock.h); 0: no
 * ring is quick. Set by the configuration. */
extern double ri_quick_rate;

/* The sender's record of one ring. All 0: it is taken for quick, until it is known. */
typedef struct ri_quick {
    uint32_t slow; /* slow payloads less two for each quick one, 0 to RI_QUICK_TIMES */
    uint32_t passed_by; /* payloads that went another way, as the ring is slow */
    uint32_t doubled;   /* how often the number until the next trial was doubled */
} ri_quick_t;

/** @return Whether a ring is quick, if its receiver is not far (distance.h). */
static inline int ri_quick_is(const ri_quick_t *quick)
{
    return (quick->slow < RI_QUICK_TIMES) && (ri_quick_rate > 0);
}

/** Note a payload: @a was_quick says whether it was written quickly. */
static inline void ri_quick_note(ri_quick_t *quick, int was_quick)
{
    if (was_quick) {
        quick->slow -= (quick->slow < 2) ? quick->slow : 2;
        quick->doubled = 0;
    } else if (quick->slow < RI_QUICK_TIMES) {
        ++quick->slow;
    }
}

/** Note that a payload of @a length bytes, at least RI_QUICK_LENGTH, took @a ticks to be written by
 * the caches. */
static inline void ri_quick_judge(ri_quick_t *quick, uint32_t length, uint64_t ticks)
{
    ri_quick_note(quick, length >= ticks * ri_quick_rate);
}

/** A payload that a quick ring would take goes another way, as this one is slow. After some of them
 * the ring is tried again. */
static inline void ri_quick_pass_by(ri_quick_t *quick)
{
    if (++quick->passed_by >= (RI_QUICK_RETRY << quick->doubled)) {
        quick->passed_by = 0;
        quick->doubled += (quick->doubled < RI_QUICK_DOUBLE);
        quick->slow = 0;
    }
}

#endif
