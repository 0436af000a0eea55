/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Interposed: one-sided operations, and the fence between them. Each is carried out here if it can
 * be (rma/direct.h), and by stock if not; then later messages must not overtake it
 * (core/rma_order.h).
 */
#include "blocking.h"
#include "guard.h"
#include "../../ucs/stock.h"
#include "../core/memory.h"
#include "../core/types/request.h"
#include "../core/rma_order.h"
#include "../rma/direct.h"
#include "../rma/posts.h"

/* A strong fence, the default from 1.16 on, makes progress under stock's lock, and waits for the
 * targets. So stock is left out where none of the operations before is its own. */
ucs_status_t ucp_worker_fence(ucp_worker_h stock)
{
    ri_worker_t *worker = ri_worker_find(stock);
    ucs_status_t status = UCS_OK;

    ri_stock_resolve();
    if (worker == NULL) {
        return ri_stock.worker_fence(stock);
    }
    ri_worker_lock(worker);
    ri_posts_settle_all(worker);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    ri_rma_fence(worker);
    if (ri_rma_has_stock(worker)) {
        status = ri_stock.worker_fence(stock);
    }
    ri_worker_unlock(worker);
    return status;
}

/* An operation that is stock's. It may call the application back within its call, and the endpoint
 * may be closed there: so the conn is looked up again. */
typedef struct rma_call {
    ri_worker_t
            *worker;  /* the worker, locked; NULL: the endpoint is not of this library */
    uint32_t conn_id; /* of the conn, which may be closed within the call */
} rma_call_t;

static ri_inline rma_call_t rma_enter_conn(ri_conn_t *conn)
{
    ri_worker_lock(conn->worker);
    ri_posts_settle(conn);
    conn->counters.rma_stock += (conn->worker->rma.in_stock++ == 0);
    return (rma_call_t){.worker = conn->worker, .conn_id = conn->id};
}

/* @a conn NULL: the endpoint is not of this library. */
static ri_inline rma_call_t rma_enter(ri_conn_t *conn)
{
    return ri_likely(conn != NULL) ? rma_enter_conn(conn) : (rma_call_t){.worker = NULL};
}

/* @return The conn, or NULL: it has been closed, and stock may still be at the operation. */
static ri_inline ri_conn_t *rma_conn(const rma_call_t *call)
{
    ri_conn_t *conn = ri_id_get(&call->worker->ids.conns, call->conn_id);

    if (ri_unlikely(conn == NULL)) {
        call->worker->rma.left = ++call->worker->rma.seq;
    }
    return conn;
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
        --call->worker->rma.in_stock;
        ri_worker_unlock(call->worker);
    }
}

/* Enter a one-sided operation that has parameters of the application. It may have the callback run
 * within the call, and send messages in it. */
static ri_inline rma_call_t rma_enter_param(ri_conn_t *conn,
                                            const ucp_request_param_t *param)
{
    rma_call_t call = rma_enter(conn);

    ri_stock_resolve();
    ri_req_disown(param);
    if ((call.worker != NULL) && (param->op_attr_mask & UCP_OP_ATTR_FLAG_NO_IMM_CMPL)) {
        ri_rma_note_unknown(rma_conn(&call));
    }
    return call;
}

/* Put or get at once, if that can be done here. A put only reads @a buffer. @a conn NULL: it is
 * stock's. @return As ri_direct_put(). */
static ri_inline ucs_status_t rma_direct(ri_conn_t *conn, ri_rma_kind_t kind,
                                         void *buffer, size_t length,
                                         uint64_t remote_addr, ucp_rkey_h rkey)
{
    ucs_status_t status;

    if (conn == NULL) {
        return UCS_ERR_UNSUPPORTED;
    }
    ri_worker_lock(conn->worker);
    status = (kind == RI_RMA_PUT) ?
                     ri_direct_put(conn, rkey, buffer, length, remote_addr) :
                     ri_direct_get(conn, rkey, buffer, length, remote_addr);
    ri_worker_unlock(conn->worker);
    return status;
}

static ri_inline ucs_status_t rma_atomic_direct(ri_conn_t *conn, ucp_atomic_op_t op,
                                                size_t size, uint64_t value, void *result,
                                                uint64_t remote_addr, ucp_rkey_h rkey)
{
    ucs_status_t status;

    if (conn == NULL) {
        return UCS_ERR_UNSUPPORTED;
    }
    ri_worker_lock(conn->worker);
    status = ri_direct_atomic(conn, rkey, op, size, value, result, remote_addr);
    ri_worker_unlock(conn->worker);
    return status;
}

/* The bytes of an operation with parameters of the application; 0: these are stock's affair. */
static ri_inline size_t rma_length(size_t count, const ucp_request_param_t *param)
{
    size_t length = count;

    if ((param->op_attr_mask & UCP_OP_ATTR_FLAG_NO_IMM_CMPL) ||
        ((param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) &&
         (param->memory_type != UCS_MEMORY_TYPE_HOST) &&
         (param->memory_type != UCS_MEMORY_TYPE_UNKNOWN))) {
        return 0;
    }
    if (!(param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE)) {
        return length;
    }
    if (((param->datatype & UCP_DATATYPE_CLASS_MASK) != UCP_DATATYPE_CONTIG) ||
        __builtin_mul_overflow(count, param->datatype >> UCP_DATATYPE_SHIFT, &length)) {
        return 0;
    }
    return length;
}

/* A put or get of stock's without a handle, or with one that is not the application's. */
static ri_inline ucs_status_ptr_t rma_stock(ri_conn_t *conn, ri_rma_kind_t kind,
                                            void *buffer, size_t length,
                                            uint64_t remote_addr, ucp_rkey_h rkey,
                                            int has_handle)
{
    rma_call_t call      = rma_enter_conn(conn);
    ri_rma_op_t *op      = ri_rma_op_get(call.worker);
    ucs_status_ptr_t ret = UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);

    if (ri_likely(op != NULL)) {
        ret = (kind == RI_RMA_PUT) ? ri_stock.put_nbx(conn->ep, buffer, length,
                                                      remote_addr, rkey, &op->param) :
                                     ri_stock.get_nbx(conn->ep, buffer, length,
                                                      remote_addr, rkey, &op->param);
        ri_rma_started(rma_conn(&call), op, kind, ret, has_handle);
    }
    --call.worker->rma.in_stock;
    ri_worker_unlock(call.worker);
    return ret;
}

/* A put or get that is waited for. The blocking calls of stock wait without its lock, so these must
 * not wait under ours. */
static ri_inline ucs_status_t rma_wait(ri_conn_t *conn, ri_rma_kind_t kind, void *buffer,
                                       size_t length, uint64_t remote_addr,
                                       ucp_rkey_h rkey)
{
    ucs_status_t status = rma_direct(conn, kind, buffer, length, remote_addr, rkey);
    ucp_worker_h stock;

    if (ri_likely(status != UCS_ERR_UNSUPPORTED)) {
        return status;
    }
    stock = conn->worker->stock;
    return ri_blocking_wait(stock,
                            rma_stock(conn, kind, buffer, length, remote_addr, rkey, 1));
}

/* A put or get that a flush waits for. */
static ri_inline ucs_status_t rma_start(ri_conn_t *conn, ri_rma_kind_t kind, void *buffer,
                                        size_t length, uint64_t remote_addr,
                                        ucp_rkey_h rkey)
{
    ucs_status_t status = rma_direct(conn, kind, buffer, length, remote_addr, rkey);
    ucs_status_ptr_t ret;

    if (ri_likely(status != UCS_ERR_UNSUPPORTED)) {
        return status;
    }
    ret = rma_stock(conn, kind, buffer, length, remote_addr, rkey, 0);
    return UCS_PTR_IS_PTR(ret) ? UCS_INPROGRESS : UCS_PTR_STATUS(ret);
}

/* A put or get with a callback. */
static ri_inline ucs_status_ptr_t rma_start_cb(ucp_ep_h ep, ri_rma_kind_t kind,
                                               void *buffer, size_t length,
                                               uint64_t remote_addr, ucp_rkey_h rkey,
                                               ucp_send_callback_t cb)
{
    ri_conn_t *conn     = ri_conn_find(ep);
    ucs_status_t status = rma_direct(conn, kind, buffer, length, remote_addr, rkey);
    ucs_status_ptr_t ret;
    rma_call_t call;

    if (ri_likely(status != UCS_ERR_UNSUPPORTED)) {
        return UCS_STATUS_PTR(status);
    }
    call = rma_enter(conn);
    ri_stock_resolve();
    ret = (kind == RI_RMA_PUT) ?
                  ri_stock.put_nb(ep, buffer, length, remote_addr, rkey, cb) :
                  ri_stock.get_nb(ep, buffer, length, remote_addr, rkey, cb);
    rma_leave(&call, kind, ret);
    return ret;
}

/* A put or get with parameters of the application. */
static ri_inline ucs_status_ptr_t rma_start_param(ucp_ep_h ep, ri_rma_kind_t kind,
                                                  void *buffer, size_t count,
                                                  uint64_t remote_addr, ucp_rkey_h rkey,
                                                  const ucp_request_param_t *param)
{
    ri_conn_t *conn = ri_conn_find(ep);
    ucs_status_ptr_t ret;
    rma_call_t call;
    ucs_status_t status;

    status = rma_direct(conn, kind, buffer, rma_length(count, param), remote_addr, rkey);
    if (ri_likely(status != UCS_ERR_UNSUPPORTED)) {
        return UCS_STATUS_PTR(status);
    }
    call = rma_enter_param(conn, param);
    ret  = (kind == RI_RMA_PUT) ?
                   ri_stock.put_nbx(ep, buffer, count, remote_addr, rkey, param) :
                   ri_stock.get_nbx(ep, buffer, count, remote_addr, rkey, param);
    rma_leave(&call, kind, ret);
    return ret;
}

ucs_status_t ucp_put(ucp_ep_h ep, const void *buffer, size_t length, uint64_t remote_addr,
                     ucp_rkey_h rkey)
{
    ri_conn_t *conn = ri_conn_find(ep);

    ri_stock_resolve();
    if (conn == NULL) {
        return ri_stock.put(ep, buffer, length, remote_addr, rkey);
    }
    return rma_wait(conn, RI_RMA_PUT, (void *)buffer, length, remote_addr, rkey);
}

ucs_status_t ucp_put_nbi(ucp_ep_h ep, const void *buffer, size_t length,
                         uint64_t remote_addr, ucp_rkey_h rkey)
{
    ri_conn_t *conn = ri_conn_find(ep);

    if (conn == NULL) {
        ri_stock_resolve();
        return ri_stock.put_nbi(ep, buffer, length, remote_addr, rkey);
    }
    return rma_start(conn, RI_RMA_PUT, (void *)buffer, length, remote_addr, rkey);
}

ucs_status_ptr_t ucp_put_nb(ucp_ep_h ep, const void *buffer, size_t length,
                            uint64_t remote_addr, ucp_rkey_h rkey, ucp_send_callback_t cb)
{
    return rma_start_cb(ep, RI_RMA_PUT, (void *)buffer, length, remote_addr, rkey, cb);
}

ucs_status_ptr_t ucp_put_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                             uint64_t remote_addr, ucp_rkey_h rkey,
                             const ucp_request_param_t *param)
{
    return rma_start_param(ep, RI_RMA_PUT, (void *)buffer, count, remote_addr, rkey,
                           param);
}

ucs_status_t ucp_get(ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
                     ucp_rkey_h rkey)
{
    ri_conn_t *conn = ri_conn_find(ep);

    ri_stock_resolve();
    if (conn == NULL) {
        return ri_stock.get(ep, buffer, length, remote_addr, rkey);
    }
    return rma_wait(conn, RI_RMA_GET, buffer, length, remote_addr, rkey);
}

ucs_status_t ucp_get_nbi(ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
                         ucp_rkey_h rkey)
{
    ri_conn_t *conn = ri_conn_find(ep);

    if (conn == NULL) {
        ri_stock_resolve();
        return ri_stock.get_nbi(ep, buffer, length, remote_addr, rkey);
    }
    return rma_start(conn, RI_RMA_GET, buffer, length, remote_addr, rkey);
}

ucs_status_ptr_t ucp_get_nb(ucp_ep_h ep, void *buffer, size_t length,
                            uint64_t remote_addr, ucp_rkey_h rkey, ucp_send_callback_t cb)
{
    return rma_start_cb(ep, RI_RMA_GET, buffer, length, remote_addr, rkey, cb);
}

ucs_status_ptr_t ucp_get_nbx(ucp_ep_h ep, void *buffer, size_t count,
                             uint64_t remote_addr, ucp_rkey_h rkey,
                             const ucp_request_param_t *param)
{
    return rma_start_param(ep, RI_RMA_GET, buffer, count, remote_addr, rkey, param);
}

/* The operations of the older calls, as ucp_atomic_op_nbx() names them. */
static const ucp_atomic_op_t rma_post_ops[] = {
        [UCP_ATOMIC_POST_OP_ADD] = UCP_ATOMIC_OP_ADD,
        [UCP_ATOMIC_POST_OP_AND] = UCP_ATOMIC_OP_AND,
        [UCP_ATOMIC_POST_OP_OR]  = UCP_ATOMIC_OP_OR,
        [UCP_ATOMIC_POST_OP_XOR] = UCP_ATOMIC_OP_XOR};
static const ucp_atomic_op_t rma_fetch_ops[] = {
        [UCP_ATOMIC_FETCH_OP_FADD]  = UCP_ATOMIC_OP_ADD,
        [UCP_ATOMIC_FETCH_OP_SWAP]  = UCP_ATOMIC_OP_SWAP,
        [UCP_ATOMIC_FETCH_OP_CSWAP] = UCP_ATOMIC_OP_CSWAP,
        [UCP_ATOMIC_FETCH_OP_FAND]  = UCP_ATOMIC_OP_AND,
        [UCP_ATOMIC_FETCH_OP_FOR]   = UCP_ATOMIC_OP_OR,
        [UCP_ATOMIC_FETCH_OP_FXOR]  = UCP_ATOMIC_OP_XOR};

/* An operation that a newer UCX may have is stock's. */
static ri_inline ucp_atomic_op_t rma_op(const ucp_atomic_op_t *ops, size_t num_ops,
                                        unsigned opcode)
{
    return (opcode < num_ops) ? ops[opcode] : UCP_ATOMIC_OP_LAST;
}

ucs_status_t ucp_atomic_post(ucp_ep_h ep, ucp_atomic_post_op_t opcode, uint64_t value,
                             size_t op_size, uint64_t remote_addr, ucp_rkey_h rkey)
{
    ucp_atomic_op_t op = rma_op(rma_post_ops, UCP_ATOMIC_POST_OP_LAST, opcode);
    ri_conn_t *conn    = ri_conn_find(ep);
    ucs_status_t status;
    rma_call_t call;

    status = rma_atomic_direct(conn, op, op_size, value, NULL, remote_addr, rkey);
    if (ri_likely(status != UCS_ERR_UNSUPPORTED)) {
        return status;
    }
    call = rma_enter(conn);
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
    ucp_atomic_op_t op = rma_op(rma_fetch_ops, UCP_ATOMIC_FETCH_OP_LAST, opcode);
    ri_conn_t *conn    = ri_conn_find(ep);
    ucs_status_ptr_t ret;
    rma_call_t call;
    ucs_status_t status;

    status = rma_atomic_direct(conn, op, op_size, value, result, remote_addr, rkey);
    if (ri_likely(status != UCS_ERR_UNSUPPORTED)) {
        return UCS_STATUS_PTR(status);
    }
    call = rma_enter(conn);
    ri_stock_resolve();
    ret = ri_stock.atomic_fetch_nb(ep, opcode, value, result, op_size, remote_addr, rkey,
                                   cb);
    rma_leave(&call, RI_RMA_GET, ret);
    return ret;
}

/* One operand, whose size the datatype says, and a buffer for what was there if it is wanted. */
static ri_inline ucs_status_t rma_atomic_param(ri_conn_t *conn, ucp_atomic_op_t opcode,
                                               const void *buffer, size_t count,
                                               uint64_t remote_addr, ucp_rkey_h rkey,
                                               const ucp_request_param_t *param)
{
    int fetches    = !!(param->op_attr_mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER);
    size_t size    = rma_length(count, param);
    uint64_t value = 0;

    if ((conn == NULL) || (count != 1) || (size > sizeof(value)) ||
        !ri_memory_at_is_host(conn->worker, buffer, size)) {
        return UCS_ERR_UNSUPPORTED;
    }
    memcpy(&value, buffer, size);
    return rma_atomic_direct(conn, opcode, size, value,
                             fetches ? param->reply_buffer : NULL, remote_addr, rkey);
}

ucs_status_ptr_t ucp_atomic_op_nbx(ucp_ep_h ep, ucp_atomic_op_t opcode,
                                   const void *buffer, size_t count, uint64_t remote_addr,
                                   ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    ri_rma_kind_t kind = (param->op_attr_mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER) ?
                                 RI_RMA_GET :
                                 RI_RMA_PUT;
    ri_conn_t *conn    = ri_conn_find(ep);
    ucs_status_ptr_t ret;
    rma_call_t call;
    ucs_status_t status;

    status = rma_atomic_param(conn, opcode, buffer, count, remote_addr, rkey, param);
    if (ri_likely(status != UCS_ERR_UNSUPPORTED)) {
        return UCS_STATUS_PTR(status);
    }
    call = rma_enter_param(conn, param);
    ret  = ri_stock.atomic_op_nbx(ep, opcode, buffer, count, remote_addr, rkey, param);
    rma_leave(&call, kind, ret);
    return ret;
}
