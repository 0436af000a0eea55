/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Interposed: tag matching.
 */
#include "guard.h"
#include "../../ucs/stock.h"
#include "../../ucs/log.h"
#include "../tag/recv.h"
#include "../tag/send_fast.h"

/* A newer UCX may know more types than the one this library was built with; there are never
 * more than a mask has bits. */
#define TAG_NEWER_MEMORY_TYPES 64u

static ri_noinline int tag_memory_type_is_valid(const ucp_request_param_t *param)
{
    unsigned last = ri_stock_version_at_least(UCP_API_MAJOR, UCP_API_MINOR + 1) ?
                            TAG_NEWER_MEMORY_TYPES :
                            UCS_MEMORY_TYPE_LAST;

    if ((unsigned)param->memory_type > last) {
        ri_error("invalid memory type parameter: %d", param->memory_type);
        return 0;
    }
    return 1;
}

static inline int tag_param_is_valid(const ucp_request_param_t *param)
{
    return ri_likely(!(param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE)) ||
           tag_memory_type_is_valid(param);
}

/* On a worker that is locked, or timed; or with hints about the memory. */
static ri_noinline ucs_status_ptr_t tag_send_guarded(ri_conn_t *conn, const void *buffer,
                                                     size_t count, ucp_tag_t tag,
                                                     const ucp_request_param_t *param,
                                                     int sync)
{
    ri_worker_t *worker = conn->worker;
    ucs_status_ptr_t ret;

    if (!tag_param_is_valid(param)) {
        return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
    }
    ri_worker_enter(worker);
    ret = ri_tag_send(conn, buffer, count, tag, param, sync);
    ri_worker_leave(worker, RI_CALL_SEND);
    return ret;
}

static ri_noinline ucs_status_ptr_t tag_send_stock(ucp_ep_h ep, const void *buffer,
                                                   size_t count, ucp_tag_t tag,
                                                   const ucp_request_param_t *param)
{
    ri_stock_resolve();
    return ri_stock.tag_send_nbx(ep, buffer, count, tag, param);
}

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                                  ucp_tag_t tag, const ucp_request_param_t *param)
{
    ri_conn_t *conn = ri_conn_find(ep);

    if (ri_unlikely(conn == NULL)) {
        return tag_send_stock(ep, buffer, count, tag, param);
    }
    if (ri_unlikely(conn->worker->guarded ||
                    (param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE))) {
        return tag_send_guarded(conn, buffer, count, tag, param, 0);
    }
    return ri_tag_send(conn, buffer, count, tag, param, 0);
}

ucs_status_ptr_t ucp_tag_send_sync_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                                       ucp_tag_t tag, const ucp_request_param_t *param)
{
    ri_conn_t *conn = ri_conn_find(ep);

    if (conn == NULL) {
        ri_stock_resolve();
        return ri_stock.tag_send_sync_nbx(ep, buffer, count, tag, param);
    }
    return tag_send_guarded(conn, buffer, count, tag, param, 1);
}

static void tag_send_param(ucp_request_param_t *param, ucp_datatype_t datatype,
                           ucp_send_callback_t cb)
{
    param->op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_CALLBACK;
    param->datatype     = datatype;
    param->cb.send      = (ucp_send_nbx_callback_t)(void (*)(void))cb;
}

ucs_status_ptr_t ucp_tag_send_nb(ucp_ep_h ep, const void *buffer, size_t count,
                                 ucp_datatype_t datatype, ucp_tag_t tag,
                                 ucp_send_callback_t cb)
{
    ucp_request_param_t param;

    tag_send_param(&param, datatype, cb);
    return ucp_tag_send_nbx(ep, buffer, count, tag, &param);
}

ucs_status_ptr_t ucp_tag_send_sync_nb(ucp_ep_h ep, const void *buffer, size_t count,
                                      ucp_datatype_t datatype, ucp_tag_t tag,
                                      ucp_send_callback_t cb)
{
    ucp_request_param_t param;

    tag_send_param(&param, datatype, cb);
    return ucp_tag_send_sync_nbx(ep, buffer, count, tag, &param);
}

ucs_status_t ucp_tag_send_nbr(ucp_ep_h ep, const void *buffer, size_t count,
                              ucp_datatype_t datatype, ucp_tag_t tag, void *request)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE |
                                                 UCP_OP_ATTR_FIELD_REQUEST |
                                                 UCP_OP_ATTR_FLAG_FAST_CMPL,
                                 .datatype = datatype,
                                 .request  = request};
    ucs_status_ptr_t ret      = ucp_tag_send_nbx(ep, buffer, count, tag, &param);

    return UCS_PTR_IS_PTR(ret) ? UCS_INPROGRESS : UCS_PTR_STATUS(ret);
}

ucs_status_ptr_t ucp_tag_recv_nbx(ucp_worker_h stock, void *buffer, size_t count,
                                  ucp_tag_t tag, ucp_tag_t tag_mask,
                                  const ucp_request_param_t *param)
{
    ri_worker_t *worker = ri_worker_find(stock);
    ucs_status_ptr_t ret;

    if (ri_unlikely(worker == NULL)) {
        ri_stock_resolve();
        return ri_stock.tag_recv_nbx(stock, buffer, count, tag, tag_mask, param);
    }
    if (ri_unlikely(!tag_param_is_valid(param))) {
        return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
    }
    if (ri_likely(!worker->guarded)) { /* nothing is left to do after it: a jump */
        return ri_tag_recv(worker, buffer, count, tag, tag_mask, param);
    }
    ri_worker_enter(worker);
    ret = ri_tag_recv(worker, buffer, count, tag, tag_mask, param);
    ri_worker_leave(worker, RI_CALL_RECV);
    return ret;
}

ucs_status_ptr_t ucp_tag_recv_nb(ucp_worker_h stock, void *buffer, size_t count,
                                 ucp_datatype_t datatype, ucp_tag_t tag,
                                 ucp_tag_t tag_mask, ucp_tag_recv_callback_t cb)
{
    ucp_request_param_t param = {
            .op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_CALLBACK |
                            UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
            .datatype = datatype,
            .cb.recv  = (ucp_tag_recv_nbx_callback_t)(void (*)(void))cb};

    return ucp_tag_recv_nbx(stock, buffer, count, tag, tag_mask, &param);
}

ucs_status_t ucp_tag_recv_nbr(ucp_worker_h stock, void *buffer, size_t count,
                              ucp_datatype_t datatype, ucp_tag_t tag, ucp_tag_t tag_mask,
                              void *request)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE |
                                                 UCP_OP_ATTR_FIELD_REQUEST |
                                                 UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                 .datatype = datatype,
                                 .request  = request};
    ucs_status_ptr_t ret = ucp_tag_recv_nbx(stock, buffer, count, tag, tag_mask, &param);

    return UCS_PTR_IS_ERR(ret) ? UCS_PTR_STATUS(ret) : UCS_OK;
}

ucp_tag_message_h ucp_tag_probe_nb(ucp_worker_h stock, ucp_tag_t tag, ucp_tag_t tag_mask,
                                   int remove, ucp_tag_recv_info_t *info)
{
    ri_worker_t *worker = ri_worker_find(stock);
    ri_msg_t *msg;

    if (ri_unlikely(worker == NULL)) {
        ri_stock_resolve();
        return ri_stock.tag_probe_nb(stock, tag, tag_mask, remove, info);
    }
    ri_worker_enter(worker);
    msg = ri_tag_recv_probe(worker, tag, tag_mask, remove, info);
    ri_worker_leave(worker, RI_CALL_RECV);
    return (ucp_tag_message_h)msg;
}

ucs_status_ptr_t ucp_tag_msg_recv_nbx(ucp_worker_h stock, void *buffer, size_t count,
                                      ucp_tag_message_h message,
                                      const ucp_request_param_t *param)
{
    ri_worker_t *worker = ri_worker_find(stock);
    ucs_status_ptr_t ret;

    if (ri_unlikely(worker == NULL)) {
        ri_stock_resolve();
        return ri_stock.tag_msg_recv_nbx(stock, buffer, count, message, param);
    }
    if (ri_unlikely(!tag_param_is_valid(param))) {
        return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
    }
    ri_worker_enter(worker);
    ret = ri_tag_recv_msg(worker, buffer, count, (ri_msg_t *)message, param);
    ri_worker_leave(worker, RI_CALL_RECV);
    return ret;
}

ucs_status_ptr_t ucp_tag_msg_recv_nb(ucp_worker_h stock, void *buffer, size_t count,
                                     ucp_datatype_t datatype, ucp_tag_message_h message,
                                     ucp_tag_recv_callback_t cb)
{
    ucp_request_param_t param = {
            .op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_CALLBACK |
                            UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
            .datatype = datatype,
            .cb.recv  = (ucp_tag_recv_nbx_callback_t)(void (*)(void))cb};

    return ucp_tag_msg_recv_nbx(stock, buffer, count, message, &param);
}
