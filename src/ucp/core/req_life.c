/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests come from chunks that grow and are freed with the worker. Then what completes them: in
 * the call that has begun them, or later with a callback.
 */
#include "req_life.h"
#include "context.h"
#include "../../ucs/log.h"
#include "../../ucs/stock.h"

#include <stdlib.h>
#include <string.h>

#define REQ_CHUNK_BYTES  32768
#define REQ_CHUNK_HEADER 64

/* Chunks are linked through their first word. */
typedef struct req_chunk {
    struct req_chunk *next;
    size_t count;
} req_chunk_t;

static ri_req_t *req_of_chunk(const ri_req_pool_t *pool, req_chunk_t *chunk, size_t i)
{
    return (ri_req_t *)((char *)chunk + REQ_CHUNK_HEADER + i * pool->object_size);
}

void ri_req_pool_init(ri_worker_t *worker)
{
    size_t size = ri_req_headroom + worker->context->request_size;

    worker->reqs = (ri_req_pool_t){.object_size = RI_CACHE_LINES(size)};
}

ucs_status_t ri_req_pool_grow(ri_worker_t *worker)
{
    ri_req_pool_t *pool = &worker->reqs;
    size_t count        = ri_max(REQ_CHUNK_BYTES / pool->object_size, (size_t)8);
    req_chunk_t *chunk;
    size_t i;

    chunk = aligned_alloc(RI_CACHE_LINE, REQ_CHUNK_HEADER + count * pool->object_size);
    if (chunk == NULL) {
        ri_error("out of memory for requests");
        return UCS_ERR_NO_MEMORY;
    }

    /* Applications may look at their part before they ever wrote it. */
    memset(chunk, 0, REQ_CHUNK_HEADER + count * pool->object_size);
    chunk->next  = pool->chunks;
    chunk->count = count;
    pool->chunks = chunk;
    for (i = count; i-- > 0;) {
        ri_req_t *req = req_of_chunk(pool, chunk, i);

        req->mark      = RI_REQ_MARK_FREE;
        req->worker    = worker;
        req->next_free = pool->free;
        pool->free     = req;
        if (worker->context->request_init != NULL) {
            worker->context->request_init(ri_req_handle(req));
        }
    }
    return UCS_OK;
}

void ri_req_pool_cleanup(ri_worker_t *worker)
{
    ri_req_pool_t *pool = &worker->reqs;
    req_chunk_t *chunk  = pool->chunks;
    size_t i;

    while (chunk != NULL) {
        req_chunk_t *next = chunk->next;

        for (i = 0; i < chunk->count; ++i) {
            ri_req_t *req = req_of_chunk(pool, chunk, i);

            if (worker->context->request_cleanup != NULL) {
                worker->context->request_cleanup(ri_req_handle(req));
            }
            req->mark = 0;
        }
        free(chunk);
        chunk = next;
    }
    pool->chunks = NULL;
    pool->free   = NULL;
}

void ri_req_drop(ri_req_t *req)
{
    if (!(ri_req_flags(req) & RI_REQ_USER_MEM)) {
        ri_req_put(req);
    }
}

ucs_status_ptr_t ri_req_done_send(ri_req_t *req, const ucp_request_param_t *param,
                                  ucs_status_t status)
{
    void *handle = ri_req_handle(req);

    req->status = status;
    ri_req_set_flags(req, RI_REQ_COMPLETED);
    if (param->op_attr_mask & UCP_OP_ATTR_FLAG_NO_IMM_CMPL) {
        if (param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) {
            /* user_data is passed whatever its bit says, as stock does here */
            param->cb.send(handle, status, param->user_data);
        }
        return handle;
    }

    ri_req_drop(req);
    return UCS_STATUS_PTR(status);
}

ucs_status_ptr_t ri_req_done_recv(ri_recv_req_t *req, const ucp_request_param_t *param,
                                  ucs_status_t status)
{
    void *handle = ri_req_handle(&req->super);

    req->super.status = status;
    ri_req_set_flags(&req->super, RI_REQ_COMPLETED);
    if (param->op_attr_mask & UCP_OP_ATTR_FLAG_NO_IMM_CMPL) {
        if (param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) {
            param->cb.recv(handle, status, &req->info, param->user_data);
        }
        return handle;
    }

    /* Only newer UCX fills this field, so only there may it be trusted. */
    if ((param->op_attr_mask & UCP_OP_ATTR_FIELD_RECV_INFO) &&
        ri_stock_version_at_least(1, 16) && (param->recv_info.tag_info != NULL)) {
        *param->recv_info.tag_info = req->info;
    }
    ri_req_drop(&req->super);
    return UCS_STATUS_PTR(status);
}

void ri_req_complete_send(ri_req_t *req, ucs_status_t status)
{
    ucp_send_nbx_callback_t cb = req->cb.send;
    void *user_data            = req->user_data;
    uint32_t flags             = ri_req_flags(req);

    /* Memory of the application may be gone as soon as COMPLETED is seen. */
    req->status = status;
    ri_req_set_flags(req, RI_REQ_COMPLETED);
    if (flags & RI_REQ_CALLBACK) {
        cb(ri_req_handle(req), status, user_data);
    }
    if (flags & RI_REQ_RELEASED) {
        ri_req_put(req);
    }
}
