/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An operation waits in a list of the worker until own work is done, and is then handed to stock
 * with the application's parameters.
 */
#include "ep_op.h"
#include "close.h"
#include "../core/rma_order.h"
#include "../rma/posts.h"
#include "../rma/serve.h"
#include "../../ucs/log.h"
#include "../../ucs/stock.h"
#include "flush.h"

static uint32_t ep_param_flags(const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FIELD_FLAGS) ? param->flags : 0;
}

static ri_ep_op_t *ep_op_new(ri_worker_t *worker, ri_conn_t *conn, int is_close,
                             const ucp_request_param_t *param)
{
    ri_ep_op_t *op = (ri_ep_op_t *)ri_req_get(worker, param, RI_REQ_EP_OP);

    if (op == NULL) {
        return NULL;
    }
    op->conn     = conn;
    op->is_close = is_close;
    op->flags    = ep_param_flags(param);
    op->conn_id  = (conn != NULL) ? conn->id : 0;
    op->rma      = worker->rma.seq;
    op->lost     = UCS_OK;

    op->is_flushing = 0;
    op->is_left     = 0;
    op->flush       = NULL;
    return op;
}

static ucs_status_ptr_t ep_op_wait(ri_ep_op_t *op, const ucp_request_param_t *param)
{
    ri_worker_t *worker = op->super.worker;

    worker->attention = 1;
    ucs_list_add_tail(&worker->ep_ops, &op->list);
    ri_req_set_send_cb(&op->super, param);
    return ri_req_handle(&op->super);
}

/* How stock's call of an operation has ended. */
static void ep_op_note_end(ri_ep_op_t *op, ucs_status_t status)
{
    if (!op->is_close && (status == UCS_OK)) {
        ri_rma_flushed(op->super.worker, op->conn_id, op->rma);
    }
}

/* A close whose puts are lost has failed, even if stock knows nothing of that. */
static void ep_op_complete(ri_ep_op_t *op, ucs_status_t status)
{
    ri_req_complete_send(&op->super, (status == UCS_OK) ? op->lost : status);
}

/* Stock's callback: the operation has ended. */
static void ep_op_done(void *request, ucs_status_t status, void *user_data)
{
    ri_ep_op_t *op      = user_data;
    ri_worker_t *worker = op->super.worker;

    ri_worker_lock(worker);
    ri_stock.request_free(request);
    ep_op_note_end(op, status);
    ep_op_complete(op, status);
    ri_worker_unlock(worker);
}

/* Let go of the conn of a close. @a close_is_over: although not all was received. @return Its
 * endpoint, which UCX has to close. */
static ucp_ep_h ep_op_end_conn(ri_conn_t *conn, int close_is_over)
{
    ucp_ep_h ep = conn->ep;

    if (close_is_over) {
        ri_close_leave(conn);
    } else {
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
    }
    return ep;
}

/* Hand an operation to stock. @return What stock returned. */
static ucs_status_ptr_t ep_op_to_stock(ri_ep_op_t *op, int close_is_over)
{
    ri_worker_t *worker       = op->super.worker;
    ri_conn_t *conn           = op->conn;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags     = op->flags,
                                 .cb.send   = ep_op_done,
                                 .user_data = op};
    ucs_status_ptr_t ret;
    ucp_ep_h ep;

    if (conn == NULL) {
        ret = ri_stock.worker_flush_nbx(worker->stock, &param);
    } else if (!op->is_close) {
        ret = ri_stock.ep_flush_nbx(conn->ep, &param);
    } else {
        ep  = ep_op_end_conn(conn, close_is_over);
        ret = ri_stock.ep_close_nbx(ep, &param);
    }
    if (!UCS_PTR_IS_PTR(ret)) {
        ep_op_note_end(op, UCS_PTR_STATUS(ret));
    }
    return ret;
}

/* Nothing is left to wait for, or what is left is not waited for any longer. */
static void ep_op_start(ri_ep_op_t *op, int close_is_over)
{
    ucs_status_ptr_t ret = ep_op_to_stock(op, close_is_over);

    if (!UCS_PTR_IS_PTR(ret)) {
        ep_op_complete(op, UCS_PTR_STATUS(ret));
    }
}

/* Close what needs no answer of the peer any more, or gets none: UCX goes on by itself. @return Its
 * error, or UCS_OK. */
static ucs_status_t ep_op_close_behind(ri_ep_op_t *op, int close_is_over)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags        = op->flags};
    ucp_ep_h ep               = ep_op_end_conn(op->conn, close_is_over);
    ucs_status_ptr_t ret      = ri_stock.ep_close_nbx(ep, &param);

    ri_stock_forget(ret);
    return UCS_PTR_IS_ERR(ret) ? UCS_PTR_STATUS(ret) : UCS_OK;
}

/* UCX's flush of a close has ended with @a status, or (UCS_INPROGRESS) is not waited for any
 * longer.
 * @return Whether the close has ended, or is handed to stock. */
static int ep_op_end_flushing(ri_ep_op_t *op, ucs_status_t status)
{
    ri_conn_t *conn = op->conn;
    int must_wait   = ri_close_must_wait(conn);

    ri_stock_forget(op->flush);
    op->flush       = NULL;
    op->is_flushing = 0;
    if (UCS_STATUS_IS_ERR(status)) {
        ep_op_start(op, must_wait); /* it says to the application what is wrong */
        return 1;
    }
    if ((status == UCS_OK) && (must_wait != op->is_left)) {
        /* Something was sent meanwhile, or what was left has been received. */
        ri_close_start_anew(conn, &op->wait);
        return 0;
    }
    if (status != UCS_OK) {
        ri_info("a connection over TCP is closed without an answer of its peer: it is "
                "being closed there, too");
    }
    if (must_wait && !op->is_left) {
        ri_close_report(conn);
    }
    /* UCX may still have to flush its own answers to the peer's flush, and nothing else */
    ep_op_complete(op, ep_op_close_behind(op, must_wait));
    return 1;
}

/* @return Whether a close that UCX flushes for has ended, or is handed to stock. */
static int ep_op_try_flushing(ri_ep_op_t *op)
{
    ucs_status_t status = UCS_PTR_IS_PTR(op->flush) ?
                                  ri_stock.request_check_status(op->flush) :
                                  UCS_PTR_STATUS(op->flush);

    return ((status != UCS_INPROGRESS) || ri_close_is_unanswered(op->conn, &op->wait)) &&
           ep_op_end_flushing(op, status);
}

/* The own part of a close is over. @return As ep_op_try_close(). */
static int ep_op_own_is_over(ri_ep_op_t *op, int close_is_over)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    if (close_is_over) {
        ri_close_report(op->conn);
    }
    if (!(op->conn->flags & RI_CONN_TELLS)) {
        ep_op_start(op, close_is_over);
        return 1;
    }
    op->is_flushing = 1;
    op->is_left     = close_is_over;
    op->flush       = ri_stock.ep_flush_nbx(op->conn->ep, &param);
    ri_close_start_anew(op->conn, &op->wait);
    return ep_op_try_flushing(op);
}

/* @return Whether a close has ended, or is handed to stock now. */
static int ep_op_try_close(ri_ep_op_t *op)
{
    if (op->is_flushing) {
        return ep_op_try_flushing(op);
    }
    ri_close_say_closing(op->conn);
    if (!ri_close_must_wait(op->conn) && ri_close_say_bye(op->conn)) {
        return ep_op_own_is_over(op, 0);
    }
    return ri_close_has_expired(op->conn, &op->wait) &&
           ep_op_own_is_over(op, ri_close_must_wait(op->conn));
}

/* @return Whether an operation is handed to stock now. */
static int ep_op_try(ri_worker_t *worker, ri_ep_op_t *op)
{
    if (op->is_close) {
        return ep_op_try_close(op);
    }
    if (ri_flush_must_wait(worker, op->conn, op->rma)) {
        return 0;
    }
    ep_op_start(op, 0);
    return 1;
}

void ri_ep_ops_progress(ri_worker_t *worker)
{
    ri_ep_op_t *op;
    size_t count = ucs_list_length(&worker->ep_ops);

    /* One round: a callback may add new ones, and they must not be visited for ever. */
    for (; (count > 0) && !ucs_list_is_empty(&worker->ep_ops); --count) {
        op = ucs_list_extract_head(&worker->ep_ops, ri_ep_op_t, list);
        if (!ep_op_try(worker, op)) {
            ucs_list_add_tail(&worker->ep_ops, &op->list);
        }
    }
}

/* Hand an operation to stock at once, and get to know when that has ended. @return What the
 * application's call returns. */
static ucs_status_ptr_t ep_op_now(ri_ep_op_t *op, const ucp_request_param_t *param)
{
    ucs_status_ptr_t ret = ep_op_to_stock(op, 0);

    if ((ret == NULL) && (op->lost != UCS_OK)) {
        ret = UCS_STATUS_PTR(op->lost);
    }
    if (UCS_PTR_IS_ERR(ret)) {
        ri_req_drop(&op->super);
        return ret;
    }
    if (ret == NULL) {
        return ri_req_done_send(&op->super, param, UCS_OK);
    }
    ri_req_set_send_cb(&op->super, param);
    return ri_req_handle(&op->super);
}

/* @a conn NULL: of the whole worker. */
static ucs_status_ptr_t ep_flush_start(ri_worker_t *worker, ri_conn_t *conn,
                                       const ucp_request_param_t *param)
{
    int must_wait = ri_flush_must_wait(worker, conn, worker->rma.seq);
    ri_ep_op_t *op;

    if (must_wait || ri_rma_wants_flush(worker, conn)) {
        op = ep_op_new(worker, conn, 0, param);
        if (op == NULL) {
            return UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
        }
        return must_wait ? ep_op_wait(op, param) : ep_op_now(op, param);
    }
    if (ri_flush_is_needless(worker, conn) &&
        !(param->op_attr_mask & UCP_OP_ATTR_FLAG_NO_IMM_CMPL)) {
        ri_serve(); /* stock would not make progress here either, but others may wait */
        return NULL;
    }
    ri_req_disown(param);
    return (conn != NULL) ? ri_stock.ep_flush_nbx(conn->ep, param) :
                            ri_stock.worker_flush_nbx(worker->stock, param);
}

/* A flush of an endpoint whose puts are lost fails. That of a worker is for all others as well: it
 * fails if there is nothing to wait for, else a later one does. */
static ucs_status_ptr_t ep_flush(ri_worker_t *worker, ri_conn_t *conn,
                                 const ucp_request_param_t *param)
{
    ucs_status_t lost = ri_posts_flush(worker, conn);
    ucs_status_ptr_t ret;

    if (ri_unlikely((lost != UCS_OK) && (conn != NULL))) {
        return UCS_STATUS_PTR(lost);
    }
    ret = ep_flush_start(worker, conn, param);
    return (ri_unlikely(lost != UCS_OK) && (ret == NULL)) ? UCS_STATUS_PTR(lost) : ret;
}

ucs_status_ptr_t ri_ep_flush(ri_conn_t *conn, const ucp_request_param_t *param)
{
    return ep_flush(conn->worker, conn, param);
}

ucs_status_ptr_t ri_ep_flush_worker(ri_worker_t *worker, const ucp_request_param_t *param)
{
    return ep_flush(worker, NULL, param);
}

/* Close what has nothing to wait for. */
static ucs_status_ptr_t ep_close_now(ri_conn_t *conn, const ucp_request_param_t *param)
{
    ucp_ep_h ep = conn->ep;

    ri_conn_destroy(conn, UCS_ERR_CANCELED);
    ri_req_disown(param);
    return ri_stock.ep_close_nbx(ep, param);
}

/* Close after a flush. @a lost: why puts are lost that were to be flushed, or UCS_OK. */
static ucs_status_ptr_t ep_close_flush(ri_conn_t *conn, ucs_status_t lost,
                                       const ucp_request_param_t *param)
{
    int has_work, must_wait;
    ri_ep_op_t *op;

    ri_close_begin(conn);
    has_work  = ri_close_must_wait(conn) || !ri_close_say_bye(conn);
    must_wait = has_work || (conn->flags & RI_CONN_TELLS);
    if (ri_likely(!must_wait && (lost == UCS_OK))) {
        return ep_close_now(conn, param);
    }
    op = ep_op_new(conn->worker, conn, 1, param);
    if (op == NULL) {
        return has_work ? UCS_STATUS_PTR(UCS_ERR_NO_MEMORY) : ep_close_now(conn, param);
    }
    op->lost = lost;
    if (!must_wait) {
        return ep_op_now(op, param);
    }
    ri_conn_set_life(conn, conn->flags | RI_CONN_CLOSING);
    ri_conn_update_fast(conn);
    ri_close_say_closing(conn);
    ri_close_start_wait(conn, &op->wait);
    return ep_op_wait(op, param);
}

ucs_status_ptr_t ri_ep_close(ri_conn_t *conn, const ucp_request_param_t *param)
{
    ucs_status_t lost = ri_posts_flush(conn->worker, conn);

    if (!(ep_param_flags(param) & UCP_EP_CLOSE_FLAG_FORCE)) {
        return ep_close_flush(conn, lost, param);
    }
    if (!(conn->flags & RI_CONN_PEER_MODE)) {
        /* Stock refuses this and the endpoint lives on. */
        ri_req_disown(param);
        return ri_stock.ep_close_nbx(conn->ep, param);
    }
    return ep_close_now(conn, param);
}
