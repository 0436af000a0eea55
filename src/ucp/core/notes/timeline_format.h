/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The file that UCXRI_TRACE=FILE has each process write, and ucxri_info --timeline reads: a head,
 * and then blocks of entries. Each block is of one worker, and is written at once. All numbers are
 * as this machine has them. What reads it must not trust it: a process may have been killed in the
 * middle, and files come from anywhere.
 */
#ifndef RI_TIMELINE_FORMAT_H
#define RI_TIMELINE_FORMAT_H

#include <stdint.h>

/* The first bytes of a file, the version of its format, and what each block begins with. */
#define RI_TIMELINE_MAGIC   "ucxritl"
#define RI_TIMELINE_VERSION 2
#define RI_TIMELINE_MARK    0x4b4c4254u

/* Number of entries that a block has at most. */
#define RI_TIMELINE_ENTRIES 1024

/* The start of a file. Texts end with a zero, and are cut off where they are too long. */
typedef struct ri_timeline_head {
    char magic[8];    /* RI_TIMELINE_MAGIC */
    uint32_t version; /* RI_TIMELINE_VERSION */
    uint32_t pid;     /* of the process */
    char rank[16];    /* in the job; "-": it is not known */
    char ranks[16];   /* that the job has, in the same way */
    char job[64];     /* ri_rank_job() */
    char host[64];    /* ri_rank_host() */
    char clock[64];   /* processes with the same text have the same monotonic clock */
    char program[64]; /* name of the program, without its path */
} ri_timeline_head_t;

/* In front of the entries of a block. The clocks are those of the time when it was written: ticks
 * in between follow from two blocks. */
typedef struct ri_timeline_block {
    uint32_t mark;  /* RI_TIMELINE_MARK */
    uint32_t count; /* of entries that follow */
    uint64_t uid;   /* of the worker */
    uint64_t ticks; /* ri_clock_ticks() */
    uint64_t mono;  /* CLOCK_MONOTONIC, nanoseconds */
    uint64_t real;  /* CLOCK_REALTIME, nanoseconds */
    uint64_t ended; /* the file is as long as it may be: nothing follows of this worker */
} ri_timeline_block_t;

/*
 * What an entry is of. `key` tells sends from each other, and receives: it is the lower 48 bits of
 * the address of the request, which is used again. A flow is the id of the sender's conn << 32 |
 * the number of the message, the same on both sides. What a message is called are two arguments
 * with up to 16 letters (ri_send_proto_t.called).
 *
 *   event      ticks: when    key      arg 0     1             2             3
 *   SEND       it was called  send     length    uid of peer   -             -
 *   SEND_BY    it was started send     flow      what it is called          uid of peer
 *   SEND_END   it ended       send     status    -             -             -
 *   RECV       it met its     receive  length    uid of peer   flow          microseconds since it
 *              message                                                       was posted
 *   RECV_END   it ended       receive  status    length        -             -
 *   OFFER      RTR was sent   receive  tag       -             -             -
 *   WITHDRAWN  it was         receive  -         -             -             -
 *              withdrawn
 *   COPY       it ended       -        start     length        kind          uid of peer
 *   COMPUTE    later          -        start     end           -             -
 *   WAIT       later          -        start     end           -             -
 *   COUNT      of the sample  -        messages  bytes sent    messages      -
 *                                      sent                    received
 */
typedef enum ri_timeline_event {
    RI_TIMELINE_SEND,
    RI_TIMELINE_SEND_BY,
    RI_TIMELINE_SEND_END,
    RI_TIMELINE_RECV,
    RI_TIMELINE_RECV_END,
    RI_TIMELINE_OFFER,
    RI_TIMELINE_WITHDRAWN,
    RI_TIMELINE_COPY,
    RI_TIMELINE_COMPUTE,
    RI_TIMELINE_WAIT,
    RI_TIMELINE_COUNT,
    RI_TIMELINE_EVENTS
} ri_timeline_event_t;

/* Who moved data, and where: the kind of a COPY. */
#define RI_TIMELINE_COPIES(_c) \
    _c(READ, "read from the sender") _c(WRITE, "write to the receiver") \
            _c(SHELF_IN, "take from the shelf") _c(SHELF_OUT, "put on the shelf") \
                    _c(POOL, "copy to the pool") _c(NET, "by the adapter")

typedef enum ri_timeline_copy {
#define RI_TIMELINE_COPY_ENTER(_kind, _text) RI_TIMELINE_COPY_##_kind,
    RI_TIMELINE_COPIES(RI_TIMELINE_COPY_ENTER)
#undef RI_TIMELINE_COPY_ENTER
    RI_TIMELINE_COPY_LAST
} ri_timeline_copy_t;

/* One event. */
typedef struct ri_timeline_entry {
    uint64_t ticks;  /* ri_clock_ticks() */
    uint64_t key;    /* the key << 16 | ri_timeline_event_t */
    uint64_t arg[4]; /* see ri_timeline_event_t */
} ri_timeline_entry_t;

#endif
