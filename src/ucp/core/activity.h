/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Notes of when the library has done something for the application. From them two things are learnt
 * later: whether the application was busy with something else while a receive waited for its
 * message (proto/rtr/rtr_learn.c), and whether it waits in progress after its sends (tag/send.c).
 */
#ifndef RI_ACTIVITY_H
#define RI_ACTIVITY_H

#include "worker.h"
#include "../../ucs/clock.h"

/* An application that does nothing but call progress makes about one call in the time that it takes
 * to copy this number of bytes. */
#define RI_ACTIVITY_POLL_BYTES 16384

/* An application that calls progress within this time, in microseconds, of a send that has found no
 * room has nothing else to do. */
#define RI_ACTIVITY_PROMPT_US 20

/* Number of times in a row that progress came soon after such a send: then it is expected to. The
 * count is ri_worker_activity_t.full_times. */
#define RI_ACTIVITY_PROMPT_TIMES 3

/** A long message of this process has been received: note when. */
static inline void ri_activity_note_message(ri_worker_t *worker)
{
    worker->activity.received_us = ri_clock_now_us();
}

/** The library is about to copy @a length bytes of a message. The time counts as progress calls
 * that the application would have made meanwhile: the library is busy, not the application. */
static inline void ri_activity_note_copy(ri_worker_t *worker, size_t length)
{
    worker->polls += length / RI_ACTIVITY_POLL_BYTES;
}

/** A send has found no room in its ring: note when. */
static inline void ri_activity_note_full(ri_worker_t *worker)
{
    worker->activity.full_us      = ri_clock_now_us();
    worker->activity.full_is_news = 1;
    worker->attention             = 1;
}

/** @return Whether the application calls progress soon after a send that has found its ring full:
 * it did so the latest RI_ACTIVITY_PROMPT_TIMES times. Then a message that waits for room goes out
 * as soon as there is room, as the application is not busy elsewhere. */
static inline int ri_activity_is_prompt(const ri_worker_t *worker)
{
    return worker->activity.full_times >= RI_ACTIVITY_PROMPT_TIMES;
}

/** @return Whether a send has found no room since the latest call of progress. */
static inline int ri_activity_was_full(const ri_worker_t *worker)
{
    return worker->activity.full_is_news;
}

/** Progress is called for the first time since a send has found no room, as ri_activity_was_full()
 * says: note whether it was called soon after the send. */
static inline void ri_activity_note_progress(ri_worker_t *worker)
{
    worker->activity.full_is_news = 0;
    if (ri_clock_now_us() - worker->activity.full_us > RI_ACTIVITY_PROMPT_US) {
        worker->activity.full_times = 0;
    } else if (worker->activity.full_times < RI_ACTIVITY_PROMPT_TIMES) {
        ++worker->activity.full_times;
    }
}

#endif
