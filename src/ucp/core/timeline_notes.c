/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of a worker to itself are not noted: they go nowhere.
 */
#include "timeline_notes.h"
#include "types/peer_types.h"
#include "../../ucs/clock.h"

#include <string.h>

static uint64_t notes_flow(uint32_t conn_id, uint32_t sn)
{
    return ((uint64_t)conn_id << 32) | sn;
}

static uint64_t notes_peer(const ri_conn_t *conn)
{
    return (conn->peer != NULL) ? conn->peer->uid : 0;
}

void ri_timeline_notes_send(const ri_send_req_t *req)
{
    if (!(req->conn->flags & RI_CONN_SELF)) {
        ri_timeline_note(&req->super.worker->timeline, RI_TIMELINE_SEND, req,
                         req->data.length, notes_peer(req->conn), 0, 0);
    }
}

void ri_timeline_notes_send_by(const ri_send_req_t *req)
{
    uint64_t name[2] = {};

    if (!(req->conn->flags & RI_CONN_SELF)) {
        memcpy(name, req->proto->called, strnlen(req->proto->called, sizeof(name)));
        ri_timeline_note(&req->super.worker->timeline, RI_TIMELINE_SEND_BY, req,
                         notes_flow(req->conn->id, req->sn), name[0], name[1],
                         notes_peer(req->conn));
    }
}

void ri_timeline_notes_recv(const ri_recv_req_t *recv, const ri_stream_t *stream,
                            uint32_t sn, uint64_t length)
{
    /* The time is noted of receives that long messages fit */
    int is_early    = recv->rtr.early && (recv->data.length > ri_config.eager_thresh);
    uint32_t waited = is_early ? ri_clock_now_us() - recv->rtr.posted_us : 0;

    ri_timeline_note(&recv->super.worker->timeline, RI_TIMELINE_RECV, recv, length,
                     stream->peer->uid, notes_flow(stream->remote_conn_id, sn), waited);
}
