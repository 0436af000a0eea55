/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The announcement of a message by any route, its answer FIN or NACK, and which send an answer is
 * for. And what becomes of a receive that gets no data.
 */
#include "rndv.h"
#include "../../core/types/fetch_proto.h"
#include "../../core/types/module.h"
#include "../../link/am.h"
#include "../../link/control.h"
#include "../../link/channel_life.h"
#include "../../core/send_req.h"
#include "../../order/deliver.h"
#include "../../link/release.h"
#include "../../core/activity.h"
#include "../../link/way.h"

#include <string.h>

/* Put it into the ring. @return 0 if it has to go another way: there is no room, or
 * messages wait for some, which it must not overtake in the ring. */
static int rndv_put_ring(ri_send_req_t *req, uint32_t id, const void *payload,
                         size_t length)
{
    ri_conn_t *conn = req->conn;
    ri_ring_record_t *record;

    if ((conn->ring == NULL) || (conn->flags & RI_CONN_NO_RING) ||
        !ucs_list_is_empty(&conn->pending) || (length > conn->ring->max_payload)) {
        return 0;
    }
    record = ri_ring_tx_reserve(conn->ring, length);
    if (record == NULL) {
        return 0;
    }
    memcpy(ri_ring_payload(record, length), payload, length);
    record->type  = req->wire_type;
    record->hint  = ri_peer_take_hint(conn->peer);
    record->value = req->sn;
    record->extra = id;
    record->tag   = req->tag;
    ri_ring_tx_commit(conn->ring, record, length);
    conn->tx_tag = req->tag;
    return 1;
}

int ri_rndv_is_ring_open(const ri_conn_t *conn)
{
    return (conn->ring != NULL) && ucs_list_is_empty((ucs_list_link_t *)&conn->pending) &&
           (ri_ring_tx_reserve(conn->ring, RI_WIRE_RTS_MAX) != NULL);
}

ucs_status_t ri_rndv_send(ri_send_req_t *req, const ri_wire_rts_t *rts)
{
    ri_trace(&req->conn->worker->trace, RI_TRACE_SEND_RTS, req->sn, req->data.length);
    ri_send_begin_wait(req, RI_SEND_WAIT_MATCH);
    return ri_rndv_send_payload(req, req->id, rts, ri_wire_rts_length(rts), 0);
}

ucs_status_t ri_rndv_send_payload(ri_send_req_t *req, uint32_t id, const void *payload,
                                  size_t length, unsigned flags)
{
    return (rndv_put_ring(req, id, payload, length) ||
            ri_channel_send_payload(req, id, payload, length)) ?
                   UCS_OK :
                   ri_rndv_send_payload_am(req, id, payload, length, flags);
}

ucs_status_t ri_rndv_send_payload_am(ri_send_req_t *req, uint32_t id, const void *payload,
                                     size_t length, unsigned flags)
{
    ri_conn_t *conn = req->conn;
    ri_am_buffer_t *buffer;
    size_t header_length;

    buffer = ri_am_buffer_get(conn->worker, length);
    if (buffer == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    header_length = ri_am_pack_header(conn, req->wire_type, req->sn, req->tag, id,
                                      buffer->data);
    memcpy(buffer->data + header_length, payload, length);
    ri_am_buffer_set_req(buffer, req);
    return ri_am_send_buffer(conn, buffer, header_length, length, flags);
}

void ri_rndv_note_write(const ri_send_req_t *req, uint64_t start, ucs_status_t status)
{
    ri_conn_t *conn = req->conn;

    ri_trace(&conn->worker->trace, RI_TRACE_SEND_WRITE, req->data.length, status);
    ri_timeline_copied(&conn->worker->timeline, start, RI_TIMELINE_COPY_WRITE,
                       req->data.length, (conn->peer != NULL) ? conn->peer->uid : 0);
    if (status == UCS_OK) {
        conn->counters.tx_written_bytes += req->data.length;
    }
}

ucs_status_t ri_rndv_write(ri_send_req_t *req, ri_plane_ep_t *ep, uint64_t address)
{
    ri_segment_t remote    = {address, req->data.length};
    ri_transfer_t transfer = {
            .remote = &remote, .num_remote = 1, .length = req->data.length};
    ri_segment_t local[RI_WIRE_SEGMENTS_MAX];
    uint64_t start = ri_timeline_now(&req->conn->worker->timeline);
    ucs_status_t status;

    transfer.local     = local;
    transfer.num_local = ri_dt_segments(&req->data, local, RI_WIRE_SEGMENTS_MAX);
    status             = ep->plane->ops->write(ep, &transfer);
    ri_rndv_note_write(req, start, status);
    return status;
}

void ri_rndv_answer(ri_stream_t *stream, ri_wire_type_t type, uint32_t id,
                    const ri_wire_rts_t *rts)
{
    if (type == RI_WIRE_POOL) {
        ri_release_buffer(stream, id, rts->flags & RI_WIRE_RTS_LOW);
    } else {
        ri_control_answer(stream, RI_WIRE_FIN, id);
    }
}

int ri_rndv_receive(ri_stream_t *stream, ri_arrival_t *arrival, const void *payload,
                    size_t length)
{
    uint64_t copy[RI_WIRE_RTS_MAX / sizeof(uint64_t)];

    if (length > sizeof(copy)) {
        return 0;
    }
    memcpy(copy, payload, length);
    if (ri_wire_check_rts(arrival->wire_type, copy, length, &arrival->length) != UCS_OK) {
        return 0;
    }
    arrival->kind = RI_MSG_RTS;
    arrival->data = copy;
    ri_deliver(stream, arrival);
    return 1;
}

void ri_rndv_discard(const ri_msg_t *msg)
{
    if (!msg->stream->broken) {
        ri_rndv_answer(msg->stream, msg->wire_type, msg->req_id, msg->payload);
    }
}

void ri_rndv_discard_all(ri_worker_t *worker)
{
    ri_msg_t *msg, *tmp;

    ucs_list_for_each_safe(msg, tmp, &worker->match.unexpected, list) {
        if (msg->kind == RI_MSG_RTS) {
            ri_match_remove_unexpected(&worker->match, msg);
            ri_msg_discard(worker, msg);
        }
    }
}

int ri_rndv_is_under_way(const ri_conn_t *conn)
{
    const ri_send_req_t *req;

    ucs_list_for_each(req, &conn->sends, list) {
        if (ri_send_is_needed(req)) {
            return 1;
        }
    }
    return 0;
}

ri_send_req_t *ri_rndv_find(ri_worker_t *worker, ri_conn_t *conn, uint32_t id)
{
    ri_send_req_t *req = ri_id_get(&worker->ids.sends, id);

    if ((req == NULL) || (req->conn != conn) || (req->wire_type != RI_WIRE_RTS) ||
        !(req->waiting & RI_SEND_WAIT_MATCH)) {
        ++worker->counters.rx_stale;
        return NULL;
    }
    return req;
}

void ri_rndv_handle_fin(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_send_req_t *req = ri_rndv_find(worker, conn, msg->value);

    if (req != NULL) {
        ri_activity_note_message(worker);
        if (req->keys != NULL) {
            ri_way_worked(conn->peer, req->way);
        }
        if (req->proto->answered != NULL) {
            req->proto->answered(req);
        }
        ri_send_end_wait(req, RI_SEND_WAIT_MATCH, UCS_OK);
    }
}

/* The receive is too short: the sender is told that it is done. */
static ucs_status_t rndv_fetch_nothing(ri_recv_req_t *recv, ri_stream_t *stream,
                                       const ri_fetch_terms_t *terms)
{
    const ri_arrival_t *arrival = terms->arrival;

    (void)recv;
    ri_rndv_answer(stream, arrival->wire_type, arrival->req_id, arrival->data);
    return UCS_ERR_MESSAGE_TRUNCATED;
}

static ucs_status_t rndv_fetch_lost(ri_recv_req_t *recv, ri_stream_t *stream,
                                    const ri_fetch_terms_t *terms)
{
    (void)recv;
    (void)stream;
    (void)terms;
    return UCS_ERR_CONNECTION_RESET;
}

static ucs_status_t rndv_fetch_broken(ri_recv_req_t *recv, ri_stream_t *stream,
                                      const ri_fetch_terms_t *terms)
{
    ri_deliver_breaking(stream, "a message for another receive", RI_WIRE_RTS, 0);
    return rndv_fetch_lost(recv, stream, terms);
}

const ri_fetch_proto_t ri_fetch_proto_nothing = {.name  = "nothing",
                                                 .start = rndv_fetch_nothing};

const ri_fetch_proto_t ri_fetch_proto_lost = {.name = "lost", .start = rndv_fetch_lost};

const ri_fetch_proto_t ri_fetch_proto_broken = {.name  = "broken",
                                                .start = rndv_fetch_broken};

static int rndv_conn_is_needed(const ri_conn_t *conn, ri_conn_need_t need)
{
    return (need != RI_CONN_NEED_PEER) && ri_conn_goes_on(conn) &&
           ri_rndv_is_under_way(conn);
}

const ri_module_t ri_module_rndv = {.name           = "rndv",
                                    .worker_says    = ri_rndv_discard_all,
                                    .conn_is_needed = rndv_conn_is_needed};
