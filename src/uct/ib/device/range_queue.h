/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranges of addresses that anybody can leave at any time, without waiting and without
 * memory: from several threads, with locks held, in signal handlers that interrupt any
 * function of the queue. One thread at a time takes them out.
 *
 * There is no order among them, and a range of somebody who is still inside of push may be
 * left for later. If there are too many they all become one, of everything.
 */
#ifndef RI_RANGE_QUEUE_H
#define RI_RANGE_QUEUE_H

#include "../../../ucs/base.h"

#define RI_RANGE_QUEUE_SIZE 128

typedef struct ri_queued_range {
    _Atomic(int) state;
    uintptr_t start;
    uintptr_t end;
} ri_queued_range_t;

/* All bits 0: an empty one. */
typedef struct ri_range_queue {
    _Atomic(unsigned) queued; /* ranges put into their places since the last drain */
    _Atomic(int) overflow;    /* there were more */
    ri_queued_range_t ranges[RI_RANGE_QUEUE_SIZE];
} ri_range_queue_t;

/** Put a range into the queue. A drain that begins when this has returned takes it out, unless
 * another one has done so. */
void ri_range_queue_push(ri_range_queue_t *queue, uintptr_t start, uintptr_t end);

/**
 * Take all ranges out.
 *
 * @param func  Called for each; with 0 and UINTPTR_MAX if some of them were lost.
 *
 * @return Whether that was so.
 */
int ri_range_queue_drain_all(ri_range_queue_t *queue,
                             void (*func)(uintptr_t start, uintptr_t end, void *arg),
                             void *arg);

/** Do what ri_range_queue_drain_all() does, inline for where the queue is mostly empty. @return As
 * ri_range_queue_drain_all(). */
static inline int
ri_range_queue_drain(ri_range_queue_t *queue,
                     void (*func)(uintptr_t start, uintptr_t end, void *arg), void *arg)
{
    return ri_unlikely(atomic_load_explicit(&queue->queued, memory_order_acquire) > 0) &&
           ri_range_queue_drain_all(queue, func, arg);
}

#endif
