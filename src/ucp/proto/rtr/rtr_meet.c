/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives with an RTR that meet a message: the one that it was for, or another one.
 */
#include "rtr_state.h"
#include "../../core/recv_req.h"
#include "../rndv/am_rndv.h"
#include "../../link/planes.h"
#include "rtr_ud.h"
#include "../../../ucs/settings.h"
#include "../../order/deliver.h"

/* The sender breaks the protocol. Nobody can tell what it wrote where. */
static ucs_status_t rtr_broken(ri_recv_req_t *recv, ri_stream_t *stream,
                               const ri_arrival_t *arrival)
{
    if ((recv->rtr == RI_RTR_SENT) || (recv->rtr == RI_RTR_PROMISED)) {
        ri_planes_rdma_failed(stream->worker, recv->rtr_stream->peer);
    }
    ri_rtr_settle(recv);
    ri_rtr_forget(recv);
    ri_deliver_breaking(stream, "a message that is not that of its receive",
                        arrival->wire_type, arrival->length);
    return UCS_ERR_IO_ERROR;
}

/* The sender has taken the RTR for the very message that has met the receive, and writes:
 * the grant tells when it is done. */
static ucs_status_t rtr_await(ri_recv_req_t *recv, const ri_arrival_t *arrival)
{
    ri_worker_t *worker = recv->super.worker;

    if (ri_rtr_grant_state(recv) == RI_RING_GRANT_WRITTEN) {
        ri_rtr_was_used(recv);
        return UCS_OK;
    }
    recv->rts_req_id = arrival->req_id;
    ucs_list_del(&recv->list);
    ucs_list_add_tail(&worker->rtr_writing, &recv->list);
    worker->attention = 1;
    return UCS_INPROGRESS;
}

/* As ri_rtr_meet(), of an RTR by message. The sender has not used the RTR for a message that
 * comes in another form, unless the write has failed: then nothing is written any more. */
static int rtr_meet_by_message(ri_recv_req_t *recv, ri_stream_t *stream,
                               const ri_arrival_t *arrival, ucs_status_t *status)
{
    const ri_wire_rts_t *rts = arrival->data;
    int is_again = (arrival->kind == RI_MSG_RTS) && (rts->flags & RI_WIRE_RTS_AGAIN);

    if ((recv->rtr_stream != stream) ||
        ((recv->rtr != RI_RTR_SENT) && ((recv->rtr != RI_RTR_PROMISED) || !is_again))) {
        *status = rtr_broken(recv, stream, arrival);
        return 1;
    }
    if (arrival->length <= ri_config.eager_thresh) {
        ri_sender_map_credit(&recv->super.worker->senders, recv->tag, recv->mask,
                             stream->id, -1);
    }
    ri_rtr_forget(recv);
    return 0;
}

int ri_rtr_meet(ri_recv_req_t *recv, ri_stream_t *stream, const ri_arrival_t *arrival,
                ucs_status_t *status)
{
    ri_worker_t *worker = recv->super.worker;
    int met;

    if (recv->rtr >= RI_RTR_SENT) {
        return rtr_meet_by_message(recv, stream, arrival, status);
    }
    if (recv->rtr == RI_RTR_BY_UD) {
        met = ri_rtr_ud_meet(recv, stream, arrival, status);
        if (met < 0) {
            *status = rtr_broken(recv, stream, arrival);
        }
        return met != 0;
    }
    if (ri_rtr_take_back(recv)) {
        if (arrival->length <= ri_config.eager_thresh) {
            ri_sender_map_credit(&worker->senders, recv->tag, recv->mask, stream->id, -1);
        }
        return 0;
    }
    if ((ri_rtr_grant_state(recv) == RI_RING_GRANT_FAILED) &&
        (recv->rtr_stream == stream)) {
        ri_rtr_forget(recv);
        return 0;
    }
    if ((arrival->wire_type != RI_WIRE_RTS) || (recv->rtr_stream != stream) ||
        (arrival->length > recv->data.length)) {
        *status = rtr_broken(recv, stream, arrival);
        return 1;
    }
    if (ri_rtr_grant_state(recv) == RI_RING_GRANT_SHARING) {
        /* takes no time, unless that process has lost its processor */
        ri_rtr_settle(recv);
    }
    if (ri_rtr_grant_state(recv) == RI_RING_GRANT_SLOT) {
        recv->rtr_slot = 1;
        ri_rtr_was_used(recv);
        return 0;
    }
    *status = rtr_await(recv, arrival);
    return 1;
}

ucs_status_t ri_rtr_placed(ri_recv_req_t *recv, ri_stream_t *stream,
                           const ri_arrival_t *arrival)
{
    if (((recv->rtr != RI_RTR_OUT) && (recv->rtr != RI_RTR_KEPT) &&
         (recv->rtr != RI_RTR_WRITTEN)) ||
        (recv->rtr_stream != stream) || (recv->id != arrival->req_id) ||
        (arrival->length > recv->data.length)) {
        return rtr_broken(recv, stream, arrival);
    }
    /* The grant says WRITTEN. To look would cost a cache miss, and tell nothing new. */
    if (recv->rtr == RI_RTR_OUT) {
        atomic_store_explicit(
                &ri_rtr_grant(recv)->word,
                ri_ring_grant_word(recv->rtr_generation, RI_RING_GRANT_FREE),
                memory_order_relaxed);
    }
    ri_rtr_was_used(recv);
    return UCS_OK;
}

ucs_status_t ri_rtr_used(ri_recv_req_t *recv, ri_stream_t *stream,
                         const ri_arrival_t *arrival)
{
    if (((recv->rtr != RI_RTR_SENT) && (recv->rtr != RI_RTR_PROMISED)) ||
        (recv->rtr_stream != stream) || (recv->id != arrival->req_id)) {
        return rtr_broken(recv, stream, arrival);
    }
    recv->named_sn = arrival->sn;
    ri_rtr_set(recv, RI_RTR_NAMED);
    ++stream->num_named;
    ++stream->counters.rx_named;
    return UCS_INPROGRESS;
}

int ri_rtr_progress_writing(ri_recv_req_t *recv, ucs_status_t failure)
{
    uint32_t req_id     = recv->rts_req_id;
    ri_stream_t *stream = recv->rtr_stream;
    ucs_status_t status = UCS_OK;

    switch (ri_rtr_grant_state(recv)) {
    case RI_RING_GRANT_USED:
        /* posted_polls: nothing is to be learnt from this receive any more */
        if ((recv->rtr == RI_RTR_OUT) && ((++recv->posted_polls % RI_RTR_CHECK != 0) ||
                                          !ri_planes_is_gone(stream->peer))) {
            return 0;
        }
        ri_rtr_forget(recv); /* it will not be written */
        status = UCS_ERR_CONNECTION_RESET;
        break;
    case RI_RING_GRANT_WRITTEN:
        ri_rtr_was_used(recv);
        break;
    default:
        ri_rtr_forget(recv);
        status = (failure == UCS_OK) ? ri_am_rndv_ask(recv, stream, req_id, 0) : failure;
        break;
    }
    if (status != UCS_INPROGRESS) {
        ri_recv_complete(recv, status);
    }
    return 1;
}
