/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How the clocks of hosts go together. Processes of a host have one clock. The real-time clocks of
 * hosts may be off by any time; but no message is received before it was sent, and where messages
 * go both ways, that leaves little room: the middle of it is taken, as NTP does.
 */
#ifndef UCXRI_INFO_TIMELINE_CLOCK_H
#define UCXRI_INFO_TIMELINE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* The clocks of a job. */
typedef struct timeline_clocks {
    struct timeline_clock {
        const char *name; /* not freed */
        int64_t real;     /* how much later the real-time clock is, in ns */
        int64_t offset; /* what is to be added, so that all have the time of the first */
    } * list;
    unsigned count;
    struct timeline_mark *marks; /* by hash */
    size_t num_marks, max_marks;
    int64_t *least; /* count x count, see timeline_clock_align() */
} timeline_clocks_t;

/** Add a clock, unless there is one with that name. @return Its index; -1: no memory. */
int timeline_clock_add(timeline_clocks_t *clocks, const char *name, int64_t real);

/** A message was sent at a time of a clock: @a uid of the sender and @a flow tell messages from
 * each other. @return 0: no memory. */
int timeline_clock_sent(timeline_clocks_t *clocks, unsigned clock, uint64_t uid,
                        uint64_t flow, uint64_t time);

/** That message was received at a time of a clock. @return 0: no memory. */
int timeline_clock_received(timeline_clocks_t *clocks, unsigned clock, uint64_t uid,
                            uint64_t flow, uint64_t time);

/** All is known: set the offsets. @return 0: no memory. */
int timeline_clock_align(timeline_clocks_t *clocks);

/** Free all; @a clocks itself is the caller's. */
void timeline_clock_cleanup(timeline_clocks_t *clocks);

#endif
