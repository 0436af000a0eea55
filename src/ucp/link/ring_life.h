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
#ifndef RI_RING_LIFE_H
#define RI_RING_LIFE_H

#include "channel_life.h"
#include "ring_send.h"
#include "../core/worker.h"
#include "../../ucs/settings.h"

/*
 * The ring of a conn, at the sender (ri_conn_t.ring, RI_CONN_RING_STOP); its other end is
 * ri_stream_ring_state_t. Legal changes, which are asserted where they are made:
 *
 *   NONE     -> OPEN       RING_OFFER: it was mapped
 *   OPEN     -> STOPPING   RING_STOP; once more changes nothing
 *   OPEN, STOPPING -> NONE ended and unmapped: nothing waits for room in it, or the conn ends
 */
typedef enum ri_ring_life_tx {
    RI_RING_LIFE_TX_NONE,     /* there is no ring */
    RI_RING_LIFE_TX_OPEN,     /* messages go through it */
    RI_RING_LIFE_TX_STOPPING, /* no new message goes through it; some wait for room in it */
    RI_RING_LIFE_TX_LAST
} ri_ring_life_tx_t;

/** @return The longest contiguous payload that goes through a ring of @a size bytes rather than by
 * a plane. */
static inline size_t ri_ring_life_long(size_t size)
{
    return ri_min(size / RI_RING_LONG_MESSAGES, ri_config.ring_eager);
}

/** @return The longest contiguous payload that goes through a quick ring (ri_ring_tx_is_quick()) of
 * @a size bytes rather than by a plane; 0: it is as ri_ring_life_long() says. */
static inline size_t ri_ring_life_long_quick(size_t size)
{
    size_t length = ri_min(size / RI_RING_LONG_MESSAGES, ri_config.ring_quick);

    return (length > ri_ring_life_long(size)) ? length : 0;
}

/** @return The longest payload in runs that are known that goes through a ring of @a size bytes: it
 * is packed there in parts. No system call moves many runs so fast. */
static inline size_t ri_ring_life_long_runs(size_t size)
{
    return ri_min(size / RI_RING_LONG_MESSAGES, ri_config.ring_runs);
}

/** @return The longest contiguous payload that goes through a ring of @a size bytes if its receiver
 * reads by the plane slowly. */
static inline size_t ri_ring_life_long_slow(size_t size)
{
    return ri_min(size / RI_RING_LONG_MESSAGES, ri_config.ring_slow);
}

/** @return Whether the ring of a conn may change from one state to another. */
int ri_ring_life_may_become(ri_ring_life_tx_t from, ri_ring_life_tx_t to);

/** Enough messages came on @a stream to think about a ring, or its sender asks for one: make a
 * ring and offer it, unless it has one, nobody can be told, or there are too many; the one that
 * was idle for longest is asked back then. Sets after how many messages it is called again
 * (stream->am_left). @return 0: @a stream can have no ring, and this is never called again. */
int ri_ring_life_consider(ri_stream_t *stream);

/** Count a message that came another way, although it could have gone through a ring. After enough
 * of them a ring is thought about. */
static inline void ri_ring_life_note_am(ri_stream_t *stream)
{
    if (ri_unlikely(--stream->am_left == 0) && !ri_ring_life_consider(stream)) {
        ri_channel_life_consider(stream);
    }
}

/** Sender: a ring would be of use: ask the receiver for one, again after this was called 16 times
 * more, then 32, and so on. If the receiver's id is not known, that is asked for first. Not
 * while a ring is to be given back. */
void ri_ring_life_ask(ri_conn_t *conn);

/** Handler of RING_OFFER: map the ring and use it. If that fails, or the conn is being closed or
 * has failed, refuse it. If the conn has a ring already, the offer is stale. The receiver's id is
 * known. */
void ri_ring_life_open(ri_conn_t *conn, const ri_wire_msg_t *msg);

/** Handler of RING_REFUSE: the peer could not map the ring, or its conn is gone. Nobody sends into
 * the ring any more, and polling frees it when it is empty. If nothing ever came by it, there is no
 * ring for this stream again. */
void ri_ring_life_refused(ri_stream_t *stream);

/** Sender: have modules withdraw what needs the ring, as far as nobody has begun with it
 * (ring_tx_stops).
 * @return Whether the ring is still needed. */
int ri_ring_life_withdraw(ri_conn_t *conn);

/** Handler of RING_STOP: no new message goes through the ring from now on. It is given back now, or
 * by progress as soon as nothing waits for room in it or needs it. */
void ri_ring_life_stop(ri_conn_t *conn);

/** Sender: end the ring, if there is one, with RING_CLOSE and unmap it. Sends that wait for room
 * in it are not sent: if there are any, the conn has failed or ends, and the caller ends them. */
void ri_ring_life_close(ri_conn_t *conn);

/** Receiver: stop polling the ring of @a stream, if it has one, and free it; what was not read is
 * lost. A receive whose message has come in part ends. Calls back; a stream that is not busy may
 * be gone afterwards. */
void ri_ring_life_free(ri_stream_t *stream);

#endif
