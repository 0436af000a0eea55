/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A trace of protocol events: the latest few thousand of each worker, kept in a ring in
 * memory at the price of a few stores each, and formatted only when dumped: on SIGUSR2
 * (within 65,536 progress calls), on an error, and at exit. Off (UCXRI_TRACE=n), an event
 * costs one predictable branch.
 */
#ifndef RI_TRACE_H
#define RI_TRACE_H

#include "../../../ucs/base.h"
#include <stdio.h>
#include <time.h>

/* name, format of its two arguments: a first one that is the type of a message is %s */
/* clang-format off */
#define RI_TRACE_EVENTS(_e) \
    _e(SEND, "send tag 0x%lx length %lu") \
    _e(SEND_RING, "  by ring, sn %lu, lines %lu") \
    _e(SEND_AM, "  by active message, sn %lu, length %lu") \
    _e(SEND_BULK, "  in bulk, sn %lu, length %lu") \
    _e(SEND_POOL, "  by the pool, sn %lu, length %lu") \
    _e(SEND_RTS, "  by rendezvous, sn %lu, length %lu") \
    _e(SEND_WRITE, "  written into the receive's memory, length %lu status %ld") \
    _e(SEND_PENDING, "  waits for ring space, sn %lu, queued %lu") \
    _e(SEND_DONE, "send done, tag 0x%lx status %ld") \
    _e(RECV, "receive posted tag 0x%lx mask 0x%lx") \
    _e(RECV_DONE, "receive done, sender tag 0x%lx length %lu") \
    _e(RECV_READ, "  read from the sender's memory, length %lu status %ld") \
    _e(RTR_SENT, "  RTR sent, tag 0x%lx id 0x%lx") \
    _e(RTR_WITHDRAWN, "  RTR withdrawn, tag 0x%lx id 0x%lx") \
    _e(RTR_IN, "RTR for tag 0x%lx, fate %lu") \
    _e(RECV_CTS, "  may be written by the sender, receive 0x%lx length %lu") \
    _e(RECV_WRITTEN, "  was written by the sender, receive 0x%lx length %lu") \
    _e(COOP_PART, "  copied together: offset %lu length %lu") \
    _e(COOP_FAIL, "  copied together: sending %lu failed with status %ld") \
    _e(COOP_DONE, "  copied together: received %lu, failed %lu") \
    _e(CANCEL, "receive cancelled tag 0x%lx mask 0x%lx") \
    _e(ARRIVING, "message in parts begins, sn %lu length %lu") \
    _e(ARRIVE, "message sn %lu tag 0x%lx") \
    _e(MATCHED, "  matched a posted receive, tag 0x%lx length %lu") \
    _e(UNEXPECTED, "  unexpected, tag 0x%lx length %lu") \
    _e(EARLY, "  early: sn %lu, expected %lu") \
    _e(DROPPED, "message dropped: type %s, id 0x%lx") \
    _e(CONTROL_TX, "control out: type %s, argument 0x%lx") \
    _e(CONTROL_RX, "control in: type %s, argument 0x%lx") \
    _e(CONN_NEW, "connection to worker 0x%lx, id 0x%lx") \
    _e(CONN_CLOSE, "connection closed, id 0x%lx, sent %lu") \
    _e(CONN_FAIL, "connection failed, id 0x%lx, status %ld") \
    _e(STREAM_NEW, "stream from worker 0x%lx, id 0x%lx") \
    _e(STREAM_BREAK, "stream broken, id 0x%lx, expected %lu") \
    _e(PLANE, "asked by worker 0x%lx for a plane, reached: %lu") \
    _e(RING_OPEN, "ring open, id 0x%lx, size %lu") \
    _e(RING_CLOSE, "ring closed, id 0x%lx, lines %lu") \
    _e(CHANNEL_OPEN, "channel open, id 0x%lx, size %lu") \
    _e(CHANNEL_CLOSE, "channel closed, id 0x%lx, lines %lu") \
    _e(SEND_CHANNEL, "  by channel, sn %lu length %lu")
/* clang-format on */

typedef enum ri_trace_event {
#define RI_TRACE_ENUM(_name, _format) RI_TRACE_##_name,
    RI_TRACE_EVENTS(RI_TRACE_ENUM)
#undef RI_TRACE_ENUM
    RI_TRACE_LAST
} ri_trace_event_t;

/* One event. */
typedef struct ri_trace_entry {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t event;   /* ri_trace_event_t */
    uint64_t arg[2];  /* as its format in RI_TRACE_EVENTS says */
} ri_trace_entry_t;

/* The trace of a worker. */
typedef struct ri_trace {
    ri_trace_entry_t *entries; /* NULL: there is no trace */
    uint32_t mask;             /* number of entries - 1; the number is a power of two */
    uint64_t next;             /* number of events that were ever recorded */
    unsigned signals;          /* ri_trace_signals when the worker last looked at it */
} ri_trace_t;

/** Set the trace of a worker up as the configuration says, and the signal handler, unless the
 * application has one. @return UCS_OK, also if there is to be no trace; UCS_ERR_NO_MEMORY, and
 * there is none. */
ucs_status_t ri_trace_init(ri_trace_t *trace);

/** Free the events; there is no trace from now on. There may have been none, or @a trace may be
 * zero. */
void ri_trace_cleanup(ri_trace_t *trace);

/** Print what is in the trace to TRACE_DEST, oldest first; nothing if there is none. The trace
 * keeps it. @a title says whose it is, and why. The worker need not be locked: at exit and after an
 * error, entries that another thread is writing may be wrong. */
void ri_trace_dump(const ri_trace_t *trace, const char *title);

/* Counts SIGUSR2; each worker dumps when it sees it changed. */
extern volatile unsigned ri_trace_signals;

/** Record an event, with the time. Without a trace it costs one look. */
static inline void ri_trace(ri_trace_t *trace, ri_trace_event_t event, uint64_t arg0,
                            uint64_t arg1)
{
    if (ri_unlikely(trace->entries != NULL)) {
        ri_trace_entry_t *entry = &trace->entries[trace->next++ & trace->mask];
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        entry->time_ns = now.tv_sec * 1000000000ul + now.tv_nsec;
        entry->event   = event;
        entry->arg[0]  = arg0;
        entry->arg[1]  = arg1;
    }
}

#endif
