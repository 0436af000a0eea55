/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "send_rndv_ud.h"
#include "am_rndv.h"
#include "control.h"
#include "planes.h"
#include "rdma.h"
#include "rdma_read.h"
#include "rndv.h"
#include "rtr.h"
#include "ud_ends.h"
#include "../tag/deliver.h"
#include "../tag/send.h"
#include "../../uct/ib/ud.h"

#include <stdlib.h>
#include <string.h>

/* Progress calls after a message has been received in which the plane is looked after: its sender
 * may ask whether it was. */
#define UD_LINGER (1u << 20)

/* What both sides have. */
typedef struct ud_transfer {
    ri_rdma_op_t op;
    ri_ud_op_t ud;
    const ri_ud_ops_t *ops;
    int ended; /* as the plane has said */
} ud_transfer_t;

/* A message that is being sent. */
struct ri_ud_send_op {
    ud_transfer_t super;
    ri_send_req_t *req; /* it waits, whatever becomes of its conn */
    ri_keys_t *keys;    /* of its data */
    uint32_t recv_id;
};

/* One that is being received. */
struct ri_ud_recv_op {
    ud_transfer_t super;
    ri_recv_req_t *recv; /* NULL: it waits no more */
    ri_rdma_place_t place;
};

static void ud_done(ri_ud_op_t *ud, ucs_status_t status)
{
    ud_transfer_t *transfer = ri_container_of(ud, ud_transfer_t, ud);

    transfer->ended = 1;
    transfer->op.super.done(&transfer->op.super, status);
}

static void ud_init(ud_transfer_t *transfer, ri_worker_t *worker, ri_peer_t *peer,
                    void (*end)(ri_rdma_op_t *op, int ending))
{
    ri_rdma_op_init(&transfer->op, worker, peer, end);
    transfer->ud.done = ud_done;
    transfer->ops     = peer->rdma_ep->plane->ops->ud;
}

static void ud_cancel(ud_transfer_t *transfer)
{
    if (!transfer->ended) {
        transfer->ops->cancel(&transfer->ud);
    }
}

static void ud_get_keys(const ri_keys_t *keys, uint32_t *local_keys)
{
    size_t i;

    for (i = 0; i < keys->count; ++i) {
        local_keys[i] = keys->memory[i].local_key;
    }
}

/* The way that an RTS or TARGET is about, if it is there and takes messages, or NULL. */
static ri_plane_ep_t *ud_way(const ri_peer_t *peer, uint16_t way)
{
    ri_plane_ep_t *ep = (peer != NULL) ? ri_rdma_way(peer) : NULL;

    return ((ep != NULL) && ((uint16_t)peer->rdma_way == way) &&
            (ri_planes_of(ep) & RI_PLANE_MESSAGES)) ?
                   ep :
                   NULL;
}

/*
 * The sender
 */
ucs_status_t ri_send_rndv_ud_start(ri_send_req_t *req)
{
    ri_rndv_rts_t rts = {.rts.flags = RI_WIRE_RTS_SENDS, .rts.way = (uint16_t)req->way};

    req->target          = RI_SEND_TARGET_WANTED;
    rts.rts.num_segments = 1;
    rts.rts.segments[0]  = (ri_segment_t){0, req->data.length};
    return ri_rndv_send(req, &rts.rts);
}

/* The message cannot be sent as the receiver has said, or perhaps it was: the receiver knows. */
static void ud_abandon(ri_send_req_t *req, uint32_t recv_id)
{
    ri_conn_t *conn       = req->conn;
    ri_wire_abandon_t msg = {
            .base.type = RI_WIRE_ABANDON, .base.value = req->id, .recv_id = recv_id};

    if (req->keys != NULL) {
        ri_rdma_read_forget(req);
    }
    req->target = RI_SEND_TARGET_ABANDONED;
    req->waiting &= ~RI_SEND_WAIT_WRITE;
    req->waiting |= RI_SEND_WAIT_MATCH;
    ri_wire_set_id(&msg.base, conn->remote_id);
    ri_control_send_message(conn->peer, &msg, sizeof(msg));
}

static void ud_send_free(struct ri_ud_send_op *send)
{
    ri_rdma_free_keys(send->keys);
    free(send);
}

/* A message was sent, or cannot be. */
static void ud_send_end(ri_rdma_op_t *op, int ending)
{
    struct ri_ud_send_op *send = ri_container_of(op, struct ri_ud_send_op, super.op);
    ri_send_req_t *req         = send->req;
    ri_conn_t *conn            = req->conn;
    uint32_t recv_id           = send->recv_id;
    ri_worker_t *worker        = op->worker;
    ucs_status_t status        = op->status;

    ri_trace(&worker->trace, RI_TRACE_SEND_WRITE, req->data.length, status);
    req->ud_op = NULL;
    ri_rtr_note_active(worker);
    if (status == UCS_ERR_UNREACHABLE) {
        ri_rdma_op_lost_way(op, conn); /* others end with it, and are tried by UCP */
    }
    ud_send_free(send);
    if (req->conn == NULL) {
        ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_OK); /* it has failed */
    } else if (status == UCS_OK) {
        conn->counters.tx_written_bytes += req->data.length;
        ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_OK);
    } else if (ending) {
        ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_ERR_CANCELED);
    } else {
        ud_abandon(req, recv_id);
    }
}

/* @return As ri_ud_ops_t's send. */
static ucs_status_t ud_send(struct ri_ud_send_op *send, ri_plane_ep_t *ep,
                            const uint8_t *target_bytes)
{
    const ri_send_req_t *req = send->req;
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
    uint32_t keys[RI_WIRE_SEGMENTS_MAX];
    ri_ud_list_t list = {.segments = segments, .keys = keys, .length = req->data.length};
    ri_ud_target_t target;

    memcpy(&target, target_bytes, sizeof(target));
    list.count = ri_rndv_segments(&req->data, segments, RI_WIRE_SEGMENTS_MAX);
    ud_get_keys(send->keys, keys);
    return send->super.ops->send(ep, &list, &target, &send->super.ud);
}

/* @return Whether the message is on its way. */
static int ud_send_start(ri_send_req_t *req, const ri_wire_msg_t *msg)
{
    ri_peer_t *peer            = req->conn->peer;
    ri_plane_ep_t *ep          = ud_way(peer, (uint16_t)req->way);
    struct ri_ud_send_op *send = NULL;
    ucs_status_t status        = UCS_ERR_UNREACHABLE;

    if ((ep != NULL) && (peer->rdma_way == msg->way) &&
        !(msg->flags & RI_WIRE_TARGET_VOID)) {
        send = calloc(1, sizeof(*send));
    }
    if (send != NULL) {
        ud_init(&send->super, req->super.worker, peer, ud_send_end);
        send->req     = req;
        send->keys    = req->keys;
        send->recv_id = msg->recv_id;
        status        = ud_send(send, ep, msg->target);
    }
    if (status != UCS_INPROGRESS) {
        ri_trace(&req->super.worker->trace, RI_TRACE_SEND_WRITE, req->data.length,
                 status);
        free(send);
        return 0;
    }
    ri_rdma_op_started(&send->super.op);
    req->keys   = NULL;
    req->ud_op  = send;
    req->target = RI_SEND_TARGET_USED;
    req->waiting &= ~RI_SEND_WAIT_MATCH; /* further answers are stale */
    req->waiting |= RI_SEND_WAIT_WRITE;
    return 1;
}

void ri_send_rndv_ud_handle_target(ri_worker_t *worker, ri_conn_t *conn,
                                   const ri_wire_msg_t *msg)
{
    ri_send_req_t *req = ri_id_get(&worker->req_ids, msg->value);

    if (msg->flags & RI_WIRE_TARGET_RECEIVED) {
        ri_ud_ends_handle(conn, msg);
    } else if ((req == NULL) || (req->conn != conn) || (req->wire_type != RI_WIRE_RTS) ||
               (req->sn != msg->sn)) {
        ++worker->counters.rx_stale;
    } else if ((req->target == RI_SEND_TARGET_WANTED) &&
               (req->waiting & RI_SEND_WAIT_MATCH)) {
        if (!ud_send_start(req, msg)) {
            ud_abandon(req, msg->recv_id);
        }
    } else if ((req->ud_op != NULL) && (msg->flags & RI_WIRE_TARGET_VOID)) {
        ud_cancel(&req->ud_op->super);
    } else {
        ++worker->counters.rx_stale;
    }
}

void ri_send_rndv_ud_abort(ri_send_req_t *req)
{
    ud_cancel(&req->ud_op->super);
}

/*
 * The receiver
 */
static void ud_tell_target(const ri_recv_req_t *recv, const ri_ud_target_t *target)
{
    ri_stream_t *stream  = recv->stream;
    ri_wire_target_t msg = {.base.type  = RI_WIRE_TARGET,
                            .base.value = recv->rts_req_id,
                            .recv_id    = recv->id,
                            .sn         = recv->rts_sn,
                            .way        = recv->way,
                            .flags      = (target == NULL) ? RI_WIRE_TARGET_VOID : 0};

    if (target != NULL) {
        memcpy(msg.target, target, sizeof(msg.target));
    }
    ri_wire_set_id(&msg.base, stream->remote_conn_id);
    ri_trace(&stream->worker->trace, RI_TRACE_RECV_CTS, recv->id, recv->info.length);
    ri_control_send_message(stream->peer, &msg, sizeof(msg));
}

static void ud_recv_ready(ri_ud_op_t *ud, const ri_ud_target_t *target)
{
    struct ri_ud_recv_op *op = ri_container_of(ud, struct ri_ud_recv_op, super.ud);

    if (op->recv != NULL) {
        ud_tell_target(op->recv, target);
    }
}

static void ud_recv_free(struct ri_ud_recv_op *op)
{
    ri_rdma_place_close(&op->place);
    free(op);
}

/* All of a message is there. */
static void ud_recv_complete(ri_recv_req_t *recv, struct ri_ud_recv_op *op)
{
    ri_stream_t *stream = recv->stream;
    ucs_status_t status;

    recv->ud_op = NULL;
    ++stream->busy; /* callbacks must not free it */
    recv->super.worker->linger = UD_LINGER;
    ri_rndv_forget(recv);
    status = ri_rdma_place_finish(&op->place, recv);
    ud_recv_free(op); /* before the memory is the application's */
    if (status != UCS_INPROGRESS) {
        ri_deliver_received(recv, status);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
}

/* A message was received, or will not be. */
static void ud_recv_end(ri_rdma_op_t *rdma_op, int ending)
{
    struct ri_ud_recv_op *op = ri_container_of(rdma_op, struct ri_ud_recv_op, super.op);
    ri_worker_t *worker      = rdma_op->worker;
    ri_recv_req_t *recv      = op->recv;
    ucs_status_t status      = rdma_op->status;
    ri_peer_t *peer;

    if (recv == NULL) {
        ud_recv_free(op);
        return;
    }
    ri_trace(&worker->trace, RI_TRACE_RECV_WRITTEN, recv->id, status);
    if (status == UCS_OK) {
        ud_recv_complete(recv, op);
        return;
    }
    peer        = recv->stream->peer;
    recv->ud_op = NULL;
    ud_recv_free(op);
    if ((status == UCS_ERR_UNREACHABLE) && (peer->rdma_way == recv->way)) {
        ri_planes_rdma_failed(worker, peer); /* or the next one fares no better */
    }
    if (!ending) {
        ud_tell_target(recv, NULL); /* the sender goes on from here */
    }
}

/* Post the memory of a receive that waits. @return As ri_ud_ops_t's recv. */
static ucs_status_t ud_recv_start(ri_recv_req_t *recv, ri_plane_ep_t *ep, int direct,
                                  ri_ud_target_t *target)
{
    ri_peer_t *peer          = recv->stream->peer;
    struct ri_ud_recv_op *op = calloc(1, sizeof(*op));
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
    uint32_t keys[RI_WIRE_SEGMENTS_MAX];
    ri_ud_list_t list = {.segments = segments, .keys = keys, .length = recv->info.length};
    ucs_status_t status;

    if (op == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    ud_init(&op->super, recv->super.worker, peer, ud_recv_end);
    op->super.ud.ready = ud_recv_ready;
    op->recv           = recv;
    status             = ri_rdma_place_open(&op->place, ep->plane, recv, direct, segments,
                                            &list.count);
    if (status == UCS_OK) {
        ud_get_keys(&op->place.keys, keys);
        status = op->super.ops->recv(ep, &list, 0, &op->super.ud, target);
    }
    if (UCS_STATUS_IS_ERR(status)) {
        ud_recv_free(op);
        return status;
    }
    ri_rdma_op_started(&op->super.op);
    recv->ud_op   = op;
    recv->way     = peer->rdma_way;
    recv->written = RI_RECV_BY_TARGET;
    return status;
}

ucs_status_t ri_send_rndv_ud_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                                  const ri_arrival_t *arrival, ri_fetch_t fetch)
{
    const ri_wire_rts_t *rts = arrival->data;
    ri_plane_ep_t *ep        = ud_way(stream->peer, rts->way);
    uint32_t flags           = (ri_rdma_way(stream->peer) == NULL) ? RI_WIRE_NACK_WAY : 0;
    ri_ud_target_t target;
    ucs_status_t status;

    if ((fetch == RI_FETCH_AM) || (ep == NULL)) {
        return ri_am_rndv_ask(recv, stream, arrival->req_id, flags);
    }
    status = ri_rndv_wait(recv, stream);
    if (status != UCS_OK) {
        ri_control_answer(stream, RI_WIRE_FIN, arrival->req_id);
        return status;
    }
    recv->rts_req_id = arrival->req_id;
    recv->rts_sn     = arrival->sn;
    recv->ud_op      = NULL;
    status           = ud_recv_start(recv, ep, fetch == RI_FETCH_SENT, &target);
    if (status == UCS_OK) {
        ud_tell_target(recv, &target);
    } else if (status != UCS_INPROGRESS) {
        ri_rndv_forget(recv);
        return ri_am_rndv_ask(recv, stream, arrival->req_id, flags);
    }
    return UCS_INPROGRESS;
}

void ri_send_rndv_ud_handle_abandon(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = stream->worker;
    ri_recv_req_t *recv = ri_id_get(&worker->recv_ids, msg->recv_id);

    if ((recv == NULL) || (recv->stream != stream) ||
        (recv->written != RI_RECV_BY_TARGET) || (recv->rts_req_id != msg->value)) {
        ri_control_answer(stream, RI_WIRE_FIN, msg->value); /* it is there */
        return;
    }
    ri_send_rndv_ud_forget(recv);
    recv->written = RI_RECV_NOT_WRITTEN;
    ++worker->counters.rndv_fallback;
    ri_control_nack(stream, msg->value, recv->id, 0);
}

void ri_send_rndv_ud_forget(ri_recv_req_t *recv)
{
    struct ri_ud_recv_op *op = recv->ud_op;

    if (op != NULL) {
        recv->ud_op = NULL;
        op->recv    = NULL;
        ud_cancel(&op->super);
    }
}
