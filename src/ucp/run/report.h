/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * UCXRI_REPORT=y: what the workers of this process did, printed once when it exits, as one
 * line of each table in report_table.h. A process does not know whether others are about to
 * write to the same place, so all its lines go there in one piece.
 */
#ifndef RI_REPORT_H
#define RI_REPORT_H

#include "report_table.h"
#include "../core/types.h"

#include <time.h>

/* What time in the library was spent for. */
typedef enum ri_call {
    RI_CALL_SEND,
    RI_CALL_RECV, /* and probes */
    RI_CALL_WORK, /* progress that did something */
    RI_CALL_IDLE, /* progress that did nothing */
    RI_CALL_COUNT
} ri_call_t;

/* The calls of one worker. Those that callbacks make belong to the call that they run in. */
typedef struct ri_calls {
    int depth;      /* of calls that have not returned */
    uint64_t start; /* of the outermost */
    uint64_t ticks[RI_CALL_COUNT];
} ri_calls_t;

/** @return A clock that is cheap to read, in units of its own. */
static inline uint64_t ri_report_ticks(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ul + now.tv_nsec;
#endif
}

/** A worker was made: the report covers this process from now on. */
void ri_report_start(void);

/** Add what a worker did, which comes to its end. */
void ri_report_add(const ri_worker_t *worker);

/** Print what was added, unless there was no worker. The process exits. */
void ri_report_print(void);

/** Forget what was added; for tests. */
void ri_report_reset(void);

/** What was added until now. */
void ri_report_get(ri_report_row_t *row);

#endif
