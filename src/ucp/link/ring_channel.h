/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The eager channel between the most active pairs of one host: who has a ring
 * (uct/shm/ring.h), and what travels through it. (protocol.md section 6)
 *
 * The receiver decides: after RING_AFTER messages of a stream, or if its sender asks, it makes
 * a ring and offers it; at most RING_PEERS at a time. When another stream deserves one, the
 * least recently active ring is asked back: the sender sends what waits for room in it, ends
 * it with RING_CLOSE, and unmaps it.
 */
#ifndef RI_RING_CHANNEL_H
#define RI_RING_CHANNEL_H

#include "rdma_channel.h"
#include "../core/worker.h"

#include <limits.h>

/** Enough messages came on @a stream to think about a ring for it, or its sender asks. */
void ri_ring_channel_consider(ri_stream_t *stream);

/** A message that could have gone through a ring came another way. */
static inline void ri_stream_note_am(ri_stream_t *stream)
{
    if (ri_unlikely(--stream->am_left == 0)) {
        ri_ring_channel_consider(stream);
        if (stream->am_left == UINT_MAX) {
            ri_rdma_channel_consider(stream); /* there are no rings for it */
        }
    }
}

/** Sender: a ring would be of use: ask the receiver for one, if that has not been done. */
void ri_ring_channel_ask(ri_conn_t *conn);

/** RING_OFFER: map the ring and use it, or refuse. */
void ri_ring_channel_open(ri_conn_t *conn, const ri_wire_msg_t *msg);

/** RING_REFUSE: the peer could not map it; no ring for this stream. */
void ri_ring_channel_refused(ri_stream_t *stream);

/** Sender: take back what nobody has begun with. @return Whether the ring is still needed. */
int ri_ring_channel_is_needed(ri_conn_t *conn);

/** RING_STOP: give the ring back as soon as nothing waits for room in it. */
void ri_ring_channel_stop(ri_conn_t *conn);

/** Sender: end the ring with RING_CLOSE and unmap it. Nothing is pending. */
void ri_ring_channel_close(ri_conn_t *conn);

/** Receiver: stop polling the ring of @a stream and free it. A receive whose message has
 * come in part ends, and its callback may end a stream that is not busy. */
void ri_ring_channel_free(ri_stream_t *stream);

/** Say CLOSING through the ring: it is of no order towards anything else. @return 0 if there is no
 * ring, or no room in it. */
int ri_ring_channel_say_closing(ri_conn_t *conn);

/**
 * Send a small control message through the ring.
 *
 * @param payload  If @a length is not 0; at most RI_RING_INLINE bytes.
 *
 * @return 0 if it has to go another way.
 */
int ri_ring_channel_send_control(ri_conn_t *conn, ri_wire_type_t type, uint32_t id,
                                 uint32_t value, const void *payload, size_t length);

/** Receive from all rings of a worker. @return Number of records. */
unsigned ri_ring_channel_poll(ri_worker_t *worker);

/** Take RTRs that are next in the ring of a stream, if it has one; outside of progress. */
void ri_ring_channel_take_rtrs(ri_stream_t *stream);

#endif
