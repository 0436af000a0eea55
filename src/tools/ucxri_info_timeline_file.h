/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that UCXRI_TRACE=FILE had processes write (ucp/core/notes/timeline_format.h), read and
 * checked.
 */
#ifndef UCXRI_INFO_TIMELINE_FILE_H
#define UCXRI_INFO_TIMELINE_FILE_H

#include "ucp/core/notes/timeline_format.h"

#include <stddef.h>
#include <stdint.h>

/* The timeline of one process. Times are nanoseconds of its monotonic clock. */
typedef struct timeline_file {
    ri_timeline_head_t head; /* its texts end with a zero */
    uint64_t *uids;          /* of its workers */
    unsigned num_workers;
    uint64_t first, last; /* times of the first and of the last block */
    int64_t real; /* how much later the real-time clock is than the monotonic one, in ns */
    int is_cut;   /* the file ends in the middle of a block: the process was killed */
    int ended;    /* the file became as long as it may be */

    char *content;
    struct timeline_anchor *anchors; /* one for each block */
    size_t num_anchors;
} timeline_file_t;

/* Called for each entry of a file, in the order of the file. */
typedef void (*timeline_entry_func_t)(unsigned worker, const ri_timeline_entry_t *entry,
                                      void *arg);

/** Read a file. It is to be released by @ref timeline_file_cleanup, also if that fails. @return
 * NULL, or what is wrong with it; the text may be overwritten by the next call. */
const char *timeline_file_read(const char *path, timeline_file_t *file);

/** @return The time at which the clock of the process was at @a ticks. */
uint64_t timeline_file_time(const timeline_file_t *file, uint64_t ticks);

/** Tell all entries of a file. Those of an event that is not known are left out. */
void timeline_file_foreach(const timeline_file_t *file, timeline_entry_func_t func,
                           void *arg);

/** Free what was read. @a file may be zero. */
void timeline_file_cleanup(timeline_file_t *file);

/** @return The event of an entry. */
static inline unsigned timeline_file_entry_event(const ri_timeline_entry_t *entry)
{
    return entry->key & 0xffff;
}

#endif
