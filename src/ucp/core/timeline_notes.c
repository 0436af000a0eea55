/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "timeline_notes.h"
#include "peer_types.h"
#include "../../ucs/clock.h"

#include <string.h>

static uint64_t notes_flow(uint32_t conn_id, uint32_t sn)
{
    return ((uint64_t)conn_id << 32) | sn;
}

void ri_timeline_notes_send(const ri_send_req_t *req)
{
    const ri_conn_t *conn = req->conn;

    ri_timeline_note(&conn->worker->timeline, RI_TIMELINE_SEND, req, req->data.length,
                     (conn->peer != NULL) ? conn->peer->uid : 0, 0, 0);
}

void ri_timeline_notes_send_by(const ri_send_req_t *req)
{
    uint64_t name[2] = {};

    memcpy(name, req->proto->name, strnlen(req->proto->name, sizeof(name)));
    ri_timeline_note(&req->conn->worker->timeline, RI_TIMELINE_SEND_BY, req,
                     notes_flow(req->conn->id, req->sn), name[0], name[1], 0);
}

void ri_timeline_notes_recv(const ri_recv_req_t *recv, const ri_stream_t *stream,
                            uint32_t sn, uint64_t length)
{
    uint64_t flow = (stream != NULL) ? notes_flow(stream->remote_conn_id, sn) : 0;
    uint64_t uid  = (stream != NULL) ? stream->peer->uid : recv->super.worker->uid;

    ri_timeline_note(&recv->super.worker->timeline, RI_TIMELINE_RECV, recv, length, uid,
                     flow, recv->early ? (uint32_t)(ri_time_us() - recv->posted_us) : 0);
}
