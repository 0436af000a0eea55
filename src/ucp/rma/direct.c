/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that is mapped is copied, or worked on, by this processor. Of other memory, small pieces
 * are asked for by mail, and what did not come so is copied by the plane.
 */
#include "direct.h"
#include "reach_copy.h"
#include "mail.h"
#include "mail_parts.h"
#include "posts.h"
#include "serve.h"
#include "word.h"
#include "../core/memory.h"
#include "../../ucs/log.h"
#include "../../ucs/stock.h"

#include <string.h>

/* @return The key if an operation on a range of its memory may be done here, else NULL. */
static ri_inline ri_rkey_t *direct_rkey(const ri_conn_t *conn, ucp_rkey_h stock,
                                        uint64_t address, size_t length)
{
    ri_rkey_t *rkey = ri_rkey_find(stock);

    if ((rkey == NULL) || (rkey->access == RI_RKEY_STOCK) || (length == 0) ||
        !ri_rkey_has(rkey, address, length) || (conn->flags & RI_CONN_FENCED) ||
        (conn->status != UCS_OK) || (conn->worker->rma.in_stock > 0) ||
        ((rkey->access == RI_RKEY_CMA) && ri_reach_is_out(rkey->reach))) {
        return NULL;
    }
    return rkey;
}

/* @return As ri_direct_put(), for an operation that is not done here. */
static ri_noinline ucs_status_t direct_refused(ucp_rkey_h stock)
{
    const ri_rkey_t *rkey = ri_rkey_find(stock);

    return ((rkey != NULL) && (rkey->reach != NULL) &&
            (rkey->reach->lost == UCS_ERR_UNREACHABLE)) ?
                   UCS_ERR_CONNECTION_RESET :
                   UCS_ERR_UNSUPPORTED;
}

/* @return Whether the process with the memory has ended. UCX may not be able to give up what it is
 * asked for then. */
static int direct_is_gone(const ri_rkey_t *rkey)
{
    return rkey->reach->ep->plane->ops->check(rkey->reach->ep) != UCS_OK;
}

/* @return As ri_direct_put(). */
static ucs_status_t direct_move(ri_rkey_t *rkey, int is_put, const char *buffer,
                                size_t length, uint64_t address)
{
    ucs_status_t status = ri_reach_copy_long(rkey->reach, is_put, buffer, address,
                                             length);

    if (ri_likely(status == UCS_OK)) {
        return UCS_OK;
    }
    /* Memory without a page, or that is protected: stock may still reach it, or say why not */
    if (status == UCS_ERR_UNREACHABLE) {
        if (direct_is_gone(rkey)) {
            return UCS_ERR_CONNECTION_RESET;
        }
        ri_rkey_set_access(rkey, RI_RKEY_STOCK);
    }
    ri_debug("one-sided: an operation is left to UCX: %s",
             ri_stock_status_string(status));
    return UCS_ERR_UNSUPPORTED;
}

/* Copy what the process that has the memory was not asked for, behind all that it was asked for. If
 * that fails, UCX does all of the operation once more. @return As ri_direct_put(). */
static ucs_status_t direct_copy(ri_conn_t *conn, ri_rkey_t *rkey, int is_put,
                                const char *buffer, size_t length, uint64_t address)
{
    ucs_status_t status;

    ri_posts_settle(conn);
    status = direct_move(rkey, is_put, buffer, length, address);
    if (status == UCS_OK) {
        ++conn->counters.rma_copied;
        conn->counters.rma_copied_bytes += length;
    }
    return status;
}

/* Post a put to the process that has the memory, as far as it takes it. @return How many bytes are
 * posted, or done. */
static size_t direct_post(ri_conn_t *conn, ri_rkey_t *rkey, uint64_t address,
                          size_t length, const void *data)
{
    const ri_mailbox_head_t head = {
            .kind = RI_SERVE_PUT, .region = rkey->region, .address = address};
    unsigned withdrawn = 0;
    size_t done;

    done = ri_mail_parts_put(rkey->reach, &head, data, length, &withdrawn);
    if (done > 0) {
        ri_posts_note(conn, rkey->reach);
    }
    conn->counters.rma_withdrawn += withdrawn;
    conn->counters.rma_mailed += (done == length);
    return done;
}

/* Call the thread of the process that has the memory. */
static ri_mail_fate_t direct_call(ri_conn_t *conn, ri_rkey_t *rkey,
                                  const ri_mailbox_head_t *head, const void *data,
                                  void *result)
{
    unsigned withdrawn = 0;
    ri_mail_fate_t fate;

    fate = ri_mail_call(rkey->reach, head, data, result, &withdrawn);
    conn->counters.rma_withdrawn += withdrawn;
    conn->counters.rma_called += (fate == RI_MAIL_DONE);
    return fate;
}

ucs_status_t ri_direct_put(ri_conn_t *conn, ucp_rkey_h stock, const void *buffer,
                           size_t length, uint64_t address)
{
    ri_rkey_t *rkey = direct_rkey(conn, stock, address, length);
    size_t done;

    if ((rkey == NULL) || !ri_memory_at_is_host(conn->worker, buffer, length)) {
        return direct_refused(stock);
    }
    if (rkey->access == RI_RKEY_MAPPED) {
        ri_word_copy(ri_rkey_local(rkey, address), buffer, length);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        ++conn->counters.rma_mapped;
        conn->counters.rma_mapped_bytes += length;
        return UCS_OK;
    }
    done = direct_post(conn, rkey, address, length, buffer);
    if (done == length) {
        return UCS_OK;
    }
    return direct_copy(conn, rkey, 1, (const char *)buffer + done, length - done,
                       address + done);
}

/* Get from the process that has the memory, as far as it looks. @return How many bytes are there.
 */
static size_t direct_mail_get(ri_conn_t *conn, ri_rkey_t *rkey, void *buffer,
                              size_t length, uint64_t address)
{
    const ri_mailbox_head_t head = {
            .kind = RI_SERVE_GET, .region = rkey->region, .address = address};
    unsigned withdrawn = 0;
    size_t done;

    done = ri_mail_parts_get(rkey->reach, &head, buffer, length, &withdrawn);
    conn->counters.rma_withdrawn += withdrawn;
    conn->counters.rma_mailed += (done == length);
    return done;
}

ucs_status_t ri_direct_get(ri_conn_t *conn, ucp_rkey_h stock, void *buffer, size_t length,
                           uint64_t address)
{
    ri_rkey_t *rkey = direct_rkey(conn, stock, address, length);
    size_t done;

    if ((rkey == NULL) || !ri_memory_at_is_host(conn->worker, buffer, length)) {
        return direct_refused(stock);
    }
    if (rkey->access == RI_RKEY_MAPPED) {
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        ri_word_copy(buffer, ri_rkey_local(rkey, address), length);
        ++conn->counters.rma_mapped;
        conn->counters.rma_mapped_bytes += length;
        return UCS_OK;
    }
    done = direct_mail_get(conn, rkey, buffer, length, address);
    if (done == length) {
        return UCS_OK;
    }
    return direct_copy(conn, rkey, 0, (char *)buffer + done, length - done,
                       address + done);
}

/* Have the target do it: UCX would do the same, by a message that a target which computes does not
 * see. */
static ucs_status_t direct_mail_atomic(ri_conn_t *conn, ri_rkey_t *rkey,
                                       ucp_atomic_op_t op, size_t size, uint64_t value,
                                       void *result, uint64_t address)
{
    ri_mailbox_head_t head = {.kind        = ri_serve_kind(op),
                              .length      = size,
                              .data_length = size,
                              .region      = rkey->region,
                              .address     = address};
    uint8_t data[2 * sizeof(value)];
    unsigned withdrawn = 0;
    ri_mail_fate_t fate;

    memcpy(data, &value, size);
    if (op == UCP_ATOMIC_OP_CSWAP) {
        memcpy(data + size, result, size);
        head.data_length += size;
    }
    fate = ri_mail_ask(rkey->reach, &head, data, result, &withdrawn);
    conn->counters.rma_withdrawn += withdrawn + (fate == RI_MAIL_WITHDRAWN);
    conn->counters.rma_mailed += (fate == RI_MAIL_DONE);
    if (fate == RI_MAIL_WITHDRAWN) {
        fate = direct_call(conn, rkey, &head, data, result);
    }
    if (fate == RI_MAIL_DONE) {
        return UCS_OK;
    }
    return direct_is_gone(rkey) ? UCS_ERR_CONNECTION_RESET : UCS_ERR_UNSUPPORTED;
}

ucs_status_t ri_direct_atomic(ri_conn_t *conn, ucp_rkey_h stock, ucp_atomic_op_t op,
                              size_t size, uint64_t value, void *result, uint64_t address)
{
    ri_rkey_t *rkey = direct_rkey(conn, stock, address, size);
    uint64_t swap   = 0;
    uint64_t old;

    if ((rkey == NULL) || !rkey->atomics || !ri_word_can(op, size, address) ||
        ((op == UCP_ATOMIC_OP_CSWAP) && (result == NULL)) ||
        ((result != NULL) && !ri_memory_at_is_host(conn->worker, result, size))) {
        return direct_refused(stock);
    }
    if (rkey->access == RI_RKEY_CMA) {
        return direct_mail_atomic(conn, rkey, op, size, value, result, address);
    }
    if (op == UCP_ATOMIC_OP_CSWAP) {
        memcpy(&swap, result, size);
    }
    old = ri_word_atomic(ri_rkey_local(rkey, address), size, op, value, swap);
    if (result != NULL) {
        memcpy(result, &old, size);
    }
    ++conn->counters.rma_atomics;
    return UCS_OK;
}
