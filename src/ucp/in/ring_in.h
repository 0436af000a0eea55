/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrivals through rings (link/ring_life.h): records are checked, and handed to who is in charge of
 * their type.
 */
#ifndef RI_RING_IN_H
#define RI_RING_IN_H

#include "../core/worker.h"
#include "../../uct/shm/expect.h"

/** @return Whether one of the next 16 records in the ring of a stream, if it has one, is a message
 * with a number. Nothing is taken. */
int ri_ring_in_has_message(const ri_stream_t *stream);

/** @return Whether one of the next 16 records in the ring of a stream, if it has one, begins a
 * message above EAGER_THRESH. No, while one is being delivered. Nothing is taken. */
int ri_ring_in_has_long_message(const ri_stream_t *stream);

/** @return Whether something is to be done about a ring that the peer of @a stream sends into:
 * there is a record, or the ring is dead. */
static inline int ri_ring_in_is_due(const ri_stream_t *stream)
{
    /* stream->ring points to it: the fewer loads wait for each other, the better */
    const ri_ring_rx_t *rx = &stream->ring_life.memory;

    ri_expect_fetch(rx);
    return (ri_ring_rx_peek(rx) != NULL) ||
           (stream->ring_life.state == RI_STREAM_RING_DEAD);
}

/** @return How many of the first @a end rings of a worker there are up to the last that is due; 0:
 * none is. */
static inline unsigned ri_ring_in_find_due(const ri_worker_t *worker, unsigned end)
{
    while ((end > 0) && ri_likely(!ri_ring_in_is_due(worker->rings_in[end - 1]))) {
        --end;
    }
    return end;
}

/** Receive from the first @a end rings of a worker, of which the last is due, as
 * ri_ring_in_find_due() says: up to 16 records from each. Rings that are dead and empty, or whose
 * sender breaks the protocol, are freed. Calls back; any conn or stream that is not busy may be
 * gone afterwards. @return Number of records that were taken; one that has to wait in its ring
 * until those before it have come does not count. */
unsigned ri_ring_in_poll(ri_worker_t *worker, unsigned end);

/** Receive from all rings of a worker, as ri_ring_in_poll(). @return Number of records. */
static inline unsigned ri_ring_in_poll_all(ri_worker_t *worker)
{
    return ri_ring_in_poll(worker, ri_ring_in_find_due(worker, worker->num_rings));
}

/** Take RTRs that are next in the ring of a stream, if it has one and the stream is not busy. Only
 * outside of progress; no callback is called. A malformed one is left for polling to deal with. */
void ri_ring_in_take_rtrs(ri_stream_t *stream);

#endif
