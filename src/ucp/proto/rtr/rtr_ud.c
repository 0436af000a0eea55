/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A queue pair takes the receive's memory, and the RTR names it. If that comes to nothing too
 * often, nothing is offered for a while.
 */
#include "rtr_ud.h"
#include "../../link/control.h"
#include "rtr_entries.h"
#include "rtr_done.h"
#include "rtr_state.h"
#include "../rndv/rndv_ud_recv.h"
#include "../../../ucs/settings.h"
#include "../../../ucs/clock.h"
#include "../rndv/rndv_recv.h"
#include "rtr_withdraw.h"
#include "rtr_queue.h"
#include "../../match/sender_map.h"

#include <string.h>

double ri_rtr_ud_backoff = 1e-3;

int ri_rtr_ud_is_possible(const ri_stream_t *stream)
{
    const ri_peer_t *peer = stream->peer;

    return stream->way.any && (peer->local.ep == NULL) && (ri_config.rtr != UCS_NO) &&
           (ri_ud_run_way(peer) != NULL) && !peer->way.leaving;
}

int ri_rtr_ud_backs_off(ri_worker_t *worker)
{
    if (worker->rtr.ud_after == 0) {
        return 0;
    }
    if (ri_clock_now() >= worker->rtr.ud_after) {
        worker->rtr.ud_after = 0;
        ri_rtr_queue_wake(worker);
        return 0;
    }
    worker->rtr.retry = 1; /* nothing tells when it is time */
    worker->attention = 1;
    return 1;
}

/* An RTR had to make way for a message. */
static void ud_back_off(ri_worker_t *worker)
{
    double wait = ri_rtr_ud_backoff * (1u << ri_min(worker->rtr.ud_takes, 16u));

    ++worker->counters.rtr_withdrawn_ud;
    ++worker->rtr.ud_takes;
    worker->rtr.ud_after = ri_clock_now() + ri_min(wait, RI_RTR_UD_BACKOFF_MAX);
}

static void ud_put(const ri_recv_req_t *recv, const ri_stream_t *stream, int ahead,
                   const ri_ud_target_t *target)
{
    ri_wire_msg_t msg = {.type       = RI_WIRE_RTR_UD,
                         .id         = stream->remote_conn_id,
                         .value      = recv->id,
                         .tag        = recv->tag,
                         .mask       = recv->mask,
                         .way        = stream->peer->way.number,
                         .seen       = stream->next_sn - 1,
                         .generation = ri_recv_generation(recv),
                         .ahead      = ahead,
                         .entry      = recv->rtr.index};

    memcpy(msg.target, target, sizeof(msg.target));
    ri_control_send_message(stream->peer, &msg);
}

/* The transfer of a receive that is posted still has ended. */
static void ud_ended(struct ri_ud_recv_op *op, int ending)
{
    ri_recv_req_t *recv = op->recv;
    ri_worker_t *worker = recv->super.worker;
    ucs_status_t status = op->super.op.status;
    int heard           = op->super.ud.heard;

    recv->rtr.op = NULL;
    ri_ud_run_free(op);
    if (status == UCS_OK) {
        worker->linger  = RI_UD_LINGER;
        recv->rtr.there = 1;
    } else if (heard) {
        recv->rtr.there = 0;
    } else {
        if (status == UCS_ERR_CANCELED) {
            ud_back_off(worker);
        }
        ri_rtr_done_unused(recv);
        if (!ending && !recv->rtr.canceled) {
            ri_rtr_queue_add(recv);
        }
    }
}

static const ri_ud_recv_calls_t ud_recv_calls = {.end = ud_ended};

ucs_status_t ri_rtr_ud_send(ri_recv_req_t *recv, ri_stream_t *stream, int ahead)
{
    ri_worker_t *worker       = recv->super.worker;
    ri_peer_t *peer           = stream->peer;
    const ri_conn_t *conn     = ri_peer_usable_conn(peer);
    ri_rtr_entries_t *entries = ri_rtr_entries_get(worker, peer);
    struct ri_ud_recv_op *op;
    ri_ud_target_t target;
    ucs_status_t status;

    if ((conn == NULL) || (conn->flags & RI_CONN_PEER_MODE) || (entries == NULL)) {
        return UCS_ERR_UNREACHABLE;
    }
    if ((entries->free == 0) || ri_rtr_ud_backs_off(worker)) {
        return UCS_ERR_NO_RESOURCE;
    }
    recv->id = ri_id_alloc(&worker->ids.recvs, recv);
    if (recv->id == 0) {
        return UCS_ERR_NO_MEMORY;
    }
    status = ri_ud_run_recv(recv, peer, recv->data.length, 1, 1, &ud_recv_calls, &target,
                            &op);
    if (status != UCS_OK) {
        ri_id_free(&worker->ids.recvs, recv->id);
        recv->id = 0;
        return status;
    }

    op->number           = target.number;
    recv->rtr.op         = op;
    recv->rndv.stream    = NULL;
    recv->rtr.index      = __builtin_ctz(entries->free);
    recv->rtr.generation = ++entries->entry[recv->rtr.index].generation;
    recv->rtr.stream     = stream;
    entries->free &= entries->free - 1;
    ri_rtr_state_set(recv, RI_RTR_BY_UD);
    ucs_list_add_tail(&stream->rtr.recvs, &recv->list);
    ++stream->rtr.num;
    ++worker->counters.rtr_sent;
    ri_trace(&worker->trace, RI_TRACE_RTR_SENT, recv->tag, recv->id);
    ud_put(recv, stream, ahead, &target);
    return UCS_OK;
}

int ri_rtr_ud_is_for(const ri_recv_req_t *recv, const ri_stream_t *stream,
                     const ri_arrival_t *arrival)
{
    const ri_wire_rts_t *rts = arrival->data;

    return (arrival->kind == RI_MSG_RTS) && (rts->flags & RI_WIRE_RTS_SENDS) &&
           (rts->flags & RI_WIRE_RTS_BY_RTR) && (recv->rtr.state == RI_RTR_BY_UD) &&
           (recv->rtr.stream == stream) && (arrival->length == recv->data.length) &&
           (rts->segments[0].address ==
            ri_wire_rtr_name(recv->rtr.index, ri_recv_generation(recv)));
}

/* The receive has met a message that was not sent by its RTR. A message of that sender shows that
 * this RTR never will be used. @return As of ri_rtr_ud_meet(). */
static int ud_meet_other(ri_recv_req_t *recv, const ri_stream_t *stream,
                         const ri_arrival_t *arrival)
{
    const struct ri_ud_recv_op *op = ri_recv_op(recv);
    const ri_peer_t *peer          = stream->peer;
    int is_of_sender               = (recv->rtr.stream == stream);
    const ri_ud_ops_t *ops;
    uint32_t number, way;

    if (op == NULL) {
        return -1;
    }
    ops    = op->super.ops;
    number = op->number;
    way    = op->super.op.way;
    if (!ri_rtr_withdraw_take(recv)) {
        return -1;
    }
    if (is_of_sender && (peer->way.number == way) && (peer->way.ep != NULL)) {
        ops->forget(peer->way.ep, number);
    }
    if (arrival->length <= ri_config.eager_thresh) {
        ri_sender_map_credit_costly(&recv->super.worker->senders, recv->tag, recv->mask,
                                    stream->id, 0);
    }
    return 0;
}

/* The message that was sent by the RTR: the receive waits for it as for one that was asked for,
 * under the id that the sender knows. */
static void ud_wait(ri_recv_req_t *recv, ri_stream_t *stream, const ri_arrival_t *arrival)
{
    struct ri_ud_recv_op *op = ri_recv_op(recv);
    uint32_t id              = recv->id;

    if (!op->super.ended) {
        op->super.ops->claim(&op->super.ud);
    }
    recv->rtr.op = NULL;
    recv->id     = 0;
    ri_rtr_done_used(recv);
    recv->id          = id;
    recv->rtr.op      = op;
    op->calls         = &ri_rndv_ud_recv_calls;
    recv->way         = op->super.op.way;
    recv->rndv.req_id = arrival->req_id;
    recv->rtr.sn      = arrival->sn;
    ri_rndv_recv_wait_as(recv, stream);
    ri_rndv_recv_set_written(recv, RI_RECV_BY_TARGET);
}

int ri_rtr_ud_meet(ri_recv_req_t *recv, ri_stream_t *stream, const ri_arrival_t *arrival,
                   ucs_status_t *status)
{
    if (!ri_rtr_ud_is_for(recv, stream, arrival)) {
        return ud_meet_other(recv, stream, arrival);
    }
    recv->super.worker->rtr.ud_takes = 0;
    if (ri_recv_op(recv) != NULL) {
        ud_wait(recv, stream, arrival);
        *status = UCS_INPROGRESS;
        return 1;
    }
    if (recv->rtr.there) {
        ri_rtr_done_used(recv);
        *status = UCS_OK;
        return 1;
    }
    ri_rtr_done_unused(recv);
    return 0;
}

void ri_rtr_ud_handle_abandon(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_recv_req_t *recv = ri_id_get(&stream->worker->ids.recvs, msg->recv_id);

    if (ri_rndv_ud_recv_abandon(stream, msg)) {
        return;
    }
    if ((recv == NULL) || (recv->rtr.state != RI_RTR_BY_UD) ||
        (recv->rtr.stream != stream)) {
        return; /* the RTR was withdrawn */
    }
    /* Complete or not, the sender waits to be asked for the message. */
    ri_rtr_withdraw_quiesce(recv);
    recv->rtr.there = 0;
}

int ri_rtr_ud_has(const ri_stream_t *stream)
{
    const ri_recv_req_t *recv;

    ucs_list_for_each(recv, &stream->rtr.recvs, list) {
        if (recv->rtr.state == RI_RTR_BY_UD) {
            return 1;
        }
    }
    return 0;
}
