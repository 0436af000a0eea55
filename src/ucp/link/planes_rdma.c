/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways through a network. (protocol.md section 7)
 *
 * The ways that were ever made to a peer are numbered, and both sides speak of one by its
 * number. Whoever loses an end does without, and says so if it is asked to use it; the next
 * who has something to send asks for a way with the next number. A number is used once: a
 * message about an earlier one finds nothing to act on, and one about a later one tells that
 * the peer has given up its end of the present one.
 *
 * A way that fails again and again is not made for ever: each try waits longer than the one
 * before, and there are only so many in a row. A transfer that has ended well sets them back.
 *
 * A way is of one of two kinds, by connections (rc) or by datagrams (ud); who asks for it chooses.
 * Ways of ud take nothing of the device for each peer, so they are for those peers for which
 * there is no room for one of rc.
 */
#include "planes_rdma.h"
#include "planes.h"
#include "control.h"
#include "rdma_channel.h"
#include "../core/module.h"
#include "../core/worker.h"
#include "../../ucs/clock.h"

#include <string.h>

double ri_planes_backoff = 0.01;

/* Ways that may fail in a row, and the longest time between two, in seconds. */
#define WAY_TRIES_MAX   8
#define WAY_BACKOFF_MAX 10.0

/* How long one waits that found no room on either side, likewise if it is the first. */
#define WAY_WAIT 10

/* The plane of a kind of ways, or NULL. */
static ri_plane_t *way_plane(const ri_worker_t *worker, uint32_t kind)
{
    return (kind == RI_WIRE_PLANE_UD) ? worker->ud : worker->rdma;
}

void ri_way_send(ri_conn_t *conn, ri_wire_type_t type, uint32_t id, uint32_t value,
                 uint32_t kind, uint32_t asked)
{
    const ri_peer_t *peer = conn->peer;
    ri_wire_plane_t msg   = {
              .base.value = value, .plane = kind, .asked = asked, .way = peer->rdma_way};

    msg.base.type = type;
    if (peer->rdma_ep != NULL) {
        msg.length = peer->rdma_ep->plane->ops->ep_address(peer->rdma_ep, msg.address);
    }
    ri_control_send_plane(conn, id, &msg);
}

/* @return Whether all that came by it has been told. */
static int way_disconnect(ri_plane_ep_t *ep)
{
    ri_plane_t *plane = ep->plane;
    unsigned lost     = plane->lost - (ep->lost != 0);

    ep->plane->ops->disconnect(ep);
    return plane->lost == lost;
}

void ri_way_drop(ri_worker_t *worker, ri_peer_t *peer, ri_rdma_state_t state)
{
    ri_plane_ep_t *ep = peer->rdma_ep;
    int is_lost       = 0;
    ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        conn->flags &= ~(RI_CONN_RDMA | RI_CONN_RDMA_ASKED);
    }
    peer->rdma         = state;
    peer->rdma_ep      = NULL;
    peer->rdma_leaving = 0;
    if (ep != NULL) {
        ucs_list_del(&peer->way_link);
        if (peer->rdma_kind == RI_WIRE_PLANE_RC) {
            --worker->num_ways;
            ++worker->counters.qp_closed;
            worker->counters.rc_peers_bytes -= ep->plane->peer_memory;
        } else {
            --worker->counters.ud_peers;
            worker->counters.ud_peers_bytes -= ep->plane->peer_memory;
        }
        is_lost = !way_disconnect(ep);
    }
    RI_MODULES_TELL(way_ended, peer, is_lost);
    ri_rdma_channel_way_ended(worker, peer);
}

static void way_count_try(ri_peer_t *peer)
{
    double wait = ri_planes_backoff * (1u << peer->rdma_tries);

    peer->rdma_tries += (peer->rdma_tries < WAY_TRIES_MAX);
    peer->rdma_retry = ri_time() + ri_min(wait, WAY_BACKOFF_MAX);
}

/* There is no room for a way to a peer now. */
static void way_wait(ri_peer_t *peer)
{
    peer->rdma       = RI_RDMA_FAILED;
    peer->rdma_retry = ri_time() + ri_planes_backoff * WAY_WAIT;
}

/* Without an end that has failed, or that the peer has no more. */
static void way_give_up(ri_worker_t *worker, ri_peer_t *peer)
{
    if (peer->rdma_ep != NULL) {
        RI_MODULES_TELL(way_fails, peer);
        ++worker->counters.planes_failed;
        worker->counters.qp_failed += (peer->rdma_kind == RI_WIRE_PLANE_RC);
        ri_way_drop(worker, peer, RI_RDMA_FAILED);
        way_count_try(peer);
    }
}

/* The caller may be anywhere, so the peer is told in progress. */
void ri_planes_rdma_failed(ri_worker_t *worker, ri_peer_t *peer)
{
    if (peer->rdma_ep != NULL) {
        way_give_up(worker, peer);
        peer->rdma_untold   = 1;
        worker->ways_untold = 1;
        worker->attention   = 1;
    }
}

/* @return A peer whose way has failed without anybody noticing, or NULL. */
static ri_peer_t *way_find_failed(ri_worker_t *worker)
{
    ri_peer_t *peer;

    ucs_list_for_each(peer, &worker->ways, way_link) {
        if (peer->rdma_ep->plane->ops->check(peer->rdma_ep) != UCS_OK) {
            return peer;
        }
    }
    return NULL;
}

void ri_planes_rdma_check(ri_worker_t *worker)
{
    unsigned failures = ((worker->rdma != NULL) ? worker->rdma->failures : 0) +
                        ((worker->ud != NULL) ? worker->ud->failures : 0);
    ri_peer_t *peer;

    if (ri_unlikely(failures != worker->rdma_failures)) {
        worker->rdma_failures = failures;
        while ((peer = way_find_failed(worker)) != NULL) {
            ri_planes_rdma_failed(worker, peer);
        }
    }
}

/* Tell the peer that this end is gone, unless another way follows, which tells as much. */
static void way_tell_gone(ri_peer_t *peer)
{
    ri_conn_t *conn           = ri_peer_way_out(peer);
    const ri_stream_t *stream = ucs_list_is_empty(&peer->streams) ?
                                        NULL :
                                        ucs_list_head(&peer->streams, ri_stream_t,
                                                      peer_list);

    peer->rdma_untold = 0;
    if ((conn == NULL) || (peer->rdma_ep != NULL)) {
        return; /* its writes will fail */
    }
    if (conn->remote_id != 0) {
        ri_way_send(conn, RI_WIRE_PLANE_REQ, conn->remote_id, RI_WIRE_PLANE_GONE,
                    peer->rdma_kind, 0);
    } else if (stream != NULL) {
        ri_way_send(conn, RI_WIRE_PLANE_ACK, stream->remote_conn_id, RI_WIRE_PLANE_GONE,
                    peer->rdma_kind, 0);
    }
}

void ri_planes_tell_gone(ri_worker_t *worker)
{
    ri_conn_t *conn, *found;

    worker->ways_untold = 0;
    do { /* what cannot be sent may end any conn */
        found = NULL;
        ucs_list_for_each(conn, &worker->conns, list) {
            if ((conn->peer != NULL) && conn->peer->rdma_untold) {
                found = conn;
                break;
            }
        }
        if (found != NULL) {
            way_tell_gone(found->peer);
        }
    } while (found != NULL);
}

/* The peer has given its end of a way up. */
static void way_handle_gone(ri_worker_t *worker, ri_peer_t *peer,
                            const ri_wire_msg_t *msg)
{
    if ((peer == NULL) || (msg->way != peer->rdma_way) || (msg->way == 0) ||
        (msg->plane != peer->rdma_kind)) {
        ++worker->counters.rx_stale;
        return;
    }
    way_give_up(worker, peer);
    peer->rdma_untold = 0;
}

void ri_planes_rdma_worked(ri_peer_t *peer, uint32_t way)
{
    if (peer->rdma_way == way) {
        peer->rdma_tries = 0;
    }
}

void ri_planes_rdma_nacked(ri_conn_t *conn, uint32_t way, uint32_t flags)
{
    ri_peer_t *peer = conn->peer;

    if ((peer == NULL) || (peer->rdma_way != way)) {
        return; /* it is not in use any more */
    }
    if (flags & RI_WIRE_NACK_WAY) {
        way_give_up(conn->worker, peer);
    } else {
        /* The next message goes by UCP, too, and asks anew. */
        conn->flags &= ~(RI_CONN_RDMA | RI_CONN_RDMA_ASKED);
    }
}

void ri_planes_disconnect_rdma(ri_worker_t *worker, ri_peer_t *peer)
{
    ri_way_drop(worker, peer, RI_RDMA_NONE);
}

/* Make this side's end of a new way. @return Whether there is one. */
static int way_make(ri_worker_t *worker, ri_peer_t *peer, uint32_t kind, uint32_t number)
{
    ri_plane_t *plane = way_plane(worker, kind);
    int again         = peer->rdma_way != 0;

    peer->rdma_way    = number;
    peer->rdma_kind   = kind;
    peer->rdma_met    = 0;
    peer->rdma_untold = 0;
    if (plane->ops->prepare(plane, &peer->rdma_ep) != UCS_OK) {
        peer->rdma_ep = NULL;
        peer->rdma    = RI_RDMA_FAILED;
        way_count_try(peer);
        return 0;
    }
    peer->rdma          = RI_RDMA_PREPARED;
    peer->rdma_used     = 1;
    peer->rdma_since    = 0;
    peer->rdma_ep->user = peer;
    ucs_list_add_tail(&worker->ways, &peer->way_link);
    if (kind == RI_WIRE_PLANE_RC) {
        ++worker->num_ways;
        ++worker->counters.qp_created;
        worker->counters.reconnects += again;
        worker->counters.rc_peers_bytes += plane->peer_memory;
    } else {
        peer->rdma_full = 0; /* next time, perhaps */
        ++worker->counters.ud_peers;
        worker->counters.ud_peers_bytes += plane->peer_memory;
        worker->counters.ud_peers_max = ri_max(worker->counters.ud_peers_max,
                                               worker->counters.ud_peers);
    }
    return 1;
}

/* Whether a kind of ways exists here, and may exist at the peer. */
static int way_may_be(const ri_worker_t *worker, const ri_peer_t *peer, uint32_t kind)
{
    return (way_plane(worker, kind) != NULL) && !(peer->rdma_lacks & (1u << kind));
}

/* Make this side's end of a way that is to be asked for. @return Whether there is one. */
static int way_open(ri_worker_t *worker, ri_peer_t *peer)
{
    int can_ud    = way_may_be(worker, peer, RI_WIRE_PLANE_UD);
    int can_rc    = way_may_be(worker, peer, RI_WIRE_PLANE_RC);
    uint32_t next = peer->rdma_way + 1;

    next += (next == 0);
    if (can_rc && ri_way_has_room(worker) && !(can_ud && peer->rdma_full)) {
        return way_make(worker, peer, RI_WIRE_PLANE_RC, next);
    }
    if (can_ud) {
        return way_make(worker, peer, RI_WIRE_PLANE_UD, next);
    }
    if (can_rc) {
        way_wait(peer);
        ri_way_make_room(worker);
    }
    return 0;
}

void ri_planes_ask_rdma(ri_conn_t *conn)
{
    ri_worker_t *worker = conn->worker;
    ri_peer_t *peer     = conn->peer;

    if ((conn->flags & RI_CONN_RDMA_ASKED) || (peer == NULL)) {
        return;
    }
    if (peer->rdma_leaving) {
        return; /* soon */
    }
    if (peer->rdma_ep == NULL) {
        if ((peer->rdma == RI_RDMA_FAILED) &&
            ((peer->rdma_tries == WAY_TRIES_MAX) || (ri_time() < peer->rdma_retry))) {
            return;
        }
        if (!way_open(worker, peer)) {
            return;
        }
    }
    conn->flags |= RI_CONN_RDMA_ASKED;
    ri_way_send(conn, RI_WIRE_PLANE_REQ, conn->remote_id, 0, peer->rdma_kind, 0);
}

/* Both sides have asked for the same way, each of another kind. @return Whether that of the peer
 * is to be: the one of ud, for which there always is room. */
static int way_yields(const ri_peer_t *peer, uint32_t kind)
{
    return (kind == RI_WIRE_PLANE_UD) && (peer->rdma_kind == RI_WIRE_PLANE_RC) &&
           !peer->rdma_met;
}

/* The peer has an end of a way. @return Whether this side has the other one; it is made if the
 * way is a new one. */
static int way_accept(ri_worker_t *worker, ri_peer_t *peer, uint32_t kind,
                      uint32_t number)
{
    int32_t ahead = number - peer->rdma_way;

    if ((way_plane(worker, kind) == NULL) || (number == 0)) {
        return 0;
    }
    if ((peer->rdma_way != 0) && (ahead <= 0)) {
        if ((ahead < 0) || !way_yields(peer, kind)) {
            return (ahead == 0) && (peer->rdma_ep != NULL) && (peer->rdma_kind == kind);
        }
        ri_way_drop(worker, peer, RI_RDMA_NONE);
    }
    if (peer->rdma_tries == WAY_TRIES_MAX) {
        return 0;
    }
    if (peer->rdma_leaving) {
        ri_way_drop(worker, peer, RI_RDMA_NONE); /* its answer was overtaken */
    }
    way_give_up(worker, peer); /* at the other side it has failed */
    if ((kind == RI_WIRE_PLANE_RC) && !ri_way_has_room(worker)) {
        peer->rdma_way  = number;
        peer->rdma_kind = kind;
        peer->rdma_met  = 0;
        return 0;
    }
    return way_make(worker, peer, kind, number);
}

/* Connect this side's end with the peer's. */
static int way_connect(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg)
{
    size_t length = msg->plane_address_length;

    if (length > sizeof(peer->rdma_address)) {
        return 0;
    }
    if (peer->rdma == RI_RDMA_CONNECTED) {
        return (length == peer->rdma_length) &&
               (memcmp(msg->plane_address, peer->rdma_address, length) == 0);
    }
    if (peer->rdma_ep->plane->ops->connect(peer->rdma_ep->plane, msg->plane_address,
                                           length, &peer->rdma_ep) != UCS_OK) {
        ri_planes_rdma_failed(worker, peer);
        return 0;
    }
    peer->rdma_met = 1;
    memcpy(peer->rdma_address, msg->plane_address, length);
    peer->rdma_length = length;
    peer->rdma        = RI_RDMA_CONNECTED;
    return 1;
}

void ri_planes_handle_rdma_req(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = stream->worker;
    ri_peer_t *peer     = stream->peer;
    ri_conn_t *conn     = ri_peer_way_out(peer);
    uint32_t value      = 0;

    if (msg->value & RI_WIRE_PLANE_GONE) {
        way_handle_gone(worker, peer, msg);
        return;
    }
    if (msg->value & RI_WIRE_PLANE_LEAVE) {
        ri_way_handle_leave(stream, msg);
        return;
    }
    if (way_accept(worker, peer, msg->plane, msg->way) &&
        way_connect(worker, peer, msg)) {
        value = RI_WIRE_PLANE_REACHED;
    } else if ((msg->plane == RI_WIRE_PLANE_RC) && (worker->rdma != NULL) &&
               !ri_way_has_room(worker)) {
        value = RI_WIRE_PLANE_LATER;
    }
    worker->counters.planes_refused += !(value & RI_WIRE_PLANE_REACHED);
    ri_trace(&worker->trace, RI_TRACE_PLANE, peer->uid, value);
    if (conn != NULL) {
        ri_way_send(conn, RI_WIRE_PLANE_ACK, stream->remote_conn_id, value, msg->plane,
                    msg->way);
    }
    if ((value & RI_WIRE_PLANE_LATER) && (worker->ud == NULL)) {
        ri_way_make_room(worker); /* or it asks for one of ud */
    }
}

/* The peer does not have the other end of a way that this side has asked for. */
static void way_refused(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg)
{
    int32_t ahead = msg->way - peer->rdma_way;

    if (msg->value & RI_WIRE_PLANE_LATER) {
        ri_way_drop(worker, peer, RI_RDMA_FAILED);
        way_wait(peer);
        peer->rdma_full = 1;
    } else {
        way_give_up(worker, peer);
    }
    if ((msg->way == 0) && !(msg->value & RI_WIRE_PLANE_LATER)) {
        peer->rdma_lacks |= 1u << peer->rdma_kind;
        if (!way_may_be(worker, peer, RI_WIRE_PLANE_RC) &&
            !way_may_be(worker, peer, RI_WIRE_PLANE_UD)) {
            peer->rdma_tries = WAY_TRIES_MAX; /* it has none at all */
        }
    } else if (ahead > 0) {
        peer->rdma_way = msg->way - 1; /* that one, if it asks for it, or a later one */
    }
}

void ri_planes_handle_rdma_ack(ri_worker_t *worker, ri_conn_t *conn,
                               const ri_wire_msg_t *msg)
{
    ri_peer_t *peer = conn->peer;
    int is_told;

    if (msg->value & RI_WIRE_PLANE_GONE) {
        way_handle_gone(worker, peer, msg);
        return;
    }
    if (msg->value & RI_WIRE_PLANE_LEAVE) {
        ri_way_handle_left(worker, conn, msg);
        return;
    }
    if (!(conn->flags & RI_CONN_RDMA_ASKED) || (msg->asked != (uint16_t)peer->rdma_way) ||
        (msg->plane != peer->rdma_kind) || (peer->rdma_ep == NULL)) {
        ++worker->counters.rx_stale;
        return;
    }
    if (!(msg->value & RI_WIRE_PLANE_REACHED)) {
        ++worker->counters.planes_refused;
        way_refused(worker, peer, msg);
    } else if ((msg->way == peer->rdma_way) && way_connect(worker, peer, msg)) {
        conn->flags |= RI_CONN_RDMA;
        RI_MODULES_ASK(is_told, way_opened, conn);
        if (is_told) {
            ri_way_send(conn, RI_WIRE_PLANE_REQ, conn->remote_id, RI_WIRE_PLANE_WRITES,
                        peer->rdma_kind, 0);
        }
    } else {
        ++worker->counters.planes_refused;
    }
}
