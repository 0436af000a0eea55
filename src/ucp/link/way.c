/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What this side's end says, and how it ends: because it failed, because the peer has none any
 * more, or because the worker ends. Each end goes through ri_way_end(), which tells modules
 * afterwards (way_ended); if the way has failed, ri_way_fail() tells them before, too (way_fails).
 */
#include "way.h"
#include "control.h"
#include "../core/types/module.h"
#include "../../ucs/clock.h"

double ri_way_backoff = 0.01;

/* The longest time between two ways that fail, in seconds. */
#define WAY_BACKOFF_MAX 10.0

/* A way that found no room on either side is tried again after ri_way_backoff, times this. */
#define WAY_WAIT 10

#define WAY_STATE(_name) (1u << RI_WAY_##_name)

/* By the state before: the states that may follow. */
static const uint8_t way_may_become[RI_WAY_STATE_LAST] = {
        [RI_WAY_NONE]      = WAY_STATE(NONE) | WAY_STATE(FAILED) | WAY_STATE(PREPARED),
        [RI_WAY_PREPARED]  = WAY_STATE(NONE) | WAY_STATE(FAILED) | WAY_STATE(CONNECTED),
        [RI_WAY_CONNECTED] = WAY_STATE(NONE) | WAY_STATE(FAILED),
        [RI_WAY_FAILED]    = WAY_STATE(NONE) | WAY_STATE(FAILED) | WAY_STATE(PREPARED),
};

int ri_way_may_become(ri_way_state_t from, ri_way_state_t to)
{
    return (way_may_become[from] >> to) & 1;
}

void ri_way_send(ri_conn_t *conn, ri_wire_type_t type, uint32_t id, uint32_t value,
                 uint32_t kind, uint32_t asked)
{
    const ri_peer_t *peer = conn->peer;
    ri_wire_msg_t msg     = {.type  = type,
                             .id    = id,
                             .value = value,
                             .plane = kind,
                             .asked = asked,
                             .way   = peer->way.number};

    if (peer->way.ep != NULL) {
        msg.plane_address_length =
                peer->way.ep->plane->ops->ep_address(peer->way.ep, msg.plane_address);
    }
    ri_control_send_on(conn, &msg);
}

/* @return Whether all that came by it has been told. */
static int way_disconnect(ri_plane_ep_t *ep)
{
    ri_plane_t *plane = ep->plane;
    unsigned lost     = plane->lost - (ep->lost != 0);

    ep->plane->ops->disconnect(ep);
    return plane->lost == lost;
}

void ri_way_end(ri_worker_t *worker, ri_peer_t *peer, ri_way_state_t state)
{
    ri_plane_ep_t *ep = peer->way.ep;
    int is_lost       = 0;
    ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        ri_conn_clear_flags(conn, RI_CONN_WAY | RI_CONN_WAY_ASKED);
    }
    peer->way.ep      = NULL;
    peer->way.leaving = 0;
    ri_way_set_state(peer, state);
    if (ep != NULL) {
        ucs_list_del(&peer->way.link);
        if (peer->way.kind == RI_WIRE_PLANE_RC) {
            --worker->net.num_ways;
            ++worker->counters.qp_closed;
            worker->counters.rc_peers_bytes -= ep->plane->peer_memory;
        } else {
            --worker->counters.ud_peers;
            worker->counters.ud_peers_bytes -= ep->plane->peer_memory;
        }
        is_lost = !way_disconnect(ep);
    }
    RI_MODULES_TELL(way_ended, worker, peer, is_lost);
}

void ri_way_count_try(ri_peer_t *peer)
{
    double wait = ri_way_backoff * (1u << peer->way.tries);

    peer->way.tries += (peer->way.tries < RI_WAY_TRIES_MAX);
    peer->way.retry = ri_clock_now() + ri_min(wait, WAY_BACKOFF_MAX);
}

void ri_way_postpone(ri_peer_t *peer)
{
    ri_way_set_state(peer, RI_WAY_FAILED);
    peer->way.retry = ri_clock_now() + ri_way_backoff * WAY_WAIT;
}

void ri_way_fail(ri_worker_t *worker, ri_peer_t *peer)
{
    if (peer->way.ep != NULL) {
        RI_MODULES_TELL(way_fails, peer);
        ++worker->counters.planes_failed;
        worker->counters.qp_failed += (peer->way.kind == RI_WIRE_PLANE_RC);
        ri_way_end(worker, peer, RI_WAY_FAILED);
        ri_way_count_try(peer);
    }
}

/* The caller may be anywhere, so the peer is told in progress. */
void ri_way_fail_and_tell(ri_worker_t *worker, ri_peer_t *peer)
{
    if (peer->way.ep != NULL) {
        ri_way_fail(worker, peer);
        peer->way.end_untold        = 1;
        worker->net.way_ends_untold = 1;
        worker->attention           = 1;
    }
}

/* @return A peer whose way has failed without anybody noticing, or NULL. */
static ri_peer_t *way_find_failed(ri_worker_t *worker)
{
    ri_peer_t *peer;

    ucs_list_for_each(peer, &worker->net.ways, way.link) {
        if (peer->way.ep->plane->ops->check(peer->way.ep) != UCS_OK) {
            return peer;
        }
    }
    return NULL;
}

void ri_way_check(ri_worker_t *worker)
{
    unsigned failures = ((worker->net.rc != NULL) ? worker->net.rc->failures : 0) +
                        ((worker->net.ud != NULL) ? worker->net.ud->failures : 0);
    ri_peer_t *peer;

    if (ri_unlikely(failures != worker->net.failures)) {
        worker->net.failures = failures;
        while ((peer = way_find_failed(worker)) != NULL) {
            ri_way_fail_and_tell(worker, peer);
        }
    }
}

/* Tell the peer that this end is gone, unless another way follows, which tells as much. */
static void way_tell_gone(ri_peer_t *peer)
{
    ri_conn_t *conn           = ri_peer_usable_conn(peer);
    const ri_stream_t *stream = ucs_list_is_empty(&peer->streams) ?
                                        NULL :
                                        ucs_list_head(&peer->streams, ri_stream_t,
                                                      peer_list);

    peer->way.end_untold = 0;
    if ((conn == NULL) || (peer->way.ep != NULL)) {
        return; /* its writes will fail */
    }
    if (conn->remote_id != 0) {
        ri_way_send(conn, RI_WIRE_PLANE_REQ, conn->remote_id, RI_WIRE_PLANE_GONE,
                    peer->way.kind, 0);
    } else if (stream != NULL) {
        ri_way_send(conn, RI_WIRE_PLANE_ACK, stream->remote_conn_id, RI_WIRE_PLANE_GONE,
                    peer->way.kind, 0);
    }
}

void ri_way_tell_gone(ri_worker_t *worker)
{
    ri_conn_t *conn, *found;

    worker->net.way_ends_untold = 0;
    do { /* what cannot be sent may end any conn */
        found = NULL;
        ucs_list_for_each(conn, &worker->conns, list) {
            if ((conn->peer != NULL) && conn->peer->way.end_untold) {
                found = conn;
                break;
            }
        }
        if (found != NULL) {
            way_tell_gone(found->peer);
        }
    } while (found != NULL);
}

void ri_way_handle_gone(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg)
{
    if ((peer == NULL) || (msg->way != peer->way.number) || (msg->way == 0) ||
        (msg->plane != peer->way.kind)) {
        ++worker->counters.rx_stale;
        return;
    }
    ri_way_fail(worker, peer);
    peer->way.end_untold = 0;
}

void ri_way_worked(ri_peer_t *peer, uint32_t way)
{
    if (peer->way.number == way) {
        peer->way.tries = 0;
    }
}

void ri_way_nacked(ri_conn_t *conn, uint32_t way, uint32_t flags)
{
    ri_peer_t *peer = conn->peer;

    if ((peer == NULL) || (peer->way.number != way)) {
        return; /* the way is not in use any more */
    }
    if (flags & RI_WIRE_NACK_WAY) {
        ri_way_fail(conn->worker, peer);
    } else {
        /* The next message goes by UCP, too, and asks anew. */
        ri_conn_clear_flags(conn, RI_CONN_WAY | RI_CONN_WAY_ASKED);
    }
}
