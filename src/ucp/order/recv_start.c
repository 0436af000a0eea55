/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "recv_start.h"
#include "../core/recv_req.h"
#include "../../ucs/settings.h"
#include "../core/memory.h"
#include "../../ucs/stock.h"
#include "../link/bounce.h"
#include "../proto/rndv/rndv.h"
#include "../proto/rtr/rtr.h"
#include "../proto/eager/self.h"

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

ucs_status_t ri_recv_start(ri_recv_req_t *recv, ri_stream_t *stream,
                           ri_arrival_t *arrival)
{
    size_t length = arrival->length;
    int fits;
    ucs_status_t status;

    recv->info.sender_tag = arrival->tag;
    recv->info.length     = length;

    if (ri_unlikely(length > ri_config.eager_thresh) && (stream != NULL) &&
        (arrival->wire_type != RI_WIRE_RNDV_DATA)) { /* its RTS was matched before */
        ri_rtr_learn(recv, stream, arrival);
    }
    if (ri_unlikely(arrival->kind == RI_MSG_PLACED)) {
        status = ri_rtr_placed(recv, stream, arrival);
        goto out;
    }
    if (ri_unlikely(arrival->kind == RI_MSG_USED)) {
        status = ri_rtr_used(recv, stream, arrival);
        goto out;
    }
    if (ri_unlikely(recv->rtr != RI_RTR_NONE) &&
        ri_rtr_meet(recv, stream, arrival, &status)) {
        goto out;
    }

    fits   = !recv_is_truncated(recv, length);
    status = UCS_ERR_MESSAGE_TRUNCATED;
    if (ri_unlikely(arrival->kind == RI_MSG_RTS)) {
        status = ri_rndv_recv(recv, stream, arrival);
    } else if (ri_unlikely(!fits)) {
        /* nothing is placed */
    } else if (ri_likely((arrival->kind == RI_MSG_COPY) ||
                         (arrival->kind == RI_MSG_AM_DATA)) ||
               ((arrival->kind == RI_MSG_AM_RNDV) && (length == 0))) {
        status = recv_place(recv, arrival->data, length);
    } else if (arrival->kind == RI_MSG_AM_RNDV) {
        status = recv_fetch(recv, &arrival->desc);
    } else {
        status = (arrival->send != NULL) ? ri_self_copy(recv, arrival->send) :
                                           UCS_ERR_CANCELED;
    }
out:
    if (ri_unlikely(status == UCS_INPROGRESS)) {
        return status;
    }

    ri_dt_finish(&recv->data);
    ri_trace(&recv->super.worker->trace, RI_TRACE_RECV_DONE, arrival->tag, length);
    return status;
}
