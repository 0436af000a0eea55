/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Peers: what ties together the conns and streams of one remote worker. (protocol.md section 5)
 */
#ifndef RI_PEER_H
#define RI_PEER_H

#include "types/peer_types.h"
#include "../../uct/shm/ring.h"

/** @return What a record to the peer says of the peer's long messages, as RI_RING_HINT_*: whether
 * this process waits for them, asks for them soon, or is away, and whether it reads them slowly. */
static inline uint8_t ri_peer_hint(const ri_peer_t *peer)
{
    return RI_RING_HINT_SAID | ((peer->hint.waited > 0) ? RI_RING_HINT_WAITS : 0) |
           ((peer->hint.soon > 0) ? RI_RING_HINT_SOON : 0) |
           ((peer->hint.missed == RI_PEER_HINT_MISSED) ? RI_RING_HINT_AWAY : 0) |
           (peer->reads.is_slow ? RI_RING_HINT_SLOW : 0);
}

/** @return What ri_peer_hint() returns, for a record that is sent in any case: the peer is told by
 * it, so the hint is no news any more. */
static inline uint8_t ri_peer_take_hint(ri_peer_t *peer)
{
    peer->hint.is_news = 0;
    return ri_peer_hint(peer);
}

/** Store the hint @a hint that a record of the peer has brought, of what the peer does about long
 * messages: what ri_peer_hint() says there. */
static inline void ri_peer_note_hint(ri_peer_t *peer, uint8_t hint)
{
    peer->hint.ready  = !!(hint & RI_RING_HINT_WAITS);
    peer->hint.prompt = !!(hint & RI_RING_HINT_SOON);
    peer->hint.away   = !!(hint & RI_RING_HINT_AWAY);
    peer->hint.fresh  = RI_PEER_HINT_FRESH;
    peer->reads.told  = !!(hint & RI_RING_HINT_SLOW);
}

/** Who copies a message that a peer has announced. */
typedef enum ri_peer_read {
    RI_PEER_READ_ALONE, /* its receiver */
    RI_PEER_READ_BOTH,  /* both sides, one part each */
    RI_PEER_READ_LAST
} ri_peer_read_t;

/** Note that a contiguous message of @a length bytes that the peer has announced was copied by the
 * plane, which took @a ticks (ucs/clock.h). The peer is told when reads of messages that a ring
 * could take become slow, or are no longer; others are not noted. Nor are those for whose copy a
 * slot has named the side: of memory that nobody has written they take 0.8 to 1.7 times of what the
 * costs say, of memory that was just written 1.3 to 2.3 times. */
void ri_peer_note_read(ri_peer_t *peer, size_t length, uint64_t ticks,
                       ri_peer_read_t how);

/** Find the peer of a uid, or make it. A new one has neither conn nor stream: the caller gives it
 * one, or calls @ref ri_peer_check_unused. @return The peer, which belongs to the worker; NULL
 * without memory. */
ri_peer_t *ri_peer_get(ri_worker_t *worker, uint64_t uid);

/** Free a peer if it has neither a conn nor a stream any more, with its ways and what is owed to
 * it. */
void ri_peer_check_unused(ri_worker_t *worker, ri_peer_t *peer);

/** @return A usable conn, by which control messages reach @a peer, or NULL. It is one of the
 * application's if there is any: stock's own endpoints may be used only while the peer waits for an
 * answer, as stock frees them when the peer has ended. If there is neither, it is a conn whose
 * close waits: the peer's close may wait for the message. */
ri_conn_t *ri_peer_usable_conn(ri_peer_t *peer);

/** An endpoint to the peer of @a uid has failed. If no other one works the peer is taken to be
 * gone: what it has written is still read, and then its rings end, with what was on its way;
 * what was asked of it ends with @a status. Does nothing if there is no such peer (@a uid may be
 * 0). Calls back; any conn or stream, and the peer, may be gone afterwards. */
void ri_peer_check_failed(ri_worker_t *worker, uint64_t uid, ucs_status_t status);

/** CLOSING has come from @a peer, which may be NULL: note that its application closes its endpoints
 * to this worker. */
static inline void ri_peer_note_closing(ri_peer_t *peer)
{
    if (peer != NULL) {
        peer->closing = 1;
    }
}

/** BYE has come by a stream of @a peer, from its conn @a conn_id: note that, and whether none of
 * its streams is open any more. */
void ri_peer_note_bye(ri_peer_t *peer, uint32_t conn_id);

#endif
