/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rejected: an active message to the own worker, received by ucp_am_recv_data_nbx. It needs
 * a wire type that others could send, and rendezvous for a few bytes.
 */
#include "bounce.h"
#include "../core/types/module.h"
#include "../core/recv_req.h"
#include "../core/memory.h"
#include "../../ucs/random.h"
#include "../../ucs/stock.h"

#include <stdlib.h>
#include <string.h>

/* The resources that a transfer can wait for. */
enum {
    BOUNCE_CALL = 1 << 0, /* ri_bounce() itself */
    BOUNCE_RECV = 1 << 1, /* stock's receive */
    BOUNCE_SEND = 1 << 2  /* stock's send, which reads data[] */
};

typedef struct bounce {
    ucs_list_link_t list; /* in worker->bounce.list */
    ri_recv_req_t *recv;
    void *stock_recv;    /* valid while BOUNCE_RECV */
    unsigned waiting;    /* BOUNCE_* */
    ucs_status_t status; /* the first thing that went wrong */
    uint8_t data[];
} bounce_t;

ucs_status_t ri_bounce_init(ri_worker_t *worker)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    ucs_status_t status;
    size_t length;

    if (worker->bounce.ep != NULL) {
        return UCS_OK;
    }

    status = ri_stock.worker_get_address(worker->stock, &address, &length);
    if (status != UCS_OK) {
        return status;
    }
    params.address = address;
    status         = ri_stock.ep_create(worker->stock, &params, &worker->bounce.ep);
    ri_stock.worker_release_address(worker->stock, address);
    if (status != UCS_OK) {
        worker->bounce.ep = NULL;
        return status;
    }

    /* A peer that is connected by socket address could send stock tag messages. It must not
     * guess the tag of a transfer. */
    worker->bounce.tag = ri_random();
    return UCS_OK;
}

static void bounce_note(bounce_t *bounce, ucs_status_t status)
{
    bounce->status = (bounce->status == UCS_OK) ? status : bounce->status;
}

/* @return Whether the transfer has ended; it is freed then. */
static int bounce_end_wait(bounce_t *bounce, unsigned what)
{
    bounce->waiting &= ~what;
    if (bounce->waiting != 0) {
        return 0;
    }
    ucs_list_del(&bounce->list);
    free(bounce);
    return 1;
}

/* As bounce_end_wait(), for what ends by callback: the receive ends with the transfer. */
static void bounce_end_by_callback(bounce_t *bounce, unsigned what)
{
    ri_recv_req_t *recv = bounce->recv;
    ucs_status_t status = bounce->status;

    if (bounce_end_wait(bounce, what)) {
        ri_recv_complete(recv, status);
    }
}

/* Stock's callback of the receive. */
static void bounce_received(void *request, ucs_status_t status,
                            const ucp_tag_recv_info_t *info, void *user_data)
{
    bounce_t *bounce    = user_data;
    ri_worker_t *worker = bounce->recv->super.worker;

    ri_worker_lock(worker);
    ri_stock.request_free(request);
    bounce_note(bounce, status);
    bounce_end_by_callback(bounce, BOUNCE_RECV);
    ri_worker_unlock(worker);
}

/* The send has ended; if it failed, what its receive waits for will not come. The receive's
 * end does not end the transfer, which still waits for the send. */
static void bounce_send_ended(bounce_t *bounce, ucs_status_t status)
{
    bounce_note(bounce, status);
    if ((status != UCS_OK) && (bounce->waiting & BOUNCE_RECV)) {
        ri_stock.request_cancel(bounce->recv->super.worker->stock, bounce->stock_recv);
    }
}

/* Stock's callback of the send. */
static void bounce_sent(void *request, ucs_status_t status, void *user_data)
{
    bounce_t *bounce    = user_data;
    ri_worker_t *worker = bounce->recv->super.worker;

    ri_worker_lock(worker);
    ri_stock.request_free(request);
    bounce_send_ended(bounce, status);
    bounce_end_by_callback(bounce, BOUNCE_SEND);
    ri_worker_unlock(worker);
}

/* Post the receive of a transfer. NO_IMM_CMPL: it always ends by callback. */
static ucs_status_t bounce_recv(bounce_t *bounce, ucp_tag_t tag)
{
    ri_dt_data_t *data        = &bounce->recv->data;
    ucp_request_param_t param = {
            .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                            UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
            .cb.recv   = bounce_received,
            .user_data = bounce};
    ucs_status_ptr_t ret;
    ucs_status_t status;
    void *buffer;
    size_t count;

    status = ri_dt_to_stock(data, &buffer, &count, &param.datatype);
    if (status != UCS_OK) {
        return status;
    }
    ri_memory_hint(data->memory_type, &param);
    bounce->waiting |= BOUNCE_RECV;
    ret = ri_stock.tag_recv_nbx(bounce->recv->super.worker->stock, buffer, count, tag,
                                ~0ul, &param);
    if (UCS_PTR_IS_ERR(ret)) {
        bounce->waiting &= ~BOUNCE_RECV;
        return UCS_PTR_STATUS(ret);
    }
    bounce->stock_recv = ret;
    return UCS_OK;
}

static void bounce_send(bounce_t *bounce, size_t length, ucp_tag_t tag)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA,
                                 .cb.send   = bounce_sent,
                                 .user_data = bounce};
    ucs_status_ptr_t ret;

    ri_memory_hint(UCS_MEMORY_TYPE_HOST, &param);
    bounce->waiting |= BOUNCE_SEND;
    ret = ri_stock.tag_send_nbx(bounce->recv->super.worker->bounce.ep, bounce->data,
                                length, tag, &param);
    if (!UCS_PTR_IS_PTR(ret)) {
        bounce_send_ended(bounce, UCS_PTR_STATUS(ret));
        bounce->waiting &= ~BOUNCE_SEND;
    }
}

ucs_status_t ri_bounce(ri_recv_req_t *recv, const void *data, size_t length)
{
    ri_worker_t *worker = recv->super.worker;
    ucp_tag_t tag       = worker->bounce.tag++;
    bounce_t *bounce    = malloc(sizeof(*bounce) + length);
    ucs_status_t status;

    if (bounce == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    ++worker->counters.recv_bounced;
    bounce->recv    = recv;
    bounce->waiting = BOUNCE_CALL;
    bounce->status  = UCS_OK;
    memcpy(bounce->data, data, length);
    ucs_list_add_tail(&worker->bounce.list, &bounce->list);

    status = bounce_recv(bounce, tag);
    if (status == UCS_OK) {
        bounce_send(bounce, length, tag);
        status = bounce->status;
    }
    return bounce_end_wait(bounce, BOUNCE_CALL) ? status : UCS_INPROGRESS;
}

static ucs_status_t bounce_worker_made(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->bounce.list);
    return UCS_OK;
}

/* Free the copies of transfers that stock never ended. Their receives are not completed. */
static void bounce_worker_freed(ri_worker_t *worker)
{
    bounce_t *bounce, *tmp;

    ucs_list_for_each_safe(bounce, tmp, &worker->bounce.list, list) {
        free(bounce);
    }
}

const ri_module_t ri_module_bounce = {.name         = "bounce",
                                      .worker_made  = bounce_worker_made,
                                      .worker_freed = bounce_worker_freed};
