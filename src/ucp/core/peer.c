/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "conn.h"
#include "module.h"
#include "worker.h"

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
    peer->uid          = uid;
    peer->plane_ep     = NULL;
    peer->lost_ep      = NULL;
    peer->rdma_ep      = NULL;
    peer->rdma         = RI_RDMA_NONE;
    peer->rdma_way     = 0;
    peer->rdma_tries   = 0;
    peer->rdma_kind    = RI_WIRE_PLANE_RC;
    peer->rdma_met     = 0;
    peer->rdma_lacks   = 0;
    peer->rdma_full    = 0;
    peer->rdma_used    = 0;
    peer->rdma_leaving = 0;
    peer->rdma_untold  = 0;
    peer->rdma_asked   = 0;
    peer->rdma_since   = 0;
    peer->rdma_retry   = 0;
    peer->num_rdma     = 0;
    peer->process.host = 0;
    peer->rtr_slots    = NULL;
    peer->gone         = 0;
    peer->gone_round   = worker->gone_round;
    peer->gone_looks   = 0;
    peer->given_up     = 0;
    peer->waited       = 0;
    peer->hint_is_news = 0;
    peer->ready        = 0;
    peer->closing      = 0;
    peer->failed       = 0;
    ucs_list_head_init(&peer->conns);
    ucs_list_head_init(&peer->streams);
    ucs_list_head_init(&peer->owed);
    ucs_list_head_init(&peer->rtr_words);
    peer->num_releases = 0;
    ucs_list_head_init(&peer->releasing_link);
    if (ri_map_put(&worker->peers, uid, peer) != UCS_OK) {
        free(peer);
        return NULL;
    }
    return peer;
}

void ri_peer_check_unused(ri_worker_t *worker, ri_peer_t *peer)
{
    if (ucs_list_is_empty(&peer->conns) && ucs_list_is_empty(&peer->streams)) {
        ucs_list_del(&peer->releasing_link);
        RI_MODULES_TELL(peer_freed, worker, peer);
        ri_map_remove(&worker->peers, peer->uid);
        free(peer);
    }
}

ri_conn_t *ri_peer_way_out(ri_peer_t *peer)
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

    if ((peer == NULL) || (ri_peer_way_out(peer) != NULL)) {
        return;
    }
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        stream->ring_dead = 1;
    }
    peer->failed = 1;
    RI_MODULES_TELL(peer_fails, worker, uid, status);
    RI_MODULES_TELL(peer_failed, worker, uid);
}
