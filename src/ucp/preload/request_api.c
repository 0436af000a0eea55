/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Interposed: requests. Each call first finds out whose request the handle is of.
 */
#include "guard.h"
#include "../../ucs/stock.h"
#include "../core/memory.h"
#include "../core/types/request.h"
#include "../tag/recv.h"

#include <stdio.h>

static inline int request_is_completed(ri_req_t *req)
{
    return !!(atomic_load_explicit(&req->flags, memory_order_acquire) & RI_REQ_COMPLETED);
}

ucs_status_t ucp_request_check_status(void *request)
{
    ri_req_t *req;

    if (!ri_req_is_own(request)) {
        ri_stock_resolve();
        return ri_stock.request_check_status(request);
    }
    req = ri_req_of_handle(request);
    return request_is_completed(req) ? req->status : UCS_INPROGRESS;
}

int ucp_request_is_completed(void *request)
{
    if (!ri_req_is_own(request)) {
        ri_stock_resolve();
        return ri_stock.request_is_completed(request);
    }
    return request_is_completed(ri_req_of_handle(request));
}

static ucs_status_t request_test(ri_req_t *req, ucp_tag_recv_info_t *info)
{
    if (!request_is_completed(req)) {
        return UCS_INPROGRESS;
    }
    if (ri_req_flags(req) & RI_REQ_RECV) {
        *info = ((ri_recv_req_t *)req)->info;
    }
    return req->status;
}

ucs_status_t ucp_tag_recv_request_test(void *request, ucp_tag_recv_info_t *info)
{
    if (!ri_req_is_own(request)) {
        ri_stock_resolve();
        return ri_stock.tag_recv_request_test(request, info);
    }
    return request_test(ri_req_of_handle(request), info);
}

ucs_status_t ucp_request_test(void *request, ucp_tag_recv_info_t *info)
{
    if (!ri_req_is_own(request)) {
        ri_stock_resolve();
        return ri_stock.request_test(request, info);
    }
    return request_test(ri_req_of_handle(request), info);
}

/* Text about a request, for debuggers and time-out reports. */
static void request_describe(ri_req_t *req, char *text, size_t size)
{
    uint32_t flags = ri_req_flags(req);

    if (flags & RI_REQ_RECV) {
        ri_recv_req_t *recv = (ri_recv_req_t *)req;

        snprintf(text, size, "ucxri tag receive%s, tag 0x%lx mask 0x%lx, room for %zu",
                 (flags & RI_REQ_COMPLETED) ? " (completed)" :
                 (flags & RI_REQ_POSTED)    ? "" :
                                              ", waits for its data",
                 (unsigned long)recv->tag, (unsigned long)recv->mask, recv->data.length);
    } else if (flags & RI_REQ_SEND) {
        ri_send_req_t *send = (ri_send_req_t *)req;

        snprintf(text, size, "ucxri tag send%s, tag 0x%lx, length %zu%s%s%s",
                 (flags & RI_REQ_COMPLETED) ? " (completed)" : "",
                 (unsigned long)send->tag, send->data.length,
                 (send->waiting & RI_SEND_WAIT_RING) ? ", waits for ring space" : "",
                 (send->waiting & (RI_SEND_WAIT_STOCK | RI_SEND_WAIT_DATA)) ? ", in UCX" :
                                                                              "",
                 (send->waiting & RI_SEND_WAIT_MATCH) ? ", waits for its receive" : "");
    } else {
        snprintf(text, size, "ucxri flush or close");
    }
}

/* Of memory that only UCP could tell of, that is said. */
static ucs_memory_type_t request_memory_type(ri_req_t *req)
{
    const ucp_request_param_t nothing_given = {.op_attr_mask = 0};
    uint32_t flags                          = ri_req_flags(req);

    if (req->worker->host_memory) {
        return UCS_MEMORY_TYPE_HOST;
    }
    if (flags & RI_REQ_RECV) {
        return (ucs_memory_type_t)((const ri_recv_req_t *)req)->data.memory_type;
    }
    return (flags & RI_REQ_SEND) ?
                   ri_memory_type_slow(&((const ri_send_req_t *)req)->data,
                                       &nothing_given) :
                   UCS_MEMORY_TYPE_HOST;
}

ucs_status_t ucp_request_query(void *request, ucp_request_attr_t *attr)
{
    ri_req_t *req;

    if (!ri_req_is_own(request)) {
        ri_stock_resolve();
        return ri_stock.request_query(request, attr);
    }

    req = ri_req_of_handle(request);
    if ((req->mark == RI_REQ_MARK_FREE) || (ri_req_flags(req) & RI_REQ_RELEASED)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (attr->field_mask & UCP_REQUEST_ATTR_FIELD_INFO_STRING) {
        if (!(attr->field_mask & UCP_REQUEST_ATTR_FIELD_INFO_STRING_SIZE)) {
            return UCS_ERR_INVALID_PARAM;
        }
        request_describe(req, attr->debug_string, attr->debug_string_size);
    }
    if (attr->field_mask & UCP_REQUEST_ATTR_FIELD_STATUS) {
        attr->status = ucp_request_check_status(request);
    }
    if (attr->field_mask & UCP_REQUEST_ATTR_FIELD_MEM_TYPE) {
        attr->mem_type = request_memory_type(req);
    }
    return UCS_OK;
}

/* Set the application's mark, or put a request back that has completed already. */
static ri_noinline void request_release_slow(ri_req_t *req, int disable_callback)
{
    ri_worker_t *worker = req->worker;

    if ((req->mark == RI_REQ_MARK_FREE) || (ri_req_flags(req) & RI_REQ_USER_MEM)) {
        return; /* released twice, as some MPIs do; or not of the pool */
    }
    ri_worker_lock(worker);
    if (ri_req_flags(req) & RI_REQ_RELEASED) {
        /* released twice, and its completion is going to put it back */
    } else if (request_is_completed(req)) {
        ri_req_put(req);
    } else {
        if (disable_callback) {
            ri_req_clear_flags(req, RI_REQ_CALLBACK);
        }
        ri_req_set_flags(req, RI_REQ_RELEASED);
    }
    ri_worker_unlock(worker);
}

static inline void request_release(ri_req_t *req, int disable_callback)
{
    /* Most requests are complete, of the pool, and nobody else's. */
    if (ri_likely((req->mark == RI_REQ_MARK) &&
                  ((ri_req_flags(req) & (RI_REQ_COMPLETED | RI_REQ_RELEASED |
                                         RI_REQ_USER_MEM)) == RI_REQ_COMPLETED) &&
                  !req->worker->multi)) {
        ri_req_put(req);
        return;
    }
    request_release_slow(req, disable_callback);
}

void ucp_request_free(void *request)
{
    if (ri_req_is_own(request)) {
        request_release(ri_req_of_handle(request), 1);
    } else {
        ri_stock_resolve();
        ri_stock.request_free(request);
    }
}

void ucp_request_release(void *request)
{
    if (ri_req_is_own(request)) {
        request_release(ri_req_of_handle(request), 0);
    } else {
        ri_stock_resolve();
        ri_stock.request_release(request);
    }
}

void ucp_request_cancel(ucp_worker_h stock, void *request)
{
    ri_req_t *req;

    if (!ri_req_is_own(request)) {
        ri_stock_resolve();
        ri_stock.request_cancel(stock, request);
        return;
    }

    req = ri_req_of_handle(request);
    if (!(ri_req_flags(req) & RI_REQ_RECV) || request_is_completed(req)) {
        return; /* sends are not cancelled, as in stock */
    }
    ri_worker_lock(req->worker);
    ri_tag_recv_cancel((ri_recv_req_t *)req);
    ri_worker_unlock(req->worker);
}
