/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "range_queue.h"

/* Of a place in the queue, in the order that they come in. */
enum {
    RANGE_FREE,
    RANGE_WRITING, /* somebody is inside of push: not to be waited for */
    RANGE_FULL
};

void ri_range_queue_push(ri_range_queue_t *queue, uintptr_t start, uintptr_t end)
{
    ri_queued_range_t *range = queue->ranges;
    ri_queued_range_t *last  = queue->ranges + RI_RANGE_QUEUE_SIZE;
    int expected             = RANGE_FREE;

    while ((range < last) && !atomic_compare_exchange_strong_explicit(
                                     &range->state, &expected, RANGE_WRITING,
                                     memory_order_acquire, memory_order_relaxed)) {
        expected = RANGE_FREE;
        ++range;
    }
    if (range < last) {
        range->start = start;
        range->end   = end;
        atomic_store_explicit(&range->state, RANGE_FULL, memory_order_release);
    } else {
        atomic_store_explicit(&queue->overflow, 1, memory_order_release);
    }

    /* Added, not stored: a drain that sees one of them sees what all before it left. */
    atomic_fetch_add_explicit(&queue->queued, 1, memory_order_release);
}

int ri_range_queue_drain_all(ri_range_queue_t *queue,
                             void (*func)(uintptr_t start, uintptr_t end, void *arg),
                             void *arg)
{
    ri_queued_range_t *range;
    int overflow;

    /* First of all: what is added from here on is for the next drain, even if this one
     * happens to find its range. */
    atomic_exchange_explicit(&queue->queued, 0, memory_order_acquire);

    for (range = queue->ranges; range < queue->ranges + RI_RANGE_QUEUE_SIZE; ++range) {
        if (atomic_load_explicit(&range->state, memory_order_acquire) == RANGE_FULL) {
            func(range->start, range->end, arg);
            atomic_store_explicit(&range->state, RANGE_FREE, memory_order_release);
        }
    }

    overflow = atomic_exchange_explicit(&queue->overflow, 0, memory_order_acquire);
    if (overflow) {
        func(0, UINTPTR_MAX, arg);
    }
    return overflow;
}
