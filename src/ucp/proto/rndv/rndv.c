/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rndv.h"
#include "../../core/recv_req.h"
#include "../../core/module.h"
#include "../../link/am.h"
#include "../../link/control.h"
#include "../coop/coop.h"
#include "../pool/hybrid.h"
#include "../../link/planes.h"
#include "../../link/rdma_channel.h"
#include "rdma_write.h"
#include "../rtr/rtr.h"
#include "../select.h"
#include "send_rndv_get.h"
#include "send_rndv_put.h"
#include "send_rndv_ud.h"
#include "ud_run.h"
#include "../../core/memory.h"
#include "../../core/send_req.h"
#include "../../order/deliver.h"
#include "../../order/recv_start.h"

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

ucs_status_t ri_rndv_send(ri_send_req_t *req, const ri_wire_rts_t *rts)
{
    ri_trace(&req->conn->worker->trace, RI_TRACE_SEND_RTS, req->sn, req->data.length);
    req->waiting |= RI_SEND_WAIT_MATCH;
    return ri_rndv_send_payload(req, req->id, rts, ri_wire_rts_length(rts), 0);
}

ucs_status_t ri_rndv_send_payload(ri_send_req_t *req, uint32_t id, const void *payload,
                                  size_t length, unsigned flags)
{
    return (rndv_put_ring(req, id, payload, length) ||
            ri_rdma_channel_send_payload(req, id, payload, length)) ?
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

ucs_status_t ri_rndv_write(ri_send_req_t *req, ri_plane_ep_t *ep, uint64_t address)
{
    ri_conn_t *conn        = req->conn;
    ri_segment_t remote    = {address, req->data.length};
    ri_transfer_t transfer = {
            .remote = &remote, .num_remote = 1, .length = req->data.length};
    ri_segment_t local[RI_WIRE_SEGMENTS_MAX];
    ucs_status_t status;

    transfer.local     = local;
    transfer.num_local = ri_dt_segments(&req->data, local, RI_WIRE_SEGMENTS_MAX);
    status             = ep->plane->ops->write(ep, &transfer);
    ri_trace(&conn->worker->trace, RI_TRACE_SEND_WRITE, req->data.length, status);
    if (status == UCS_OK) {
        conn->counters.tx_written_bytes += req->data.length;
    }
    return status;
}

void ri_rndv_answer(ri_stream_t *stream, ri_wire_type_t type, uint32_t id,
                    const ri_wire_rts_t *rts)
{
    if (type == RI_WIRE_POOL) {
        ri_hybrid_release(stream, id, rts->flags & RI_WIRE_RTS_LOW);
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
    if (ri_wire_check_rts(copy, length, &arrival->length) != UCS_OK) {
        return 0;
    }
    arrival->kind = RI_MSG_RTS;
    arrival->data = copy;
    ri_deliver(stream, arrival);
    return 1;
}

/* Whether a receive may be told to a sender, see ri_select_fetch_t. */
static int rndv_can_answer(ri_stream_t *stream)
{
    const ri_conn_t *conn = ri_peer_way_out(stream->peer);

    return (conn != NULL) && !(conn->flags & RI_CONN_PEER_MODE);
}

/* What is known of a message and its receive. */
static ri_select_fetch_t rndv_facts(const ri_recv_req_t *recv, ri_stream_t *stream,
                                    const ri_arrival_t *arrival)
{
    const ri_wire_rts_t *rts = arrival->data;
    int is_rts               = (arrival->wire_type == RI_WIRE_RTS);
    int keys                 = !!(rts->flags & RI_WIRE_RTS_KEYS);
    int put                  = is_rts && (rts->flags & RI_WIRE_RTS_PUT);
    int sends                = is_rts && (rts->flags & RI_WIRE_RTS_SENDS);

    return (ri_select_fetch_t){.is_pool     = !is_rts,
                               .wants_put   = put,
                               .sends       = sends,
                               .has_keys    = keys,
                               .slot_named  = is_rts && (rts->slot != 0),
                               .can_answer  = put && rndv_can_answer(stream),
                               .contig      = ri_dt_is_contig(&recv->data),
                               .pieces      = (keys || sends) && ri_dt_fits(&recv->data),
                               .has_address = (recv->data.buffer != NULL),
                               .host_memory = ri_memory_of_recv_is_host(recv),
                               .host_plane  = ri_planes_of(stream->peer->plane_ep),
                               .net_plane   = ri_planes_of(stream->peer->rdma_ep),
                               .length      = arrival->length,
                               .room        = recv->data.length};
}

/* Nobody gets the data. */
static ucs_status_t rndv_refuse(ri_stream_t *stream, const ri_arrival_t *arrival,
                                ri_fetch_t fetch)
{
    if (fetch == RI_FETCH_NOTHING) {
        ri_rndv_answer(stream, arrival->wire_type, arrival->req_id, arrival->data);
        return UCS_ERR_MESSAGE_TRUNCATED;
    }
    if (fetch == RI_FETCH_BROKEN) {
        ri_deliver_breaking(stream, "a message for another receive", RI_WIRE_RTS, 0);
    }
    return UCS_ERR_CONNECTION_RESET;
}

ucs_status_t ri_rndv_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                          const ri_arrival_t *arrival)
{
    ri_select_fetch_t facts;
    ri_coop_offer_t offer;
    ucs_status_t status;
    ri_fetch_t fetch;

    if (stream->broken) {
        return UCS_ERR_CONNECTION_RESET; /* the send has ended, its memory is not its own */
    }
    ri_rtr_note_reading(stream->worker, arrival->length);
    facts = rndv_facts(recv, stream, arrival);
    if (facts.slot_named) {
        offer = ri_coop_find_offer(recv, stream, arrival->req_id, arrival->data);
        facts.slot_there    = (offer.slot != NULL);
        facts.slot_offered  = offer.offered;
        facts.slot_is_other = (offer.address != 0) &&
                              (offer.address != (uintptr_t)recv->data.buffer);
    }
    fetch = ri_select_fetch(&facts);
    if (fetch == RI_FETCH_COOP) {
        status = ri_coop_recv(recv, stream, arrival->req_id, arrival->data, &offer);
        if (status != UCS_ERR_NO_ELEM) {
            return status;
        }
        facts.slot_named = 0;
        fetch            = ri_select_fetch(&facts);
    }
    if (fetch == RI_FETCH_PUT) {
        status = ri_send_rndv_put_recv(recv, stream, arrival);
        if (status != UCS_ERR_NO_ELEM) {
            return status;
        }
        facts.wants_put = 0;
        fetch           = ri_select_fetch(&facts);
    }

    switch (fetch) {
    case RI_FETCH_SENT:
    case RI_FETCH_SENT_BOUNCE:
        return ri_send_rndv_ud_recv(recv, stream, arrival, fetch);
    case RI_FETCH_GET:
    case RI_FETCH_BOUNCE:
    case RI_FETCH_AM:
        if (facts.sends) {
            return ri_send_rndv_ud_recv(recv, stream, arrival, fetch);
        }
        return ri_send_rndv_get_recv(recv, stream, arrival, fetch);
    default:
        return rndv_refuse(stream, arrival, fetch);
    }
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

void ri_rndv_wait_as(ri_recv_req_t *recv, ri_stream_t *stream)
{
    recv->stream  = stream;
    recv->written = RI_RECV_NOT_WRITTEN;
    recv->keys    = NULL;
    ucs_list_add_tail(&stream->fetching, &recv->list);
}

ucs_status_t ri_rndv_wait(ri_recv_req_t *recv, ri_stream_t *stream)
{
    recv->id = ri_id_alloc(&stream->worker->recv_ids, recv);
    if (recv->id == 0) {
        return UCS_ERR_NO_MEMORY;
    }
    recv->rts_req_id = 0; /* of no message by datagrams */
    ri_rndv_wait_as(recv, stream);
    return UCS_OK;
}

void ri_rndv_forget(ri_recv_req_t *recv)
{
    if (recv->keys != NULL) {
        ri_rdma_write_revoke(recv);
    }
    if (recv->written == RI_RECV_BY_TARGET) {
        ri_ud_recv_leave(recv);
    }
    ucs_list_del(&recv->list);
    ri_id_free(&recv->super.worker->recv_ids, recv->id);
    recv->stream = NULL;
}

typedef int (*rndv_is_func_t)(const ri_recv_req_t *recv);

/* May the memory of a receive that waits be handed back? */
static int rndv_may_abort(const ri_recv_req_t *recv)
{
    return (recv->written != RI_RECV_BY_CTS) || (recv->keys != NULL) ||
           ri_planes_is_gone(recv->stream->peer);
}

/* May the sender write the memory of a receive that waits? */
static int rndv_is_written(const ri_recv_req_t *recv)
{
    return recv->written != RI_RECV_NOT_WRITTEN;
}

static void rndv_abort_one(ri_recv_req_t *recv, ucs_status_t status)
{
    ri_rndv_forget(recv);
    ri_recv_complete(recv, status);
}

/* @return The first receive of a stream that waits and is as asked for, or NULL. */
static ri_recv_req_t *rndv_find(ri_stream_t *stream, rndv_is_func_t is)
{
    ri_recv_req_t *recv;

    ucs_list_for_each(recv, &stream->fetching, list) {
        if (is(recv)) {
            return recv;
        }
    }
    return NULL;
}

/* Each callback may end any other receive. */
static void rndv_abort_those(ri_stream_t *stream, rndv_is_func_t is, ucs_status_t status)
{
    ri_recv_req_t *recv;

    while ((recv = rndv_find(stream, is)) != NULL) {
        rndv_abort_one(recv, status);
    }
}

void ri_rndv_abort(ri_stream_t *stream, ucs_status_t status)
{
    rndv_abort_those(stream, rndv_may_abort, status);
}

void ri_rndv_abort_written(ri_stream_t *stream, ucs_status_t status)
{
    rndv_abort_those(stream, rndv_is_written, status);
}

void ri_rndv_drop_written(ri_stream_t *stream)
{
    ri_recv_req_t *recv;

    while ((recv = rndv_find(stream, rndv_is_written)) != NULL) {
        ri_rndv_forget(recv);
    }
}

/* @return A receive by any stream of a peer (0: of any) that may be aborted, or NULL. */
static ri_recv_req_t *rndv_find_any(ri_worker_t *worker, uint64_t uid)
{
    ri_recv_req_t *recv = NULL;
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        if ((uid == 0) || (stream->peer->uid == uid)) {
            recv = rndv_find(stream, rndv_may_abort);
        }
        if (recv != NULL) {
            break;
        }
    }
    return recv;
}

void ri_rndv_abort_all(ri_worker_t *worker, uint64_t uid, ucs_status_t status)
{
    ri_recv_req_t *recv;

    /* Each callback may free any stream. */
    while ((recv = rndv_find_any(worker, uid)) != NULL) {
        rndv_abort_one(recv, status);
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
    ri_send_req_t *req = ri_id_get(&worker->req_ids, id);

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
        ri_rtr_note_active(worker);
        if (req->keys != NULL) {
            ri_planes_rdma_worked(conn->peer, req->way);
        }
        if (req->proto->answered != NULL) {
            req->proto->answered(req);
        }
        ri_send_end_wait(req, RI_SEND_WAIT_MATCH, UCS_OK);
    }
}

static void rndv_peer_fails(ri_worker_t *worker, uint64_t uid, ucs_status_t status)
{
    ri_rndv_abort_all(worker, uid, status);
}

const ri_module_t ri_module_rndv = {.name           = "rndv",
                                    .peer_fails     = rndv_peer_fails,
                                    .conn_is_needed = ri_rndv_is_under_way,
                                    .stream_ends    = ri_rndv_abort,
                                    .stream_closed  = ri_rndv_abort_written,
                                    .stream_freed   = ri_rndv_drop_written,
                                    .msg_dropped    = ri_rndv_discard};
