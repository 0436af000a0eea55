/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided operations of the application, which are stock's, as far as the order of later
 * messages depends on them (protocol.md, section 9).
 *
 * Stock emulates them by active messages where a transport has none of its own. A message
 * through a ring would overtake these. So from an operation on, a conn is behind it
 * (RI_CONN_BEHIND_RMA), and its messages take the lane as well, until nothing of the
 * operation can be under way any more:
 *
 * - A get, or an atomic operation that fetches, is over when stock says that it has ended.
 * - A put is over when a flush has ended that began after the put had ended. The end of a
 *   put says that its last fragment has been sent, and the flush that all that was sent has
 *   been carried out. A flush that began before says nothing: stock's may end while
 *   fragments wait for room (facts.md). So flushes of the library wait for the end of
 *   the puts that were started before them, and are handed to stock then.
 * - In any case, when the peer has confirmed what was sent on the lane before (ORDER_ACK).
 *
 * The end of an operation is known if stock ends it within the call, or if it has no handle
 * (ucp_put_nbi, ucp_get_nbi) or is a blocking one: the library has the callback then. A
 * handle that the application got may be freed by it at any time, and stock does not call
 * back after that; so the end of such an operation is unknown, and only the peer's word
 * counts.
 */
#ifndef RI_RMA_ORDER_H
#define RI_RMA_ORDER_H

#include "worker.h"

#include <stdlib.h>

/* An operation that has not ended here, and ends by a callback of the library. */
struct ri_rma_op {
    ucs_list_link_t list; /* in worker->rma.ops of its kind, by age; or in rma.closed */
    ucs_list_link_t conn_list; /* in conn->rma.ops of its kind, by age */
    ri_rma_op_t *next_free;    /* while it is free: in worker->rma.free */
    ri_worker_t *worker;
    ri_conn_t *conn; /* NULL: the conn has ended meanwhile */
    uint64_t seq;    /* number among the operations of worker->rma */
    int has_handle; /* who waits for the operation frees its request; 0: the callback does */
    ucp_request_param_t param; /* that stock is called with: it calls the library back */
};

/* Number of free operations that are kept. */
#define RI_RMA_KEEP 256

/** @return A new operation, in no list, with the param that stock is called with. It is the
 * caller's, who calls ri_rma_started() or ri_rma_op_put(). NULL without memory. */
ri_rma_op_t *ri_rma_op_new(ri_worker_t *worker);

/** Messages of a conn must not overtake what was started on it: they leave the ring and the
 * channel until @ref ri_rma_flushed or @ref ri_rma_ordered says that it is over. */
void ri_rma_set_behind(ri_conn_t *conn);

/** @return Whether operations of a worker were left to stock that are not known to be over. */
static inline int ri_rma_has_stock(const ri_worker_t *worker)
{
    const ri_rma_t *rma = &worker->rma;

    return !ucs_list_is_empty((ucs_list_link_t *)&rma->behind) ||
           !ucs_list_is_empty((ucs_list_link_t *)&rma->closed) || (rma->left != 0) ||
           (rma->in_stock > 0);
}

/** The application has fenced: until what was started before is over, later one-sided operations go
 * by stock as well, which keeps them behind it (RI_CONN_FENCED). */
void ri_rma_fence(ri_worker_t *worker);

/** An operation has been started that stock has not ended: what @ref ri_rma_started does then, with
 * its parameters; @a conn may be NULL, and @a has_handle is as in ri_rma_started(). The operation
 * is given back when stock calls back. */
void ri_rma_pending(ri_conn_t *conn, ri_rma_op_t *op, ri_rma_kind_t kind, int has_handle);

/**
 * Prepare an operation of which the library gets to know the end: stock is to be called with its
 * param, and @ref ri_rma_started follows. Other operations may start and end in between.
 *
 * @return The operation, as of ri_rma_op_new(), or NULL without memory.
 */
static inline ri_rma_op_t *ri_rma_op_get(ri_worker_t *worker)
{
    ri_rma_op_t *op = worker->rma.free;

    if (ri_unlikely(op == NULL)) {
        return ri_rma_op_new(worker);
    }
    worker->rma.free = op->next_free;
    --worker->rma.num_free;
    return op;
}

/** Give an operation back that ri_rma_op_get() has returned, and that is in no list. */
static inline void ri_rma_op_put(ri_rma_op_t *op)
{
    ri_worker_t *worker = op->worker;

    if (ri_unlikely(worker->rma.num_free >= RI_RMA_KEEP)) {
        free(op);
        return;
    }
    op->next_free    = worker->rma.free;
    worker->rma.free = op;
    ++worker->rma.num_free;
}

/** Count an operation that UCX carries out on the endpoint of a conn: messages must not overtake it
 * (ri_rma_set_behind()). */
static inline void ri_rma_count(ri_conn_t *conn)
{
    ++conn->rma.count;
    if (!(conn->flags & RI_CONN_BEHIND_RMA)) {
        ri_rma_set_behind(conn);
    }
}

/** Note an operation that ends at the origin within its call. A get is over then. A put counts
 * until it is flushed. */
static inline void ri_rma_ended(ri_conn_t *conn, ri_rma_kind_t kind)
{
    if (kind == RI_RMA_PUT) {
        ri_rma_count(conn);
        conn->rma.put = ++conn->worker->rma.seq;
    }
}

/**
 * An operation that @ref ri_rma_op_get has prepared was started, or failed to. It is not the
 * caller's any more.
 *
 * @param conn        NULL: the application has closed the endpoint in a callback within the call.
 * @param ret         What stock has returned.
 * @param has_handle  @a ret is waited for, and freed then by the caller; else it is freed when it
 *                    ends.
 */
static inline void ri_rma_started(ri_conn_t *conn, ri_rma_op_t *op, ri_rma_kind_t kind,
                                  ucs_status_ptr_t ret, int has_handle)
{
    if (ri_unlikely(UCS_PTR_IS_PTR(ret))) {
        ri_rma_pending(conn, op, kind, has_handle);
        return;
    }
    ri_rma_op_put(op);
    if (ri_likely(conn != NULL)) {
        ri_rma_ended(conn, kind);
    }
}

/** An operation of the application is under way on the endpoint, and nobody tells when it ends:
 * messages must not overtake it until the peer has confirmed that (@ref ri_rma_ordered). */
void ri_rma_note_unknown(ri_conn_t *conn);

/** An operation was started with the application's own parameters, so the library does not get to
 * know its end. @a ret is what stock has returned; if that is a request, the end is unknown. */
static inline void ri_rma_note(ri_conn_t *conn, ri_rma_kind_t kind, ucs_status_ptr_t ret)
{
    if (UCS_PTR_IS_PTR(ret)) {
        ri_rma_note_unknown(conn);
    } else {
        ri_rma_ended(conn, kind);
    }
}

/** @return Whether puts that were started up to @a seq have not ended here, as far as that is
 * known. @a conn NULL: of all endpoints. */
static inline int ri_rma_is_open(const ri_worker_t *worker, const ri_conn_t *conn,
                                 uint64_t seq)
{
    const ucs_list_link_t *list = (conn != NULL) ? &conn->rma.ops[RI_RMA_PUT] :
                                                   &worker->rma.ops[RI_RMA_PUT];
    const ri_rma_op_t *oldest;

    if (ri_likely(ucs_list_is_empty((ucs_list_link_t *)list))) {
        return 0;
    }
    oldest = (conn != NULL) ? ucs_container_of(list->next, ri_rma_op_t, conn_list) :
                              ucs_container_of(list->next, ri_rma_op_t, list);
    return oldest->seq <= seq;
}

/** @return Whether a flush is of use, because stock may still be at an operation. @a conn NULL: of
 * any endpoint, also of one that was closed or has failed since. */
static inline int ri_rma_wants_flush(const ri_worker_t *worker, const ri_conn_t *conn)
{
    return (conn != NULL) ? !!(conn->flags & RI_CONN_BEHIND_RMA) :
                            (!ucs_list_is_empty((ucs_list_link_t *)&worker->rma.behind) ||
                             (worker->rma.left > 0));
}

/**
 * A flush has ended well that was handed to stock when what was started up to @a seq had ended
 * here.
 *
 * @param conn_id  Of the endpoint, which may be closed by now; 0: of all.
 */
void ri_rma_flushed(ri_worker_t *worker, uint32_t conn_id, uint64_t seq);

/** The peer has confirmed what was sent on the lane before the question, and nothing was started
 * since then: messages may take the ring again. */
void ri_rma_ordered(ri_conn_t *conn);

/** The endpoint of a conn is closed, or the conn has failed and sends nothing more: what is under
 * way ends without it, and no flush waits for that. It may be called again. */
void ri_rma_conn_ends(ri_conn_t *conn);

#endif
