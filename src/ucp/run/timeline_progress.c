/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A look at the clock in each call, and a second one in a call that has done something: only that
 * may have taken long. Counters are noted each 10 ms, and each hundred times as long as that took
 * if that is more, as there may be many conns. What is noted is written then, too, so that of a
 * process that is killed little is lost.
 */
#include "timeline_progress.h"
#include "report_values.h"

/* Time from one sample to the next, at least, in shortest spans that are noted, which is 10 us. */
#define PROGRESS_SAMPLE 1000

/* Time from one sample to the next, at least, in times that the latest one has taken. */
#define PROGRESS_COST 100

static void progress_sample(ri_worker_t *worker)
{
    ri_timeline_t *timeline = &worker->timeline;
    ri_report_sum_t sum     = {};
    const uint64_t *values  = sum.values;
    ri_report_count_t sent  = {0, 0};
    uint64_t began          = ri_clock_ticks();
    ri_report_count_t count;
    unsigned protocol;

    ri_report_values_add_worker(&sum, worker);
    for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        count = ri_report_table_protocol_count(values, protocol);
        sent.messages += count.messages;
        sent.bytes += count.bytes;
    }
    ri_timeline_note(timeline, RI_TIMELINE_COUNT, NULL, sent.messages, sent.bytes,
                     values[RI_REPORT_FAST] + values[RI_REPORT_LATE], 0);
    if (timeline->entries != NULL) {
        ri_timeline_flush(timeline);
    }
    timeline->due = began + ri_max(PROGRESS_SAMPLE * timeline->shortest,
                                   PROGRESS_COST * (ri_clock_ticks() - began));
}

void ri_timeline_progress_slow(ri_worker_t *worker, uint64_t start, unsigned count)
{
    ri_timeline_t *timeline = &worker->timeline;

    /* A call that does nothing takes no time worth speaking of: what has passed since the one
     * before began is the application's. */
    if (((int64_t)(start - timeline->last) >= (int64_t)timeline->shortest) ||
        ((count > 0) && (timeline->idle != 0))) {
        ri_timeline_application(timeline, start);
    }
    if (count > 0) {
        timeline->last = ri_clock_ticks();
        timeline->idle = 0;
    } else {
        timeline->last = start;
        timeline->idle = (timeline->idle == 0) ? start : timeline->idle;
    }
    if (ri_unlikely(start >= timeline->due) && (timeline->entries != NULL)) {
        progress_sample(worker);
    }
}
