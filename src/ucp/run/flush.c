/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "flush.h"
#include "../core/types/module.h"
#include "../core/rma_order.h"
#include "../link/channel_send.h"
#include "../../ucs/stock.h"

/* Whether anything waits for room in a ring. What a close has left there is not waited for. */
static int flush_is_any_pending(const ri_worker_t *worker)
{
    const ri_conn_t *conn;

    ucs_list_for_each(conn, &worker->pending_conns, pending_link) {
        if (!(conn->flags & RI_CONN_LEFT)) {
            return 1;
        }
    }
    return 0;
}

/* Whether a flush, or with @a conn NULL that of the whole worker, has to wait for own work. */
static int flush_has_work(ri_worker_t *worker, ri_conn_t *conn)
{
    return (conn != NULL) ?
                   (!ucs_list_is_empty(&conn->pending) || ri_channel_send_is_busy(conn)) :
                   (flush_is_any_pending(worker) || ri_channel_send_is_any_busy(worker));
}

int ri_flush_must_wait(ri_worker_t *worker, ri_conn_t *conn, uint64_t rma)
{
    return flush_has_work(worker, conn) || ri_rma_is_open(worker, conn, rma);
}

/* @a conn NULL: flushes of the whole worker */
static void flush_abort(ri_worker_t *worker, const ri_conn_t *conn, ucs_status_t status)
{
    size_t count = ucs_list_length(&worker->ep_ops);
    ri_ep_op_t *op;

    for (; (count > 0) && !ucs_list_is_empty(&worker->ep_ops); --count) {
        op = ucs_list_extract_head(&worker->ep_ops, ri_ep_op_t, list);
        if (op->conn == conn) {
            ri_stock_forget(op->flush);
            ri_req_complete_send(&op->super, status);
        } else {
            ucs_list_add_tail(&worker->ep_ops, &op->list);
        }
    }
}

void ri_flush_abort(ri_conn_t *conn, ucs_status_t status)
{
    flush_abort(conn->worker, conn, status);
}

static ucs_status_t flush_worker_made(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->ep_ops);
    return UCS_OK;
}

/* Flushes of all of the worker, as those of conns have ended with these. */
static void flush_worker_ends(ri_worker_t *worker)
{
    flush_abort(worker, NULL, UCS_ERR_CANCELED);
}

const ri_module_t ri_module_flush = {.name        = "flush",
                                     .worker_made = flush_worker_made,
                                     .worker_ends = flush_worker_ends,
                                     .conn_closed = ri_flush_abort};
