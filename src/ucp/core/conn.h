/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections. What one side sends on an endpoint is a conn there, and a stream at the
 * other side; the two directions of a pair of workers are independent of each other and
 * need not use the same pair of endpoints. A peer ties together what leads to, and comes
 * from, one remote worker: anything addressed to a conn or stream of that worker may
 * travel by any of its peer's conns. (protocol.md section 5)
 */
#ifndef RI_CONN_H
#define RI_CONN_H

#include <assert.h>

#include "types/conn_types.h"
#include "types/module.h"
#include "peer.h"
#include "../../ucs/handle_map.h"

/** Call this after any change of what the fast path of sends relies on: the ring, the channel,
 * the sends that wait for room, what the receiver was not told of writes, flags, status, and the
 * remote id. Sets conn->fast_max. */
void ri_conn_update_fast(ri_conn_t *conn);

/**
 * @return Whether the flags of RI_CONN_LIFE may change from one set to another, of which neither
 *         has other flags.
 *
 * @param works  The status of the conn is UCS_OK.
 */
int ri_conn_may_become(uint32_t from, uint32_t to, int works);

/** Change the flags of RI_CONN_LIFE of a conn, in a way that the comment of RI_CONN_LIFE allows.
 * @param life  The flags of RI_CONN_LIFE that are set from now on; others in it do not matter. */
static inline void ri_conn_set_life(ri_conn_t *conn, uint32_t life)
{
    assert(ri_conn_may_become(conn->flags & RI_CONN_LIFE, life & RI_CONN_LIFE,
                              conn->status == UCS_OK));
    conn->flags = (conn->flags & ~(uint32_t)RI_CONN_LIFE) | (life & RI_CONN_LIFE);
}

/** @return Whether flags of a conn that are not of RI_CONN_LIFE may change from one set to another,
 * see the table in conn_types.h. */
int ri_conn_flags_may_become(uint32_t from, uint32_t to);

/** Set flags of a conn, as the table in conn_types.h allows it. */
static inline void ri_conn_set_flags(ri_conn_t *conn, uint32_t flags)
{
    assert(ri_conn_flags_may_become(conn->flags, conn->flags | flags));
    conn->flags |= flags;
}

/** Clear flags of a conn, as the table in conn_types.h allows it. */
static inline void ri_conn_clear_flags(ri_conn_t *conn, uint32_t flags)
{
    assert(ri_conn_flags_may_become(conn->flags, conn->flags & ~flags));
    conn->flags &= ~flags;
}

/* The conns of all workers of this process, by their endpoint. It has a lock of its own. */
extern ri_map_t ri_conn_map;

/** @return Whether what was sent on a conn is still received, and answered: it works, or has failed
 * by a lost number only. */
static inline int ri_conn_goes_on(const ri_conn_t *conn)
{
    return (conn->status == UCS_OK) || (conn->flags & RI_CONN_LOST);
}

/** @return The endpoint that leads to the stream of a conn: its own or, if the application has
 * closed that, any other one to the same peer; NULL if there is none. */
static inline ucp_ep_h ri_conn_ep(const ri_conn_t *conn)
{
    const ri_conn_t *other;

    if (ri_likely(!(conn->flags & RI_CONN_LEFT))) {
        return conn->ep;
    }
    other = (conn->peer != NULL) ? ri_peer_usable_conn(conn->peer) : NULL;
    return (other != NULL) ? other->ep : NULL;
}

/** @return The conn of an endpoint, or NULL if this library does not serve it. The worker need not
 * be locked: the application must not close the endpoint meanwhile. */
static inline ri_conn_t *ri_conn_find(ucp_ep_h ep)
{
    return (ri_conn_t *)ri_map_get_ptr(&ri_conn_map, ep);
}

/** @return Whether the conn itself or any part needs it for @a need (module.h). */
int ri_conn_is_needed(const ri_conn_t *conn, ri_conn_need_t need);

/** Let progress see to a conn whose ring has no room, or is to be closed, unless it does already.
 */
void ri_conn_queue_pending(ri_conn_t *conn);

/** Progress need not see to a conn, as @ref ri_conn_queue_pending asked it to, any more. Sends
 * that wait for room stay in conn->pending. */
void ri_conn_dequeue_pending(ri_conn_t *conn);

/** Tell the stream of a conn of the number that it lost, once: if it has lost one, its id is
 * known by now, and nothing needs the conn open for what was sent before. The message goes by a
 * usable conn of the peer, or by this one; any conn may be gone afterwards. */
void ri_conn_say_lost(ri_conn_t *conn);

/** Answer RESET: nothing comes from the conn any more, neither messages nor writes, and the peer
 * receives nothing of what has come. BYE is said up to the latest number or the one in front of a
 * lost one, unless it was; if the id of the stream is not known, as soon as it is. The conn works
 * or has lost a number, which does not count any more once BYE is said; the caller fails it next,
 * if it is there still. */
void ri_conn_say_over(ri_conn_t *conn);

/**
 * Tie a conn, which has no peer, to the worker that it turned out to lead to. What is owed to that
 * peer is sent, by which any conn may end.
 *
 * @param remote  With its uid; an am_id of 0 is not known.
 *
 * @return UCS_OK, or UCS_ERR_NO_MEMORY, and the conn has no peer.
 */
ucs_status_t ri_conn_set_peer(ri_conn_t *conn, const ri_wire_worker_t *remote);

/** The conn has sent CONN_REQ: if the peer may be one that never answers, wait for it with a
 * time-out (@ref ri_conn_check_timeouts). It is not in a list of worker->asking. */
void ri_conn_start_timeout(ri_conn_t *conn);

/** The peer has answered, or its answer is not waited for any more: take the conn out of the list
 * of worker->asking that it is in, so that it neither times out nor asks. It need not be in one. */
void ri_conn_stop_timeout(ri_conn_t *conn);

#endif
