/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * UCXRI_REPORT=json:FILE: the report of this process, in a file of its own. Without that, nothing
 * here does anything.
 *
 * A job that is killed at its time limit gets SIGTERM, and SIGKILL soon after. The report is there
 * all the same, as the file is written when the first worker is made, and again after 1, 2, 4 s and
 * so on, later each 30 s, by a call of progress. It says that it is not complete. Rejected: a
 * handler of SIGTERM, as lines have (report_killed.h): SIGKILL, a crash, MPI_Abort() and the end of
 * memory give no signal that can be caught, and a program may have a handler of its own. Rejected,
 * too: counters in a mapped file, which would have to stand there, of a fixed form, for all conns
 * that ever are.
 *
 * Files are replaced by rename(), so a reader never sees half of one. A process that is killed
 * while it writes leaves FILE.tmp next to the file that it wrote before.
 */
#ifndef RI_REPORT_FILE_H
#define RI_REPORT_FILE_H

#include "../core/types/types.h"

/** A worker was made, which is reported from now on. The first one begins the report, and writes
 * it. Without memory for it the worker is left out. */
void ri_report_file_enter(ri_worker_t *worker);

/** A worker comes to its end: keep what it did. It need not have been entered. */
void ri_report_file_leave(ri_worker_t *worker);

/** Write the report if it is due. To be called now and then by the thread of the worker; where the
 * report is not wanted, or not due, it costs a look at a clock. */
void ri_report_file_tick(ri_worker_t *worker);

/** Write the report for the last time, as the process exits. All workers have left. */
void ri_report_file_end(void);

/** Write the report of a process in which the library was inert: why, and what can be done. A file
 * that is there already stays: it may be that of the rank which has started this process. */
void ri_report_file_inert(const char *because, const char *remedy);

/** Forget all, as if there had been no worker; for tests. All workers have left. */
void ri_report_file_reset(void);

#endif
