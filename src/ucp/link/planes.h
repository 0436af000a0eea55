/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which data plane leads to which peer. (protocol.md section 7)
 */
#ifndef RI_PLANES_H
#define RI_PLANES_H

#include "../core/worker.h"

/** Sends are about to end of which peers may be reading the memory: from now on these notice, by
 * the plane within the host and by the rings of all conns. */
void ri_planes_leave(ri_worker_t *worker);

/** There is a ring: let the peer find out, and find out of the peer, at most once, what this host
 * allows between the two; then its end will be noticed, too. Not in mode PEER, and not before
 * the receiver's id is known. */
void ri_planes_find(ri_conn_t *conn);

/** A long message was sent: let the peer find out whether it can read this process's memory: as
 * one on this host, which is asked at most once, or, if there is no plane for that or the peer
 * has refused, through a network by @ref ri_way_open_ask. If the receiver's id is not known, it is
 * asked for first. Not in error handling mode PEER, see ri_select(). */
void ri_planes_ask(ri_conn_t *conn);

/** The receiver's id is known now: do what ri_planes_ask() has put off for that, if it has. */
void ri_planes_ask_wanted(ri_conn_t *conn);

/** Handler of PLANE_REQ: look whether this process reaches the sender of @a stream, and answer if
 * there is a usable conn; or note that the sender writes. What is about a way through a network
 * is handed to @ref ri_way_open_handle_req. */
void ri_planes_handle_req(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** Handler of PLANE_ACK: note what the peer of @a conn has said, and reach it in turn. @a conn is
 * not NULL; an answer that it has not asked for is counted as stale. What is about a way through
 * a network is handed to @ref ri_way_open_handle_ack. */
void ri_planes_handle_ack(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg);

/** What the plane within the host, and the one through a network, can do for a message: READ:
 * the peer reads this process's memory; WRITE: this process writes the peer's.
 * @return RI_PLANE_*; 0: there is no plane. */
static inline unsigned ri_planes_host(const ri_conn_t *conn)
{
    unsigned can = (conn->flags & RI_CONN_PLANE_READ) ? RI_PLANE_READ : 0;

    if ((conn->flags & RI_CONN_PLANE_WRITE) && (conn->peer->local.ep != NULL)) {
        can |= RI_PLANE_WRITE;
    }
    return (can != 0) ? (can | RI_PLANE_LISTS | RI_PLANE_INLINE) : 0;
}

/** @return What the way to the peer of @a conn through a network can do, as RI_PLANE_*; 0: there
 * is no way that both sides have connected, or nothing new goes by it. */
static inline unsigned ri_planes_net(const ri_conn_t *conn)
{
    return ((conn->flags & RI_CONN_WAY) && (conn->peer->way.ep != NULL) &&
            !conn->peer->way.leaving) ?
                   conn->peer->way.ep->plane->capabilities :
                   0;
}

/** @return Whether there may be a plane to the peer of @a conn soon, if there is none now. */
static inline int ri_planes_may_come(const ri_conn_t *conn)
{
    const ri_worker_t *worker = conn->worker;

    return ((worker->plane != NULL) && !(conn->flags & RI_CONN_PLANE_REFUSED)) ||
           (((worker->net.rc != NULL) || (worker->net.ud != NULL)) &&
            ((conn->peer == NULL) || (conn->peer->way.state != RI_WAY_FAILED)));
}

/** @return What a way to a peer can do for this process, as RI_PLANE_*; 0 if @a ep is NULL. */
static inline unsigned ri_planes_of(const ri_plane_ep_t *ep)
{
    return (ep != NULL) ? ep->plane->capabilities : 0;
}

#endif
