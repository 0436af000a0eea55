/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages are noted; with the last one of a lap it is decided which way the next lap goes.
 */
#include "coop_ways.h"
#include "../../../ucs/base.h"
#include "../../../ucs/clock.h"

#include <stdlib.h>

/* An application with periods so many times as long as its messages take is busy otherwise. */
#define WAYS_BUSY 4

/* A trial ends after so many messages that do not count. */
#define WAYS_SKIPPED_MAX (2 * RI_COOP_WAYS_LAP)

/* Exponent of the first length. */
#define WAYS_LENGTHS_MIN 15

static unsigned ways_number(size_t length)
{
    unsigned exponent = 63 - __builtin_clzl(length | 1);

    return ri_min(ri_max(exponent, WAYS_LENGTHS_MIN) - WAYS_LENGTHS_MIN,
                  RI_COOP_WAYS_LENGTHS - 1);
}

unsigned ri_coop_ways_of(const ri_coop_ways_t *ways, size_t length)
{
    return ways->lanes[ways_number(length)].way;
}

/* Whether the application spends most of the time between messages otherwise, so that periods
 * hardly depend on the way. */
static int ways_is_busy(const ri_coop_cost_t known[2])
{
    return (known[1].duration != 0) &&
           (ri_min(known[0].period, known[1].period) >
            WAYS_BUSY * ri_max(known[0].duration, known[1].duration));
}

/* @return The way that is faster: by the period; if there is hardly a difference, by what the
 * messages themselves take. A way that is not known is to be tried. */
static unsigned ways_faster(const ri_coop_cost_t known[2], int biased)
{
    uint64_t margin = ri_min(known[0].period, known[1].period) / 32;

    if (biased && ways_is_busy(known)) {
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

static int ways_compare(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

    return (first > second) - (first < second);
}

/* @return The median of what the messages of a lap have taken: single ones may have been disturbed.
 * The first one does not count, as its period began with one that went another way. The array is
 * sorted. */
static uint64_t ways_median(uint64_t values[RI_COOP_WAYS_LAP])
{
    qsort(values + 1, RI_COOP_WAYS_LAP - 1, sizeof(*values), ways_compare);
    return ri_max(values[1 + (RI_COOP_WAYS_LAP - 1) / 2], 1ul);
}

/* What was known of the way that is tried may be from another time. */
static uint64_t ways_average(const ri_coop_lane_t *lane, uint64_t before, uint64_t value)
{
    return ((before == 0) || lane->is_trial) ? value : ((before + value) / 2);
}

static void ways_begin_lap(ri_coop_lane_t *lane, unsigned way)
{
    lane->way     = way;
    lane->count   = 0;
    lane->skipped = 0;
}

/* A lap has ended: which way is the next one to go? */
static void ways_next_lap(ri_coop_lane_t *lane, int biased)
{
    ri_coop_cost_t *known = &lane->known[lane->way];
    unsigned before       = ways_faster(lane->known, biased);
    unsigned faster;

    known->period   = ways_average(lane, known->period, ways_median(lane->periods));
    known->duration = ways_average(lane, known->duration, ways_median(lane->durations));
    faster          = ways_faster(lane->known, biased);
    if ((faster != before) || (lane->tries == 0)) {
        lane->tries = RI_COOP_WAYS_TRY;
        lane->laps  = 0;
    }
    lane->is_trial = (++lane->laps >= lane->tries);
    if (lane->is_trial) {
        lane->laps  = 0;
        lane->tries = ri_min(2 * lane->tries, RI_COOP_WAYS_TRY_MAX);
    }
    ways_begin_lap(lane, lane->is_trial ? !faster : faster);
}

/* A message has ended that does not count. */
static void ways_skip(ri_coop_lane_t *lane, int biased)
{
    if (lane->is_trial && (++lane->skipped == WAYS_SKIPPED_MAX)) {
        lane->is_trial = 0;
        ways_begin_lap(lane, ways_faster(lane->known, biased));
    }
}

void ri_coop_ways_note(ri_coop_ways_t *ways, size_t length, unsigned way,
                       uint64_t matched_at)
{
    ri_coop_lane_t *lane = &ways->lanes[ways_number(length)];
    uint64_t now         = ri_ticks();

    if (ways->disturbed ||
        (way != lane->way)) { /* the latter was matched in another lap */
        ways->disturbed = 0;
        lane->ended_at  = now;
        ways_skip(lane, ways->biased);
        return;
    }
    lane->periods[lane->count]   = now - lane->ended_at;
    lane->durations[lane->count] = now - matched_at;
    lane->ended_at               = now;
    if (++lane->count == RI_COOP_WAYS_LAP) {
        ways_next_lap(lane, ways->biased);
    }
}
