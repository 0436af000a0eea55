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
#include "../core/notes/calls.h"
#include "../core/types/types.h"

/** A worker was made: the report covers this process from now on. Only the first call does
 * anything. */
void ri_report_start(void);

/** A worker comes to its end, or the process exits: dump its counters and trace, and add what it
 * did to the report, as far as the configuration asks for each. */
void ri_report_worker(ri_worker_t *worker);

/** Print the traces of all workers, because of an error; at most once in each second, and nothing
 * if there are none. */
void ri_report_traces(void);

/** Add to the report what a worker did, which comes to its end. Several threads may do so at
 * once. */
void ri_report_add(const ri_worker_t *worker);

/** Print what was added, as the process exits. Nothing is printed if this process has had no
 * worker; a child by fork() is another process. */
void ri_report_print(void);

/** Forget what was added, as if there had been no worker; for tests, as there is no lock. */
void ri_report_reset(void);

/** Fill @a row: which process this is, what was added until now, and the time since
 * ri_report_start(). */
void ri_report_get(ri_report_row_t *row);

#endif
