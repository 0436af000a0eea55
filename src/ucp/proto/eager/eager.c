/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One table for each route of a short message: ring, channel, active message with a copy, and
 * active message from the application's memory. Sends that find no room are tried again in
 * progress.
 */
#include "eager.h"
#include "../../link/am.h"
#include "../../core/send_req.h"
#include "../../link/channel_life.h"
#include "../../link/release.h"
#include "../../../uct/shm/ring_parts.h"

/* Pack a part of a message whose layout is known; of a ri_send_req_t. */
static void eager_fill(void *arg, size_t offset, void *dest, size_t length)
{
    ri_send_req_t *req = arg;

    ri_dt_pack_part(&req->data, offset, dest, length);
}

/* Write a message into its ring in one record. @return 0 if there is no room. */
static int eager_put_record(ri_send_req_t *req)
{
    ri_conn_t *conn          = req->conn;
    size_t length            = req->data.length;
    ri_ring_record_t *record = ri_ring_tx_reserve(conn->ring, length);

    if (record == NULL) {
        return 0;
    }

    if ((length > RI_RING_INLINE) && ri_dt_is_contig(&req->data)) {
        ri_ring_tx_write(conn->ring, record, req->data.buffer, length,
                         ri_ring_tx_streams(conn->ring, length, 0));
    } else if ((length > RI_RING_INLINE) && ri_dt_is_spread(&req->data)) {
        ri_ring_parts_fill_one(conn->ring, record, eager_fill, req, 0, length,
                               ri_ring_tx_streams(conn->ring, length, 0));
    } else {
        ri_dt_pack(&req->data, ri_ring_payload(record, length));
    }
    record->type  = req->wire_type;
    record->value = req->sn;
    record->extra = (req->id != 0) ? req->id : ri_release_take(conn);
    record->tag   = req->tag;
    ri_ring_tx_commit(conn->ring, record, length);
    return 1;
}

/* Write a message into its ring in parts. @return 0 if there is no room. */
static int eager_put_parts(ri_send_req_t *req)
{
    ri_conn_t *conn = req->conn;
    uint8_t hint    = ri_peer_hint(conn->peer);

    if (!(ri_dt_is_contig(&req->data) ?
                  ri_ring_parts_put(conn->ring, req->sn, req->tag, hint, req->data.buffer,
                                    req->data.length) :
                  ri_ring_parts_fill(conn->ring, req->sn, req->tag, hint, eager_fill, req,
                                     req->data.length))) {
        return 0;
    }
    conn->peer->hint.is_news = 0;
    return 1;
}

/* Whether a message may go in parts. A short one of data in runs does not: its receiver may have to
 * assemble parts in other memory. */
static int eager_may_part(const ri_send_req_t *req)
{
    return ri_dt_is_contig(&req->data) ||
           (ri_dt_is_spread(&req->data) && (req->data.length > ri_config.eager_thresh));
}

/* Write a message into its ring, in parts where that is faster. @return 0 if there is no room. */
static int eager_put_ring(ri_send_req_t *req)
{
    ri_conn_t *conn    = req->conn;
    size_t length      = req->data.length;
    uint32_t pos       = conn->ring->pos;
    int parts_are_fast = (req->wire_type == RI_WIRE_EAGER) && eager_may_part(req) &&
                         !ri_ring_tx_is_one(conn->ring, length);

    if (!(parts_are_fast ? eager_put_parts(req) : eager_put_record(req))) {
        return 0;
    }
    ++conn->counters.tx_eager_ring;
    ri_sizes_note(conn->worker->sizes, RI_SIZES_OF(tx_eager_ring), req->data.length);
    ri_trace(&conn->worker->trace, RI_TRACE_SEND_RING, req->sn, conn->ring->pos - pos);
    return 1;
}

int ri_eager_retry_ring(ri_send_req_t *req)
{
    if (!eager_put_ring(req)) {
        return 0;
    }
    ucs_list_del(&req->pending);
    ri_send_end_wait(req, RI_SEND_WAIT_RING, UCS_OK);
    return 1;
}

static ucs_status_t eager_start_ring(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    ri_conn_t *conn = req->conn;

    (void)terms;
    conn->tx_tag = req->tag;
    if (ucs_list_is_empty(&conn->pending) && eager_put_ring(req)) {
        return UCS_OK;
    }

    ri_send_begin_wait(req, RI_SEND_WAIT_RING);
    ucs_list_add_tail(&conn->pending, &req->pending);
    ri_conn_queue_pending(conn);
    ++conn->counters.tx_pending;
    ri_trace(&conn->worker->trace, RI_TRACE_SEND_PENDING, req->sn,
             conn->counters.tx_pending);
    return UCS_INPROGRESS;
}

ucs_status_t ri_eager_send_copy(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    ri_am_buffer_t *buffer = ri_am_buffer_get(req->conn->worker, req->data.length);
    unsigned flags         = (req->conn->remote_id == 0) ? RI_AM_APART : 0;
    ucs_status_t status;
    size_t header_length;

    if (buffer == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    header_length = ri_am_pack_header(req->conn, req->wire_type, req->sn, req->tag,
                                      req->id, buffer->data);
    ri_dt_pack(&req->data, buffer->data + header_length);
    flags |= ri_am_force_flag(terms->param);
    ri_am_buffer_set_req(buffer, req);
    status = ri_am_send_buffer(req->conn, buffer, header_length, req->data.length, flags);
    ri_trace(&req->super.worker->trace, RI_TRACE_SEND_AM, req->sn, req->data.length);
    return status;
}

/* Send by the channel through a network, or, if its way has just failed, by active message. */
static ucs_status_t eager_start_rdma(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    ucs_status_t status;

    if (ri_likely(ri_channel_send(req))) {
        return UCS_OK;
    }
    status = ri_eager_send_copy(req, terms); /* the way has just failed */
    if (!UCS_STATUS_IS_ERR(status)) {
        ++req->conn->counters.tx_eager_am;
        req->conn->counters.tx_eager_am_bytes += req->data.length;
        ri_sizes_note(req->super.worker->sizes, RI_SIZES_OF(tx_eager_am),
                      req->data.length);
    }
    return status;
}

static ucs_status_t eager_start_gather(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    ri_am_buffer_t *buffer = ri_am_buffer_get(req->conn->worker, 0);
    ucs_status_t status;
    size_t header_length;

    (void)terms;
    if (buffer == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    header_length = ri_am_pack_header(req->conn, req->wire_type, req->sn, req->tag,
                                      req->id, buffer->data);
    ri_am_buffer_set_req(buffer, req);
    status = ri_am_send_gather(req->conn, buffer, header_length, req->data.buffer,
                               req->data.length);
    ri_trace(&req->super.worker->trace, RI_TRACE_SEND_AM, req->sn, req->data.length);
    return status;
}

static int eager_ring_has_room(const ri_send_req_t *req)
{
    return ucs_list_is_empty(&req->conn->pending) &&
           ri_ring_tx_has_room(req->conn->ring, req->data.length);
}

static const char *eager_ring_why(const ri_select_param_t *facts)
{
    return (facts->length <= facts->eager_thresh) ? "it is up to EAGER_THRESH" :
           !facts->contig                         ? "two copies beat a call per run" :
                                                    "two copies beat a system call";
}

static const char *eager_am_why(const ri_select_param_t *facts)
{
    return facts->has_ring ? "it is too long for the pair's ring" :
                             "it is short, and there is no ring";
}

/* Messages in the ring or channel are counted there. */
const ri_send_proto_t ri_send_proto_eager_ring = {.name    = "eager_ring",
                                                  .called  = "ring",
                                                  .moves   = "a ring in shared memory",
                                                  .why     = eager_ring_why,
                                                  .by_ring = 1,
                                                  .start   = eager_start_ring,
                                                  .can_end_now = eager_ring_has_room};

const ri_send_proto_t ri_send_proto_eager_rdma = {.name    = "eager_rdma",
                                                  .called  = "channel",
                                                  .moves   = "a write into the channel",
                                                  .because = "it is up to IB_EAGER_MAX",
                                                  .start   = eager_start_rdma,
                                                  .can_end_now = ri_send_always_ends_now};

const ri_send_proto_t ri_send_proto_eager_copy = {.name   = "eager_copy",
                                                  .called = "am",
                                                  .moves  = "one active message of UCX",
                                                  .why    = eager_am_why,
                                                  .start  = ri_eager_send_copy,
                                                  .can_end_now = ri_send_always_ends_now,
                                                  RI_SEND_COUNTS(tx_eager_am)};

const ri_send_proto_t ri_send_proto_eager_gather = {.name   = "eager_gather",
                                                    .called = "am",
                                                    .moves  = "one active message of UCX",
                                                    .why    = eager_am_why,
                                                    .start  = eager_start_gather,
                                                    RI_SEND_COUNTS(tx_eager_am)};
