/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of operations that have not ended for each conn and kind, and the marks from which it is
 * told what a flush has made sure of.
 */
#include "rma_order.h"
#include "types/module.h"
#include "../../ucs/stock.h"

static void rma_op_done(void *request, ucs_status_t status, void *user_data);

static ucs_status_t rma_worker_made(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->rma.ops[RI_RMA_GET]);
    ucs_list_head_init(&worker->rma.ops[RI_RMA_PUT]);
    ucs_list_head_init(&worker->rma.closed);
    ucs_list_head_init(&worker->rma.behind);
    return UCS_OK;
}

/* Free operations that have not ended. */
static void rma_free_all(ucs_list_link_t *ops)
{
    while (!ucs_list_is_empty(ops)) {
        free(ucs_list_extract_head(ops, ri_rma_op_t, list));
    }
}

/* Stock calls back no more. */
static void rma_worker_freed(ri_worker_t *worker)
{
    ri_rma_op_t *op, *next;

    for (op = worker->rma.free; op != NULL; op = next) {
        next = op->next_free;
        free(op);
    }
    rma_free_all(&worker->rma.ops[RI_RMA_GET]);
    rma_free_all(&worker->rma.ops[RI_RMA_PUT]);
    rma_free_all(&worker->rma.closed);
}

ri_rma_op_t *ri_rma_op_new(ri_worker_t *worker)
{
    ri_rma_op_t *op = malloc(sizeof(*op));

    if (op == NULL) {
        return NULL;
    }
    op->worker = worker;
    op->param  = (ucp_request_param_t){.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                       UCP_OP_ATTR_FIELD_USER_DATA,
                                       .cb.send   = rma_op_done,
                                       .user_data = op};
    return op;
}

/* Messages have nothing to overtake any more. */
static void rma_clear(ri_conn_t *conn)
{
    ri_conn_clear_flags(conn, RI_CONN_BEHIND_RMA | RI_CONN_FENCED);
    conn->rma.unknown = 0;
    ucs_list_del(&conn->rma.behind_link);
    ucs_list_head_init(&conn->rma.behind_link);
    ri_conn_update_fast(conn);
}

static void rma_check(ri_conn_t *conn)
{
    if ((conn->flags & RI_CONN_BEHIND_RMA) && !conn->rma.unknown &&
        ucs_list_is_empty(&conn->rma.ops[RI_RMA_GET]) &&
        ucs_list_is_empty(&conn->rma.ops[RI_RMA_PUT]) &&
        (conn->rma.put <= conn->rma.flushed)) {
        rma_clear(conn);
    }
}

void ri_rma_set_behind(ri_conn_t *conn)
{
    ri_conn_set_flags(conn, RI_CONN_BEHIND_RMA);
    ucs_list_del(&conn->rma.behind_link);
    ucs_list_add_tail(&conn->worker->rma.behind, &conn->rma.behind_link);
    if ((conn->ring != NULL) || (conn->channel != NULL)) {
        conn->fast_max = 0;
    }
}

void ri_rma_fence(ri_worker_t *worker)
{
    ri_conn_t *conn;

    ucs_list_for_each(conn, &worker->rma.behind, rma.behind_link) {
        ri_conn_set_flags(conn, RI_CONN_FENCED);
    }
}

void ri_rma_note_unknown(ri_conn_t *conn)
{
    ri_rma_count(conn);
    conn->rma.unknown = 1;
}

void ri_rma_pending(ri_conn_t *conn, ri_rma_op_t *op, ri_rma_kind_t kind, int has_handle)
{
    ri_worker_t *worker = op->worker;

    op->conn       = conn;
    op->has_handle = has_handle;
    if (ri_unlikely(conn == NULL)) {
        ucs_list_add_tail(&worker->rma.closed, &op->list);
        return;
    }
    ri_rma_count(conn);
    op->seq = ++worker->rma.seq;
    ucs_list_add_tail(&worker->rma.ops[kind], &op->list);
    ucs_list_add_tail(&conn->rma.ops[kind], &op->conn_list);
    if (kind == RI_RMA_PUT) {
        conn->rma.put = op->seq;
    }
}

/* Stock's callback. */
static void rma_op_done(void *request, ucs_status_t status, void *user_data)
{
    ri_rma_op_t *op     = user_data;
    ri_worker_t *worker = op->worker;
    ri_conn_t *conn     = op->conn;

    ri_worker_lock(worker);
    ucs_list_del(&op->list);
    if (conn != NULL) {
        ucs_list_del(&op->conn_list);
        rma_check(conn);
    }
    if (!op->has_handle) {
        ri_stock.request_free(request);
    }
    ri_rma_op_put(op);
    ri_worker_unlock(worker);
}

static void rma_conn_flushed(ri_conn_t *conn, uint64_t seq)
{
    if (seq > conn->rma.flushed) {
        conn->rma.flushed = seq;
    }
    rma_check(conn);
}

void ri_rma_flushed(ri_worker_t *worker, uint32_t conn_id, uint64_t seq)
{
    ri_conn_t *conn, *next;

    if (conn_id != 0) {
        conn = ri_id_get(&worker->ids.conns, conn_id);
        if (conn != NULL) {
            rma_conn_flushed(conn, seq);
        }
        return;
    }
    if (worker->rma.left <= seq) {
        worker->rma.left = 0;
    }
    ucs_list_for_each_safe(conn, next, &worker->rma.behind, rma.behind_link) {
        rma_conn_flushed(conn, seq);
    }
}

void ri_rma_ordered(ri_conn_t *conn)
{
    if (conn->flags & RI_CONN_BEHIND_RMA) {
        conn->rma.flushed = conn->rma.put; /* or as good as that */
        rma_clear(conn);
    }
}

void ri_rma_conn_ends(ri_conn_t *conn)
{
    ri_rma_op_t *op;
    int kind;

    for (kind = 0; kind < RI_RMA_KINDS; ++kind) {
        while (!ucs_list_is_empty(&conn->rma.ops[kind])) {
            op = ucs_list_extract_head(&conn->rma.ops[kind], ri_rma_op_t, conn_list);
            op->conn = NULL;
            ucs_list_del(&op->list);
            ucs_list_add_tail(&conn->worker->rma.closed, &op->list);
        }
    }
    if (!ucs_list_is_empty(&conn->rma.behind_link)) {
        conn->worker->rma.left = ++conn->worker->rma.seq;
    }
    ucs_list_del(&conn->rma.behind_link);
    ucs_list_head_init(&conn->rma.behind_link);
}

static void rma_conn_fails(ri_conn_t *conn, int is_first)
{
    if (is_first) {
        ri_rma_conn_ends(conn);
    }
}

const ri_module_t ri_module_rma_order = {.name         = "rma_order",
                                         .worker_made  = rma_worker_made,
                                         .worker_freed = rma_worker_freed,
                                         .conn_fails   = rma_conn_fails,
                                         .conn_freed   = ri_rma_conn_ends};
