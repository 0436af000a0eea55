/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The values of a report, as they follow from the counters of workers and conns.
 */
#ifndef RI_REPORT_VALUES_H
#define RI_REPORT_VALUES_H

#include "report_table.h"
#include "../core/calls.h"
#include "../core/counters.h"
#include "../core/types.h"

/* The two clocks at the start of a report, to convert the ticks of calls. */
typedef struct ri_report_clock {
    double time;
    uint64_t ticks;
} ri_report_clock_t;

/** Take the time. */
void ri_report_clock_start(ri_report_clock_t *clock);

/** Fill what tells which process a row is of. */
void ri_report_label(ri_report_row_t *row);

/** Add to @a values what the counters of conns say. */
void ri_report_add_sent(uint64_t *values, const ri_conn_counters_t *sent);

/** Add to @a values what a worker did, and the time that its calls took to @a ticks, of
 * RI_CALL_COUNT. */
void ri_report_add_worker(uint64_t *values, uint64_t *ticks, const ri_worker_t *worker);

/** Set the times in @a values: the time since @a clock was started, and those of calls. */
void ri_report_set_times(uint64_t *values, const uint64_t *ticks,
                         const ri_report_clock_t *clock);

#endif
