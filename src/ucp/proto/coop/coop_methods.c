/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages are noted; with the last one of a lap it is decided by which method the next lap goes.
 */
#include "coop_methods.h"
#include "../../../ucs/base.h"
#include "../../../ucs/clock.h"

#include <stdlib.h>

/* The application is busy with other work if its periods are at least this number of times as long
 * as its messages take. */
#define METHODS_BUSY 4

/* The number of messages that do not count after which a trial ends. */
#define METHODS_SKIPPED_MAX (2 * RI_COOP_METHODS_LAP)

/* Exponent of the first length. */
#define METHODS_LENGTHS_MIN 15

static unsigned methods_number(size_t length)
{
    unsigned exponent = 63 - __builtin_clzl(length | 1);

    return ri_min(ri_max(exponent, METHODS_LENGTHS_MIN) - METHODS_LENGTHS_MIN,
                  RI_COOP_METHODS_LENGTHS - 1);
}

unsigned ri_coop_methods_of(const ri_coop_methods_t *methods, size_t length)
{
    return methods->lanes[methods_number(length)].method;
}

/* Whether the application spends most of the time between messages otherwise, so that periods
 * hardly depend on the method. */
static int methods_is_busy(const ri_coop_cost_t known[2])
{
    return (known[1].duration != 0) &&
           (ri_min(known[0].period, known[1].period) >
            METHODS_BUSY * ri_max(known[0].duration, known[1].duration));
}

/* @return The method that is faster: by the period; if there is hardly a difference, by what the
 * messages themselves take. A method that is not known is to be tried. */
static unsigned methods_faster(const ri_coop_cost_t known[2], int biased)
{
    uint64_t margin = ri_min(known[0].period, known[1].period) / 32;

    if (biased && methods_is_busy(known)) {
        return known[1].duration + known[1].duration / 4 < known[0].duration;
    }
    if (biased) {
        return known[1].period + 2 * margin < known[0].period;
    }
    if (known[0].period + margin < known[1].period) {
        return 0;
    }
    if (known[1].period + margin < known[0].period) {
        return 1;
    }
    return known[1].duration < known[0].duration;
}

static int methods_compare(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

    return (first > second) - (first < second);
}

/* @return The median of what the messages of a lap have taken: single ones may have been disturbed.
 * The first one does not count, as its period began with one by another method. The array is
 * sorted. */
static uint64_t methods_median(uint64_t values[RI_COOP_METHODS_LAP])
{
    qsort(values + 1, RI_COOP_METHODS_LAP - 1, sizeof(*values), methods_compare);
    return ri_max(values[1 + (RI_COOP_METHODS_LAP - 1) / 2], 1ul);
}

/* @return The average of two values of a lane. The one before may be from another time if its
 * method is tried again, and does not count then. */
static uint64_t methods_average(const ri_coop_lane_t *lane, uint64_t before,
                                uint64_t value)
{
    return ((before == 0) || lane->is_trial) ? value : ((before + value) / 2);
}

static void methods_begin_lap(ri_coop_lane_t *lane, unsigned method)
{
    lane->method  = method;
    lane->count   = 0;
    lane->skipped = 0;
}

/* A lap has ended: by which method does the next one go? */
static void methods_next_lap(ri_coop_lane_t *lane, int biased)
{
    ri_coop_cost_t *known = &lane->known[lane->method];
    unsigned before       = methods_faster(lane->known, biased);
    unsigned faster;

    known->period   = methods_average(lane, known->period, methods_median(lane->periods));
    known->duration = methods_average(lane, known->duration,
                                      methods_median(lane->durations));
    faster          = methods_faster(lane->known, biased);
    if ((faster != before) || (lane->tries == 0)) {
        lane->tries = RI_COOP_METHODS_TRY;
        lane->laps  = 0;
    }
    lane->is_trial = (++lane->laps >= lane->tries);
    if (lane->is_trial) {
        lane->laps  = 0;
        lane->tries = ri_min(2 * lane->tries, RI_COOP_METHODS_TRY_MAX);
    }
    methods_begin_lap(lane, lane->is_trial ? !faster : faster);
}

/* A message has ended that does not count. */
static void methods_skip(ri_coop_lane_t *lane, int biased)
{
    if (lane->is_trial && (++lane->skipped == METHODS_SKIPPED_MAX)) {
        lane->is_trial = 0;
        methods_begin_lap(lane, methods_faster(lane->known, biased));
    }
}

void ri_coop_methods_note(ri_coop_methods_t *methods, size_t length, unsigned method,
                          uint64_t matched_at)
{
    ri_coop_lane_t *lane = &methods->lanes[methods_number(length)];
    uint64_t now         = ri_clock_ticks();

    if (methods->disturbed ||
        (method != lane->method)) { /* the copy was matched in another lap */
        methods->disturbed = 0;
        lane->ended_at     = now;
        methods_skip(lane, methods->biased);
        return;
    }
    lane->periods[lane->count]   = now - lane->ended_at;
    lane->durations[lane->count] = now - matched_at;
    lane->ended_at               = now;
    if (++lane->count == RI_COOP_METHODS_LAP) {
        methods_next_lap(lane, methods->biased);
    }
}
