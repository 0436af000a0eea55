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

/* What was done, by one worker or by several, and what their calls took. */
typedef struct ri_report_sum {
    uint64_t values[RI_REPORT_VALUES];
    uint64_t ticks[RI_CALL_COUNT];
} ri_report_sum_t;

/** Take the time. */
void ri_report_clock_start(ri_report_clock_t *clock);

/** Fill what tells which process a row is of. */
void ri_report_label(ri_report_row_t *row);

/** Add to @a values what the counters of conns say. */
void ri_report_add_sent(uint64_t *values, const ri_conn_counters_t *sent);

/** Add what a worker did. */
void ri_report_add_worker(ri_report_sum_t *sum, const ri_worker_t *worker);

/** Add what @a other has. */
void ri_report_add_sum(ri_report_sum_t *sum, const ri_report_sum_t *other);

/** Fill the values of a row: those of @a sum, and its times, with the one since @a clock was started. */
void ri_report_set_values(ri_report_row_t *row, const ri_report_sum_t *sum,
                          const ri_report_clock_t *clock);

#endif
