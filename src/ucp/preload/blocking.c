/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Interposed: flushes that wait. Other blocking calls are made of one that does not block, and
 * ri_blocking_wait().
 */
#include "blocking.h"
#include "guard.h"
#include "../../ucs/stock.h"
#include "../core/rma_order.h"
#include "../rma/posts.h"
#include "../run/flush.h"
#include "../run/worker_progress.h"

ucs_status_t ri_blocking_wait(ucp_worker_h stock, ucs_status_ptr_t request)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }
    do {
        ucp_worker_progress(stock);
        status = ucp_request_check_status(request);
    } while (status == UCS_INPROGRESS);
    ucp_request_free(request);
    return status;
}

/* @return Whether there is still something to flush: the endpoint with a conn's id, or the worker
 * (0). @a conn_p is the conn, or NULL. */
static int flush_find(ri_worker_t *worker, uint32_t conn_id, ri_conn_t **conn_p)
{
    ri_conn_t *conn = (conn_id != 0) ? ri_id_get(&worker->ids.conns, conn_id) : NULL;

    *conn_p = conn;
    return (conn_id == 0) || ((conn != NULL) && !(conn->flags & RI_CONN_LEFT));
}

/* Progress while the worker is locked: it is let go meanwhile. */
static inline void flush_progress(ri_worker_t *worker)
{
    if (ri_likely(!worker->observed)) {
        ri_worker_progress(worker);
        return;
    }
    ri_worker_unlock(worker);
    ucp_worker_progress(worker->stock);
    ri_worker_lock(worker);
}

/* Have stock flush. The worker is locked. */
static ucs_status_t flush_stock(ri_worker_t *worker, ri_conn_t *conn)
{
    static const ucp_request_param_t param = {.op_attr_mask = 0};
    ucs_status_ptr_t ret                   = (conn != NULL) ?
                                                     ri_stock.ep_flush_nbx(conn->ep, &param) :
                                                     ri_stock.worker_flush_nbx(worker->stock, &param);
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(ret)) {
        return UCS_PTR_STATUS(ret);
    }
    do {
        flush_progress(worker);
        status = ri_stock.request_check_status(ret);
    } while (status == UCS_INPROGRESS);
    ri_stock.request_free(ret);
    return status;
}

/*
 * Flush without a request of this library. The lock of the worker is taken here, and let go of
 * during progress, which calls back.
 *
 * @param conn  NULL: the whole worker.
 *
 * @return UCS_ERR_CANCELED if the endpoint is closed meanwhile; else an error of stock's flush;
 *         else why posted puts are lost (ri_posts_flush()), or UCS_OK.
 */
static ucs_status_t flush_wait(ri_worker_t *worker, ri_conn_t *conn)
{
    uint32_t conn_id    = (conn != NULL) ? conn->id : 0;
    ucs_status_t status = UCS_ERR_CANCELED;
    ucs_status_t lost;
    uint64_t rma;
    int is_there;

    ri_worker_lock(worker);
    lost                = ri_posts_flush(worker, conn);
    rma                 = worker->rma.seq;
    worker->stock_looks = RI_WORKER_STOCK_LOOKS_WAIT; /* from there it comes */
    while ((is_there = flush_find(worker, conn_id, &conn)) &&
           ri_flush_must_wait(worker, conn, rma)) {
        flush_progress(worker);
    }
    if (ri_likely(is_there)) {
        status = ri_flush_is_needless(worker, conn) ? UCS_OK : flush_stock(worker, conn);
    }
    worker->stock_looks = RI_WORKER_STOCK_LOOKS;
    if (ri_likely(status == UCS_OK)) {
        ri_rma_flushed(worker, conn_id, rma);
    }
    ri_worker_unlock(worker);
    return (status == UCS_OK) ? lost : status;
}

ucs_status_t ucp_worker_flush(ucp_worker_h stock)
{
    ri_worker_t *worker = ri_worker_find(stock);

    ri_stock_resolve();
    return (worker == NULL) ? ri_stock.worker_flush(stock) : flush_wait(worker, NULL);
}

ucs_status_t ucp_ep_flush(ucp_ep_h ep)
{
    ri_conn_t *conn = ri_conn_find(ep);

    ri_stock_resolve();
    return (conn == NULL) ? ri_stock.ep_flush(ep) : flush_wait(conn->worker, conn);
}
