/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A matched message of any kind, and its receive. Short data is placed within the call; for
 * announced data the protocol that fetches it is started.
 */
#include "recv_start.h"
#include "../core/recv_req.h"
#include "../../ucs/settings.h"
#include "../core/memory.h"
#include "../core/timeline_notes.h"
#include "../../ucs/stock.h"
#include "../link/bounce.h"
#include "../link/control.h"
#include "promises.h"

/* Stock's callback: UCP has fetched the data of a receive. */
static void recv_fetched(void *request, ucs_status_t status, size_t length,
                         void *user_data)
{
    ri_recv_req_t *recv = user_data;
    ri_worker_t *worker = recv->super.worker;

    ri_worker_lock(worker);
    ri_stock.request_free(request);
    ri_recv_complete(recv, status);
    ri_worker_unlock(worker);
}

/* Let UCP fetch data that is still at the sender. With the call, UCP takes the descriptor
 * over, whatever comes of it. */
static ucs_status_t recv_fetch(ri_recv_req_t *recv, void **desc_p)
{
    ri_worker_t *worker       = recv->super.worker;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FIELD_DATATYPE,
                                 .cb.recv_am = recv_fetched,
                                 .user_data  = recv};
    void *desc                = *desc_p;
    ucs_status_ptr_t ret;
    ucs_status_t status;
    void *buffer;
    size_t count;

    if (ri_unlikely(!worker->host_memory)) {
        ri_memory_hint(recv->data.memory_type, &param);
    }
    status = ri_dt_to_stock(&recv->data, &buffer, &count, &param.datatype);
    if (status != UCS_OK) {
        return status;
    }
    *desc_p = NULL;
    ret     = ri_stock.am_recv_data_nbx(worker->stock, desc, buffer, count, &param);
    return UCS_PTR_IS_PTR(ret) ? UCS_INPROGRESS : UCS_PTR_STATUS(ret);
}

/* The sender's whole message fits, or the receive ends with an error. */
static int recv_is_truncated(ri_recv_req_t *recv, size_t length)
{
    if (ri_likely(length <= recv->data.length)) {
        return 0;
    }
    ++recv->super.worker->counters.recv_truncated;
    return 1;
}

/* Place data that is at hand in the receive's memory. */
static inline ucs_status_t recv_place(ri_recv_req_t *recv, const void *data,
                                      size_t length)
{
    if (ri_memory_of_recv_is_host(recv) || (length == 0)) {
        return ri_dt_unpack(&recv->data, data, length);
    }
    return ri_bounce(recv, data, length);
}

static ucs_status_t recv_start_data(ri_recv_req_t *recv, ri_stream_t *stream,
                                    ri_arrival_t *arrival)
{
    (void)stream;
    return recv_place(recv, arrival->data, arrival->length);
}

static ucs_status_t recv_start_am_rndv(ri_recv_req_t *recv, ri_stream_t *stream,
                                       ri_arrival_t *arrival)
{
    (void)stream;
    return (arrival->length == 0) ? recv_place(recv, arrival->data, 0) :
                                    recv_fetch(recv, &arrival->desc);
}

/* Do what a message of its kind does, unless the receive is too short for it. */
static ucs_status_t recv_start(ri_recv_req_t *recv, ri_stream_t *stream,
                               ri_arrival_t *arrival, const ri_msg_ops_t *ops)
{
    ucs_status_t status;

    if (!ops->is_placed) {
        if (ri_unlikely(recv->rtr.state != RI_RTR_NONE) &&
            ri_promises.meet(recv, stream, arrival, &status)) {
            return status;
        }
        if (recv_is_truncated(recv, arrival->length) && !ops->answers) {
            return UCS_ERR_MESSAGE_TRUNCATED;
        }
    }
    return ri_likely(arrival->kind == RI_MSG_COPY) ?
                   recv_place(recv, arrival->data, arrival->length) :
                   ops->start(recv, stream, arrival);
}

ucs_status_t ri_recv_start(ri_recv_req_t *recv, ri_stream_t *stream,
                           ri_arrival_t *arrival)
{
    size_t length = arrival->length;
    ucs_status_t status;

    recv->info.sender_tag = arrival->tag;
    recv->info.length     = length;

    if (ri_unlikely(length > ri_config.eager_thresh) && (stream != NULL) &&
        (arrival->wire_type != RI_WIRE_RNDV_DATA)) { /* its RTS was matched before */
        ri_promises.learn(recv, stream, arrival);
    }
    if ((stream != NULL) && (arrival->wire_type != RI_WIRE_RNDV_DATA)) {
        ri_timeline_recv(recv, stream, arrival->sn, length);
    }
    status = recv_start(recv, stream, arrival, ri_msg_ops[arrival->kind]);
    if (ri_unlikely(status == UCS_INPROGRESS)) {
        return status;
    }

    ri_dt_finish(&recv->data);
    ri_trace(&recv->super.worker->trace, RI_TRACE_RECV_DONE, arrival->tag, length);
    ri_timeline_recv_end(recv, status);
    return status;
}

void ri_recv_start_ack(ri_stream_t *stream, ri_msg_kind_t kind, uint32_t req_id)
{
    const ri_msg_ops_t *ops = ri_msg_ops[kind];

    if (ri_unlikely((req_id != 0) && (stream != NULL) && !ops->answers &&
                    !ops->is_placed)) {
        ri_control_answer(stream, RI_WIRE_SYNC_ACK, req_id);
    }
}

/* A receive is done with a descriptor of UCP's that UCP has not taken over. If it has just come,
 * stock releases it. */
static void recv_release(ri_worker_t *worker, void *desc)
{
    if (desc == worker->arriving) {
        worker->arriving = NULL;
    } else {
        ri_stock.am_data_release(worker->stock, desc); /* the sender completes */
    }
}

ucs_status_t ri_recv_start_msg(ri_recv_req_t *recv, ri_msg_t *msg)
{
    const ri_msg_ops_t *ops = ri_msg_ops[msg->kind];
    ri_worker_t *worker     = recv->super.worker;
    ri_stream_t *stream     = msg->stream;
    ri_arrival_t source     = {.sn        = msg->sn,
                               .kind      = msg->kind,
                               .wire_type = msg->wire_type,
                               .req_id    = msg->req_id,
                               .tag       = msg->tag,
                               .length    = msg->length,
                               .data      = msg->payload,
                               .desc      = msg->desc};
    ucs_status_t status     = ri_recv_start(recv, stream, &source);

    if (ops->is_held) {
        ri_msg_unhold(worker, stream, msg->length);
    }
    if (ops->has_desc && (source.desc != NULL)) {
        recv_release(worker, source.desc);
    }
    if (stream != NULL) {
        --stream->num_msgs;
        ri_recv_start_ack(stream, msg->kind, msg->req_id);
        ri_stream_check_closed(stream);
    }
    ri_msg_free(worker, msg);
    if (ops->done != NULL) {
        ops->done(&source);
    }
    return status;
}

const ri_msg_ops_t ri_msg_ops_copy = {.start = recv_start_data, .is_held = 1};

const ri_msg_ops_t ri_msg_ops_am_data = {
        .start = recv_start_data, .is_held = 1, .has_desc = 1};

const ri_msg_ops_t ri_msg_ops_am_rndv = {
        .start = recv_start_am_rndv, .is_elsewhere = 1, .has_desc = 1};
