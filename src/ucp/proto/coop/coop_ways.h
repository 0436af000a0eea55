/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of two ways is faster for messages of a stream, by what was measured, for each length
 * apart. Messages go one way for a lap of some in succession, and the medians of a lap count. The
 * way that was slower is tried for a lap now and then, and more seldom the more often it was
 * slower.
 *
 * What counts is the time from the end of one message to the end of the next: that has in it what
 * the application then has to wait for when it reads the data, and writes the next. Rejected: to go
 * by the time that the messages themselves take, as it does not have in it that data lies in the
 * other side's cache. It decides where the former are about equal.
 */
#ifndef RI_COOP_WAYS_H
#define RI_COOP_WAYS_H

#include "../../core/types.h"

#include <stddef.h>
#include <stdint.h>

/* Messages of a lap. */
#define RI_COOP_WAYS_LAP 8u

/* One lap in so many goes the way that was slower, in case it is not any more: the first number
 * when the faster way has changed, and twice as many each time that it has not, up to the
 * second. */
#define RI_COOP_WAYS_TRY     64u
#define RI_COOP_WAYS_TRY_MAX 256u

/* Messages of so many lengths, each twice the one before, are measured apart. */
#define RI_COOP_WAYS_LENGTHS 12

/* What messages have taken, in ticks (ucs/clock.h); 0: not known. */
typedef struct ri_coop_cost {
    uint64_t period;   /* from the end of one to the end of the next */
    uint64_t duration; /* from where it is matched to its end */
} ri_coop_cost_t;

/* Messages of about one length. */
typedef struct ri_coop_lane {
    ri_coop_cost_t known[2]; /* of each way: average of the latest laps */
    uint8_t way;             /* of this lap: 0 or 1 */
    uint8_t is_trial;        /* this lap tries the slower way */
    unsigned count;          /* messages of this lap that count */
    unsigned skipped;        /* messages since it began that do not */
    unsigned laps;           /* since the slower way was tried */
    unsigned tries;          /* laps until it is tried again */
    uint64_t ended_at;       /* the latest message */
    /* Of each message of this lap, as in ri_coop_cost_t */
    uint64_t periods[RI_COOP_WAYS_LAP];
    uint64_t durations[RI_COOP_WAYS_LAP];
} ri_coop_lane_t;

/* All 0: nothing is known, and messages go way 0. */
struct ri_coop_ways {
    int disturbed; /* the latest message went no way that is measured */
    int biased; /* way 1 has to be faster by a sixteenth: it is the one that needs the other side */
    ri_coop_lane_t lanes[RI_COOP_WAYS_LENGTHS];
};

/** @return By which of two ways, 0 or 1, a message of @a length bytes is to go: the faster one, as
 * far as that is known. */
unsigned ri_coop_ways_of(const ri_coop_ways_t *ways, size_t length);

/** Note how long a message of @a length bytes took that went by @a way and has ended now. @a
 * matched_at: when it was matched, in ticks. */
void ri_coop_ways_note(ri_coop_ways_t *ways, size_t length, unsigned way,
                       uint64_t matched_at);

#endif
