/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The values of a report, as they follow from the counters of workers and conns.
 */
#ifndef RI_REPORT_VALUES_H
#define RI_REPORT_VALUES_H

#include "report_table.h"
#include "../core/notes/calls.h"
#include "../core/notes/counters.h"
#include "../core/types/types.h"

/* The two clocks at the start of a report, to convert the ticks of calls. */
typedef struct ri_report_clock {
    double time;
    uint64_t ticks;
} ri_report_clock_t;

/* The values of one worker or of several, and how many ticks their calls took. */
typedef struct ri_report_sum {
    uint64_t values[RI_REPORT_VALUES];
    uint64_t ticks[RI_CALL_COUNT];
} ri_report_sum_t;

/** Store the time, by both clocks, at which the report starts. */
void ri_report_values_clock_start(ri_report_clock_t *clock);

/** Fill the cells of a row that tell its process: rank, host, pid and the like. */
void ri_report_values_label(ri_report_row_t *row);

/** Add the counters of a conn, or the sums of several, to the values of a report. @a values has
 * RI_REPORT_VALUES entries. */
void ri_report_values_add_sent(uint64_t *values, const ri_conn_counters_t *sent);

/** Add the counters of a worker, of its conns and streams, and the time of its calls to @a sum. The
 * worker is not changed. */
void ri_report_values_add_worker(ri_report_sum_t *sum, const ri_worker_t *worker);

/** Add the values and ticks of @a other to those of @a sum. */
void ri_report_values_add_sum(ri_report_sum_t *sum, const ri_report_sum_t *other);

/** Fill the values of a row from @a sum. Ticks become times, by the clocks since @a clock was
 * started; that time is one of the values, too. */
void ri_report_values_set(ri_report_row_t *row, const ri_report_sum_t *sum,
                          const ri_report_clock_t *clock);

#endif
