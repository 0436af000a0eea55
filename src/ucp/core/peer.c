/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A peer is found by its uid, lives as long as it has a conn or a stream, and fails when its last
 * usable conn does.
 */
#include "peer.h"
#include "types/conn_types.h"
#include "settings/costs.h"
#include "types/module.h"
#include "stream_ring.h"
#include "types/worker_types.h"
#include "../../ucs/settings.h"

#include <stdlib.h>

/* A read is slow that takes longer than the measured costs say, times this. Between far cores,
 * reads of 64 to 256 KB took, of memory that was just written and of other memory: */
static const double peer_slow_factors[RI_PEER_READ_LAST] = {
        [RI_PEER_READ_ALONE] = 1.5, /* 1.5 to 3.0 and 0.8 to 1.3 times as long */
        [RI_PEER_READ_BOTH]  = 1.0, /* 1.1 to 1.7 and 0.5 to 0.8 */
};

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
    *peer = (ri_peer_t){.uid = uid};
    ucs_list_head_init(&peer->conns);
    ucs_list_head_init(&peer->streams);
    RI_MODULES_TELL(peer_made, worker, peer);
    if (ri_map_put(&worker->peers, uid, peer) != UCS_OK) {
        free(peer);
        return NULL;
    }
    return peer;
}

void ri_peer_note_read(ri_peer_t *peer, size_t length, uint64_t ticks, ri_peer_read_t how)
{
    double fast  = ri_costs_plane_ticks(&ri_costs, length);
    double limit = fast * peer_slow_factors[how];
    uint8_t slow = peer->reads.slow;
    int before   = peer->reads.is_slow;

    /* With UCXRI_RTR=y slow reads are not noted. The messages would go through a ring, and their
     * receives would not be offered. */
    if ((length <= ri_config.eager_thresh) || (length > ri_config.ring_slow) ||
        (ri_config.rtr == UCS_YES) ||
        (fast <= 0)) { /* then it is not known what a tick is */
        return;
    }
    if (ticks > limit) {
        slow += (slow < RI_PEER_SLOW_TIMES);
    } else {
        slow -= ri_min(slow, 2);
    }
    peer->reads.slow = slow;
    if ((slow == 0) || (slow == RI_PEER_SLOW_TIMES)) {
        peer->reads.is_slow = (slow > 0);
    }
    peer->hint.is_news |= (peer->reads.is_slow != before);
}

void ri_peer_check_unused(ri_worker_t *worker, ri_peer_t *peer)
{
    if (ucs_list_is_empty(&peer->conns) && ucs_list_is_empty(&peer->streams)) {
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

void ri_peer_note_bye(ri_peer_t *peer, uint32_t conn_id)
{
    const ri_stream_t *stream;

    peer->closed_conn_id = conn_id;
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        if (!stream->closed) {
            return;
        }
    }
    peer->all_bye = 1;
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
