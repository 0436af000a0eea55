/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * UCXRI_REPORT=y: what the workers of this process did, printed once when it exits, as one
 * line of each table in report_table.h. A process does not know whether others are about to
 * write to the same place, so all its lines go there in one piece.
 */
#ifndef RI_REPORT_H
#define RI_REPORT_H

#include "report_table.h"
#include "../core/calls.h"
#include "../core/types.h"

/** A worker was made: the report covers this process from now on. */
void ri_report_start(void);

/** A worker comes to its end: dump its counters and trace, as far as the configuration asks for them,
 * and add what it did. */
void ri_report_worker(ri_worker_t *worker);

/** Add what a worker did, which comes to its end. */
void ri_report_add(const ri_worker_t *worker);

/** Print what was added, unless there was no worker. The process exits. */
void ri_report_print(void);

/** Forget what was added; for tests. */
void ri_report_reset(void);

/** What was added until now. */
void ri_report_get(ri_report_row_t *row);

#endif
