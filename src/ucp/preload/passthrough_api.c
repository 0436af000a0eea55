/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Interposed, but left to stock: functions that make stock enter a worker. They are here
 * for three reasons only, explained in guard.h, request.h and conn.h: to take the worker's
 * lock before stock takes its own (MULTI workers), to note that a block of request memory
 * now belongs to a stock operation, and to keep later messages behind one-sided
 * operations.
 */
#include "blocking.h"
#include "guard.h"
#include "../../ucs/stock.h"
#include "../../ucs/settings.h"
#include "../../ucs/log.h"
#include "../core/request.h"
#include "../core/rma.h"

/* The handler's id of this library must stay this library's. */
static int am_id_is_taken(ucp_worker_h stock, unsigned id)
{
    if ((ri_worker_find(stock) == NULL) || (id != ri_config.am_id)) {
        return 0;
    }
    ri_error("the application uses active message id %u, which ucxri has taken: set "
             "UCXRI_AM_ID to another number",
             id);
    return 1;
}

ucs_status_t ucp_worker_set_am_handler(ucp_worker_h stock, uint16_t id,
                                       ucp_am_callback_t cb, void *arg, uint32_t flags)
{
    ri_stock_resolve();
    if (am_id_is_taken(stock, id)) {
        return UCS_ERR_INVALID_PARAM;
    }
    return ri_stock.worker_set_am_handler(stock, id, cb, arg, flags);
}

ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h stock,
                                            const ucp_am_handler_param_t *param)
{
    ri_stock_resolve();
    if ((param->field_mask & UCP_AM_HANDLER_PARAM_FIELD_ID) &&
        am_id_is_taken(stock, param->id)) {
        return UCS_ERR_INVALID_PARAM;
    }
    return ri_stock.worker_set_am_recv_handler(stock, param);
}

/* A strong fence, the default from 1.16 on, makes progress under stock's lock. */
ucs_status_t ucp_worker_fence(ucp_worker_h stock)
{
    ri_worker_t *guard = ri_guard_worker(stock);
    ucs_status_t status;

    ri_stock_resolve();
    status = ri_stock.worker_fence(stock);
    ri_guard_leave(guard);
    return status;
}

ucs_status_ptr_t ucp_am_send_nb(ucp_ep_h ep, uint16_t id, const void *buffer,
                                size_t count, ucp_datatype_t datatype,
                                ucp_send_callback_t cb, unsigned flags)
{
    ri_worker_t *guard = ri_guard_ep(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ret = ri_stock.am_send_nb(ep, id, buffer, count, datatype, cb, flags);
    ri_guard_leave(guard);
    return ret;
}

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header,
                                 size_t header_length, const void *buffer, size_t count,
                                 const ucp_request_param_t *param)
{
    ri_worker_t *guard = ri_guard_ep(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ri_req_disown(param);
    ret = ri_stock.am_send_nbx(ep, id, header, header_length, buffer, count, param);
    ri_guard_leave(guard);
    return ret;
}

ucs_status_ptr_t ucp_am_recv_data_nbx(ucp_worker_h stock, void *data_desc, void *buffer,
                                      size_t count, const ucp_request_param_t *param)
{
    ri_worker_t *guard = ri_guard_worker(stock);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ri_req_disown(param);
    ret = ri_stock.am_recv_data_nbx(stock, data_desc, buffer, count, param);
    ri_guard_leave(guard);
    return ret;
}

void ucp_am_data_release(ucp_worker_h stock, void *data)
{
    ri_worker_t *guard = ri_guard_worker(stock);

    ri_stock_resolve();
    ri_stock.am_data_release(stock, data);
    ri_guard_leave(guard);
}

ucs_status_ptr_t ucp_stream_send_nb(ucp_ep_h ep, const void *buffer, size_t count,
                                    ucp_datatype_t datatype, ucp_send_callback_t cb,
                                    unsigned flags)
{
    ri_worker_t *guard = ri_guard_ep(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ret = ri_stock.stream_send_nb(ep, buffer, count, datatype, cb, flags);
    ri_guard_leave(guard);
    return ret;
}

ucs_status_ptr_t ucp_stream_send_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                                     const ucp_request_param_t *param)
{
    ri_worker_t *guard = ri_guard_ep(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ri_req_disown(param);
    ret = ri_stock.stream_send_nbx(ep, buffer, count, param);
    ri_guard_leave(guard);
    return ret;
}

ucs_status_ptr_t ucp_stream_recv_nb(ucp_ep_h ep, void *buffer, size_t count,
                                    ucp_datatype_t datatype,
                                    ucp_stream_recv_callback_t cb, size_t *length,
                                    unsigned flags)
{
    ri_worker_t *guard = ri_guard_ep(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ret = ri_stock.stream_recv_nb(ep, buffer, count, datatype, cb, length, flags);
    ri_guard_leave(guard);
    return ret;
}

ucs_status_ptr_t ucp_stream_recv_nbx(ucp_ep_h ep, void *buffer, size_t count,
                                     size_t *length, const ucp_request_param_t *param)
{
    ri_worker_t *guard = ri_guard_ep(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ri_req_disown(param);
    ret = ri_stock.stream_recv_nbx(ep, buffer, count, length, param);
    ri_guard_leave(guard);
    return ret;
}

/* One-sided operations: as the others, and later messages must not overtake them (rma.h).
 *
 * Stock may call the application back within its call, and the endpoint may be closed there: so
 * the conn is looked up again. */
typedef struct rma_call {
    ri_worker_t *worker; /* entered; NULL: not of this library */
    uint32_t conn_id;
} rma_call_t;

static ri_inline rma_call_t rma_enter_conn(ri_conn_t *conn)
{
    ri_worker_lock(conn->worker);
    return (rma_call_t){.worker = conn->worker, .conn_id = conn->id};
}

static ri_inline rma_call_t rma_enter(ucp_ep_h ep)
{
    ri_conn_t *conn = ri_conn_find(ep);

    return ri_likely(conn != NULL) ? rma_enter_conn(conn) : (rma_call_t){.worker = NULL};
}

static ri_inline ri_conn_t *rma_conn(const rma_call_t *call)
{
    return ri_id_get(&call->worker->conn_ids, call->conn_id);
}

/* An operation has been started. */
static ri_inline void rma_leave(const rma_call_t *call, ri_rma_kind_t kind,
                                ucs_status_ptr_t ret)
{
    ri_conn_t *conn;

    if (ri_likely(call->worker != NULL)) {
        conn = rma_conn(call);
        if (ri_likely(conn != NULL)) {
            ri_rma_note(conn, kind, ret);
        }
        ri_worker_unlock(call->worker);
    }
}

/* Enter a one-sided operation that has parameters of the application. It may have the callback run
 * within the call, and send messages in it. */
static ri_inline rma_call_t rma_enter_param(ucp_ep_h ep, const ucp_request_param_t *param)
{
    rma_call_t call = rma_enter(ep);

    ri_stock_resolve();
    ri_req_disown(param);
    if ((call.worker != NULL) && (param->op_attr_mask & UCP_OP_ATTR_FLAG_NO_IMM_CMPL)) {
        ri_rma_note_unknown(rma_conn(&call));
    }
    return call;
}

/* A put or get without a handle, or with one that is not the application's. */
static ri_inline ucs_status_ptr_t rma_put(ri_conn_t *conn, const void *buffer,
                                          size_t length, uint64_t remote_addr,
                                          ucp_rkey_h rkey, int has_handle)
{
    rma_call_t call      = rma_enter_conn(conn);
    ri_rma_op_t *op      = ri_rma_op_get(call.worker);
    ucs_status_ptr_t ret = UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);

    if (ri_likely(op != NULL)) {
        ret = ri_stock.put_nbx(conn->ep, buffer, length, remote_addr, rkey, &op->param);
        ri_rma_started(rma_conn(&call), op, RI_RMA_PUT, ret, has_handle);
    }
    ri_worker_unlock(call.worker);
    return ret;
}

static ri_inline ucs_status_ptr_t rma_get(ri_conn_t *conn, void *buffer, size_t length,
                                          uint64_t remote_addr, ucp_rkey_h rkey,
                                          int has_handle)
{
    rma_call_t call      = rma_enter_conn(conn);
    ri_rma_op_t *op      = ri_rma_op_get(call.worker);
    ucs_status_ptr_t ret = UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);

    if (ri_likely(op != NULL)) {
        ret = ri_stock.get_nbx(conn->ep, buffer, length, remote_addr, rkey, &op->param);
        ri_rma_started(rma_conn(&call), op, RI_RMA_GET, ret, has_handle);
    }
    ri_worker_unlock(call.worker);
    return ret;
}

/* The blocking calls of stock wait without its lock, so these must not wait under ours. */
ucs_status_t ucp_put(ucp_ep_h ep, const void *buffer, size_t length, uint64_t remote_addr,
                     ucp_rkey_h rkey)
{
    ri_conn_t *conn = ri_conn_find(ep);
    ucp_worker_h stock;

    ri_stock_resolve();
    if (conn == NULL) {
        return ri_stock.put(ep, buffer, length, remote_addr, rkey);
    }
    stock = conn->worker->stock;
    return ri_blocking_wait(stock, rma_put(conn, buffer, length, remote_addr, rkey, 1));
}

ucs_status_t ucp_put_nbi(ucp_ep_h ep, const void *buffer, size_t length,
                         uint64_t remote_addr, ucp_rkey_h rkey)
{
    ri_conn_t *conn = ri_conn_find(ep);
    ucs_status_ptr_t ret;

    if (conn == NULL) {
        ri_stock_resolve();
        return ri_stock.put_nbi(ep, buffer, length, remote_addr, rkey);
    }
    ret = rma_put(conn, buffer, length, remote_addr, rkey, 0);
    return UCS_PTR_IS_PTR(ret) ? UCS_INPROGRESS : UCS_PTR_STATUS(ret);
}

ucs_status_ptr_t ucp_put_nb(ucp_ep_h ep, const void *buffer, size_t length,
                            uint64_t remote_addr, ucp_rkey_h rkey, ucp_send_callback_t cb)
{
    rma_call_t call = rma_enter(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ret = ri_stock.put_nb(ep, buffer, length, remote_addr, rkey, cb);
    rma_leave(&call, RI_RMA_PUT, ret);
    return ret;
}

ucs_status_ptr_t ucp_put_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                             uint64_t remote_addr, ucp_rkey_h rkey,
                             const ucp_request_param_t *param)
{
    rma_call_t call = rma_enter_param(ep, param);
    ucs_status_ptr_t ret;

    ret = ri_stock.put_nbx(ep, buffer, count, remote_addr, rkey, param);
    rma_leave(&call, RI_RMA_PUT, ret);
    return ret;
}

ucs_status_t ucp_get(ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
                     ucp_rkey_h rkey)
{
    ri_conn_t *conn = ri_conn_find(ep);
    ucp_worker_h stock;

    ri_stock_resolve();
    if (conn == NULL) {
        return ri_stock.get(ep, buffer, length, remote_addr, rkey);
    }
    stock = conn->worker->stock;
    return ri_blocking_wait(stock, rma_get(conn, buffer, length, remote_addr, rkey, 1));
}

ucs_status_t ucp_get_nbi(ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
                         ucp_rkey_h rkey)
{
    ri_conn_t *conn = ri_conn_find(ep);
    ucs_status_ptr_t ret;

    if (conn == NULL) {
        ri_stock_resolve();
        return ri_stock.get_nbi(ep, buffer, length, remote_addr, rkey);
    }
    ret = rma_get(conn, buffer, length, remote_addr, rkey, 0);
    return UCS_PTR_IS_PTR(ret) ? UCS_INPROGRESS : UCS_PTR_STATUS(ret);
}

ucs_status_ptr_t ucp_get_nb(ucp_ep_h ep, void *buffer, size_t length,
                            uint64_t remote_addr, ucp_rkey_h rkey, ucp_send_callback_t cb)
{
    rma_call_t call = rma_enter(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ret = ri_stock.get_nb(ep, buffer, length, remote_addr, rkey, cb);
    rma_leave(&call, RI_RMA_GET, ret);
    return ret;
}

ucs_status_ptr_t ucp_get_nbx(ucp_ep_h ep, void *buffer, size_t count,
                             uint64_t remote_addr, ucp_rkey_h rkey,
                             const ucp_request_param_t *param)
{
    rma_call_t call = rma_enter_param(ep, param);
    ucs_status_ptr_t ret;

    ret = ri_stock.get_nbx(ep, buffer, count, remote_addr, rkey, param);
    rma_leave(&call, RI_RMA_GET, ret);
    return ret;
}

ucs_status_t ucp_atomic_post(ucp_ep_h ep, ucp_atomic_post_op_t opcode, uint64_t value,
                             size_t op_size, uint64_t remote_addr, ucp_rkey_h rkey)
{
    rma_call_t call = rma_enter(ep);
    ucs_status_t status;

    ri_stock_resolve();
    status = ri_stock.atomic_post(ep, opcode, value, op_size, remote_addr, rkey);
    rma_leave(&call, RI_RMA_PUT,
              &call); /* its status does not tell whether it has ended */
    return status;
}

ucs_status_ptr_t ucp_atomic_fetch_nb(ucp_ep_h ep, ucp_atomic_fetch_op_t opcode,
                                     uint64_t value, void *result, size_t op_size,
                                     uint64_t remote_addr, ucp_rkey_h rkey,
                                     ucp_send_callback_t cb)
{
    rma_call_t call = rma_enter(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ret = ri_stock.atomic_fetch_nb(ep, opcode, value, result, op_size, remote_addr, rkey,
                                   cb);
    rma_leave(&call, RI_RMA_GET, ret);
    return ret;
}

ucs_status_ptr_t ucp_atomic_op_nbx(ucp_ep_h ep, ucp_atomic_op_t opcode,
                                   const void *buffer, size_t count, uint64_t remote_addr,
                                   ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    rma_call_t call    = rma_enter_param(ep, param);
    ri_rma_kind_t kind = (param->op_attr_mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER) ?
                                 RI_RMA_GET :
                                 RI_RMA_PUT;
    ucs_status_ptr_t ret;

    ret = ri_stock.atomic_op_nbx(ep, opcode, buffer, count, remote_addr, rkey, param);
    rma_leave(&call, kind, ret);
    return ret;
}
