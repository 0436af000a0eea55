/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a request: it comes from the pool of its worker, or is memory of the application, and
 * goes back when it is complete and released.
 */
#ifndef RI_REQ_LIFE_H
#define RI_REQ_LIFE_H

#include "types/worker_types.h"

/** Set the pool of requests of a worker up, without requests: memory is allocated when it is
 * needed. The worker has its context, and ri_req_headroom is known. */
void ri_req_pool_init(ri_worker_t *worker);

/** Free the pool of a worker, with requests that the application has not released. The
 * application's cleanup runs once for each request. */
void ri_req_pool_cleanup(ri_worker_t *worker);

/** Add a chunk of free requests to the pool of a worker. The application's init runs once for each
 * request. @return UCS_OK, or UCS_ERR_NO_MEMORY, which is logged. */
ucs_status_t ri_req_pool_grow(ri_worker_t *worker);

/**
 * Get the request of an operation, from the pool or in the application's memory. Its mark, worker
 * and flags are set, and nothing else.
 *
 * @param kind  RI_REQ_RECV, RI_REQ_SEND or RI_REQ_EP_OP.
 *
 * @return The request, which is the caller's until the application gets its handle; ri_req_put()
 *         takes one of the pool. NULL if there is no memory.
 */
static inline ri_req_t *ri_req_get(ri_worker_t *worker, const ucp_request_param_t *param,
                                   uint32_t kind)
{
    ri_req_pool_t *pool = &worker->reqs;
    ri_req_t *req;

    if (ri_unlikely(param->op_attr_mask & UCP_OP_ATTR_FIELD_REQUEST)) {
        req = ri_req_of_handle(param->request);
        kind |= RI_REQ_USER_MEM;
        req->worker = worker;
    } else {
        if (ri_unlikely(pool->free == NULL) && (ri_req_pool_grow(worker) != UCS_OK)) {
            return NULL;
        }
        req        = pool->free;
        pool->free = req->next_free;
        ++pool->in_use;
    }

    req->mark = RI_REQ_MARK;
    atomic_store_explicit(&req->flags, kind, memory_order_relaxed);
    return req;
}

/** @return Whether the pool has a request for @ref ri_req_get. It grows if it has none. */
static inline int ri_req_is_available(ri_worker_t *worker)
{
    return ri_likely(worker->reqs.free != NULL) || (ri_req_pool_grow(worker) == UCS_OK);
}

/** Give a request of the pool back that is complete, and that nobody uses any more. */
static inline void ri_req_put(ri_req_t *req)
{
    ri_req_pool_t *pool = &req->worker->reqs;

    req->mark      = RI_REQ_MARK_FREE;
    req->next_free = pool->free;
    pool->free     = req;
    --pool->in_use;
}

/** Give a request back that was not handed to the application. Memory of the application's is
 * left as it is. */
void ri_req_drop(ri_req_t *req);

/** Arrange for the callback in req->cb to be called, with the application's user_data. */
static inline void ri_req_enable_cb(ri_req_t *req, const ucp_request_param_t *param)
{
    req->user_data = (param->op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA) ?
                             param->user_data :
                             NULL;
    ri_req_set_flags(req, RI_REQ_CALLBACK);
}

/** Arrange for the application's send callback, if @a param has one; for requests that do not end
 * at once. */
static inline void ri_req_set_send_cb(ri_req_t *req, const ucp_request_param_t *param)
{
    if (param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) {
        req->cb.send = param->cb.send;
        ri_req_enable_cb(req, param);
    }
}

/** Arrange for the application's receive callback, if @a param has one; for receives that do not
 * end at once. */
static inline void ri_req_set_recv_cb(ri_req_t *req, const ucp_request_param_t *param)
{
    if (param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) {
        req->cb.recv = param->cb.recv;
        ri_req_enable_cb(req, param);
    }
}

/**
 * End an operation whose call has not returned yet, as the application asked for it (NO_IMM_CMPL):
 * by status, and the request is given back; or with a handle that is complete and a callback that
 * has run. Calls back; the request must not be touched afterwards.
 *
 * @return What the call returns.
 */
ucs_status_ptr_t ri_req_done_send(ri_req_t *req, const ucp_request_param_t *param,
                                  ucs_status_t status);

/**
 * End a receive whose call has not returned yet, as @ref ri_req_done_send ends other operations.
 * The callback gets req->info; so does @a param, if it wants that and UCX is new enough.
 *
 * @return What the call returns.
 */
ucs_status_ptr_t ri_req_done_recv(ri_recv_req_t *req, const ucp_request_param_t *param,
                                  ucs_status_t status);

/** Complete a request whose call has returned. Calls back, if @ref ri_req_set_send_cb has
 * arranged for that; the request must not be touched afterwards, as it may be released or in use
 * again. */
void ri_req_complete_send(ri_req_t *req, ucs_status_t status);


/** Complete a receive whose call has returned. Calls back, if @ref ri_req_set_recv_cb has arranged
 * for that; the request must not be touched afterwards, as it may be released or in use again. */
static inline void ri_req_complete_recv(ri_recv_req_t *recv, ucs_status_t status)
{
    ri_req_t *req                  = &recv->super;
    ucp_tag_recv_nbx_callback_t cb = req->cb.recv;
    void *user_data                = req->user_data;
    uint32_t flags                 = ri_req_flags(req);

    /* Memory of the application may be gone as soon as COMPLETED is seen. */
    req->status = status;
    atomic_store_explicit(&req->flags, flags | RI_REQ_COMPLETED, memory_order_release);
    if (flags & RI_REQ_CALLBACK) {
        cb(ri_req_handle(req), status, &recv->info, user_data);
    }
    if (flags & RI_REQ_RELEASED) {
        ri_req_put(req);
    }
}

#endif
