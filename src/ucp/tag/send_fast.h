/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tag sends, where they come into the library. What decides for a fast path (a short contiguous
 * message, into a ring or by one active message) is inline in the entry points, which end in a
 * jump to send_fast.c, or to send.c for all other messages.
 */
#ifndef RI_SEND_FAST_H
#define RI_SEND_FAST_H

#include "send.h"

/**
 * Send a contiguous message of less than conn->fast_max bytes by the channel if it has room, else
 * by one active message, without a request unless UCX holds it back. ri_tag_send() has checked the
 * parameters; the conn has no ring, and the receiver's id is known.
 *
 * @return What the application's call returns. After an error the number of the message is
 *         returned (ri_tag_send_return_number()), which may call back.
 */
ucs_status_ptr_t ri_tag_send_fast_no_ring(ri_conn_t *conn, const void *buffer,
                                          size_t length, uint64_t tag,
                                          const ucp_request_param_t *param);

/**
 * Send a contiguous message of @a count elements, @a length bytes, at most RI_RING_INLINE, through
 * the ring in one line, or by ri_tag_send_slow() if there is no room. ri_tag_send() has checked the
 * parameters, and the conn has a ring.
 *
 * @return What the application's call returns.
 */
ucs_status_ptr_t ri_tag_send_fast_line(ri_conn_t *conn, const void *buffer, size_t count,
                                       size_t length, uint64_t tag,
                                       const ucp_request_param_t *param);

/**
 * Send a contiguous message of @a count elements, @a length bytes, through the ring in one record,
 * or by ri_tag_send_slow() if there is no room. ri_tag_send() has checked the parameters, and the
 * conn has a ring.
 *
 * @return What the application's call returns.
 */
ucs_status_ptr_t ri_tag_send_fast_record(ri_conn_t *conn, const void *buffer,
                                         size_t count, size_t length, uint64_t tag,
                                         const ucp_request_param_t *param);

/**
 * Send a contiguous message of @a count elements, @a length bytes, through the ring in parts; in
 * one record if it is one of a row; or by ri_tag_send_slow() if there is no room for all of it. It
 * has RI_RING_PARTS_MIN bytes or more. ri_tag_send() has checked the parameters, and the conn has a
 * ring.
 *
 * @return What the application's call returns.
 */
ucs_status_ptr_t ri_tag_send_fast_parts(ri_conn_t *conn, const void *buffer, size_t count,
                                        size_t length, uint64_t tag,
                                        const ucp_request_param_t *param);

/**
 * Send a tag message on @a conn. The worker is locked. Calls back: the send may end, and if the
 * conn fails so do other operations on it; then it may be gone afterwards.
 *
 * @param param  The application's, which was checked.
 * @param sync   The send is to complete only when it is matched.
 *
 * @return What the application's call returns.
 */
static inline ucs_status_ptr_t ri_tag_send(ri_conn_t *conn, const void *buffer,
                                           size_t count, uint64_t tag,
                                           const ucp_request_param_t *param, int sync)
{
    ucp_datatype_t datatype = RI_SEND_PARAM_DATATYPE(param);
    size_t length           = count * (datatype >> UCP_DATATYPE_SHIFT);

    /* conn->fast_max is 0 unless the conn is healthy and its peer known; the other
     * conditions exclude what needs a request. */
    if (ri_unlikely(sync || (length >= conn->fast_max) ||
                    ((datatype & UCP_DATATYPE_CLASS_MASK) != UCP_DATATYPE_CONTIG) ||
                    (param->op_attr_mask &
                     (UCP_OP_ATTR_FLAG_NO_IMM_CMPL | UCP_OP_ATTR_FIELD_MEMORY_TYPE |
                      UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL)))) {
        return ri_tag_send_slow(conn, buffer, count, tag, param, sync);
    }
    if (conn->ring == NULL) {
        return ri_tag_send_fast_no_ring(conn, buffer, length, tag, param);
    }
    if (length <= RI_RING_INLINE) {
        return ri_tag_send_fast_line(conn, buffer, count, length, tag, param);
    }
    return ri_ring_tx_is_one(conn->ring, length) ?
                   ri_tag_send_fast_record(conn, buffer, count, length, tag, param) :
                   ri_tag_send_fast_parts(conn, buffer, count, length, tag, param);
}

#endif
