/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The fast paths of tag sends: short contiguous messages by one active message or through
 * the ring, without a request.
 */
#include "send_fast.h"
#include "../../ucs/clock.h"
#include "../../ucs/copy.h"
#include "../../ucs/settings.h"
#include "../../ucs/stock.h"
#include "../link/am.h"
#include "../link/channel_life.h"
#include "../match/rtr_table.h"
#include "../../uct/shm/expect.h"
#include "../../uct/shm/ring_parts.h"

#include <assert.h>
#include <string.h>

/* Ticks (ri_clock_ticks()) without a longer message, some 5 to 20 us, after which the receiver has
 * taken all and waits for the next one. */
#define SEND_ROW_TICKS 20000

/* Write the header of a short message, as ri_am_pack_header() does where the receiver's
 * id is known. */
static inline size_t send_pack_short(ri_conn_t *conn, uint64_t tag, uint8_t *at)
{
    ri_wire_eager_t *header = (ri_wire_eager_t *)at;
    int same                = (tag == conn->tx_tag) && (conn->tx_sn > 1);
    uint64_t base           = (same ? RI_WIRE_EAGER_SAME : RI_WIRE_EAGER) |
                    ((uint64_t)conn->remote_id << 8) | ((uint64_t)conn->tx_sn << 32);

    memcpy(&header->base, &base, sizeof(base));
    if (same) {
        return sizeof(ri_wire_base_t);
    }
    header->tag  = tag;
    conn->tx_tag = tag;
    return sizeof(*header);
}

/* UCX holds a message back that was sent without a request. */
static ucs_status_ptr_t send_am_pending(ri_conn_t *conn, ri_am_buffer_t *buffer,
                                        uint32_t sn, uint64_t tag, size_t length,
                                        const ucp_request_param_t *param)
{
    ri_send_req_t *req = (ri_send_req_t *)ri_req_get(conn->worker, param, RI_REQ_SEND);

    ri_send_req_init(req, conn, tag);
    req->sn   = sn;
    req->data = (ri_dt_data_t){.length = length};
    ri_am_buffer_set_req(buffer, req);
    ri_req_set_send_cb(&req->super, param);
    return ri_req_handle(&req->super);
}

/* Send by one active message: from a buffer of a class, in which there is a header and, with
 * @a copy, the payload. */
static ri_inline ucs_status_ptr_t send_am(ri_conn_t *conn, unsigned class, int copy,
                                          const void *data, size_t length, uint64_t tag,
                                          const ucp_request_param_t *param)
{
    ri_worker_t *worker   = conn->worker;
    uint64_t previous_tag = conn->tx_tag;
    ri_am_buffer_t *buffer;
    ucs_status_t status;
    size_t header_length;
    uint32_t sn;

    /* If UCX holds the message back there must be a request for it. */
    buffer = ri_req_is_available(worker) ? ri_am_buffer_get_class(worker, class) : NULL;
    if (ri_unlikely(buffer == NULL)) {
        return UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
    }

    sn            = ++conn->tx_sn;
    header_length = send_pack_short(conn, tag, buffer->data);
    ri_rtr_table_log(conn, tag, 0);
    ri_trace(&worker->trace, RI_TRACE_SEND, tag, length);
    ri_trace(&worker->trace, RI_TRACE_SEND_AM, sn, length);
    if (copy) {
        ri_copy(buffer->data + header_length, data, length);
        status = ri_am_send_copied(conn, buffer, class, header_length + length);
    } else {
        status = ri_am_send_gather(conn, buffer, header_length, data, length);
    }
    if (ri_unlikely(UCS_STATUS_IS_ERR(status))) {
        ri_tag_send_return_number(conn, sn, previous_tag, status);
        return UCS_STATUS_PTR(status);
    }

    ++conn->counters.tx_eager_am;
    conn->counters.tx_eager_am_bytes += length;
    conn->counters.tx_bytes += length;
    ri_sizes_note(worker->sizes, RI_SIZES_OF(tx_eager_am), length);
    return ri_likely(status == UCS_OK) ?
                   NULL :
                   send_am_pending(conn, buffer, sn, tag, length, param);
}

static ri_noinline ucs_status_ptr_t send_am_longer(ri_conn_t *conn, const void *data,
                                                   size_t length, uint64_t tag,
                                                   const ucp_request_param_t *param)
{
    int copy = (length <= ri_config.am_inline);

    return send_am(conn, copy ? 1 : 0, copy, data, length, tag, param);
}

ucs_status_ptr_t ri_tag_send_fast_no_ring(ri_conn_t *conn, const void *data,
                                          size_t length, uint64_t tag,
                                          const ucp_request_param_t *param)
{
    if (ri_unlikely(length < conn->channel_end) &&
        ri_channel_send_put(conn, data, length, tag)) {
        return NULL;
    }
    return ri_likely((length <= RI_AM_SMALL) && (length <= ri_config.am_inline)) ?
                   send_am(conn, 0, 1, data, length, tag, param) :
                   send_am_longer(conn, data, length, tag, param);
}

/* Note a message through a ring, where there is a trace, or sizes are wanted. */
static ri_noinline void send_note_watched(ri_conn_t *conn, uint64_t tag, size_t length,
                                          uint32_t lines)
{
    ri_worker_t *worker = conn->worker;

    ri_trace(&worker->trace, RI_TRACE_SEND, tag, length);
    ri_trace(&worker->trace, RI_TRACE_SEND_RING, conn->tx_sn, lines);
    ri_sizes_note(worker->sizes, RI_SIZES_OF(tx_eager_ring), length);
}

/* A message by the fast path is in the ring. */
static inline void send_note_ring(ri_conn_t *conn, uint64_t tag, size_t length,
                                  uint32_t lines)
{
    conn->tx_tag = tag;
    ri_rtr_table_log(conn, tag, 0);
    ++conn->counters.tx_eager_ring;
    conn->counters.tx_bytes += length;
    if (ri_unlikely(conn->worker->watched)) {
        send_note_watched(conn, tag, length, lines);
    }
}

/* Whether nothing has come to the worker since the latest message of the fast path on this conn: a
 * series of messages, of which the receiver takes one while the next is written, rather than one
 * whose answer is awaited. */
static inline int send_is_in_series(const ri_conn_t *conn)
{
    return conn->tx_clock == conn->worker->rings.clock;
}

/* A message was sent that is not one of a series: its receiver's next message may be an answer. */
static inline void send_expect_answer(const ri_conn_t *conn)
{
    if ((conn->peer != NULL) && (conn->peer->ring_in != NULL)) {
        ri_expect_answer(conn->peer->ring_in);
    }
}

/* Write and publish the record of a message that has its turn, and get lines for the next ones. */
static ri_inline void send_write_record(ri_conn_t *conn, ri_ring_record_t *record,
                                        const void *buffer, size_t length, uint64_t tag)
{
    int in_row  = send_is_in_series(conn);
    int streams = ri_ring_tx_streams(conn->ring, length, in_row);

    if (length <= RI_RING_INLINE) {
        ri_copy_short(record->payload, buffer, length);
    } else {
        ri_ring_tx_write(conn->ring, record, buffer, length, streams);
    }
    record->type     = RI_WIRE_EAGER;
    record->value    = ++conn->tx_sn;
    record->extra    = conn->release.id;
    conn->release.id = 0;
    record->tag      = tag;
    ri_ring_tx_publish(conn->ring, record, length);
    if (ri_unlikely(streams)) {
        /* its lines are not in the cache, nor are the next ones to be */
    } else if (in_row) {
        ri_ring_tx_prefetch_ahead(conn->ring, ri_ring_lines(length));
    } else if (length > RI_RING_INLINE) {
        ri_ring_tx_prefetch(conn->ring, ri_ring_lines(length));
    }
    if (!in_row) {
        send_expect_answer(conn);
    }
    conn->tx_clock = conn->worker->rings.clock;
    send_note_ring(conn, tag, length, ri_ring_lines(length));
}

ucs_status_ptr_t ri_tag_send_fast_line(ri_conn_t *conn, const void *buffer, size_t count,
                                       size_t length, uint64_t tag,
                                       const ucp_request_param_t *param)
{
    if (length > RI_RING_INLINE) {
        assert(0);
        __builtin_unreachable(); /* so that all below is for one line */
    }
    if (ri_unlikely(!ri_ring_tx_has_line(conn->ring))) {
        return ri_tag_send_fast_record(conn, buffer, count, length, tag, param);
    }
    send_write_record(conn, ri_ring_tx_next(conn->ring), buffer, length, tag);
    return NULL;
}

ucs_status_ptr_t ri_tag_send_fast_record(ri_conn_t *conn, const void *buffer,
                                         size_t count, size_t length, uint64_t tag,
                                         const ucp_request_param_t *param)
{
    ri_ring_record_t *record = ri_ring_tx_reserve(conn->ring, length);

    if (ri_unlikely(record == NULL)) {
        return ri_tag_send_slow(conn, buffer, count, tag, param, 0);
    }
    send_write_record(conn, record, buffer, length, tag);
    return NULL;
}

ucs_status_ptr_t ri_tag_send_fast_parts(ri_conn_t *conn, const void *buffer, size_t count,
                                        size_t length, uint64_t tag,
                                        const ucp_request_param_t *param)
{
    uint64_t now = ri_clock_ticks();
    int64_t idle = now - conn->tx_ticks;
    uint32_t pos = conn->ring->pos;

    conn->tx_ticks = now;
    if (send_is_in_series(conn) && (idle < SEND_ROW_TICKS)) {
        return ri_tag_send_fast_record(conn, buffer, count, length, tag, param);
    }
    conn->tx_clock = conn->worker->rings.clock;
    if (ri_unlikely(!ri_ring_parts_put(conn->ring, conn->tx_sn + 1, tag, 0, buffer,
                                       length))) {
        return ri_tag_send_slow(conn, buffer, count, tag, param, 0);
    }
    ++conn->tx_sn;
    send_note_ring(conn, tag, length, conn->ring->pos - pos);
    return NULL;
}
