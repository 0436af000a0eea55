/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* UCX, as the fuzz target plays it: what it is asked for ends when and how the input says. */

#include "fuzz_state.h"
#include "ucp/core/settings/config.h"
#include "ucs/stock.h"

#include <stdlib.h>
#include <string.h>

static pending_t *pending_new(const ucp_request_param_t *param)
{
    size_t i;

    for (i = 0; i < MAX_PENDING; ++i) {
        if (g.pending[i] == NULL) {
            g.pending[i] = calloc(1, sizeof(*g.pending[i]));
            CHECK(g.pending[i] != NULL);
            g.pending[i]->param = *param;
            return g.pending[i];
        }
    }
    return NULL;
}

/* Complete a stock operation. */
static void pending_end(size_t i, ucs_status_t status)
{
    pending_t *p = g.pending[i];

    g.pending[i] = NULL;
    if (p->fetch) {
        if ((status == UCS_OK) && (p->length > 0)) {
            CHECK(p->length <= p->count);
            memcpy(p->buffer, p->source, p->length);
        }
        p->param.cb.recv_am(p, status, p->length, p->param.user_data);
    } else {
        p->param.cb.send(p, status, p->param.user_data);
    }
    CHECK(p->freed);
    free(p->source);
    free(p);
}

static ucs_status_ptr_t fuzz_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header,
                                         size_t header_length, const void *buffer,
                                         size_t count, const ucp_request_param_t *param)
{
    static volatile uint8_t sink;
    pending_t *p;
    size_t i;

    (void)ep;
    CHECK(id <= RI_WIRE_AM_ID_MAX);
    for (i = 0; i < header_length; ++i) {
        sink = ((const uint8_t *)header)[i];
    }
    for (i = 0; i < count; ++i) {
        sink = ((const uint8_t *)buffer)[i];
    }
    (void)sink;
    if (g.send_fails) {
        return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
    }
    if (!g.send_later) {
        return NULL;
    }
    if (param->op_attr_mask & UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL) {
        return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
    }
    p = pending_new(param);
    return (p == NULL) ? UCS_STATUS_PTR(UCS_ERR_NO_MEMORY) : (void *)p;
}

desc_t *fuzz_desc_find(const void *memory)
{
    size_t i;

    for (i = 0; i < MAX_DESCS; ++i) {
        if (g.descs[i].memory == memory) {
            return &g.descs[i];
        }
    }
    return NULL;
}

void fuzz_desc_free(desc_t *desc)
{
    free(desc->memory);
    free(desc->source);
    memset(desc, 0, sizeof(*desc));
}

static void desc_use(desc_t *desc)
{
    CHECK(!desc->used);
    desc->used = 1;
    if (!desc->in_callback) {
        fuzz_desc_free(desc);
    }
}

static ucs_status_ptr_t fuzz_am_recv_data_nbx(ucp_worker_h worker, void *data,
                                              void *buffer, size_t count,
                                              const ucp_request_param_t *param)
{
    desc_t *desc = fuzz_desc_find(data);
    uint8_t *source;
    size_t length;
    pending_t *p;

    (void)worker;
    CHECK((desc != NULL) && desc->rndv);
    source       = desc->source;
    length       = desc->length;
    desc->source = NULL;
    desc_use(desc);
    if (!g.fetch_fails && g.fetch_later) {
        p = pending_new(param);
        if (p != NULL) {
            p->fetch  = 1;
            p->buffer = buffer;
            p->count  = count;
            p->source = source;
            p->length = length;
            return p;
        }
    }
    if (!g.fetch_fails && (length > 0)) {
        CHECK(length <= count);
        memcpy(buffer, source, length);
    }
    free(source);
    return g.fetch_fails ? UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE) : NULL;
}

static void fuzz_am_data_release(ucp_worker_h worker, void *data)
{
    desc_t *desc = fuzz_desc_find(data);

    (void)worker;
    CHECK((desc != NULL) && !desc->in_callback);
    desc_use(desc);
}

static void fuzz_request_free(void *request)
{
    pending_t *p = request;

    CHECK(!p->freed);
    p->freed = 1;
}

static ucs_status_t fuzz_context_query(ucp_context_h context, ucp_context_attr_t *attr)
{
    (void)context;
    attr->request_size = 272;
    attr->memory_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    return UCS_OK;
}

static ucs_status_t fuzz_worker_query(ucp_worker_h worker, ucp_worker_attr_t *attr)
{
    attr->thread_mode = UCS_THREAD_MODE_SINGLE;
    attr->address     = (ucp_address_t *)worker;
    return UCS_OK;
}

static ucs_status_t fuzz_worker_address_query(ucp_address_t *address,
                                              ucp_worker_address_attr_t *attr)
{
    (void)address;
    attr->worker_uid = LOCAL_UID;
    return UCS_OK;
}

static void fuzz_worker_release_address(ucp_worker_h worker, ucp_address_t *address)
{
    (void)worker;
    (void)address;
}

static ucs_status_t fuzz_set_handler(ucp_worker_h worker,
                                     const ucp_am_handler_param_t *param)
{
    (void)worker;
    (void)param;
    return UCS_OK;
}

static unsigned fuzz_worker_progress(ucp_worker_h worker)
{
    (void)worker;
    return 0;
}

static ucs_status_ptr_t fuzz_ep_close_nbx(ucp_ep_h ep, const ucp_request_param_t *param)
{
    (void)ep;
    (void)param;
    return NULL;
}

void fuzz_stock_init(void)
{
    ri_stock.am_send_nbx                = fuzz_am_send_nbx;
    ri_stock.am_recv_data_nbx           = fuzz_am_recv_data_nbx;
    ri_stock.am_data_release            = fuzz_am_data_release;
    ri_stock.request_free               = fuzz_request_free;
    ri_stock.context_query              = fuzz_context_query;
    ri_stock.worker_query               = fuzz_worker_query;
    ri_stock.worker_address_query       = fuzz_worker_address_query;
    ri_stock.worker_release_address     = fuzz_worker_release_address;
    ri_stock.worker_set_am_recv_handler = fuzz_set_handler;
    ri_stock.worker_progress            = fuzz_worker_progress;
    ri_stock.ep_close_nbx               = fuzz_ep_close_nbx;
    ri_stock.version_major              = 1;
    ri_stock.version_minor              = 17;
}

void fuzz_end_all_pending(ucs_status_t status)
{
    size_t i;

    for (i = 0; i < MAX_PENDING; ++i) {
        if (g.pending[i] != NULL) {
            pending_end(i, status);
        }
    }
    fuzz_release_done();
}

void fuzz_op_stock(input_t *in)
{
    uint8_t which = take(in);
    size_t i      = which % MAX_PENDING;

    if (g.pending[i] != NULL) {
        pending_end(i, (which & 0x80) ? UCS_ERR_CONNECTION_RESET : UCS_OK);
    }
}

void fuzz_op_mode(input_t *in)
{
    uint8_t mode = take(in);

    g.send_later  = !!(mode & 1);
    g.send_fails  = !!(mode & 2);
    g.fetch_later = !!(mode & 4);
    g.fetch_fails = !!(mode & 8);

    g.read_fails       = !!(mode & 16);
    g.read_unreachable = !!(mode & 32);
}
