/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "gone.h"
#include "log.h"
#include "../proto/planes.h"

double ri_gone_interval = 0.05;

/* A peer may have ended in order, with its last messages still in UCX's hands. So it has to be
 * gone at so many looks in a row, between which progress was called. */
#define GONE_LOOKS 2

/* Progress calls until the next of them. */
#define GONE_CALLS 1024u

static int gone_is_stream_waiting(const ri_stream_t *stream)
{
    return !ucs_list_is_empty((ucs_list_link_t *)&stream->fetching) ||
           (stream->num_rtrs > 0) || (stream->assembly.length != 0);
}

/* Whether there is anything that only the peer could end. */
static int gone_is_awaited(ri_peer_t *peer)
{
    ri_stream_t *stream;
    ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if ((conn->status == UCS_OK) &&
            ((conn->flags & RI_CONN_CLOSING) || !ucs_list_is_empty(&conn->sends) ||
             !ucs_list_is_empty(&conn->lent))) {
            return 1;
        }
    }
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        if (gone_is_stream_waiting(stream)) {
            return 1;
        }
    }
    return 0;
}

/* Look at a peer, once in each round. @return Whether it is given up. */
static int gone_look(ri_worker_t *worker, ri_peer_t *peer)
{
    if ((peer == NULL) || (peer->gone_round == worker->gone_round)) {
        return 0;
    }
    peer->gone_round = worker->gone_round;
    if (!gone_is_awaited(peer) || !ri_planes_is_gone(peer)) {
        peer->gone_looks = 0;
        return 0;
    }
    peer->gone_looks += (peer->gone_looks < GONE_LOOKS);
    worker->gone_hurry = 1;
    return peer->gone_looks == GONE_LOOKS;
}

/* @return A peer that is to be given up, or NULL. */
static ri_peer_t *gone_find(ri_worker_t *worker)
{
    ri_stream_t *stream;
    ri_conn_t *conn;

    ucs_list_for_each(conn, &worker->conns, list) {
        if (gone_look(worker, conn->peer)) {
            return conn->peer;
        }
    }
    ucs_list_for_each(stream, &worker->streams, list) {
        if (gone_look(worker, stream->peer)) {
            return stream->peer;
        }
    }
    return NULL;
}

/* @return A conn to a peer that is to fail, or NULL. In mode PEER the application waits for
 * UCX's own report. */
static ri_conn_t *gone_find_conn(ri_worker_t *worker, uint64_t uid)
{
    ri_peer_t *peer = ri_map_get(&worker->peers, uid);
    ri_conn_t *conn;

    if (peer != NULL) {
        ucs_list_for_each(conn, &peer->conns, peer_list) {
            if ((conn->status == UCS_OK) && !(conn->flags & RI_CONN_PEER_MODE)) {
                return conn;
            }
        }
    }
    return NULL;
}

static void gone_end(ri_worker_t *worker, uint64_t uid)
{
    ri_conn_t *conn;

    /* Callbacks may close any conn, or free the peer. */
    while ((conn = gone_find_conn(worker, uid)) != NULL) {
        ri_info("the process of worker 0x%lx has ended: a connection to it fails", uid);
        ri_conn_fail(conn, UCS_ERR_CONNECTION_RESET);
    }
    ri_peer_check_failed(worker, uid, UCS_ERR_CONNECTION_RESET);
}

void ri_gone_check(ri_worker_t *worker)
{
    double now = ri_time();
    ri_peer_t *peer;

    if (now - worker->gone_checked >= ri_gone_interval) {
        worker->gone_checked = now;
        worker->gone_hurry   = 0;
        ++worker->gone_round;
        while ((peer = gone_find(worker)) != NULL) {
            gone_end(worker, peer->uid);
        }
    }
    if (worker->gone_hurry) {
        worker->countdown = ri_min(worker->countdown, GONE_CALLS);
    }
}
