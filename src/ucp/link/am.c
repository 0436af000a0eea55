/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A send ends within its call or in stock's callback, am_buffer_sent(). Either gives the buffer
 * back and tells the request that waits for it.
 */
#include "am.h"
#include "../core/types/module.h"
#include "../../ucs/settings.h"
#include "../core/memory.h"
#include "../../ucs/stock.h"
#include "../core/send_req.h"

#include <stdlib.h>
#include <string.h>

static void am_buffer_sent(void *request, ucs_status_t status, void *user_data);

ri_am_buffer_t *ri_am_buffer_new(ri_worker_t *worker, unsigned class)
{
    const size_t payload[RI_AM_CLASSES] = {
            RI_AM_SMALL, ri_config.am_inline,
            ri_max(ri_config.eager_thresh, RI_WIRE_RTS_MAX)};
    ri_am_buffer_t *buffer;

    buffer = malloc(sizeof(*buffer) + RI_WIRE_HEADER_MAX + payload[class]);
    if (buffer == NULL) {
        return NULL;
    }

    buffer->worker     = worker;
    buffer->req        = NULL;
    buffer->conn_id    = 0;
    buffer->which      = RI_AM_MESSAGE;
    buffer->size_class = class;
    buffer->param = (ucp_request_param_t){.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                          UCP_OP_ATTR_FIELD_USER_DATA |
                                                          UCP_OP_ATTR_FIELD_FLAGS,
                                          .flags     = UCP_AM_SEND_FLAG_EAGER,
                                          .cb.send   = am_buffer_sent,
                                          .user_data = buffer};
    ucs_list_add_tail(&worker->am_buffers.all, &buffer->all);
    return buffer;
}

size_t ri_am_pack_hello(ri_conn_t *conn, uint8_t *at)
{
    ri_wire_hello_t hello = {.magic   = RI_WIRE_MAGIC,
                             .version = RI_WIRE_VERSION,
                             .am_id   = conn->worker->self.am_id,
                             .uid     = conn->worker->self.uid,
                             .host    = conn->worker->self.host,
                             .conn_id = conn->id,
                             .serial  = conn->serial};

    memcpy(at, &hello, sizeof(hello));
    return sizeof(hello);
}

size_t ri_am_pack_header(ri_conn_t *conn, ri_wire_type_t type, uint32_t sn, uint64_t tag,
                         uint32_t req_id, uint8_t *header)
{
    ri_wire_eager_sync_t hdr = {.base.value = sn, .tag = tag, .req_id = req_id};
    size_t length;

    if ((type == RI_WIRE_EAGER) && (sn > 1) && (tag == conn->tx_tag)) {
        /* 8 bytes less: in stock's FIFO they decide whether a short message fits the
         * cache line that its descriptor starts in. */
        type = RI_WIRE_EAGER_SAME;
    }
    length = ri_wire_rows[type].length;

    conn->tx_tag  = tag;
    hdr.base.type = type | ((conn->remote_id == 0) ? RI_WIRE_FLAG_HELLO : 0);
    ri_wire_set_id(&hdr.base, conn->remote_id);
    memcpy(header, &hdr, sizeof(hdr)); /* what is behind its length is written over */
    return ri_likely(conn->remote_id != 0) ?
                   length :
                   length + ri_am_pack_hello(conn, header + length);
}

/* A message with a reply endpoint has gone out, for which UCP needs the peer's answer. */
static void am_set_ready(ri_conn_t *conn)
{
    if (conn != NULL) {
        ri_conn_set_flags(conn, RI_CONN_AM_READY);
        ri_conn_update_fast(conn);
    }
}

/* Stock is done with a buffer. @return What its request waited for it with, if it has one. */
static uint8_t am_buffer_let_go(ri_am_buffer_t *buffer)
{
    uint8_t wait = (buffer->which == RI_AM_DATA) ? RI_SEND_WAIT_DATA : RI_SEND_WAIT_STOCK;

    if (buffer->req != NULL) {
        buffer->req->in_stock[buffer->which] = NULL;
    }
    ri_am_buffer_put(buffer);
    return wait;
}

void ri_am_forget(ri_send_req_t *req)
{
    unsigned i;

    for (i = 0; i < RI_AM_WHICH_LAST; ++i) {
        if (req->in_stock[i] != NULL) {
            req->in_stock[i]->req = NULL;
            req->in_stock[i]      = NULL;
        }
    }
    ri_send_drop_wait(req, RI_SEND_WAIT_STOCK | RI_SEND_WAIT_DATA);
}

/* Stock's callback for a message from a buffer, or whose header is in one. */
static void am_buffer_sent(void *request, ucs_status_t status, void *user_data)
{
    ri_am_buffer_t *buffer = user_data;
    ri_send_req_t *req     = buffer->req;
    ri_worker_t *worker    = buffer->worker;
    uint8_t wait;

    ri_worker_lock(worker);
    if ((buffer->conn_id != 0) && (status == UCS_OK)) {
        am_set_ready(ri_id_get(&worker->ids.conns, buffer->conn_id));
    }
    wait = am_buffer_let_go(buffer);
    ri_stock.request_free(request);
    if (req != NULL) {
        ri_send_end_wait(req, wait, status);
    }
    ri_worker_unlock(worker);
}

/* How the send from a buffer has ended, or goes on. */
static ucs_status_t am_buffer_status(ri_conn_t *conn, ri_am_buffer_t *buffer,
                                     ucs_status_ptr_t ret)
{
    ri_send_req_t *req;
    uint8_t wait;

    if (UCS_PTR_IS_PTR(ret)) {
        return UCS_INPROGRESS;
    }
    req = buffer->req;
    if (ri_unlikely((ret == NULL) && (buffer->conn_id != 0))) {
        am_set_ready(conn);
    }
    wait = am_buffer_let_go(buffer);
    if (req != NULL) {
        ri_send_drop_wait(req, wait); /* stock's callback does not come */
    }
    return UCS_PTR_STATUS(ret);
}

ucs_status_t ri_am_send_buffer(ri_conn_t *conn, ri_am_buffer_t *buffer,
                               size_t header_length, size_t length, unsigned flags)
{
    ucp_request_param_t param = buffer->param;
    ucs_status_ptr_t ret;

    if (ri_unlikely(conn->ep == NULL)) {
        return am_buffer_status(conn, buffer, UCS_STATUS_PTR(UCS_ERR_CANCELED));
    }
    if (flags & RI_AM_REPLY) {
        param.flags |= UCP_AM_SEND_FLAG_REPLY;
        buffer->conn_id = conn->id;
    }
    if (flags & RI_AM_FORCE_IMM) {
        param.op_attr_mask |= UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
    }

    if (flags & RI_AM_APART) {
        ret = ri_stock.am_send_nbx(conn->ep, conn->am_id, buffer->data, header_length,
                                   buffer->data + header_length, length, &param);
    } else {
        ret = ri_stock.am_send_nbx(conn->ep, conn->am_id, NULL, 0, buffer->data,
                                   header_length + length, &param);
    }
    return am_buffer_status(conn, buffer, ret);
}

ucs_status_t ri_am_send_gather(ri_conn_t *conn, ri_am_buffer_t *buffer,
                               size_t header_length, const void *payload, size_t length)
{
    ucp_request_param_t param = buffer->param;
    ucs_status_ptr_t ret;

    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype          = ucp_dt_make_iov();
    buffer->parts[0].buffer = buffer->data;
    buffer->parts[0].length = header_length;
    buffer->parts[1].buffer = (void *)payload;
    buffer->parts[1].length = length;

    ret = ri_stock.am_send_nbx(conn->ep, conn->am_id, NULL, 0, buffer->parts, 2, &param);
    return am_buffer_status(conn, buffer, ret);
}

ucs_status_t ri_am_send_direct(ri_send_req_t *req, ri_am_which_t which,
                               const void *header, size_t header_length,
                               uint32_t am_flags, const ucp_request_param_t *param)
{
    /* Hints that concern the buffer and the expected pattern are handed on. NO_IMM_CMPL
     * never is: with a datatype, stock would then ignore the datatype. */
    uint32_t hints = param->op_attr_mask &
                     (UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_MEMH |
                      UCP_OP_ATTR_FLAG_FAST_CMPL | UCP_OP_ATTR_FLAG_MULTI_SEND);
    ucp_request_param_t am_param = {
            .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                            UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_DATATYPE | hints,
            .flags       = am_flags,
            .cb.send     = am_buffer_sent,
            .memory_type = (hints & UCP_OP_ATTR_FIELD_MEMORY_TYPE) ? param->memory_type :
                                                                     0,
            .memh        = (hints & UCP_OP_ATTR_FIELD_MEMH) ? param->memh : NULL};
    ucp_ep_h ep = ri_conn_ep(req->conn);
    ri_am_buffer_t *kept;
    ucs_status_t status;
    void *buffer;
    size_t count;

    if (ri_unlikely(ep == NULL)) {
        return UCS_ERR_CANCELED; /* closed, and there is no other way to the peer */
    }
    status = ri_dt_to_stock(&req->data, &buffer, &count, &am_param.datatype);
    if (status != UCS_OK) {
        return status;
    }

    if (ri_unlikely(!req->super.worker->host_memory)) {
        ri_memory_hint(ri_memory_type_slow(&req->data, param), &am_param);
    }
    if (ri_dt_is_contig(&req->data)) {
        am_param.op_attr_mask &= ~UCP_OP_ATTR_FIELD_DATATYPE; /* stock's shorter way */
    }

    /* Stock reads the header until it is done. */
    kept = ri_am_buffer_get_class(req->super.worker, 0);
    if (kept == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    ri_am_buffer_set_waiter(kept, req, which);
    memcpy(kept->data, header, header_length);
    am_param.user_data = kept;
    return am_buffer_status(req->conn, kept,
                            ri_stock.am_send_nbx(ep, req->conn->am_id, kept->data,
                                                 header_length, buffer, count,
                                                 &am_param));
}

static ucs_status_t am_worker_made(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->am_buffers.all);
    return UCS_OK;
}

/* Free all buffers, those too that stock has not given back. */
static void am_worker_freed(ri_worker_t *worker)
{
    ucs_list_link_t *all = &worker->am_buffers.all;

    /* No loop of a macro, which takes the head of the list for a buffer: buffers are aligned */
    while (!ucs_list_is_empty(all)) {
        free(ucs_list_extract_head(all, ri_am_buffer_t, all));
    }
}

const ri_module_t ri_module_am = {
        .name = "am", .worker_made = am_worker_made, .worker_freed = am_worker_freed};
