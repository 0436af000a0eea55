/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Events of calls of progress, which tell of the application (core/notes/timeline.h). A call that
 * comes long after the one before ends a computation. Calls that find nothing, one right after the
 * other, are a wait.
 */
#ifndef RI_TIMELINE_PROGRESS_H
#define RI_TIMELINE_PROGRESS_H

#include "../core/worker.h"

/** What @ref ri_timeline_progress does if there is a timeline. */
void ri_timeline_progress_slow(ri_worker_t *worker, uint64_t start, unsigned count);

/** A call of progress is over, which began at @a start, by ri_timeline_now(), and has done @a count
 * things. */
static inline void ri_timeline_progress(ri_worker_t *worker, uint64_t start,
                                        unsigned count)
{
    if (ri_unlikely(start != 0)) {
        ri_timeline_progress_slow(worker, start, count);
    }
}

#endif
