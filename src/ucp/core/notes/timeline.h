/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * UCXRI_TRACE=FILE: what happened when, for a picture (timeline_format.h, ucxri_info --timeline).
 *
 * Long messages, above UCXRI_EAGER_THRESH, are noted one by one; shorter ones are only counted, as
 * to note each of them would cost as much as to send it. An entry is some stores to memory and a
 * look at the processor's clock; each 1,024 of them are written by one call. Without a timeline
 * each place costs one predictable branch, off the fast paths.
 *
 * Rejected: to write the JSON in the process itself, as printing an entry takes longer than a
 * message; and a file that is mapped, as a full disk would end the process by a signal.
 */
#ifndef RI_TIMELINE_H
#define RI_TIMELINE_H

#include "timeline_format.h"
#include "../../../ucs/base.h"
#include "../../../ucs/clock.h"

/* The timeline of a worker, which its own thread writes. */
typedef struct ri_timeline {
    ri_timeline_entry_t *entries; /* NULL: there is none (any more) */
    uint64_t uid;                 /* of the worker */
    unsigned count;               /* number of entries that are not written yet */
    uint64_t last; /* ri_clock_ticks() up to which it is known what the application did */
    uint64_t
            idle; /* ri_clock_ticks() since which progress does nothing; 0: it did something */
    uint64_t due;      /* ri_clock_ticks() when counters are to be noted next */
    uint64_t shortest; /* spans of the application of fewer ticks are not noted */
} ri_timeline_t;

/** Begin the timeline of the worker @a uid, and the file of the process if it is the first one;
 * that takes some 0.2 ms. @a timeline is zero. Without UCXRI_TRACE=FILE, or if the file cannot be
 * written, there is no timeline; a warning says of the file that it cannot be written. */
void ri_timeline_start(ri_timeline_t *timeline, uint64_t uid);

/** Write what is not written yet, and end the timeline. There may be none. */
void ri_timeline_stop(ri_timeline_t *timeline);

/** Write what is not written yet. There must be a timeline; afterwards there may be none, as the
 * file is full. */
void ri_timeline_flush(ri_timeline_t *timeline);

/** Note what the application has done since timeline->last up to @a now (ri_clock_ticks()): it has
 * waited in calls that found nothing, and computed in between. There must be a timeline; afterwards
 * there may be none, as the file is full. */
void ri_timeline_application(ri_timeline_t *timeline, uint64_t now);

/** The process exits, and another thread may be within the worker: write what is not written yet,
 * and change nothing. There may be no timeline. */
void ri_timeline_write_last(ri_timeline_t *timeline);

/** The process exits: nothing is written from now on, for no worker. Any thread may call it. */
void ri_timeline_close(void);

/** Close the file of the process, as if there had been no worker; for tests. There must be no
 * timeline. */
void ri_timeline_reset(void);

/** What @ref ri_timeline_note does if there is a timeline. */
void ri_timeline_note_slow(ri_timeline_t *timeline, ri_timeline_event_t event,
                           const void *key, const uint64_t arg[4]);

/** Note an event, if there is a timeline. timeline_format.h says what the key and the arguments
 * are. The timeline may be gone afterwards, as the file is full. */
static inline void ri_timeline_note(ri_timeline_t *timeline, ri_timeline_event_t event,
                                    const void *key, uint64_t arg0, uint64_t arg1,
                                    uint64_t arg2, uint64_t arg3)
{
    const uint64_t arg[4] = {arg0, arg1, arg2, arg3};

    if (ri_unlikely(timeline->entries != NULL)) {
        ri_timeline_note_slow(timeline, event, key, arg);
    }
}

/** @return The start of a copy, for @ref ri_timeline_copied; 0 if there is no timeline. */
static inline uint64_t ri_timeline_now(const ri_timeline_t *timeline)
{
    return ri_unlikely(timeline->entries != NULL) ? ri_clock_ticks() : 0;
}

/** Note a copy of @a length bytes that began at @a start, which @ref ri_timeline_now has returned,
 * and has ended now. @a uid: of the peer. */
static inline void ri_timeline_copied(ri_timeline_t *timeline, uint64_t start,
                                      ri_timeline_copy_t kind, uint64_t length,
                                      uint64_t uid)
{
    ri_timeline_note(timeline, RI_TIMELINE_COPY, NULL, start, length, kind, uid);
}

#endif
