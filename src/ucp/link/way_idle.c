/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A side that lost its end alone would have to be found out by the other, at the cost of a
 * transfer that fails. So the one who wants to leave asks, and uses the way for nothing new
 * until the other has answered: that one gives its end up at once, unless it has something that
 * goes by the way. Who has closed its endpoints asks nobody, and nobody may be left.
 */
#include "way_idle.h"
#include "local.h"
#include "pool.h"
#include "way.h"
#include "../../ucs/clock.h"
#include "../../ucs/settings.h"

double ri_way_answer = 5;

/* Whether anything that this side has begun goes, or is to go, by the way to a peer. */
static int idle_is_busy(const ri_peer_t *peer)
{
    const ri_pool_buffer_t *buffer;
    const ri_send_req_t *req;
    const ri_recv_req_t *recv;
    const ri_stream_t *stream;
    const ri_conn_t *conn;

    if ((peer->way.num_transfers > 0) || (peer->way.state != RI_WAY_CONNECTED)) {
        return 1;
    }
    ucs_list_for_each(conn, &peer->conns, peer_list) {
        ucs_list_for_each(req, &conn->sends, list) {
            if (req->keys != NULL) {
                return 1;
            }
        }
        ucs_list_for_each(buffer, &conn->lent, list) {
            if (buffer->keyed) {
                return 1;
            }
        }
    }
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        if (stream->rtr.num > 0) {
            return 1;
        }
        ucs_list_for_each(recv, &stream->fetching, list) {
            if (recv->keys != NULL) {
                return 1;
            }
        }
    }
    return 0;
}

/* @return A conn by which the peer can be asked, or NULL. Endpoints that are UCX's own are for
 * answers: they may have vanished with the peer. */
static ri_conn_t *idle_find_conn(const ri_peer_t *peer)
{
    ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if ((conn->status == UCS_OK) && (conn->remote_id != 0) &&
            (conn->flags & RI_CONN_USER) &&
            !(conn->flags & (RI_CONN_CLOSING | RI_CONN_PEER_MODE | RI_CONN_BYE))) {
            return conn;
        }
    }
    return NULL;
}

/* Whether the application has no endpoint to a peer (any more) that works. Outside of mode PEER
 * nothing tells then when the peer departs, so its way would stay for ever. */
static int idle_is_left(const ri_peer_t *peer)
{
    const ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if ((conn->status == UCS_OK) && (conn->flags & RI_CONN_USER)) {
            return 0;
        }
    }
    return 1;
}

/* Whether the peer writes a channel here. */
static int idle_has_channel(const ri_peer_t *peer)
{
    const ri_stream_t *stream;

    ucs_list_for_each(stream, &peer->streams, peer_list) {
        if (stream->channel != NULL) {
            return 1;
        }
    }
    return 0;
}

/* How long a way may be idle. A peer that only this side has no endpoint to asks before that. */
static double idle_limit(const ri_peer_t *peer)
{
    return (idle_is_left(peer) && (!ucs_list_is_empty((ucs_list_link_t *)&peer->conns) ||
                                   idle_has_channel(peer))) ?
                   2 * ri_config.ib_idle :
                   ri_config.ib_idle;
}

/* Whether a way was not used for long. */
static int idle_is_over(const ri_peer_t *peer, double now)
{
    return !peer->way.used && (ri_config.ib_idle > 0) &&
           (now - peer->way.idle_since >= idle_limit(peer));
}

/* @param unasked  Whether a peer that this side has no endpoint to may lose its way. If it is there
 *                 still, what it sends by that way waits until its device gives up.
 *
 * @return Whether the peer was asked, or need not be. */
static int idle_leave(ri_worker_t *worker, ri_peer_t *peer, int unasked)
{
    ri_conn_t *conn;

    if (idle_is_busy(peer)) {
        return 0;
    }
    if ((unasked && idle_is_left(peer)) || ri_local_is_gone(peer)) {
        ri_way_end(worker, peer, RI_WAY_NONE);
        return 1;
    }
    conn = idle_find_conn(peer);
    if (conn == NULL) {
        return 0;
    }
    peer->way.leaving = 1;
    peer->way.asked   = ri_clock_now();
    ri_way_send(conn, RI_WIRE_PLANE_REQ, conn->remote_id, RI_WIRE_PLANE_LEAVE,
                peer->way.kind, 0);
    return 1;
}

/* Whether a peer was asked and may still answer. If it has given up its end all the same, the
 * next transfer finds out. */
static int idle_is_leaving(ri_peer_t *peer, double now)
{
    peer->way.leaving = peer->way.leaving && (now - peer->way.asked < ri_way_answer);
    return peer->way.leaving;
}

/* Give up a way that was not used for long. @return Whether the list may have changed. */
static int idle_end(ri_worker_t *worker, ri_peer_t *peer)
{
    if (peer->way.state == RI_WAY_PREPARED) {
        ri_way_end(worker, peer, RI_WAY_NONE); /* the peer has not answered */
        return 1;
    }
    return idle_leave(worker, peer, 1);
}

void ri_way_idle_check(ri_worker_t *worker)
{
    double now;
    ri_peer_t *peer;

    if (ucs_list_is_empty(&worker->net.ways)) {
        return;
    }
    now = ri_clock_now();
    ucs_list_for_each(peer, &worker->net.ways, way.link) {
        if (idle_is_leaving(peer, now)) {
            continue;
        }
        if (peer->way.used) {
            peer->way.used       = 0;
            peer->way.idle_since = now;
        } else if (idle_is_over(peer, now)) {
            peer->way.idle_since = now;
            if (idle_end(worker, peer)) {
                return; /* others next time */
            }
        }
    }
}

void ri_way_idle_make_room(ri_worker_t *worker)
{
    double now = ri_clock_now();
    ri_peer_t *peer;
    int unasked;

    /* the one that was used last is at the end */
    ucs_list_for_each(peer, &worker->net.ways, way.link) {
        unasked = idle_is_over(peer, now) && !idle_has_channel(peer);
        if ((peer->way.kind == RI_WIRE_PLANE_RC) &&
            (idle_is_leaving(peer, now) || idle_leave(worker, peer, unasked))) {
            break;
        }
    }
}

void ri_way_idle_handle_leave(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = stream->worker;
    ri_peer_t *peer     = stream->peer;
    ri_conn_t *conn     = ri_peer_usable_conn(peer);
    int agreed          = (msg->way == peer->way.number) &&
                 ((peer->way.ep == NULL) || !idle_is_busy(peer));

    if (conn == NULL) {
        return; /* the way stays as it is */
    }
    if (agreed && (peer->way.ep != NULL)) {
        ri_way_end(worker, peer, RI_WAY_NONE);
    }
    ri_way_send(conn, RI_WIRE_PLANE_ACK, stream->remote_conn_id,
                RI_WIRE_PLANE_LEAVE | (agreed ? RI_WIRE_PLANE_REACHED : 0), msg->plane,
                msg->way);
}

void ri_way_idle_handle_left(ri_worker_t *worker, ri_conn_t *conn,
                             const ri_wire_msg_t *msg)
{
    ri_peer_t *peer = conn->peer;

    if (!peer->way.leaving || (msg->asked != (uint16_t)peer->way.number)) {
        ++worker->counters.rx_stale;
        return;
    }
    peer->way.leaving = 0;
    if (msg->value & RI_WIRE_PLANE_REACHED) {
        ri_way_end(worker, peer, RI_WAY_NONE);
    } else if (peer->way.ep != NULL) {
        ri_way_use(worker, peer); /* by the other side: others are asked first */
    }
}
