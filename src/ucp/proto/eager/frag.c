/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender sends small pieces for as long as stock takes them at once, and the rest as one. The
 * receiver puts them together in the message's memory or in that of its receive.
 */
#include "frag.h"
#include "eager.h"
#include "../../core/types/module.h"
#include "../../link/am.h"
#include "../../link/ring_life.h"
#include "../../../ucs/log.h"
#include "../../order/deliver.h"

#include <string.h>

/* Payload of the pieces: with their headers, they fit the short active messages of shared
 * memory. That queue holds 64 such messages by default, so about 4.5 KB go out even if nobody
 * takes any. */
#define FRAG_FIRST_PAYLOAD 32
#define FRAG_NEXT_PAYLOAD  76

/* Pieces of one conn travel in order, so one message at a time is assembled; more would
 * only be made by a broken peer. */
#define FRAG_MAX_ASSEMBLING 4

static size_t frag_pack_first(ri_send_req_t *req, uint8_t *at)
{
    ri_conn_t *conn     = req->conn;
    ri_wire_first_t hdr = {.base.type  = RI_WIRE_FIRST | RI_WIRE_FLAG_HELLO,
                           .base.value = req->sn,
                           .tag        = req->tag,
                           .req_id     = req->id,
                           .total      = req->data.length};

    conn->tx_tag = req->tag;
    memcpy(at, &hdr, sizeof(hdr));
    return sizeof(hdr) + ri_am_pack_hello(conn, at + sizeof(hdr));
}

static size_t frag_pack_next(ri_send_req_t *req, uint8_t *at)
{
    ri_wire_frag_t hdr = {.base.type  = RI_WIRE_FRAG,
                          .base.value = req->sn,
                          .uid        = req->conn->worker->self.uid};

    ri_wire_set_id(&hdr.base, req->conn->id);
    memcpy(at, &hdr, sizeof(hdr));
    return sizeof(hdr);
}

/* Send one piece of the packed payload. With RI_AM_FORCE_IMM in @a flags, at once or not
 * at all. */
static ucs_status_t frag_send_piece(ri_send_req_t *req, const uint8_t *payload,
                                    size_t offset, size_t length, unsigned flags)
{
    ri_am_buffer_t *buffer = ri_am_buffer_get(req->conn->worker, length);
    size_t header_length;

    if (buffer == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    header_length = (offset == 0) ? frag_pack_first(req, buffer->data) :
                                    frag_pack_next(req, buffer->data);
    memcpy(buffer->data + header_length, payload + offset, length);
    if (!(flags & RI_AM_FORCE_IMM)) {
        ri_am_buffer_set_req(buffer, req);
    }
    return ri_am_send_buffer(req->conn, buffer, header_length, length,
                             flags | ((offset == 0) ? RI_AM_APART : 0));
}

ucs_status_t ri_frag_send(ri_send_req_t *req)
{
    ri_conn_t *conn        = req->conn;
    ri_am_buffer_t *packed = ri_am_buffer_get(conn->worker, req->data.length);
    uint64_t previous_tag  = conn->tx_tag;
    size_t length          = req->data.length;
    size_t offset          = 0;
    ucs_status_t status    = UCS_OK;
    size_t piece;

    if (packed == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    ri_dt_pack(&req->data, packed->data);

    while ((offset < length) && (status == UCS_OK)) {
        piece  = ri_min(length - offset,
                       (offset == 0) ? FRAG_FIRST_PAYLOAD : (size_t)FRAG_NEXT_PAYLOAD);
        status = frag_send_piece(req, packed->data, offset, piece, RI_AM_FORCE_IMM);
        if (status == UCS_OK) {
            offset += piece;
        }
    }
    if ((status == UCS_ERR_NO_RESOURCE) && (offset > 0)) {
        status = frag_send_piece(req, packed->data, offset, length - offset, 0);
    }
    if (UCS_STATUS_IS_ERR(status)) {
        if (offset > 0) {
            ri_conn_lose(conn, req->sn, status); /* half of it was sent */
        } else {
            conn->tx_tag = previous_tag; /* nothing was sent with this tag */
        }
    }
    ri_am_buffer_put(packed);
    return status;
}

void ri_frag_first(ri_stream_t *stream, const ri_wire_msg_t *wire)
{
    ri_worker_t *worker = stream->worker;
    int32_t ahead       = (int32_t)(wire->value - stream->next_sn);
    unsigned assembling = 0;
    ri_msg_t *msg;

    ucs_list_for_each(msg, &stream->assembling, list) {
        ++assembling;
        if (msg->sn == wire->value) {
            ahead = -1;
        }
    }
    if ((ahead < 0) || stream->broken) {
        ri_deliver_malformed_of(stream, "that starts twice", wire->type, wire->length);
        return;
    }
    if (assembling == FRAG_MAX_ASSEMBLING) {
        ri_deliver_breaking(stream, "too many messages in pieces at once", wire->type,
                            wire->length);
        return;
    }

    msg = ri_msg_alloc(worker, wire->total);
    if (msg == NULL) {
        ri_error("out of memory for a message of %u bytes", wire->total);
        ri_stream_break(stream, "lack of memory");
        return;
    }
    msg->tag      = wire->tag;
    msg->length   = wire->total;
    msg->received = wire->length;
    msg->stream   = stream;
    msg->sn       = wire->value;
    msg->req_id   = wire->req_id;
    msg->kind     = RI_MSG_COPY;
    memcpy(msg->data, wire->payload, wire->length);
    ri_msg_hold(worker, stream, msg->length);
    ucs_list_add_tail(&stream->assembling, &msg->list);
}

/* All pieces are there. */
static void frag_deliver(ri_stream_t *stream, ri_msg_t *msg)
{
    ri_worker_t *worker  = stream->worker;
    ri_arrival_t arrival = {.sn        = msg->sn,
                            .wire_type = RI_WIRE_EAGER,
                            .kind      = RI_MSG_COPY,
                            .req_id    = msg->req_id,
                            .tag       = msg->tag,
                            .length    = msg->length,
                            .data      = msg->data,
                            .msg       = msg};

    ucs_list_del(&msg->list);
    ri_ring_life_note_am(stream);
    ++stream->busy;
    ri_deliver(stream, &arrival);
    --stream->busy;
    if (arrival.msg != NULL) {
        ri_msg_discard(worker, arrival.msg);
    }
    ri_stream_check_closed(stream);
}

void ri_frag_next(ri_worker_t *worker, const ri_wire_msg_t *wire)
{
    ri_stream_t *stream = ri_stream_find(worker, wire->uid, wire->id);
    ri_msg_t *msg;

    if (stream == NULL) {
        ++worker->counters.rx_stale;
        return;
    }

    /* Pieces come in order: each is a whole active message on one lane. */
    ucs_list_for_each(msg, &stream->assembling, list) {
        if (msg->sn == wire->value) {
            if (wire->length > msg->length - msg->received) {
                break;
            }
            memcpy(msg->data + msg->received, wire->payload, wire->length);
            msg->received += wire->length;
            if (msg->received == msg->length) {
                frag_deliver(stream, msg);
            }
            return;
        }
    }
    ri_deliver_malformed_of(stream, "that continues none", wire->type, wire->length);
}

static ucs_status_t frag_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    ucs_status_t status = ri_frag_send(req);

    return (status == UCS_ERR_NO_RESOURCE) ? ri_eager_send_copy(req, terms) : status;
}

const ri_send_proto_t ri_send_proto_eager_frags = {
        .name    = "eager_frags",
        .called  = "am",
        .moves   = "short active messages of UCX",
        .because = "UCX has not set its connection up",
        .asks    = RI_SEND_ASKS_ID,
        .start   = frag_start,
        RI_SEND_COUNTS(tx_eager_am)};

/* A message that misses pieces when its sender has closed the stream never gets them. */
static int frag_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need)
{
    return (need == RI_STREAM_NEED_DATA) &&
           !ucs_list_is_empty((ucs_list_link_t *)&stream->assembling);
}

const ri_module_t ri_module_frag = {.name             = "frag",
                                    .stream_is_needed = frag_stream_is_needed};
