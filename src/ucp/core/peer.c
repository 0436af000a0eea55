/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A peer is found by its uid, lives as long as it has a conn or a stream, and fails when its last
 * usable conn does.
 */
#include "peer.h"
#include "conn_types.h"
#include "module.h"
#include "stream_ring.h"
#include "worker_types.h"

#include <stdlib.h>

ri_peer_t *ri_peer_get(ri_worker_t *worker, uint64_t uid)
{
    ri_peer_t *peer = ri_map_get(&worker->peers, uid);

    if (peer != NULL) {
        return peer;
    }

    peer = malloc(sizeof(*peer));
    if (peer == NULL) {
        return NULL;
    }
    peer->uid               = uid;
    peer->plane_ep          = NULL;
    peer->lost_ep           = NULL;
    peer->way.ep            = NULL;
    peer->way.state         = RI_WAY_NONE;
    peer->way.number        = 0;
    peer->way.tries         = 0;
    peer->way.kind          = RI_WIRE_PLANE_RC;
    peer->way.met           = 0;
    peer->way.lacks         = 0;
    peer->way.full          = 0;
    peer->way.used          = 0;
    peer->way.leaving       = 0;
    peer->way.untold        = 0;
    peer->way.asked         = 0;
    peer->way.idle_since    = 0;
    peer->way.retry         = 0;
    peer->way.num_transfers = 0;
    peer->process.host      = 0;
    peer->rtr.entries       = NULL;
    peer->gone.found        = 0;
    peer->gone.round        = worker->gone.round;
    peer->gone.looks        = 0;
    peer->given_up          = 0;
    peer->hint.waited       = 0;
    peer->hint.is_news      = 0;
    peer->hint.ready        = 0;
    peer->closing           = 0;
    peer->failed            = 0;
    ucs_list_head_init(&peer->conns);
    ucs_list_head_init(&peer->streams);
    ucs_list_head_init(&peer->owed);
    ucs_list_head_init(&peer->rtr.words);
    peer->release.num = 0;
    ucs_list_head_init(&peer->release.link);
    if (ri_map_put(&worker->peers, uid, peer) != UCS_OK) {
        free(peer);
        return NULL;
    }
    return peer;
}

void ri_peer_check_unused(ri_worker_t *worker, ri_peer_t *peer)
{
    if (ucs_list_is_empty(&peer->conns) && ucs_list_is_empty(&peer->streams)) {
        ucs_list_del(&peer->release.link);
        RI_MODULES_TELL(peer_freed, worker, peer);
        ri_map_remove(&worker->peers, peer->uid);
        free(peer);
    }
}

ri_conn_t *ri_peer_usable_conn(ri_peer_t *peer)
{
    ri_conn_t *reply   = NULL;
    ri_conn_t *closing = NULL;
    ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if ((conn->status != UCS_OK) || (conn->flags & (RI_CONN_BYE | RI_CONN_LEFT))) {
            continue;
        }
        if (conn->flags & RI_CONN_CLOSING) {
            closing = conn;
        } else if (conn->flags & RI_CONN_USER) {
            return conn;
        } else {
            reply = conn;
        }
    }
    return (reply != NULL) ? reply : closing;
}

void ri_peer_check_failed(ri_worker_t *worker, uint64_t uid, ucs_status_t status)
{
    ri_peer_t *peer = (uid != 0) ? ri_map_get(&worker->peers, uid) : NULL;
    ri_stream_t *stream;

    if ((peer == NULL) || (ri_peer_usable_conn(peer) != NULL)) {
        return;
    }
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        ri_stream_ring_end(stream);
    }
    peer->failed = 1;
    RI_MODULES_TELL(peer_fails, worker, uid, status);
    RI_MODULES_TELL(peer_failed, worker, uid);
}
