/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives with an RTR that meet a message: the one that it was for, or another one.
 */
#include "rtr_meet.h"
#include "../../../ucs/settings.h"
#include "../../core/recv_req.h"
#include "../../link/local.h"
#include "../../link/way.h"
#include "../../match/sender_map.h"
#include "../../order/deliver.h"
#include "../rndv/am_rndv.h"
#include "rtr_withdraw.h"
#include "rtr_done.h"
#include "rtr_state.h"
#include "rtr_ud.h"

/* Polls of a write that does not end, until its sender is looked after. */
#define MEET_CHECK 1024

/* The sender breaks the protocol. Nobody can tell what it wrote where. */
static ucs_status_t meet_broken(ri_recv_req_t *recv, ri_stream_t *stream,
                                const ri_arrival_t *arrival)
{
    if ((recv->rtr.state == RI_RTR_BY_KEY) || (recv->rtr.state == RI_RTR_KEY_USED)) {
        ri_way_fail_and_tell(stream->worker, recv->rtr.stream->peer);
    }
    ri_rtr_withdraw_quiesce(recv);
    ri_rtr_done_unused(recv);
    ri_deliver_breaking(stream, "a message that is not that of its receive",
                        arrival->wire_type, arrival->length);
    return UCS_ERR_IO_ERROR;
}

/* The sender has taken the RTR for the very message that has met the receive, and writes:
 * the grant tells when it is done. */
static ucs_status_t meet_await(ri_recv_req_t *recv, const ri_arrival_t *arrival)
{
    ri_worker_t *worker = recv->super.worker;

    if (ri_rtr_state_of_grant(recv) == RI_RING_GRANT_WRITTEN) {
        ri_rtr_done_used(recv);
        return UCS_OK;
    }
    recv->rndv.req_id = arrival->req_id;
    recv->rndv.polls  = 0;
    ucs_list_del(&recv->list);
    ucs_list_add_tail(&worker->rtr.writing, &recv->list);
    worker->attention = 1;
    return UCS_INPROGRESS;
}

/* As ri_rtr_meet(), of an RTR by a key. The sender has not used the RTR for a message that
 * comes in another form, unless the write has failed: then nothing is written any more. */
static int meet_by_message(ri_recv_req_t *recv, ri_stream_t *stream,
                           const ri_arrival_t *arrival, ucs_status_t *status)
{
    const ri_wire_rts_t *rts = arrival->data;
    int is_again = (arrival->kind == RI_MSG_RTS) && (rts->flags & RI_WIRE_RTS_AGAIN);

    if ((recv->rtr.stream != stream) ||
        ((recv->rtr.state != RI_RTR_BY_KEY) &&
         ((recv->rtr.state != RI_RTR_KEY_USED) || !is_again))) {
        *status = meet_broken(recv, stream, arrival);
        return 1;
    }
    if (arrival->length <= ri_config.eager_thresh) {
        ri_sender_map_credit(&recv->super.worker->senders, recv->tag, recv->mask,
                             stream->id, -1);
    }
    ri_rtr_done_unused(recv);
    return 0;
}

int ri_rtr_meet(ri_recv_req_t *recv, ri_stream_t *stream, const ri_arrival_t *arrival,
                ucs_status_t *status)
{
    ri_worker_t *worker = recv->super.worker;
    int met;

    if (ri_rtr_state_is_by_key(recv)) {
        return meet_by_message(recv, stream, arrival, status);
    }
    if (recv->rtr.state == RI_RTR_BY_UD) {
        met = ri_rtr_ud_meet(recv, stream, arrival, status);
        if (met < 0) {
            *status = meet_broken(recv, stream, arrival);
        }
        return met != 0;
    }
    if (ri_rtr_withdraw_take(recv)) {
        if (arrival->length <= ri_config.eager_thresh) {
            ri_sender_map_credit(&worker->senders, recv->tag, recv->mask, stream->id, -1);
        }
        return 0;
    }
    if ((ri_rtr_state_of_grant(recv) == RI_RING_GRANT_FAILED) &&
        (recv->rtr.stream == stream)) {
        ri_rtr_done_unused(recv);
        return 0;
    }
    if ((arrival->wire_type != RI_WIRE_RTS) || (recv->rtr.stream != stream) ||
        (arrival->length > recv->data.length)) {
        *status = meet_broken(recv, stream, arrival);
        return 1;
    }
    if (ri_rtr_state_of_grant(recv) == RI_RING_GRANT_SHARING) {
        /* takes no time, unless that process has lost its processor */
        ri_rtr_withdraw_quiesce(recv);
    }
    if (ri_rtr_state_of_grant(recv) == RI_RING_GRANT_SLOT) {
        recv->rtr.slot = 1;
        ri_rtr_done_used(recv);
        return 0;
    }
    *status = meet_await(recv, arrival);
    return 1;
}

/* PLACED has met a receive. @return UCS_OK: the data is there. An error: the sender breaks the
 * protocol. */
static ucs_status_t meet_start_placed(ri_recv_req_t *recv, ri_stream_t *stream,
                                      ri_arrival_t *arrival)
{
    if (((recv->rtr.state != RI_RTR_BY_GRANT) && (recv->rtr.state != RI_RTR_KEPT) &&
         (recv->rtr.state != RI_RTR_WRITTEN)) ||
        (recv->rtr.stream != stream) || (recv->id != arrival->req_id) ||
        (arrival->length > recv->data.length)) {
        return meet_broken(recv, stream, arrival);
    }
    /* The grant says WRITTEN. To look would cost a cache miss, and tell nothing new. */
    if (recv->rtr.state == RI_RTR_BY_GRANT) {
        ri_grant_free(ri_rtr_state_grant(recv), ri_recv_generation(recv));
    }
    ri_rtr_done_used(recv);
    return UCS_OK;
}

/* USED has met a receive: the sender writes. @return UCS_INPROGRESS, or an error: it breaks the
 * protocol. */
static ucs_status_t meet_start_used(ri_recv_req_t *recv, ri_stream_t *stream,
                                    ri_arrival_t *arrival)
{
    if (((recv->rtr.state != RI_RTR_BY_KEY) && (recv->rtr.state != RI_RTR_KEY_USED)) ||
        (recv->rtr.stream != stream) || (recv->id != arrival->req_id)) {
        return meet_broken(recv, stream, arrival);
    }
    recv->rtr.sn = arrival->sn;
    ri_rtr_state_set(recv, RI_RTR_NAMED);
    ++stream->rtr.num_named;
    ++stream->counters.rx_named;
    return UCS_INPROGRESS;
}

int ri_rtr_meet_progress(ri_recv_req_t *recv, ucs_status_t failure)
{
    uint32_t req_id     = recv->rndv.req_id;
    ri_stream_t *stream = recv->rtr.stream;
    ucs_status_t status = UCS_OK;

    switch (ri_rtr_state_of_grant(recv)) {
    case RI_RING_GRANT_USED:
        if ((recv->rtr.state == RI_RTR_BY_GRANT) &&
            ((++recv->rndv.polls % MEET_CHECK != 0) || !ri_local_is_gone(stream->peer))) {
            return 0;
        }
        ri_rtr_done_unused(recv); /* nobody will write the receive */
        status = UCS_ERR_CONNECTION_RESET;
        break;
    case RI_RING_GRANT_WRITTEN:
        ri_rtr_done_used(recv);
        break;
    default:
        ri_rtr_done_unused(recv);
        status = (failure == UCS_OK) ? ri_am_rndv_ask(recv, stream, req_id, 0) : failure;
        break;
    }
    if (status != UCS_INPROGRESS) {
        ri_recv_complete(recv, status);
    }
    return 1;
}

const ri_msg_ops_t ri_msg_ops_placed = {.start = meet_start_placed, .is_placed = 1};

const ri_msg_ops_t ri_msg_ops_used = {.start = meet_start_used, .is_placed = 1};
