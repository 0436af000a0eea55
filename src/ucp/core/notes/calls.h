/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kinds of calls of an application to a worker, as they are counted where the time that they
 * take is measured (UCXRI_REPORT).
 */
#ifndef RI_CALLS_H
#define RI_CALLS_H

#include <stdint.h>

/* The purposes that the time of a call in the library is spent for. */
typedef enum ri_call {
    RI_CALL_SEND,
    RI_CALL_RECV, /* receives and probes */
    RI_CALL_WORK, /* progress that did something */
    RI_CALL_IDLE, /* progress that did nothing */
    RI_CALL_COUNT
} ri_call_t;

/* The calls of one worker, kept by ri_worker_enter() and ri_worker_leave(). Calls that a callback
 * makes belong to the call that it runs in. */
typedef struct ri_calls {
    int depth;                     /* number of calls that have not returned */
    uint64_t start;                /* ri_clock_ticks() when the outermost call began */
    uint64_t ticks[RI_CALL_COUNT]; /* ri_clock_ticks() spent so far, by kind of call */
} ri_calls_t;

#endif
