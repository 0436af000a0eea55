/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receiver-initiated rendezvous through a network, of messages of medium length: copied to the
 * pool (pool.h) and written from there into the receive that an RTR offers. With the copy the send
 * is complete. It is told as all others that use an RTR (rtr_send_net.h).
 *
 * Without the copy a send would end with the acknowledgement of its write, a latency after the
 * receiver has the data. Where both sides send and receive in turn, the receive that follows
 * would be offered too late for each answer.
 *
 * A write that fails is made up for by a POOL with the number of the message, which says so. The
 * buffer serves until the write has ended well, or what became of that POOL is known.
 */
#include "../../core/send_req.h"
#include "../../link/net_transfer.h"
#include "../../link/way.h"
#include "../pool/pool_send.h"
#include "rtr_send_net.h"
#include "rtr_send_untold.h"
#include "rtr_write.h"

#include <stdlib.h>
#include <string.h>

/* A message is copied and written in parts. RTR_SEND_POOL_PART is the length of the first one. Each
 * further part is at most RTR_SEND_POOL_FASTER times as long as all parts before it: a processor
 * copies that much faster than a network writes. So only the copy of the first part takes time. */
#define RTR_SEND_POOL_PART   16384
#define RTR_SEND_POOL_FASTER 4

/* A write that is under way. Till it starts it is the request's proto_state. */
typedef struct rtr_send_pool_write {
    ri_net_transfer_t op;
    ri_pool_buffer_t *buffer;
} rtr_send_pool_write_t;

/* The write of a buffer has failed. @return UCS_OK, or an error: the buffer is free, or, if
 * that may be tried again, as it was. */
static ucs_status_t rtr_send_pool_send_again(ri_pool_buffer_t *buffer)
{
    ri_conn_t *conn     = buffer->conn;
    ucs_status_t status = ri_pool_send_again(buffer);

    if (ri_net_transfer_may_try_again(status)) {
        return status;
    }
    /* till now a conn that fails or goes leaves it alone */
    ri_pool_set_state(buffer, RI_POOL_LENT);
    if ((status != UCS_OK) || ((buffer->conn == conn) && !ri_conn_goes_on(conn))) {
        ri_pool_send_free(buffer);
    } else if (buffer->conn == conn) {
        ++conn->counters.tx_again;
    }
    return status;
}

/* The message of a buffer has to be sent again, unless nobody waits for it. As with others, not for
 * want of memory (rtr_send_net.c). @return 0: that is to be tried again. */
static int rtr_send_pool_failed(ri_pool_buffer_t *buffer, int ending)
{
    ri_worker_t *worker = buffer->worker;
    ri_conn_t *conn     = buffer->conn;
    uint32_t sn         = buffer->sn;
    uint32_t id;
    ucs_status_t status;

    if (ending || (conn == NULL) || !ri_conn_goes_on(conn)) {
        ri_pool_send_free(buffer);
        return 1;
    }
    id     = conn->id;
    status = rtr_send_pool_send_again(buffer);
    if (ri_net_transfer_may_try_again(status)) {
        return 0;
    }
    if ((status != UCS_OK) && (ri_id_get(&worker->ids.conns, id) == conn)) {
        ri_conn_lose(conn, sn, status);
    }
    return 1;
}

/* The rest of the work when a write has ended, also if it has failed. */
static void rtr_send_pool_finish(ri_net_transfer_t *op, int ending)
{
    rtr_send_pool_write_t *write = ri_container_of(op, rtr_send_pool_write_t, op);
    ri_pool_buffer_t *buffer     = write->buffer;
    ri_worker_t *worker          = op->worker;
    ri_conn_t *conn              = buffer->conn;
    uint32_t conn_id             = (conn != NULL) ? conn->id : 0;

    if (op->status == UCS_OK) {
        ri_pool_send_free(buffer);
    } else if (!rtr_send_pool_failed(buffer, ending)) {
        op->end = rtr_send_pool_finish;
        ri_net_transfer_again(op);
        return;
    }
    free(write);
    if ((conn_id != 0) && (ri_id_get(&worker->ids.conns, conn_id) == conn)) {
        ri_conn_say_lost(conn); /* perhaps it has waited for that */
    }
}

static void rtr_send_pool_end(ri_net_transfer_t *op, int ending)
{
    rtr_send_pool_write_t *write = ri_container_of(op, rtr_send_pool_write_t, op);
    ri_pool_buffer_t *buffer     = write->buffer;
    ri_conn_t *conn              = buffer->conn;

    ri_trace(&op->worker->trace, RI_TRACE_SEND_WRITE, buffer->length, op->status);
    if (op->status != UCS_OK) {
        ri_net_transfer_lost_way(op, conn);
    }
    if (conn != NULL) {
        ri_rtr_send_untold_remove(conn, buffer->sn);
        conn->counters.tx_written_bytes += (op->status == UCS_OK) ? buffer->length : 0;
    }
    rtr_send_pool_finish(op, ending);
}

/* Write a part of the buffer, which is there. The last one tells the receiver. */
static ucs_status_t rtr_send_pool_write(rtr_send_pool_write_t *write, const ri_rtr_t *rtr,
                                        size_t offset, size_t length, uint32_t immediate)
{
    ri_pool_buffer_t *buffer = write->buffer;
    int is_last              = (offset + length == buffer->length);
    ri_segment_t local       = {(uintptr_t)buffer->data, buffer->length};
    ri_transfer_t transfer   = {.local      = &local,
                                .num_local  = 1,
                                .offset     = offset,
                                .length     = length,
                                .local_keys = &buffer->memory.local_key,
                                .op     = is_last ? &write->op.super : &ri_rtr_write_part,
                                .notify = is_last,
                                .immediate = immediate};

    return ri_rtr_write(write->op.peer->way.ep, rtr, &transfer);
}

/* The notification of a message that is shorter than its receive tells the length of the write
 * that it comes with. */
static int rtr_send_pool_has_parts(const ri_send_req_t *req, const ri_rtr_t *rtr)
{
    return ri_dt_is_contig(&req->data) && (req->data.length == rtr->length);
}

static ucs_status_t rtr_send_pool_copy_and_write(rtr_send_pool_write_t *write,
                                                 ri_send_req_t *req, const ri_rtr_t *rtr)
{
    uint32_t immediate  = ri_rtr_send_net_immediate(req, rtr);
    int parts           = rtr_send_pool_has_parts(req, rtr);
    uint8_t *data       = write->buffer->data;
    size_t length       = req->data.length;
    size_t offset       = 0;
    ucs_status_t status = UCS_OK;
    size_t part;

    if (!parts) {
        ri_dt_pack(&req->data, data);
        return rtr_send_pool_write(write, rtr, 0, length, immediate);
    }
    do { /* what was not written has to be in the buffer, too */
        part = ri_max(offset * RTR_SEND_POOL_FASTER, (size_t)RTR_SEND_POOL_PART);
        part = ri_min(part, length - offset);
        memcpy(data + offset, (const uint8_t *)req->data.buffer + offset, part);
        if (!UCS_STATUS_IS_ERR(status)) {
            status = rtr_send_pool_write(write, rtr, offset, part, immediate);
        }
        offset += part;
    } while (offset < length);
    return status;
}

/* Get a buffer that the way can reach, and all other memory. */
static int rtr_send_pool_get(ri_send_req_t *req)
{
    rtr_send_pool_write_t *write;

    if (!ri_pool_send_reaches(req->conn, req->data.length)) {
        return 0;
    }
    write = malloc(sizeof(*write));
    if (write == NULL) {
        return 0;
    }
    write->buffer = ri_pool_send_get(req);
    if (write->buffer == NULL) {
        free(write);
        return 0;
    }
    req->proto_state = write;
    return 1;
}

static void rtr_send_pool_forget(ri_send_req_t *req)
{
    free(req->proto_state);
    req->proto_state = NULL;
}

static unsigned rtr_send_pool_take(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    if (!rtr_send_pool_get(req)) {
        return RI_SEND_LACKS_POOL;
    }
    if (ri_rtr_table_use(terms->rtr)) {
        return 0;
    }
    ri_pool_send_free(((rtr_send_pool_write_t *)req->proto_state)->buffer);
    rtr_send_pool_forget(req);
    return RI_SEND_LACKS_RTR;
}

/* The way has failed before the write of a buffer, or its last part, has begun. */
static ucs_status_t rtr_send_pool_not_started(rtr_send_pool_write_t *write,
                                              ucs_status_t why)
{
    ri_pool_buffer_t *buffer = write->buffer;
    ri_worker_t *worker      = write->op.worker;
    ucs_status_t status;

    ri_trace(&worker->trace, RI_TRACE_SEND_WRITE, buffer->length, why);
    ri_way_fail_and_tell(worker, write->op.peer); /* and so does the receiver */
    status = rtr_send_pool_send_again(buffer);
    if (ri_net_transfer_may_try_again(status)) {
        write->op.status = why;
        write->op.end    = rtr_send_pool_finish;
        ri_net_transfer_again(&write->op);
        return UCS_OK;
    }
    free(write);
    return status;
}

/* Copy and write. */
static ucs_status_t rtr_send_pool_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    const ri_rtr_t *rtr          = terms->rtr;
    rtr_send_pool_write_t *write = req->proto_state;
    ri_pool_buffer_t *buffer     = write->buffer;
    ri_conn_t *conn              = req->conn;
    ri_peer_t *peer              = conn->peer;
    ucs_status_t status;

    req->proto_state = NULL;
    conn->tx_tag     = req->tag;
    ri_rtr_table_end(rtr, RI_RING_GRANT_WRITTEN);
    buffer->keyed = 1;
    buffer->way   = peer->way.number;
    buffer->sn    = req->sn;
    buffer->tag   = req->tag;
    ri_pool_set_state(buffer, RI_POOL_WRITING);
    ri_net_transfer_init(&write->op, conn->worker, peer, rtr_send_pool_end);
    status = rtr_send_pool_copy_and_write(write, req, rtr);
    if (ri_likely(status == UCS_INPROGRESS)) {
        ri_net_transfer_started(&write->op, buffer->length);
        ri_rtr_send_untold_add(conn, req->sn, rtr);
        return UCS_OK;
    }
    return rtr_send_pool_not_started(write, status);
}

static int rtr_send_pool_tells_itself(const ri_send_terms_t *terms)
{
    (void)terms;
    return 1;
}

const ri_send_proto_t ri_send_proto_rtr_pool = {
        .name         = "rtr_pool",
        .called       = "rtr",
        .moves        = "a copy, and an RDMA write of it",
        .because      = "it has an RTR, and the sender goes on",
        .wire_type    = RI_WIRE_PLACED,
        .answer       = RI_SEND_ANSWER_NEVER,
        .take         = rtr_send_pool_take,
        .start        = rtr_send_pool_start,
        .forget       = rtr_send_pool_forget,
        .can_end_now  = ri_send_always_ends_now,
        .tells_itself = rtr_send_pool_tells_itself,
        RI_SEND_COUNTS(tx_recv_rndv)};
