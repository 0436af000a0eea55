/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Interposed: endpoints, their flush and close. (The flush that waits is in blocking.c.)
 */
#include "blocking.h"
#include "guard.h"
#include "../../ucs/stock.h"
#include "../run/ep_op.h"
#include "../../ucs/log.h"
#include "../core/context.h"
#include "../core/worker.h"
#include "../link/local.h"
#include "../rma/window_ranks.h"

#include <string.h>

/* Endpoints fail through here: own operations end first, then the application is told. */
static void ep_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    ri_conn_t *conn = ri_conn_find(ep);
    ri_worker_t *worker;

    if (conn == NULL) {
        return; /* closed meanwhile */
    }

    worker = conn->worker;
    ri_worker_lock(worker);
    ri_conn_endpoint_failed(conn, status);
    ri_worker_unlock(worker);
}

/* The application's parameters, to be changed. */
typedef union ep_params_copy {
    ucp_ep_params_t params;
    uint8_t bytes[sizeof(ucp_ep_params_t) + RI_PARAMS_EXTRA_BYTES];
} ep_params_copy_t;

static void ep_params_copy(ep_params_copy_t *copy, const ucp_ep_params_t *params)
{
    uint64_t known   = (UCP_EP_PARAM_FIELD_LOCAL_SOCK_ADDR << 1) - 1;
    uint64_t unknown = params->field_mask & ~known;

    ri_guard_copy_params(copy->bytes, params, sizeof(*params), unknown);
}

/* Make an endpoint on a worker of this library. */
static ucs_status_t ep_create(ri_worker_t *worker, const ucp_ep_params_t *params,
                              ucp_ep_h *ep_p)
{
    uint32_t flags              = RI_CONN_USER;
    ucs_status_t address_status = UCS_OK;
    ucp_err_handler_cb_t err_cb = NULL;
    const void *stock_address;
    ep_params_copy_t copy;
    ucs_status_t status;
    ri_wire_worker_t remote = {0};
    ri_conn_t *conn;

    ep_params_copy(&copy, params);
    if (params->field_mask & UCP_EP_PARAM_FIELD_REMOTE_ADDRESS) {
        address_status = ri_wire_address_parse(params->address, &stock_address, &remote);
        copy.params.address = stock_address;
        /* Now: if the peer has no library, it gives up as soon as it has our address. */
        if (worker->context->features & UCP_FEATURE_TAG) {
            ri_conn_report_unusable(address_status);
        }
    } else {
        flags |= RI_CONN_BY_SOCKADDR;
    }

    if ((params->field_mask & UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE) &&
        (params->err_mode == UCP_ERR_HANDLING_MODE_PEER)) {
        flags |= RI_CONN_PEER_MODE;
    }
    if (params->field_mask & UCP_EP_PARAM_FIELD_ERR_HANDLER) {
        err_cb = params->err_handler.cb;
    } else {
        copy.params.err_handler.arg = NULL;
    }
    if ((err_cb != NULL) || (flags & RI_CONN_PEER_MODE)) {
        copy.params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER;
        copy.params.err_handler.cb = ep_error;
    }

    status = ri_stock.ep_create(worker->stock, &copy.params, ep_p);
    if (status != UCS_OK) {
        return status;
    }

    status = ri_conn_create(worker, *ep_p, &remote, address_status, flags, &conn);
    if (status != UCS_OK) {
        ri_error("cannot set up an endpoint: %s", ri_stock_status_string(status));
        ri_stock.ep_destroy(*ep_p);
        return status;
    }
    if ((params->field_mask & UCP_EP_PARAM_FIELD_REMOTE_ADDRESS) &&
        (address_status == UCS_OK)) {
        ri_local_learn(conn, ri_wire_address_process(params->address));
        if (worker->context->features & UCP_FEATURE_TAG) {
            ri_window_ranks_note(ri_wire_address_windows(params->address), remote.rank);
        }
    }
    conn->err_cb  = err_cb;
    conn->err_arg = (params->field_mask & UCP_EP_PARAM_FIELD_USER_DATA) ?
                            params->user_data :
                            copy.params.err_handler.arg;
    return UCS_OK;
}

ucs_status_t ucp_ep_create(ucp_worker_h stock, const ucp_ep_params_t *params,
                           ucp_ep_h *ep_p)
{
    ri_worker_t *worker = ri_worker_find(stock);
    const void *stock_address;
    ucs_status_t status;
    ep_params_copy_t copy;
    ri_wire_worker_t remote;

    ri_stock_resolve();
    if (worker != NULL) {
        ri_worker_lock(worker);
        status = ep_create(worker, params, ep_p);
        ri_worker_unlock(worker);
        return status;
    }

    /* A worker that is not served, in a process where the library is on, and the address of one
     * that is. Where it is off, the address must not work: the job is mixed. */
    if ((params->field_mask & UCP_EP_PARAM_FIELD_REMOTE_ADDRESS) &&
        ((ri_req_headroom != 0) || atomic_load(&ri_context_left)) &&
        (ri_wire_address_parse(params->address, &stock_address, &remote) !=
         UCS_ERR_NO_ELEM)) {
        ep_params_copy(&copy, params);
        copy.params.address = stock_address;
        return ri_stock.ep_create(stock, &copy.params, ep_p);
    }
    return ri_stock.ep_create(stock, params, ep_p);
}

ucs_status_ptr_t ucp_ep_close_nbx(ucp_ep_h ep, const ucp_request_param_t *param)
{
    ri_conn_t *conn = ri_conn_find(ep);
    ri_worker_t *worker;
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    if (conn == NULL) {
        ri_req_disown(param);
        return ri_stock.ep_close_nbx(ep, param);
    }

    worker = conn->worker;
    ri_worker_lock(worker);
    ret = ri_ep_close(conn, param);
    ri_worker_unlock(worker);
    return ret;
}

ucs_status_ptr_t ucp_ep_close_nb(ucp_ep_h ep, unsigned mode)
{
    ucp_request_param_t param = {
            .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
            .flags = (mode == UCP_EP_CLOSE_MODE_FORCE) ? UCP_EP_CLOSE_FLAG_FORCE : 0};

    return ucp_ep_close_nbx(ep, &param);
}

ucs_status_ptr_t ucp_disconnect_nb(ucp_ep_h ep)
{
    return ucp_ep_close_nb(ep, UCP_EP_CLOSE_MODE_FLUSH);
}

void ucp_ep_destroy(ucp_ep_h ep)
{
    ri_conn_t *conn = ri_conn_find(ep);
    ucp_worker_h stock;

    ri_stock_resolve();
    if (conn == NULL) {
        ri_stock.ep_destroy(ep);
        return;
    }
    stock = conn->worker->stock;
    ri_blocking_wait(stock, ucp_disconnect_nb(ep));
}

ucs_status_ptr_t ucp_ep_flush_nbx(ucp_ep_h ep, const ucp_request_param_t *param)
{
    ri_conn_t *conn = ri_conn_find(ep);
    ri_worker_t *worker;
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    if (conn == NULL) {
        ri_req_disown(param);
        return ri_stock.ep_flush_nbx(ep, param);
    }

    worker = conn->worker;
    ri_worker_lock(worker);
    ret = ri_ep_flush(conn, param);
    ri_worker_unlock(worker);
    return ret;
}

ucs_status_ptr_t ucp_ep_flush_nb(ucp_ep_h ep, unsigned flags, ucp_send_callback_t cb)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags   = flags,
                                 .cb.send = (ucp_send_nbx_callback_t)(void (*)(void))cb};

    return ucp_ep_flush_nbx(ep, &param);
}
