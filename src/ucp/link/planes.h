/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which data plane leads to which peer. (protocol.md section 7)
 */
#ifndef RI_PLANES_H
#define RI_PLANES_H

#include "../core/worker.h"

/** Open the planes that this process can use. */
void ri_planes_open(ri_worker_t *worker);

/** The address by which the endpoint of @a conn was made says which process has the peer's worker:
 * it can be looked for, if it is of this host, although nothing has come from it yet. */
void ri_planes_learn_process(ri_conn_t *conn, ri_host_process_t process);

/** Sends are about to end of which peers may be reading the memory: from now on they notice. */
void ri_planes_withdraw(ri_worker_t *worker);

void ri_planes_close(ri_worker_t *worker);

/** There is a ring: let the peer find out, and find out of the peer, at most once, what this
 * host allows between the two; then its end will be noticed, too. Not in mode PEER. */
void ri_planes_find(ri_conn_t *conn);

/** A long message was sent: let the peer find out, at most once, whether it can read this
 * process's memory, as one on this host, or else through a network. Not in error handling mode
 * PEER, see ri_select(). */
void ri_planes_ask(ri_conn_t *conn);

/** The peer of a conn may be known now; ask it, if that was wanted. */
void ri_planes_ask_wanted(ri_conn_t *conn);

void ri_planes_handle_req(ri_stream_t *stream, const ri_wire_msg_t *msg);
void ri_planes_handle_ack(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg);

/** @return Whether the process of @a peer does not exist any more, or has closed the plane:
 * it neither reads nor writes this one's memory. */
int ri_planes_is_gone(const ri_peer_t *peer);

/** @return Whether ri_planes_is_gone() can tell. */
int ri_planes_is_local(const ri_peer_t *peer);

/** The plane to @a peer has stopped working. */
void ri_planes_failed(ri_worker_t *worker, ri_peer_t *peer);

/** Forget the way to the memory of a peer on this host. */
void ri_planes_disconnect(ri_peer_t *peer);

/** What the plane within the host, and the one through a network, can do for a message: READ:
 * the peer reads this process's memory; WRITE: this process writes the peer's.
 * @return RI_PLANE_*; 0: there is no plane. */
static inline unsigned ri_planes_host(const ri_conn_t *conn)
{
    unsigned can = (conn->flags & RI_CONN_PLANE_READ) ? RI_PLANE_READ : 0;

    if ((conn->flags & RI_CONN_PLANE_WRITE) && (conn->peer->plane_ep != NULL)) {
        can |= RI_PLANE_WRITE;
    }
    return (can != 0) ? (can | RI_PLANE_LISTS | RI_PLANE_INLINE) : 0;
}

static inline unsigned ri_planes_net(const ri_conn_t *conn)
{
    return ((conn->flags & RI_CONN_RDMA) && (conn->peer->rdma_ep != NULL) &&
            !conn->peer->rdma_leaving) ?
                   conn->peer->rdma_ep->plane->capabilities :
                   0;
}

/** What a way to a peer can do for this process; NULL: nothing. */
static inline unsigned ri_planes_of(const ri_plane_ep_t *ep)
{
    return (ep != NULL) ? ep->plane->capabilities : 0;
}

/* Seconds from a way through a network that failed to the next try, if it is the first that
 * has. */
extern double ri_planes_backoff;

/* Seconds until a peer that was asked to give up its end is taken not to answer: the conn that
 * the answer is for may have gone, or nothing leads there. */
extern double ri_planes_answer;

/** Ask a peer for a way through a network, unless that was done, or it is too early. */
void ri_planes_ask_rdma(ri_conn_t *conn);

void ri_planes_handle_rdma_req(ri_stream_t *stream, const ri_wire_msg_t *msg);
void ri_planes_handle_rdma_ack(ri_worker_t *worker, ri_conn_t *conn,
                               const ri_wire_msg_t *msg);

/** This side's end of that way, if there is one, has stopped working, or has to: it is
 * destroyed, after which nobody accesses this process's memory by it. What is under way by it
 * ends within the call. There may be another one later. */
void ri_planes_rdma_failed(ri_worker_t *worker, ri_peer_t *peer);

/** As that, for all ways that have stopped working by themselves, without anybody noticing. */
void ri_planes_rdma_check(ri_worker_t *worker);

/** Tell those peers that this side has given up its end of their way, as it has failed. */
void ri_planes_tell_gone(ri_worker_t *worker);

/** Give up ways that nobody uses, if both sides agree. */
void ri_planes_check_idle(ri_worker_t *worker);

/** A transfer by the way of that number has ended well. */
void ri_planes_rdma_worked(ri_peer_t *peer, uint32_t way);

/** The peer could not read what was sent on a conn by the way of that number. @a flags: of
 * NACK */
void ri_planes_rdma_nacked(ri_conn_t *conn, uint32_t way, uint32_t flags);

/** Forget that way. What is under way by it ends within the call. */
void ri_planes_disconnect_rdma(ri_worker_t *worker, ri_peer_t *peer);

#endif
