/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages as UCP active messages: the way that works over every transport.
 *
 * Buffer ownership: whatever a stock active message may still read after its call has
 * returned lives in one of two places until stock's callback: in a ri_am_buffer_t (a
 * copied header and payload, control messages), or in the send request (a header apart)
 * and the application's buffer.
 */
#ifndef RI_AM_H
#define RI_AM_H

#include "../../ucs/settings.h"
#include "../core/send_req.h"
#include "../core/worker.h"
#include "../../ucs/stock.h"

#include <stdlib.h>

/* Buffers are of three sizes: for a header and a few bytes, for what is copied behind its
 * header, and for whatever is eager. */
struct ri_am_buffer {
    ri_am_buffer_t *next; /* while free */
    ucs_list_link_t all;
    ri_worker_t *worker;
    ri_send_req_t *req;        /* the request that waits for the buffer, or NULL */
    ri_am_which_t which;       /* of req->in_stock */
    uint32_t conn_id;          /* of the conn, if RI_AM_REPLY, else 0 */
    ucp_request_param_t param; /* of sending the buffer, made once */
    ucp_dt_iov_t parts[2];     /* header and payload, if that is not copied */
    uint8_t size_class;
    uint8_t data[] __attribute__((aligned(16))); /* stock copies from it */
};

/* Payload of the smallest buffers. */
#define RI_AM_SMALL 128

/* How to send a buffer. */
enum {
    RI_AM_APART = 1 << 0,    /* the header as UCP's header, not at the head of the data */
    RI_AM_REPLY = 1 << 1,    /* let the receiver learn a way back */
    RI_AM_FORCE_IMM = 1 << 2 /* at once or not at all: UCS_ERR_NO_RESOURCE */
};

/** @return RI_AM_FORCE_IMM if the application demands that. */
static inline unsigned ri_am_force_flag(const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL) ? RI_AM_FORCE_IMM : 0;
}

/** Allocate a buffer of a class, 0 to RI_AM_CLASSES - 1. @return It, as ri_am_buffer_get() returns
 * one; NULL without memory. */
ri_am_buffer_t *ri_am_buffer_new(ri_worker_t *worker, unsigned class);

/** @return A buffer of a class, as ri_am_buffer_get() returns one, or NULL. */
static inline ri_am_buffer_t *ri_am_buffer_get_class(ri_worker_t *worker, unsigned class)
{
    ri_am_pool_t *pool     = &worker->am_buffers;
    ri_am_buffer_t *buffer = pool->free[class];

    if (ri_unlikely(buffer == NULL)) {
        return ri_am_buffer_new(worker, class);
    }
    pool->free[class] = buffer->next;
    --pool->num_free[class];
    return buffer;
}

/** @return A buffer for a header and up to EAGER_THRESH bytes of payload, or an RTS; or NULL. It is
 * the caller's until ri_am_buffer_unget(), or until it is sent. No request waits for it. */
static inline ri_am_buffer_t *ri_am_buffer_get(ri_worker_t *worker, size_t payload)
{
    return ri_am_buffer_get_class(worker, ri_likely(payload <= RI_AM_SMALL) ? 0 :
                                          (payload <= ri_config.am_inline)  ? 1 :
                                                                              2);
}

/** Give a buffer back that ri_am_buffer_get() or ri_am_buffer_get_class() has returned within the
 * same call, and that has neither a request nor a conn. */
static inline void ri_am_buffer_unget(ri_am_pool_t *pool, ri_am_buffer_t *buffer,
                                      unsigned class)
{
    buffer->next      = pool->free[class];
    pool->free[class] = buffer;
    ++pool->num_free[class];
}

/* Free buffers kept per class: a burst of messages that stock held back is not kept for
 * ever. */
static const size_t ri_am_keep[RI_AM_CLASSES] = {4096, 512, 64};

/** Give a buffer back that stock does not use (any more). */
static inline void ri_am_buffer_put(ri_am_buffer_t *buffer)
{
    ri_am_pool_t *pool = &buffer->worker->am_buffers;
    unsigned class     = buffer->size_class;

    if (ri_unlikely(pool->num_free[class] >= ri_am_keep[class])) {
        ucs_list_del(&buffer->all);
        free(buffer);
        return;
    }
    buffer->req     = NULL;
    buffer->conn_id = 0;
    ri_am_buffer_unget(pool, buffer, class);
}

/** Let @a req wait until stock is done with @a buffer, which is about to be sent and holds
 * @a which of it, or the header of that. If that ends within the call, so does the wait. */
static inline void ri_am_buffer_set_waiter(ri_am_buffer_t *buffer, ri_send_req_t *req,
                                           ri_am_which_t which)
{
    buffer->req          = req;
    buffer->which        = which;
    req->in_stock[which] = buffer;
    ri_send_begin_wait(req,
                       (which == RI_AM_DATA) ? RI_SEND_WAIT_DATA : RI_SEND_WAIT_STOCK);
}

/** Let @a req wait until stock is done with @a buffer, which holds a message in sequence. */
static inline void ri_am_buffer_set_req(ri_am_buffer_t *buffer, ri_send_req_t *req)
{
    ri_am_buffer_set_waiter(buffer, req, RI_AM_MESSAGE);
}

/** The peer's process does not exist any more, so stock's callbacks for a send may never come: it
 * does not wait for them any more, and nobody reads its memory. The caller completes it, also if
 * it waits for nothing else. The buffers stay with stock until it calls back or the worker is
 * freed. */
void ri_am_forget(ri_send_req_t *req);

/** Write a hello, a ri_wire_hello_t, that tells the receiver of @a conn who sends. @return Its
 * length. */
size_t ri_am_pack_hello(ri_conn_t *conn, uint8_t *at);

/**
 * Write the header of the next message in sequence on @a conn, with a hello as long as the
 * receiver's id is not known, and note its tag as that of the latest message (conn->tx_tag). The
 * number of the latest message, conn->tx_sn, is left to the caller.
 *
 * @param type    EAGER (which may become EAGER_SAME), EAGER_SYNC, BULK, RTS, POOL or PLACED.
 * @param req_id  Of EAGER_SYNC and RTS: of the request; POOL: of the buffer; PLACED: of the
 *                receive.
 * @param header  Has room for RI_WIRE_HEADER_MAX bytes.
 *
 * @return The header's length.
 */
size_t ri_am_pack_header(ri_conn_t *conn, ri_wire_type_t type, uint32_t sn, uint64_t tag,
                         uint32_t req_id, uint8_t *header);

/**
 * Send the first @a length bytes of @a buffer, a header and its payload, that was just got from a
 * class of the worker's pool, and that no request waits for: the shortest way, for connections that
 * are set up. The conn has its endpoint: it is not LEFT.
 *
 * @return As @ref ri_am_send_buffer.
 */
static inline ucs_status_t ri_am_send_copied(ri_conn_t *conn, ri_am_buffer_t *buffer,
                                             unsigned class, size_t length)
{
    ucs_status_ptr_t ret = ri_stock.am_send_nbx(conn->ep, conn->am_id, NULL, 0,
                                                buffer->data, length, &buffer->param);

    if (ri_unlikely(UCS_PTR_IS_PTR(ret))) {
        return UCS_INPROGRESS;
    }
    ri_am_buffer_unget(&conn->worker->am_buffers, buffer, class);
    return UCS_PTR_STATUS(ret);
}

/**
 * Send what stands in @a buffer, which is stock's from here on, or free again.
 *
 * @param header_length  Bytes of header at its start.
 * @param length         Bytes of payload after them.
 * @param flags          RI_AM_*.
 *
 * @return UCS_OK if it is done, or an error (UCS_ERR_CANCELED: the conn is LEFT): the buffer is
 *         free then, and the request that waited for it does not any more, but is not completed.
 *         UCS_INPROGRESS if the callback will see to that, and complete the request when it waits
 *         for nothing else.
 */
ucs_status_t ri_am_send_buffer(ri_conn_t *conn, ri_am_buffer_t *buffer,
                               size_t header_length, size_t length, unsigned flags);

/**
 * Send the header in @a buffer and the payload from where the application has it, one behind the
 * other. UCP would put a header of its own kind behind the payload: the receiver would have to
 * fetch the last cache line before it knows what to do with the first. The conn has its endpoint:
 * it is not LEFT.
 *
 * @return As @ref ri_am_send_buffer; the payload is in use until the buffer is free again.
 */
ucs_status_t ri_am_send_gather(ri_conn_t *conn, ri_am_buffer_t *buffer,
                               size_t header_length, const void *payload, size_t length);

/**
 * Send a request's message, or its data, by whatever protocol UCP chooses, with a header apart and
 * the payload from where the application has it. If the conn is LEFT, it goes by another endpoint
 * to the same peer.
 *
 * @param which     Which of both it is: what the request waits for, and what header is of.
 * @param header    At most RI_WIRE_HEADER_MAX bytes, which are copied.
 * @param am_flags  UCP_AM_SEND_FLAG_*.
 * @param param     The application's, for hints about its buffer.
 *
 * @return UCS_OK if it is done. UCS_INPROGRESS if the callback will end RI_SEND_WAIT_STOCK (of
 *         RI_AM_DATA, RI_SEND_WAIT_DATA), which is set in req->waiting then. An error: it was not
 *         sent, and nothing is waited for (UCS_ERR_CANCELED: no endpoint leads to the peer).
 */
ucs_status_t ri_am_send_direct(ri_send_req_t *req, ri_am_which_t which,
                               const void *header, size_t header_length,
                               uint32_t am_flags, const ucp_request_param_t *param);

#endif
