/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "send_rndv.h"
#include "am.h"
#include "control.h"
#include "planes.h"
#include "ring_channel.h"
#include "../core/config.h"
#include "../core/log.h"
#include "../core/memory.h"
#include "../tag/send.h"

#include <stdlib.h>
#include <string.h>

/* Data for a generic datatype passes through memory of this size. */
#define RNDV_STAGE_BYTES 65536

/* Room for the payload of an RTS. */
typedef union rndv_rts {
    ri_wire_rts_t rts;
    uint8_t bytes[RI_WIRE_RTS_MAX];
} rndv_rts_t;

/* The pieces that contiguous or listed data is in; empty ones are left out.
 * @return How many, or 0 if there are more than @a max. */
static size_t rndv_segments(const ri_dt_data_t *data, ri_segment_t *segments, size_t max)
{
    const ucp_dt_iov_t *iov = data->buffer;
    size_t count            = 0;
    size_t i;

    if (!data->is_iov) {
        segments[0] = (ri_segment_t){(uintptr_t)data->buffer, data->length};
        return 1;
    }
    for (i = 0; i < data->count; ++i) {
        if (iov[i].length == 0) {
            continue;
        }
        if (count == max) {
            return 0;
        }
        segments[count++] = (ri_segment_t){(uintptr_t)iov[i].buffer, iov[i].length};
    }
    return count;
}

int ri_send_rndv_fits(const ri_dt_data_t *data)
{
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];

    return (data->generic == NULL) && (data->length > 0) &&
           (rndv_segments(data, segments, RI_WIRE_SEGMENTS_MAX) != 0);
}

/* Put an RTS into the ring. @return 0 if it has to go another way: there is no room, or
 * messages wait for some, which it must not overtake in the ring. */
static int rndv_put_ring(ri_send_req_t *req, const rndv_rts_t *rts, size_t length)
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
    memcpy(ri_ring_payload(record, length), rts->bytes, length);
    record->type  = RI_WIRE_RTS;
    record->value = req->sn;
    record->extra = req->id;
    record->tag   = req->tag;
    ri_ring_tx_commit(conn->ring, record, length);
    conn->tx_tag = req->tag;
    return 1;
}

ucs_status_t ri_send_rndv_start(ri_send_req_t *req)
{
    ri_conn_t *conn = req->conn;
    rndv_rts_t rts  = {.rts.flags = 0};
    ri_am_buffer_t *buffer;
    size_t header_length, length;

    rts.rts.num_segments = rndv_segments(&req->data, rts.rts.segments,
                                         RI_WIRE_SEGMENTS_MAX);
    length               = ri_wire_rts_length(&rts.rts);
    ri_trace(&conn->worker->trace, RI_TRACE_SEND_RTS, req->sn, req->data.length);

    req->waiting |= RI_SEND_WAIT_MATCH;
    if (rndv_put_ring(req, &rts, length)) {
        return UCS_OK;
    }

    buffer = ri_am_buffer_get(conn->worker, length);
    if (buffer == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    header_length = ri_am_pack_header(conn, RI_WIRE_RTS, req->sn, req->tag, req->id,
                                      buffer->data);
    memcpy(buffer->data + header_length, rts.bytes, length);
    ri_am_buffer_set_req(buffer, req);
    return ri_am_send_buffer(conn, buffer, header_length, length, 0);
}

/* Read into a generic datatype, a stage at a time. Its callback may do things that end the
 * way to the peer. @return What the plane returns; what the datatype's callback returns is in
 * @a unpack_status. */
static ucs_status_t rndv_read_generic(ri_recv_req_t *recv, const ri_peer_t *peer,
                                      ri_transfer_t *transfer,
                                      ucs_status_t *unpack_status)
{
    const ri_dt_generic_t *generic = recv->data.generic;
    size_t total                   = transfer->length;
    ucs_status_t status            = UCS_OK;
    ri_segment_t local;
    uint8_t *stage;

    stage = malloc(ri_min(total, (size_t)RNDV_STAGE_BYTES));
    if (stage == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    transfer->local     = &local;
    transfer->num_local = 1;
    for (transfer->offset = 0; transfer->offset < total;
         transfer->offset += transfer->length) {
        transfer->length = ri_min(total - transfer->offset, (size_t)RNDV_STAGE_BYTES);
        /* the offset is left out on both sides */
        local  = (ri_segment_t){(uintptr_t)stage - transfer->offset,
                                transfer->offset + transfer->length};
        status = (peer->plane_ep != NULL) ?
                         peer->plane_ep->plane->ops->read(peer->plane_ep, transfer) :
                         UCS_ERR_UNREACHABLE;
        if (status != UCS_OK) {
            break;
        }
        *unpack_status = generic->ops.unpack(recv->data.state, transfer->offset, stage,
                                             transfer->length);
        if (*unpack_status != UCS_OK) {
            break;
        }
    }
    free(stage);
    return status;
}

/* Read into one place or a list of them. */
static ucs_status_t rndv_read_direct(ri_recv_req_t *recv, ri_plane_ep_t *ep,
                                     ri_transfer_t *transfer)
{
    size_t max = recv->data.is_iov ? recv->data.count : 1;
    ri_segment_t few[RI_WIRE_SEGMENTS_MAX];
    ri_segment_t *local = few;
    ucs_status_t status;

    if (max > RI_WIRE_SEGMENTS_MAX) {
        local = malloc(max * sizeof(*local));
        if (local == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
    }
    transfer->local     = local;
    transfer->num_local = rndv_segments(&recv->data, local, max);
    status              = ep->plane->ops->read(ep, transfer);
    if (local != few) {
        free(local);
    }
    return status;
}

/* Let the data come by UCP. */
static ucs_status_t rndv_ask_for_data(ri_recv_req_t *recv, ri_stream_t *stream,
                                      uint32_t req_id)
{
    ri_worker_t *worker = stream->worker;

    recv->id = ri_id_alloc(&worker->recv_ids, recv);
    if (recv->id == 0) {
        ri_control_answer(stream, RI_WIRE_FIN, req_id);
        return UCS_ERR_NO_MEMORY;
    }
    recv->stream = stream;
    ucs_list_add_tail(&stream->fetching, &recv->list);
    ++worker->counters.rndv_fallback;
    ri_control_nack(stream, req_id, recv->id);
    return UCS_INPROGRESS;
}

ucs_status_t ri_send_rndv_recv(ri_recv_req_t *recv, ri_stream_t *stream, uint32_t req_id,
                               const ri_wire_rts_t *rts, int fits)
{
    ri_worker_t *worker        = stream->worker;
    ri_plane_ep_t *ep          = stream->peer->plane_ep;
    ucs_status_t unpack_status = UCS_OK;
    ucs_status_t status        = UCS_ERR_UNREACHABLE;
    ri_transfer_t transfer     = {.remote     = rts->segments,
                                  .num_remote = rts->num_segments,
                                  .length     = recv->info.length};

    if (stream->broken) {
        return UCS_ERR_CONNECTION_RESET; /* the send has ended, its memory is not its own */
    }
    if (!fits) {
        ri_control_answer(stream, RI_WIRE_FIN, req_id);
        return UCS_ERR_MESSAGE_TRUNCATED;
    }

    if ((ep != NULL) && ri_memory_of_recv_is_host(recv)) {
        status = (recv->data.generic != NULL) ?
                         rndv_read_generic(recv, stream->peer, &transfer,
                                           &unpack_status) :
                         rndv_read_direct(recv, ep, &transfer);
        if (status == UCS_ERR_UNREACHABLE) {
            ri_planes_failed(worker, stream->peer);
        }
    }
    ri_trace(&worker->trace, RI_TRACE_RECV_READ, recv->info.length, status);
    if (status != UCS_OK) {
        return rndv_ask_for_data(recv, stream, req_id);
    }
    stream->counters.rx_read_bytes += recv->info.length;
    ri_control_answer(stream, RI_WIRE_FIN, req_id);
    return unpack_status;
}

void ri_send_rndv_discard(ri_stream_t *stream, uint32_t req_id)
{
    if (!stream->broken) {
        ri_control_answer(stream, RI_WIRE_FIN, req_id);
    }
}

void ri_send_rndv_discard_all(ri_worker_t *worker)
{
    ri_msg_t *msg, *tmp;

    ucs_list_for_each_safe(msg, tmp, &worker->match.unexpected, list) {
        if (msg->kind == RI_MSG_RTS) {
            ri_match_remove_unexpected(&worker->match, msg);
            ri_msg_discard(worker, msg);
        }
    }
}

/* The receive waits no more. */
static void rndv_forget(ri_recv_req_t *recv)
{
    ucs_list_del(&recv->list);
    ri_id_free(&recv->super.worker->recv_ids, recv->id);
    recv->stream = NULL;
}

static void rndv_abort_one(ri_stream_t *stream, ucs_status_t status)
{
    ri_recv_req_t *recv = ucs_list_head(&stream->fetching, ri_recv_req_t, list);

    rndv_forget(recv);
    ri_deliver_received(recv, status);
}

void ri_send_rndv_abort(ri_stream_t *stream, ucs_status_t status)
{
    while (!ucs_list_is_empty(&stream->fetching)) {
        rndv_abort_one(stream, status);
    }
}

/* @return A stream of a peer (0: of any) with receives that wait for RNDV_DATA, or NULL. */
static ri_stream_t *rndv_find_fetching(ri_worker_t *worker, uint64_t uid)
{
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        if (((uid == 0) || (stream->peer->uid == uid)) &&
            !ucs_list_is_empty(&stream->fetching)) {
            return stream;
        }
    }
    return NULL;
}

void ri_send_rndv_abort_all(ri_worker_t *worker, uint64_t uid, ucs_status_t status)
{
    ri_stream_t *stream;

    /* Each callback may free any stream. */
    while ((stream = rndv_find_fetching(worker, uid)) != NULL) {
        rndv_abort_one(stream, status);
    }
}

int ri_send_rndv_is_under_way(const ri_conn_t *conn)
{
    const ri_send_req_t *req;

    ucs_list_for_each(req, &conn->sends, list) {
        if ((req->wire_type == RI_WIRE_RTS) || (req->wire_type == RI_WIRE_RNDV_DATA)) {
            return 1;
        }
    }
    return 0;
}

/* @return The request that an answer is about, or NULL if it is for none (any more). */
static ri_send_req_t *rndv_find(ri_worker_t *worker, ri_conn_t *conn, uint32_t id)
{
    ri_send_req_t *req = ri_id_get(&worker->req_ids, id);

    if ((req == NULL) || (req->conn != conn) || (req->wire_type != RI_WIRE_RTS) ||
        !(req->waiting & RI_SEND_WAIT_MATCH)) {
        ++worker->counters.rx_stale;
        return NULL;
    }
    return req;
}

void ri_send_rndv_handle_fin(ri_worker_t *worker, ri_conn_t *conn,
                             const ri_wire_msg_t *msg)
{
    ri_send_req_t *req = rndv_find(worker, conn, msg->value);

    if (req != NULL) {
        ri_send_end_wait(req, RI_SEND_WAIT_MATCH, UCS_OK);
    }
}

void ri_send_rndv_handle_nack(ri_worker_t *worker, ri_conn_t *conn,
                              const ri_wire_msg_t *msg)
{
    ri_send_req_t *req                    = rndv_find(worker, conn, msg->value);
    static const ucp_request_param_t none = {.op_attr_mask = 0};
    ri_wire_base_t base = {.type = RI_WIRE_RNDV_DATA, .value = msg->recv_id};
    ucs_status_t status;

    if (req == NULL) {
        return;
    }

    conn->flags &= ~RI_CONN_PLANE_READ;
    ri_wire_set_id(&base, conn->remote_id);
    memcpy(req->header, &base, sizeof(base));
    req->header_length = sizeof(base);
    req->wire_type     = RI_WIRE_RNDV_DATA; /* a second NACK is stale */
    status             = ri_am_send_direct(req, 0, &none);
    if (status != UCS_INPROGRESS) {
        ri_send_end_wait(req, RI_SEND_WAIT_MATCH, status);
    } else {
        req->waiting &= ~RI_SEND_WAIT_MATCH;
    }
}

ucs_status_t ri_send_rndv_handle_data(ri_stream_t *stream, const ri_wire_msg_t *msg,
                                      void *desc)
{
    ri_worker_t *worker = stream->worker;
    ri_recv_req_t *recv = ri_id_get(&worker->recv_ids, msg->value);
    ri_msg_kind_t kind  = (desc != NULL) ? RI_MSG_AM_RNDV : RI_MSG_COPY;
    ucs_status_t status = UCS_ERR_IO_ERROR;
    ri_arrival_t arrival;

    if ((recv == NULL) || (recv->stream != stream)) {
        ++worker->counters.rx_stale;
        return UCS_OK;
    }

    ++stream->busy;
    rndv_forget(recv);
    arrival = (ri_arrival_t){.kind   = kind,
                             .tag    = recv->info.sender_tag,
                             .length = msg->length,
                             .data   = msg->payload,
                             .desc   = desc};
    if (msg->length == recv->info.length) {
        status = ri_recv_start(recv, stream, &arrival);
    } else {
        ri_deliver_malformed(worker, "with the data of a rendezvous", msg->type,
                             msg->length);
        ri_dt_finish(&recv->data);
    }
    if (status != UCS_INPROGRESS) {
        ri_req_complete_recv(recv, status);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
    return ((desc != NULL) && (arrival.desc == NULL)) ? UCS_INPROGRESS : UCS_OK;
}
