/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One side asks, the other one accepts or refuses, and both connect. If both ask at once, the ways
 * have the same number, and one side yields.
 */
#include "way_open.h"
#include "way.h"
#include "way_idle.h"
#include "../core/types/module.h"
#include "../../ucs/clock.h"

#include <string.h>

/* The plane of a kind of ways, or NULL. */
static ri_plane_t *way_plane(const ri_worker_t *worker, uint32_t kind)
{
    return (kind == RI_WIRE_PLANE_UD) ? worker->net.ud : worker->net.rc;
}

/* Make this side's end of a new way. @return Whether there is one. */
static int way_make(ri_worker_t *worker, ri_peer_t *peer, uint32_t kind, uint32_t number)
{
    ri_plane_t *plane = way_plane(worker, kind);
    int again         = peer->way.number != 0;

    peer->way.number     = number;
    peer->way.kind       = kind;
    peer->way.met        = 0;
    peer->way.end_untold = 0;
    if (plane->ops->prepare(plane, &peer->way.ep) != UCS_OK) {
        peer->way.ep = NULL;
        ri_way_set_state(peer, RI_WAY_FAILED);
        ri_way_count_try(peer);
        return 0;
    }
    ri_way_set_state(peer, RI_WAY_PREPARED);
    peer->way.used       = 1;
    peer->way.idle_since = 0;
    peer->way.ep->user   = peer;
    ucs_list_add_tail(&worker->net.ways, &peer->way.link);
    if (kind == RI_WIRE_PLANE_RC) {
        ++worker->net.num_ways;
        ++worker->counters.qp_created;
        worker->counters.reconnects += again;
        worker->counters.rc_peers_bytes += plane->peer_memory;
    } else {
        peer->way.full = 0; /* next time, perhaps */
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
    return (way_plane(worker, kind) != NULL) && !(peer->way.lacks & (1u << kind));
}

/* Make this side's end of a way that is to be asked for. @return Whether there is one. */
static int way_open(ri_worker_t *worker, ri_peer_t *peer)
{
    int can_ud    = way_may_be(worker, peer, RI_WIRE_PLANE_UD);
    int can_rc    = way_may_be(worker, peer, RI_WIRE_PLANE_RC);
    uint32_t next = peer->way.number + 1;

    next += (next == 0);
    if (can_rc && ri_way_has_room(worker) && !(can_ud && peer->way.full)) {
        return way_make(worker, peer, RI_WIRE_PLANE_RC, next);
    }
    if (can_ud) {
        return way_make(worker, peer, RI_WIRE_PLANE_UD, next);
    }
    if (can_rc) {
        ri_way_postpone(peer);
        ri_way_idle_make_room(worker);
    }
    return 0;
}

void ri_way_open_ask(ri_conn_t *conn)
{
    ri_worker_t *worker = conn->worker;
    ri_peer_t *peer     = conn->peer;

    if ((conn->flags & RI_CONN_WAY_ASKED) || (peer == NULL)) {
        return;
    }
    if (peer->way.leaving) {
        return; /* soon */
    }
    if (peer->way.ep == NULL) {
        if ((peer->way.state == RI_WAY_FAILED) &&
            ((peer->way.tries == RI_WAY_TRIES_MAX) ||
             (ri_clock_now() < peer->way.retry))) {
            return;
        }
        if (!way_open(worker, peer)) {
            return;
        }
    }
    ri_conn_set_flags(conn, RI_CONN_WAY_ASKED);
    ri_way_send(conn, RI_WIRE_PLANE_REQ, conn->remote_id, 0, peer->way.kind, 0);
}

/* Both sides have asked for the same way, each of another kind. @return Whether that of the peer
 * is to be: the one of ud, for which there always is room. */
static int way_yields(const ri_peer_t *peer, uint32_t kind)
{
    return (kind == RI_WIRE_PLANE_UD) && (peer->way.kind == RI_WIRE_PLANE_RC) &&
           !peer->way.met;
}

/* The peer has an end of a way. @return Whether this side has the other one; it is made if the
 * way is a new one. */
static int way_accept(ri_worker_t *worker, ri_peer_t *peer, uint32_t kind,
                      uint32_t number)
{
    int32_t ahead = number - peer->way.number;

    if ((way_plane(worker, kind) == NULL) || (number == 0)) {
        return 0;
    }
    if ((peer->way.number != 0) && (ahead <= 0)) {
        if ((ahead < 0) || !way_yields(peer, kind)) {
            return (ahead == 0) && (peer->way.ep != NULL) && (peer->way.kind == kind);
        }
        ri_way_end(worker, peer, RI_WAY_NONE);
    }
    if (peer->way.tries == RI_WAY_TRIES_MAX) {
        return 0;
    }
    if (peer->way.leaving) {
        ri_way_end(worker, peer, RI_WAY_NONE); /* its answer was overtaken */
    }
    ri_way_fail(worker, peer); /* at the other side it has failed */
    if ((kind == RI_WIRE_PLANE_RC) && !ri_way_has_room(worker)) {
        peer->way.number = number;
        peer->way.kind   = kind;
        peer->way.met    = 0;
        return 0;
    }
    return way_make(worker, peer, kind, number);
}

/* Connect this side's end with the peer's. */
static int way_connect(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg)
{
    size_t length = msg->plane_address_length;

    if (length > sizeof(peer->way.address)) {
        return 0;
    }
    if (peer->way.state == RI_WAY_CONNECTED) {
        return (length == peer->way.length) &&
               (memcmp(msg->plane_address, peer->way.address, length) == 0);
    }
    if (peer->way.ep->plane->ops->connect(peer->way.ep->plane, msg->plane_address, length,
                                          &peer->way.ep) != UCS_OK) {
        ri_way_fail_and_tell(worker, peer);
        return 0;
    }
    peer->way.met = 1;
    memcpy(peer->way.address, msg->plane_address, length);
    peer->way.length = length;
    ri_way_set_state(peer, RI_WAY_CONNECTED);
    return 1;
}

void ri_way_open_handle_req(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = stream->worker;
    ri_peer_t *peer     = stream->peer;
    ri_conn_t *conn     = ri_peer_usable_conn(peer);
    uint32_t value      = 0;

    if (msg->value & RI_WIRE_PLANE_GONE) {
        ri_way_handle_gone(worker, peer, msg);
        return;
    }
    if (msg->value & RI_WIRE_PLANE_LEAVE) {
        ri_way_idle_handle_leave(stream, msg);
        return;
    }
    if (way_accept(worker, peer, msg->plane, msg->way) &&
        way_connect(worker, peer, msg)) {
        value = RI_WIRE_PLANE_REACHED;
    } else if ((msg->plane == RI_WIRE_PLANE_RC) && (worker->net.rc != NULL) &&
               !ri_way_has_room(worker)) {
        value = RI_WIRE_PLANE_LATER;
    }
    worker->counters.planes_refused += !(value & RI_WIRE_PLANE_REACHED);
    ri_trace(&worker->trace, RI_TRACE_PLANE, peer->uid, value);
    if (conn != NULL) {
        ri_way_send(conn, RI_WIRE_PLANE_ACK, stream->remote_conn_id, value, msg->plane,
                    msg->way);
    }
    if ((value & RI_WIRE_PLANE_LATER) && (worker->net.ud == NULL)) {
        ri_way_idle_make_room(worker); /* or it asks for one of ud */
    }
}

/* The peer does not have the other end of a way that this side has asked for. */
static void way_refused(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg)
{
    int32_t ahead = msg->way - peer->way.number;

    if (msg->value & RI_WIRE_PLANE_LATER) {
        ri_way_end(worker, peer, RI_WAY_FAILED);
        ri_way_postpone(peer);
        peer->way.full = 1;
    } else {
        ri_way_fail(worker, peer);
    }
    if ((msg->way == 0) && !(msg->value & RI_WIRE_PLANE_LATER)) {
        peer->way.lacks |= 1u << peer->way.kind;
        if (!way_may_be(worker, peer, RI_WIRE_PLANE_RC) &&
            !way_may_be(worker, peer, RI_WIRE_PLANE_UD)) {
            peer->way.tries = RI_WAY_TRIES_MAX; /* the peer has no plane at all */
        }
    } else if (ahead > 0) {
        /* The next way has the number that the peer has named, or a later one. */
        peer->way.number = msg->way - 1;
    }
}

void ri_way_open_handle_ack(ri_worker_t *worker, ri_conn_t *conn,
                            const ri_wire_msg_t *msg)
{
    ri_peer_t *peer = conn->peer;
    int is_told;

    if (msg->value & RI_WIRE_PLANE_GONE) {
        ri_way_handle_gone(worker, peer, msg);
        return;
    }
    if (msg->value & RI_WIRE_PLANE_LEAVE) {
        ri_way_idle_handle_left(worker, conn, msg);
        return;
    }
    if (!(conn->flags & RI_CONN_WAY_ASKED) ||
        (msg->asked != (uint16_t)peer->way.number) || (msg->plane != peer->way.kind) ||
        (peer->way.ep == NULL)) {
        ++worker->counters.rx_stale;
        return;
    }
    if (!(msg->value & RI_WIRE_PLANE_REACHED)) {
        ++worker->counters.planes_refused;
        way_refused(worker, peer, msg);
    } else if ((msg->way == peer->way.number) && way_connect(worker, peer, msg)) {
        ri_conn_set_flags(conn, RI_CONN_WAY);
        RI_MODULES_ASK(is_told, way_opened, conn);
        if (is_told) {
            ri_way_send(conn, RI_WIRE_PLANE_REQ, conn->remote_id,
                        RI_WIRE_PLANE_WRITES | RI_WIRE_PLANE_GRIDS |
                                RI_WIRE_PLANE_LAYOUTS,
                        peer->way.kind, 0);
        }
    } else {
        ++worker->counters.planes_refused;
    }
}
