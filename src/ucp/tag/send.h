/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tag sends. The fast path (a short contiguous message into a ring) is inline in the
 * entry points; everything else is in send.c, and what is done with a message is chosen
 * in proto/select.h.
 */
#ifndef RI_SEND_H
#define RI_SEND_H

#include "../core/copy.h"
#include "../core/worker.h"

/** Send without the fast path. The worker is locked, the parameters are valid. */
ucs_status_ptr_t ri_tag_send_slow(ri_conn_t *conn, const void *buffer, size_t count,
                                  uint64_t tag, const ucp_request_param_t *param,
                                  int sync);

/**
 * Something that an unfinished send waited for has happened, or failed. The last one
 * completes it.
 *
 * @param what  One of RI_SEND_WAIT_*.
 */
void ri_send_end_wait(ri_send_req_t *req, uint8_t what, ucs_status_t status);

/** The endpoint of a send failed or is closed: what the send waits for from the peer will
 * not come. What is in UCX's hands ends as UCX says. */
void ri_send_abort(ri_send_req_t *req, ucs_status_t status);

#define RI_SEND_PARAM_DATATYPE(_param) \
    (((_param)->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) ? (_param)->datatype : \
                                                             ucp_dt_make_contig(1))

/**
 * Send a contiguous message by one active message, without a request unless UCX holds it
 * back. Same conditions as for a ring, and the receiver's id is known.
 *
 * @return What the application's call returns.
 */
ucs_status_ptr_t ri_tag_send_am(ri_conn_t *conn, const void *buffer, size_t length,
                                uint64_t tag, const ucp_request_param_t *param);

/** A message has taken the next number: whatever RTR is for it is used up.
 * @param req_id  Of the request of an RTS, else 0. */
static inline void ri_send_log(ri_conn_t *conn, uint64_t tag, uint32_t req_id)
{
    if (ri_unlikely(conn->rtrs != NULL)) {
        ri_rtr_table_send(conn->rtrs, conn->tx_sn, tag, req_id);
    }
}

/** Send a longer contiguous message through the ring, under the same conditions. */
ucs_status_ptr_t ri_tag_send_parts(ri_conn_t *conn, const void *buffer, size_t length,
                                   uint64_t tag, const ucp_request_param_t *param);

/**
 * Send a tag message on @a conn. The worker is locked.
 *
 * @return What the application's call returns.
 */
static inline ucs_status_ptr_t ri_tag_send(ri_conn_t *conn, const void *buffer,
                                           size_t count, uint64_t tag,
                                           const ucp_request_param_t *param, int sync)
{
    ucp_datatype_t datatype = RI_SEND_PARAM_DATATYPE(param);
    size_t length           = count * (datatype >> UCP_DATATYPE_SHIFT);
    ri_ring_record_t *record;

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
        return ri_tag_send_am(conn, buffer, length, tag, param);
    }

    if (length >= RI_RING_PARTS_MIN) {
        return ri_tag_send_parts(conn, buffer, length, tag, param);
    }
    record = ri_ring_tx_reserve(conn->ring, length);
    if (ri_unlikely(record == NULL)) {
        return ri_tag_send_slow(conn, buffer, count, tag, param, sync);
    }

    /* The receiver polls the first line: no store goes there before the payload is in the
     * others, or the line would be fetched back and forth once more. */
    if (length <= RI_RING_INLINE) {
        ri_copy_short(record->payload, buffer, length);
    } else {
        ri_copy_lines(record + 1, buffer, length);
    }
    record->type  = RI_WIRE_EAGER;
    record->value = ++conn->tx_sn;
    record->extra = conn->release;
    conn->release = 0;
    record->tag   = tag;
    conn->tx_tag  = tag;
    ri_ring_tx_commit(conn->ring, record, length);
    ri_send_log(conn, tag, 0);
    ++conn->counters.tx_eager_ring;
    conn->counters.tx_bytes += length;
    ri_trace(&conn->worker->trace, RI_TRACE_SEND, tag, length);
    ri_trace(&conn->worker->trace, RI_TRACE_SEND_RING, conn->tx_sn,
             ri_ring_lines(length));
    return NULL;
}

#endif
