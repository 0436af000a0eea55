/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A write by an RTR, with all that may become of it.
 */
#include "rtr_send_net.h"
#include "../../core/activity.h"
#include "../../core/send_req.h"
#include "../../link/net_transfer.h"
#include "../../link/way.h"
#include "../rndv/rndv.h"
#include "../rndv/send_keys.h"
#include "rtr_layout.h"
#include "rtr_send_untold.h"
#include "rtr_write.h"

#include <stdlib.h>

/* A write that is under way. Till it starts it is the request's proto_state. */
typedef struct rtr_send_net_write {
    ri_keys_t keys; /* of its data */
    ri_net_transfer_t op;
    ri_send_req_t *req; /* the send, which waits, whatever becomes of its conn */
} rtr_send_net_write_t;

/* Whether the immediate can tell how long the message is. */
static int rtr_send_net_can_tell_length(const ri_send_req_t *req, const ri_rtr_t *rtr)
{
    return ((req->data.length == rtr->length) &&
            ((rtr->grid == NULL) || (rtr->grid->run >= RI_GRID_RUN_MIN)) &&
            ((rtr->layout == NULL) || ri_rtr_layout_is_worth(rtr))) ||
           (!ri_rtr_table_is_in_runs(rtr) && ri_dt_is_contig(&req->data) &&
            (req->data.length <= req->conn->peer->way.ep->plane->notify_max));
}

/* The notification of a write has to tell the receiver all of the message. */
static uint64_t rtr_send_net_room(const ri_send_req_t *req, const ri_rtr_t *rtr)
{
    const ri_conn_t *conn = req->conn;

    /* The receiver takes the tag to be that of the RTR, which may have a mask. */
    return ((conn->flags & RI_CONN_WAY) && (conn->peer->way.number == rtr->way) &&
            (ri_way_use_ep(conn->peer) != NULL) && (req->tag == rtr->tag) &&
            (conn->tx_sn + 1 - rtr->seen < RI_WIRE_IMM_WINDOW) &&
            rtr_send_net_can_tell_length(req, rtr)) ?
                   rtr->length :
                   0;
}

/* With the RTR used there is no way back: what can fail comes before. */
static unsigned rtr_send_net_take(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    rtr_send_net_write_t *write = malloc(sizeof(*write));

    if (write == NULL) {
        return RI_SEND_LACKS_RTR;
    }
    if (!ri_send_keys_register(req, &write->keys)) {
        free(write);
        return RI_SEND_LACKS_RTR;
    }
    if (!ri_rtr_table_use(terms->rtr)) {
        ri_keys_release(&write->keys);
        free(write);
        return RI_SEND_LACKS_RTR;
    }
    req->proto_state = write;
    return 0;
}

static void rtr_send_net_forget(ri_send_req_t *req)
{
    rtr_send_net_write_t *write = req->proto_state;

    if (write != NULL) {
        req->proto_state = NULL;
        ri_keys_release(&write->keys);
        free(write);
    }
}

/* Send a message again that was written, perhaps. @return As ri_rndv_send(); after an error it can
 * be tried again, unless the conn has failed. */
static ucs_status_t rtr_send_net_send_again(ri_send_req_t *req, uint32_t way)
{
    ri_rndv_rts_t rts = {.rts.flags = RI_WIRE_RTS_AGAIN, .rts.way = (uint16_t)way};
    ri_conn_t *conn   = req->conn;
    uint64_t tag      = conn->tx_tag;
    ucs_status_t status;

    req->id = ri_id_alloc(&req->super.worker->ids.sends, req);
    if (req->id == 0) {
        return UCS_ERR_NO_MEMORY;
    }
    rts.rts.num_segments = ri_dt_segments(&req->data, rts.rts.segments,
                                          RI_WIRE_SEGMENTS_MAX);
    req->wire_type       = RI_WIRE_RTS;
    ri_send_begin_wait(req, RI_SEND_WAIT_MATCH);
    status = ri_rndv_send_payload_am(req, req->id, &rts.rts, ri_wire_rts_length(&rts.rts),
                                     0);
    if (req->conn == NULL) {
        return status; /* the send has ended with its conn */
    }
    conn->tx_tag = tag; /* it is not the latest message */
    if (UCS_STATUS_IS_ERR(status)) {
        ri_id_free(&req->super.worker->ids.sends, req->id);
        req->id = 0;
        ri_send_drop_wait(req, RI_SEND_WAIT_MATCH);
    } else {
        ++conn->counters.tx_again;
        ri_send_drop_wait(req, RI_SEND_WAIT_WRITE);
    }
    return status;
}

uint32_t ri_rtr_send_net_immediate(const ri_send_req_t *req, const ri_rtr_t *rtr)
{
    return (req->sn & RI_WIRE_IMM_NUMBER) |
           ((req->data.length < rtr->length) ? RI_WIRE_IMM_SHORT : 0) |
           ((uint32_t)rtr->index << RI_WIRE_IMM_ENTRY_SHIFT) |
           ((rtr->generation & RI_WIRE_IMM_GEN_MASK) << RI_WIRE_IMM_GEN_SHIFT);
}

/* The way has failed: have the message read. Others that follow may have had their turn, and be
 * read by now; so it is not lost for want of memory, but sent when there is some. */
static void rtr_send_net_write_failed(ri_net_transfer_t *op, int ending)
{
    rtr_send_net_write_t *write = ri_container_of(op, rtr_send_net_write_t, op);
    ri_send_req_t *req          = write->req;
    ri_conn_t *conn             = req->conn;
    ucs_status_t status         = ending ? UCS_ERR_CANCELED : UCS_OK;

    if ((conn != NULL) && !ending) {
        status = rtr_send_net_send_again(req, op->way);
        if ((req->conn != NULL) && ri_net_transfer_may_try_again(status)) {
            op->end = rtr_send_net_write_failed;
            ri_net_transfer_again(op);
            return;
        }
    }
    free(write);
    if ((req->conn == NULL) || ending) {
        ri_send_end_wait(req, RI_SEND_WAIT_WRITE, status);
    } else if (UCS_STATUS_IS_ERR(status)) {
        ri_send_drop_wait(req, RI_SEND_WAIT_WRITE);
        ri_send_begin_wait(req, RI_SEND_WAIT_CONN);
        ri_conn_lose(conn, req->sn, status);
    }
}

/* A write has ended. */
static void rtr_send_net_write_end(ri_net_transfer_t *op, int ending)
{
    rtr_send_net_write_t *write = ri_container_of(op, rtr_send_net_write_t, op);
    ri_send_req_t *req          = write->req;
    ri_worker_t *worker         = op->worker;
    ucs_status_t status         = op->status;
    ri_conn_t *conn             = req->conn;

    ri_trace(&worker->trace, RI_TRACE_SEND_WRITE, req->data.length, status);
    if (status != UCS_OK) {
        ri_net_transfer_lost_way(op, conn);
    }
    ri_keys_release(&write->keys);
    ri_activity_note_message(worker);
    if (conn != NULL) {
        ri_rtr_send_untold_remove(conn, req->sn);
    }
    if ((conn != NULL) && (status != UCS_OK)) {
        rtr_send_net_write_failed(op, ending);
        return;
    }
    free(write);
    if (conn != NULL) {
        conn->counters.tx_written_bytes += req->data.length;
    }
    ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_OK); /* without conn it has failed */
}

/* The way has failed before the write of a request has begun, or all of it. */
static ucs_status_t rtr_send_net_not_started(rtr_send_net_write_t *write,
                                             ucs_status_t why)
{
    ri_send_req_t *req  = write->req;
    ri_worker_t *worker = write->op.worker;
    ucs_status_t status;

    ri_trace(&worker->trace, RI_TRACE_SEND_WRITE, req->data.length, why);
    ri_way_fail_and_tell(worker, write->op.peer); /* and so does the receiver */
    ri_keys_release(&write->keys);
    status = rtr_send_net_send_again(req, write->op.way);
    if ((req->conn != NULL) && ri_net_transfer_may_try_again(status)) {
        ri_send_begin_wait(req, RI_SEND_WAIT_WRITE);
        write->op.end = rtr_send_net_write_failed;
        ri_net_transfer_again(&write->op);
        return UCS_OK;
    }
    free(write);
    return status;
}

/* Write. @return UCS_OK: the request waits for RI_SEND_WAIT_WRITE, or, if its message is sent
 * again, for the answer. */
static ucs_status_t rtr_send_net_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    rtr_send_net_write_t *write = req->proto_state;
    const ri_rtr_t *rtr         = terms->rtr;
    ri_conn_t *conn             = req->conn;
    ri_peer_t *peer             = conn->peer;
    ri_net_source_t source;
    ri_transfer_t transfer;
    ucs_status_t status;

    conn->tx_tag = req->tag;
    ri_rtr_table_end(rtr, RI_RING_GRANT_WRITTEN);
    ri_net_transfer_init(&write->op, conn->worker, peer, rtr_send_net_write_end);
    write->req       = req;
    req->proto_state = NULL;
    req->keys        = &write->keys; /* during the call */
    transfer         = ri_net_transfer_from(&write->op, req, &source);
    req->keys        = NULL;

    transfer.notify    = 1;
    transfer.immediate = ri_rtr_send_net_immediate(req, rtr);
    status             = ri_rtr_write(peer->way.ep, rtr, &transfer);
    if (ri_likely(status == UCS_INPROGRESS)) {
        ri_net_transfer_started(&write->op, req->data.length);
        ri_send_begin_wait(req, RI_SEND_WAIT_WRITE);
        ri_rtr_send_untold_add(conn, req->sn, rtr);
        return UCS_OK;
    }
    return rtr_send_net_not_started(write, status);
}

static int rtr_send_net_tells_itself(const ri_send_terms_t *terms)
{
    (void)terms;
    return 1;
}

const ri_send_proto_t ri_send_proto_rtr_net = {.name   = "rtr_net",
                                               .called = "rtr",
                                               .moves = "one RDMA write into the receive",
                                               .because      = "it has an RTR",
                                               .wire_type    = RI_WIRE_PLACED,
                                               .answer       = RI_SEND_ANSWER_NEVER,
                                               .take         = rtr_send_net_take,
                                               .start        = rtr_send_net_start,
                                               .forget       = rtr_send_net_forget,
                                               .tells_itself = rtr_send_net_tells_itself,
                                               RI_SEND_COUNTS(tx_recv_rndv)};

const ri_rtr_ops_t ri_rtr_ops_key = {.room = rtr_send_net_room, .by_net = 1};
