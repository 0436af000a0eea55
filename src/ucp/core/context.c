/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of all contexts under one lock. The lock is taken around fork(), so that the child finds
 * the list whole.
 */
#include "context.h"
#include "settings/config.h"
#include "types/worker_types.h"
#include "../../ucs/handle_map.h"
#include "../../ucs/log.h"
#include "../../ucs/output.h"
#include "../../ucs/stock.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

_Atomic(int) ri_context_left;

static ri_map_t context_map = RI_MAP_INITIALIZER;

static pthread_mutex_t context_list_lock = PTHREAD_MUTEX_INITIALIZER;
static UCS_LIST_HEAD(context_list);

static void context_list_acquire(void)
{
    pthread_mutex_lock(&context_list_lock);
}

static void context_list_release(void)
{
    pthread_mutex_unlock(&context_list_lock);
}

/* A child by fork() must not find the lock taken by a thread that it does not have. */
static void context_list_survive_fork(void)
{
    pthread_atfork(context_list_acquire, context_list_release, context_list_release);
}

ri_context_t *ri_context_find(ucp_context_h stock)
{
    return ri_map_get_ptr(&context_map, stock);
}

/* The first context sets it; other threads may have requests already, or create contexts.
 * @return The headroom. */
static size_t context_set_headroom(size_t request_size)
{
    size_t headroom;

    context_list_acquire();
    if (ri_stock.request_size != request_size) {
        ri_stock.request_size = request_size;
        ri_req_headroom       = ri_request_headroom();
    }
    headroom = ri_request_headroom();
    context_list_release();
    return headroom;
}

ucs_status_t ri_context_create(ucp_context_h stock, const ucp_params_t *params)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ucp_context_attr_t attr    = {.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE |
                                                UCP_ATTR_FIELD_MEMORY_TYPES};
    ri_context_t *context;
    ucs_status_t status;

    pthread_once(&once, context_list_survive_fork);
    status = ri_stock.context_query(stock, &attr);
    if (status != UCS_OK) {
        return status;
    }

    if (context_set_headroom(attr.request_size) == 0) {
        ri_error("requests of UCX %u.%u have only %zu bytes; ucxri cannot work with it",
                 ri_stock.version_major, ri_stock.version_minor, attr.request_size);
        return UCS_ERR_UNSUPPORTED;
    }

    context = calloc(1, sizeof(*context));
    if (context == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

#define CONTEXT_PARAM(_flag, _member) \
    ((params->field_mask & UCP_PARAM_FIELD_##_flag) ? params->_member : 0)
    context->stock           = stock;
    context->pid             = getpid();
    context->features        = CONTEXT_PARAM(FEATURES, features);
    context->request_size    = CONTEXT_PARAM(REQUEST_SIZE, request_size);
    context->request_init    = CONTEXT_PARAM(REQUEST_INIT, request_init);
    context->request_cleanup = CONTEXT_PARAM(REQUEST_CLEANUP, request_cleanup);
    context->sender_mask =
            ri_config_sender_mask(CONTEXT_PARAM(TAG_SENDER_MASK, tag_sender_mask));
#undef CONTEXT_PARAM
    context->memory_types = attr.memory_types;
    ucs_list_head_init(&context->workers);

    status = ri_map_put(&context_map, (uintptr_t)stock, context);
    if (status != UCS_OK) {
        free(context);
        return status;
    }

    context_list_acquire();
    ucs_list_add_tail(&context_list, &context->list);
    context_list_release();
    return UCS_OK;
}

void ri_context_destroy(ri_context_t *context)
{
    context_list_acquire();
    ucs_list_del(&context->list);
    context_list_release();
    ri_map_remove(&context_map, (uintptr_t)context->stock);
    free(context);
}

void ri_context_add_worker(ri_context_t *context, ri_worker_t *worker)
{
    context_list_acquire();
    ucs_list_add_tail(&context->workers, &worker->list);
    context_list_release();
}

void ri_context_remove_worker(ri_context_t *context, ri_worker_t *worker)
{
    context_list_acquire();
    ucs_list_del(&worker->list);
    context_list_release();
}

void ri_context_foreach_worker(void (*func)(ri_worker_t *worker, void *arg), void *arg)
{
    pid_t self = getpid();
    ri_context_t *context;
    ri_worker_t *worker;

    context_list_acquire();
    ucs_list_for_each(context, &context_list, list) {
        if (context->pid != self) {
            continue;
        }
        ucs_list_for_each(worker, &context->workers, list) {
            func(worker, arg);
        }
    }
    context_list_release();
}
