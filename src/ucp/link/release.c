/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver releases pool buffers.
 */
#include "release.h"
#include "control.h"
#include "../core/types/module.h"
#include "../../ucs/clock.h"

/* Progress calls after which buffers to be released are looked at. */
#define RELEASE_CALLS 256u

/* Through a network a message of their own interrupts the sender: there they wait at least so long
 * for company. */
double ri_release_time = 10e-3;

/* A conn that does not go on cannot release anything. It has been in use for that since the last
 * flush, so there is room. */
void ri_release_keep(ri_conn_t *conn)
{
    ri_peer_t *peer = conn->peer;
    uint32_t id     = ri_release_take(conn);

    if ((id != 0) && (peer != NULL) &&
        (peer->release.num < 2 * RI_WIRE_RELEASE_MAX - 1)) {
        peer->release.list[peer->release.num++] = (ri_release_t){id,
                                                                 conn->release.conn_id};
    }
}

/* Take out what is to be released to one conn of a peer, as much as fits one message.
 * @return How much. */
static unsigned release_collect(ri_peer_t *peer, uint32_t *ids, uint32_t *conn_id)
{
    unsigned count = 0;
    ri_conn_t *conn;

    while ((count < RI_WIRE_RELEASE_MAX) && (peer->release.num > 0) &&
           ((count == 0) ||
            (peer->release.list[peer->release.num - 1].conn_id == *conn_id))) {
        --peer->release.num;
        *conn_id     = peer->release.list[peer->release.num].conn_id;
        ids[count++] = peer->release.list[peer->release.num].id;
    }
    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if ((count < RI_WIRE_RELEASE_MAX) && (conn->release.id != 0) &&
            ((count == 0) || (conn->release.conn_id == *conn_id))) {
            *conn_id     = conn->release.conn_id;
            ids[count++] = ri_release_take(conn);
        }
    }
    return count;
}

/* Send all that waits for one peer, which may be gone afterwards. */
static void release_flush(ri_worker_t *worker, ri_peer_t *peer)
{
    uint64_t uid = peer->uid;
    uint32_t ids[RI_WIRE_RELEASE_MAX];
    uint32_t conn_id = 0;
    unsigned count;

    ucs_list_del(&peer->release.link);
    ucs_list_head_init(&peer->release.link);
    while ((peer != NULL) && ((count = release_collect(peer, ids, &conn_id)) > 0)) {
        ++worker->counters.tx_release;
        ri_control_release(peer, conn_id, ids, count);
        peer = ri_map_get(&worker->peers, uid);
    }
}

void ri_release_flush_all(ri_worker_t *worker)
{
    while (!ucs_list_is_empty(&worker->pool.releasing)) {
        release_flush(worker,
                      ucs_list_head(&worker->pool.releasing, ri_peer_t, release.link));
    }
}

void ri_release_flush_due(ri_worker_t *worker)
{
    size_t count = ucs_list_length(&worker->pool.releasing);
    ri_peer_t *peer;

    /* One round, from the head: a flush may end any peer */
    for (; (count > 0) && !ucs_list_is_empty(&worker->pool.releasing); --count) {
        peer = ucs_list_head(&worker->pool.releasing, ri_peer_t, release.link);
        if (ri_clock_now() - peer->release.since >= ri_release_time) {
            release_flush(worker, peer);
        } else {
            ucs_list_del(&peer->release.link);
            ucs_list_add_tail(&worker->pool.releasing, &peer->release.link);
        }
    }
    if (!ucs_list_is_empty(&worker->pool.releasing)) {
        worker->countdown = ri_min(worker->countdown, RELEASE_CALLS);
    }
}

void ri_release_flush_conn(ri_conn_t *conn)
{
    if ((conn->peer != NULL) && !ucs_list_is_empty(&conn->peer->release.link)) {
        release_flush(conn->worker, conn->peer);
    }
}

void ri_release_buffer(ri_stream_t *stream, uint32_t id, int at_once)
{
    ri_worker_t *worker = stream->worker;
    ri_peer_t *peer     = stream->peer;
    ri_conn_t *conn     = ri_peer_usable_conn(peer);
    int by_ring         = (conn != NULL) && (conn->ring != NULL) &&
                  !(conn->flags & RI_CONN_NO_RING);
    unsigned count;

    if (by_ring && (conn->release.id == 0)) {
        conn->release.id      = id;
        conn->release.conn_id = stream->remote_conn_id;
    } else {
        peer->release.list[peer->release.num++] = (ri_release_t){id,
                                                                 stream->remote_conn_id};
    }

    if (ucs_list_is_empty(&peer->release.link)) {
        ucs_list_add_tail(&worker->pool.releasing, &peer->release.link);
        worker->countdown   = ri_min(worker->countdown, RELEASE_CALLS);
        peer->release.since = (peer->local.ep == NULL) ? ri_clock_now() : 0;
    }
    count = peer->release.num + ((conn != NULL) && (conn->release.id != 0));
    /* Only a ring tells the hint. */
    if (at_once || (by_ring && peer->hint.is_news) || (count >= RI_WIRE_RELEASE_MAX)) {
        release_flush(worker, peer);
    }
}

static void release_conn_fails(ri_conn_t *conn, int is_first)
{
    (void)is_first;
    ri_release_keep(conn);
}

static void release_peer_made(ri_worker_t *worker, ri_peer_t *peer)
{
    (void)worker;
    ucs_list_head_init(&peer->release.link);
}

static void release_peer_freed(ri_worker_t *worker, ri_peer_t *peer)
{
    (void)worker;
    ucs_list_del(&peer->release.link);
}

const ri_module_t ri_module_release = {.name         = "release",
                                       .worker_stops = ri_release_flush_all,
                                       .peer_made    = release_peer_made,
                                       .peer_freed   = release_peer_freed,
                                       .conn_loses   = ri_release_keep,
                                       .conn_fails   = release_conn_fails,
                                       .conn_closes  = ri_release_keep};
