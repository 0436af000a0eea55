/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the library has done for the application, and when. By that is told later whether the
 * application was busy with something else while a receive waited for its message
 * (proto/rtr/rtr_learn.c), and whether it waits in progress after its sends (tag/send.c).
 */
#ifndef RI_ACTIVITY_H
#define RI_ACTIVITY_H

#include "worker.h"
#include "../../ucs/clock.h"

/* To copy so many bytes takes about as long as the time between two progress calls of an
 * application that does nothing else, or less. */
#define RI_ACTIVITY_POLL_BYTES 16384

/* An application whose progress comes within so many microseconds of its latest send has nothing
 * else to do. */
#define RI_ACTIVITY_PROMPT_US 20

/* So many times in a row tell that the next time will be the same. */
#define RI_ACTIVITY_PROMPT_TIMES 3

/** A long message of this process has been received. */
static inline void ri_activity_note_message(ri_worker_t *worker)
{
    worker->active_us = ri_clock_now_us();
}

/** The library is about to copy @a length bytes of a message: it is busy itself then, and the
 * application is not. */
static inline void ri_activity_note_copy(ri_worker_t *worker, size_t length)
{
    worker->polls += length / RI_ACTIVITY_POLL_BYTES;
}

/** A send has found no room in its ring. */
static inline void ri_activity_note_full(ri_worker_t *worker)
{
    worker->full.us      = ri_clock_now_us();
    worker->full.is_news = 1;
    worker->attention    = 1;
}

/** @return Whether this process has waited in progress right after its sends, each time that a ring
 * was full of late: a message that waits for room has not to wait for the application. */
static inline int ri_activity_is_prompt(const ri_worker_t *worker)
{
    return worker->full.times >= RI_ACTIVITY_PROMPT_TIMES;
}

/** @return Whether progress is the first one since a send found no room. */
static inline int ri_activity_was_full(const ri_worker_t *worker)
{
    return worker->full.is_news;
}

/** That progress is here: note whether it came soon. */
static inline void ri_activity_note_progress(ri_worker_t *worker)
{
    worker->full.is_news = 0;
    if (ri_clock_now_us() - worker->full.us > RI_ACTIVITY_PROMPT_US) {
        worker->full.times = 0;
    } else if (worker->full.times < RI_ACTIVITY_PROMPT_TIMES) {
        ++worker->full.times;
    }
}

#endif
