/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * UCXRI_REPORT=y of a process that is ended by SIGTERM, as at the time limit of its job. Reports as
 * JSON need none of this: their files are there before (report_file.h).
 *
 * A handler of signals must not print, and the lists that are reported may be half changed when it
 * is called. So the thread of each worker now and then publishes what the worker did, the handler
 * wakes a thread that sleeps otherwise, and that one prints what was published. Then the process
 * ends by the same signal, as it would without all this. A program or an MPI that has a handler of
 * its own keeps it: then nothing is printed, and the same holds of SIGKILL and of crashes.
 */
#ifndef RI_REPORT_KILLED_H
#define RI_REPORT_KILLED_H

#include "report_values.h"

/** The first worker was made: be there if the process is ended. Does nothing if SIGTERM is handled
 * or ignored already.
 *
 * @param print  Called by the thread, with what is published; at most once. */
void ri_report_killed_start(void (*print)(const ri_report_sum_t *sum));

/** Publish what a worker did, if it is due. To be called now and then by the worker's thread. */
void ri_report_killed_tick(const ri_worker_t *worker);

/** A worker comes to its end: what it did is told by other means from now on. */
void ri_report_killed_leave(const ri_worker_t *worker);

#endif
