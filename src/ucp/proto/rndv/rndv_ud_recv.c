/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's side of rndv_ud.h: it says where a message is to go (TARGET), receives it, and
 * answers a sender that has given it up (ABANDON).
 */
#include "rndv_ud_recv.h"
#include "am_rndv.h"
#include "rndv_recv.h"
#include "ud_run.h"
#include "../../core/recv_req.h"
#include "../../core/types/fetch_proto.h"
#include "../../link/control.h"
#include "../../link/net_transfer.h"
#include "../../link/way.h"
#include "../../order/arrival.h"
#include "../../order/deliver_known.h"

#include <string.h>

static void ud_tell_target(ri_recv_req_t *recv, const ri_ud_target_t *target)
{
    ri_stream_t *stream = recv->rndv.stream;
    ri_wire_msg_t msg   = {.type    = RI_WIRE_TARGET,
                           .id      = stream->remote_conn_id,
                           .value   = recv->rndv.req_id,
                           .recv_id = recv->id,
                           .sn      = ri_recv_sn(recv),
                           .way     = recv->way,
                           .flags   = (target == NULL) ? RI_WIRE_TARGET_VOID : 0};

    if (target != NULL) {
        memcpy(msg.target, target, sizeof(msg.target));
    }
    ri_trace(&stream->worker->trace, RI_TRACE_RECV_CTS, recv->id, recv->info.length);
    ri_control_send_message(stream->peer, &msg);
}

/* All of a message is there. */
static void ud_recv_complete(ri_recv_req_t *recv, struct ri_ud_recv_op *op)
{
    ri_stream_t *stream = recv->rndv.stream;
    ucs_status_t status;

    recv->rtr.op = NULL;
    ++stream->busy; /* callbacks must not free it */
    recv->super.worker->linger = RI_UD_LINGER;
    ri_rndv_recv_forget(recv);
    status = ri_recv_memory_finish(&op->place, recv);
    ri_ud_run_free(op); /* before the memory is the application's */
    if (status != UCS_INPROGRESS) {
        ri_recv_complete(recv, status);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
}

/* A message was received, or will not be. */
static void ud_recv_end(struct ri_ud_recv_op *op, int ending)
{
    ri_worker_t *worker = op->super.op.worker;
    ri_recv_req_t *recv = op->recv;
    ucs_status_t status = op->super.op.status;
    ri_peer_t *peer;

    if (status == UCS_OK) {
        ud_recv_complete(recv, op);
        return;
    }
    peer         = recv->rndv.stream->peer;
    recv->rtr.op = NULL;
    ri_ud_run_free(op);
    if ((status == UCS_ERR_UNREACHABLE) && (peer->way.number == recv->way)) {
        ri_way_fail_and_tell(worker, peer); /* or the next one fares no better */
    } else {
        ri_net_transfer_failed(worker, peer, recv->way);
    }
    if (!ending) {
        ud_tell_target(recv, NULL); /* the sender goes on from here */
    }
}

const ri_ud_recv_calls_t ri_rndv_ud_recv_calls = {.ready = ud_tell_target,
                                                  .end   = ud_recv_end};

/* Have the sender send it by UCP. @return As `start` of ri_fetch_proto_t. */
static ucs_status_t ud_fetch_by_am(ri_recv_req_t *recv, ri_stream_t *stream,
                                   const ri_fetch_terms_t *terms)
{
    const ri_arrival_t *arrival = terms->arrival;
    uint32_t flags      = (ri_way_use_ep(stream->peer) == NULL) ? RI_WIRE_NACK_WAY : 0;
    ucs_status_t status = ri_am_rndv_ask(recv, stream, arrival->req_id, flags);

    if (status == UCS_INPROGRESS) {
        recv->rndv.req_id = arrival->req_id; /* ABANDON may cross the answer */
    }
    return status;
}

/* Receive an RTS with RI_WIRE_RTS_SENDS as datagrams, if @a direct straight into the memory of the
 * receive. If that cannot be done, the sender is asked to send it by UCP. @return As `start` of
 * ri_fetch_proto_t. */
static ucs_status_t ud_fetch(ri_recv_req_t *recv, ri_stream_t *stream,
                             const ri_fetch_terms_t *terms, int direct)
{
    const ri_arrival_t *arrival = terms->arrival;
    const ri_wire_rts_t *rts    = arrival->data;
    ri_plane_ep_t *ep           = ri_ud_run_find_way(stream->peer, rts->way);
    struct ri_ud_recv_op *op;
    ri_ud_target_t target;
    ucs_status_t status;

    if (ep == NULL) {
        return ud_fetch_by_am(recv, stream, terms);
    }
    status = ri_rndv_recv_wait(recv, stream);
    if (status != UCS_OK) {
        ri_control_answer(stream, RI_WIRE_FIN, arrival->req_id);
        return status;
    }
    status = ri_ud_run_recv(recv, stream->peer, recv->info.length, direct, 0,
                            &ri_rndv_ud_recv_calls, &target, &op);
    if (UCS_STATUS_IS_ERR(status)) {
        ri_rndv_recv_forget(recv);
        return ud_fetch_by_am(recv, stream, terms);
    }
    recv->rndv.req_id = arrival->req_id;
    recv->rtr.sn      = arrival->sn;
    recv->rtr.op      = op;
    recv->way         = stream->peer->way.number;
    ri_rndv_recv_set_written(recv, RI_RECV_BY_TARGET);
    if (status == UCS_OK) {
        ud_tell_target(recv, &target);
    }
    return UCS_INPROGRESS;
}

static ucs_status_t ud_fetch_direct(ri_recv_req_t *recv, ri_stream_t *stream,
                                    const ri_fetch_terms_t *terms)
{
    return ud_fetch(recv, stream, terms, 1);
}

static ucs_status_t ud_fetch_bounced(ri_recv_req_t *recv, ri_stream_t *stream,
                                     const ri_fetch_terms_t *terms)
{
    return ud_fetch(recv, stream, terms, 0);
}

/* @return The receive that waits for the message of that request, which is sent as datagrams, or
 * NULL. */
static ri_recv_req_t *ud_find_recv(const ri_stream_t *stream, uint32_t req_id)
{
    ri_recv_req_t *recv;

    ucs_list_for_each(recv, &stream->fetching, list) {
        if (recv->rndv.req_id == req_id) {
            return recv;
        }
    }
    return NULL;
}

int ri_rndv_ud_recv_abandon(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = stream->worker;
    ri_recv_req_t *recv = ud_find_recv(stream, msg->value);

    if (recv == NULL) {
        if (!ri_deliver_known_is_matched(stream, msg->sn)) {
            return 0;
        }
        ri_control_answer(stream, RI_WIRE_FIN, msg->value); /* the message is there */
        return 1;
    }
    if ((recv->id != msg->recv_id) || (recv->rndv.written != RI_RECV_BY_TARGET)) {
        ++worker->counters.rx_stale; /* the sender was told something else meanwhile */
        return 1;
    }
    ri_ud_run_leave(recv);
    ri_rndv_recv_set_written(recv, RI_RECV_NOT_WRITTEN);
    ++worker->counters.rndv_fallback;
    ri_control_nack(stream, msg->value, recv->id, 0);
    return 1;
}

const ri_fetch_proto_t ri_fetch_proto_sent = {.name = "sent", .start = ud_fetch_direct};

const ri_fetch_proto_t ri_fetch_proto_sent_bounce = {.name  = "sent_bounce",
                                                     .start = ud_fetch_bounced};

const ri_fetch_proto_t ri_fetch_proto_sent_am = {.name  = "sent_am",
                                                 .start = ud_fetch_by_am};
