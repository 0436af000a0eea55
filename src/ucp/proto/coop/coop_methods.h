/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of two methods is faster for messages of a stream, by what was measured, for each length
 * apart. Messages go by one method for a lap of some in succession, and the medians of a lap count.
 * The method that was slower is tried for a lap now and then, and more seldom the more often it was
 * slower.
 *
 * What counts is the time from the end of one message to the end of the next: that has in it what
 * the application then has to wait for when it reads the data, and writes the next. Rejected: to go
 * by the time that the messages themselves take, as it does not have in it that data lies in the
 * other side's cache. It decides where the former are about equal.
 */
#ifndef RI_COOP_METHODS_H
#define RI_COOP_METHODS_H

#include "../../core/types/types.h"

#include <stddef.h>
#include <stdint.h>

/* Messages of a lap. */
#define RI_COOP_METHODS_LAP 8u

/* The method that was slower may have become the faster one, so one lap in a certain number of laps
 * goes by it. The number is RI_COOP_METHODS_TRY when the faster method has changed. It doubles each
 * time that the method has not changed, up to RI_COOP_METHODS_TRY_MAX. */
#define RI_COOP_METHODS_TRY     64u
#define RI_COOP_METHODS_TRY_MAX 256u

/* The number of lengths, each twice the one before, whose messages are measured apart. */
#define RI_COOP_METHODS_LENGTHS 12

/* The time that messages have taken, in ticks (ucs/clock.h); 0: not known. */
typedef struct ri_coop_cost {
    uint64_t period;   /* from the end of one to the end of the next */
    uint64_t duration; /* from where it is matched to its end */
} ri_coop_cost_t;

/* Messages of about one length. */
typedef struct ri_coop_lane {
    ri_coop_cost_t known[2]; /* of each method: average of the latest laps */
    uint8_t method;          /* of this lap: 0 or 1 */
    uint8_t is_trial;        /* this lap tries the slower method */
    unsigned count;          /* messages of this lap that count */
    unsigned skipped;        /* messages since it began that do not */
    unsigned laps;           /* since the slower method was tried */
    unsigned tries;          /* laps until it is tried again */
    uint64_t ended_at;       /* the latest message */
    /* Of each message of this lap, as in ri_coop_cost_t */
    uint64_t periods[RI_COOP_METHODS_LAP];
    uint64_t durations[RI_COOP_METHODS_LAP];
} ri_coop_lane_t;

/* All 0: nothing is known, and messages go by method 0. */
struct ri_coop_methods {
    int disturbed; /* the latest message went by no method that is measured */
    /* method 1 has to be faster by a sixteenth: it is the one that needs the other side */
    int biased;
    ri_coop_lane_t lanes[RI_COOP_METHODS_LENGTHS];
};

/** @return By which of two methods, 0 or 1, a message of @a length bytes is to go: the faster one,
 * as far as that is known. */
unsigned ri_coop_methods_of(const ri_coop_methods_t *methods, size_t length);

/** Note how long a message of @a length bytes took that went by @a method and has ended now. @a
 * matched_at: when it was matched, in ticks. */
void ri_coop_methods_note(ri_coop_methods_t *methods, size_t length, unsigned method,
                          uint64_t matched_at);

#endif
