/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "am_in.h"
#include "../order/deliver.h"
#include "../../ucs/log.h"
#include "../proto/rndv/am_rndv.h"
#include "../link/control.h"
#include "../proto/eager/frag.h"
#include "../link/ring_channel.h"
#include "../proto/rtr/rtr_message.h"

/* A longer message that is kept stays in UCP's descriptor, as in stock. */
#define DISPATCH_COPY_MAX 1024

/* The stream that a message belongs to: named by id, or introduced by a hello. */
static ri_stream_t *dispatch_stream(ri_worker_t *worker, const ri_wire_msg_t *msg)
{
    if (ri_unlikely(msg->has_hello)) {
        return ri_stream_get(worker, &msg->hello);
    }
    return ri_id_get(&worker->stream_ids, msg->id);
}

/* An RTS or POOL of a message that may be there already */
static int dispatch_is_again(const ri_arrival_t *arrival)
{
    return (arrival->kind == RI_MSG_RTS) &&
           (((const ri_wire_rts_t *)arrival->data)->flags & RI_WIRE_RTS_AGAIN);
}

static ucs_status_t dispatch_in_sequence(ri_worker_t *worker, ri_stream_t *stream,
                                         const ri_wire_msg_t *msg, void *data,
                                         uint64_t recv_attr)
{
    ri_arrival_t arrival = {.sn        = msg->value,
                            .wire_type = msg->type,
                            .kind      = RI_MSG_COPY,
                            .req_id    = msg->req_id,
                            .tag       = msg->tag,
                            .length    = msg->length,
                            .data      = msg->payload};
    ucs_status_t status;

    if (recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
        arrival.kind = RI_MSG_AM_RNDV;
        arrival.desc = data;
    } else if ((msg->type == RI_WIRE_RTS) || (msg->type == RI_WIRE_POOL)) {
        arrival.kind = RI_MSG_RTS;
        ri_wire_check_rts(msg->payload, msg->length, &arrival.length);
    } else if (msg->type == RI_WIRE_PLACED) {
        arrival.kind = RI_MSG_PLACED;
        ri_wire_check_placed(msg->payload, msg->length, &arrival.length);
    } else if ((recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) &&
               (msg->length > DISPATCH_COPY_MAX)) {
        arrival.kind = RI_MSG_AM_DATA;
        arrival.desc = data;
    }

    if (ri_unlikely(!stream->acked) && msg->has_hello && (msg->value > 1)) {
        ri_control_ack(stream);
    }
    if (ri_unlikely(msg->type == RI_WIRE_FIRST)) {
        ri_frag_first(stream, msg);
        return UCS_OK;
    }
    if (msg->type != RI_WIRE_BULK) {
        ri_stream_note_am(stream);
    }
    ++stream->busy;
    if (ri_unlikely(dispatch_is_again(&arrival)) &&
        ri_rtr_message_again(stream, &arrival)) {
        status = UCS_OK;
    } else {
        status = ri_deliver(stream, &arrival);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
    return status;
}

/* The most frequent message: of a stream that knows its sender, header and payload
 * together, and its receive is posted or it is short. The same checks as ri_wire_parse()
 * makes for these types, and no more work. @return 0 if this is anything else. */
static inline int dispatch_fast(ri_worker_t *worker, const void *data, size_t length)
{
    const ri_wire_eager_t *header = data;
    size_t header_length;
    ri_stream_t *stream;
    uint64_t base, tag = 0;
    uint32_t sn;
    uint8_t type;
    int done;

    if (length < sizeof(base)) {
        return 0;
    }
    memcpy(&base, data, sizeof(base)); /* a ri_wire_base_t, by one load */
    type = (uint8_t)base;
    sn   = base >> 32;
    if (type == RI_WIRE_EAGER_SAME) {
        header_length = sizeof(header->base);
    } else if ((type == RI_WIRE_EAGER) && (length >= sizeof(*header))) {
        header_length = sizeof(*header);
        tag           = header->tag;
    } else {
        return 0;
    }

    stream = ri_id_get(&worker->stream_ids, (uint32_t)base >> 8);
    if (ri_unlikely(stream == NULL)) {
        return 0;
    }
    data = (const uint8_t *)data + header_length;
    length -= header_length;
    ++stream->busy;
    done = ri_deliver_fast(stream, type, sn, tag, data, length);
    if (ri_unlikely(!done && (length <= DISPATCH_COPY_MAX))) {
        ri_deliver_plain(stream, type, sn, tag, data, length);
        done = 1;
    }
    if (ri_likely(done)) {
        ri_stream_note_am(stream);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
    return done;
}

/* RTRs that come by active message could come by a channel, and are all that comes from who
 * does nothing but receive long messages. */
static void dispatch_note_rtr(ri_worker_t *worker, const ri_wire_msg_t *msg)
{
    const ri_conn_t *conn = ri_id_get(&worker->conn_ids, msg->id);
    ri_stream_t *stream;

    /* Which conn of the peer carried it is not known; nearly always there is but one. */
    if ((worker->max_channels > 0) && (conn != NULL) && (conn->peer != NULL) &&
        !ucs_list_is_empty(&conn->peer->streams)) {
        stream = ucs_list_head(&conn->peer->streams, ri_stream_t, peer_list);
        ri_stream_note_am(stream);
    }
}

static ucs_status_t dispatch(ri_worker_t *worker, const void *header,
                             size_t header_length, void *data, size_t length,
                             const ucp_am_recv_param_t *param)
{
    ri_stream_t *stream = NULL;
    ucp_ep_h reply_ep   = NULL;
    ri_wire_msg_t msg;
    ucs_status_t status;

    status = ri_wire_parse(header, header_length, data, length,
                           !!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV), &msg);
    if (ri_unlikely(status != UCS_OK)) {
        if ((status == UCS_ERR_UNSUPPORTED) && !worker->version_reported) {
            worker->version_reported = 1;
            ri_error("a peer speaks wire version %u of ucxri, this process version %u: "
                     "all processes of a job must load the same libucxri.so",
                     msg.hello.version, RI_WIRE_VERSION);
        }
        ri_deliver_malformed(worker, "by active message",
                             (header_length > 0) ? *(const uint8_t *)header : 0, length);
        return UCS_OK;
    }

    if (ri_wire_type_in_sequence(msg.type) || msg.has_hello ||
        (msg.type == RI_WIRE_RNDV_DATA)) {
        stream = dispatch_stream(worker, &msg);
        if (ri_unlikely(stream == NULL)) {
            ++worker->counters.rx_stale;
            ri_trace(&worker->trace, RI_TRACE_DROPPED, msg.type, msg.id);
            return UCS_OK;
        }
    }

    if (ri_unlikely(msg.type == RI_WIRE_FRAG)) {
        ri_frag_next(worker, &msg);
        return UCS_OK;
    }
    if (ri_unlikely(msg.type == RI_WIRE_RNDV_DATA)) {
        return ri_am_rndv_handle_data(
                stream, &msg,
                (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) ? data : NULL);
    }
    if (ri_likely(ri_wire_type_in_sequence(msg.type))) {
        return dispatch_in_sequence(worker, stream, &msg, data, param->recv_attr);
    }

    if (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) {
        reply_ep = param->reply_ep;
    }
    if (msg.type == RI_WIRE_RTR) {
        dispatch_note_rtr(worker, &msg);
    }
    ri_control_handle(worker, stream, &msg, reply_ep);
    return UCS_OK;
}

ucs_status_t ri_dispatch_am(void *arg, const void *header, size_t header_length,
                            void *data, size_t length, const ucp_am_recv_param_t *param)
{
    ri_worker_t *worker = arg;
    ucs_status_t status = UCS_OK;

    if (ri_unlikely(worker->destroyed)) {
        return UCS_OK;
    }

    ri_worker_lock(worker);
    if (ri_unlikely((header_length != 0) ||
                    (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) ||
                    !dispatch_fast(worker, data, length))) {
        status = dispatch(worker, header, header_length, data, length, param);
    }
    ri_worker_unlock(worker);
    return status;
}
