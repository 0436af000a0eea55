/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * ri_rtr_withdraw_take() withdraws at once or asks, by the state of the RTR.
 * ri_rtr_withdraw_quiesce() waits, within limits, for a sender that is writing.
 */
#include "rtr_withdraw.h"
#include "../../../ucs/clock.h"
#include "../../link/control.h"
#include "../../link/quiesce.h"
#include "../../link/way.h"
#include "../rndv/ud_run.h"
#include "rtr_entries.h"
#include "rtr_done.h"
#include "rtr_state.h"

void ri_rtr_withdraw_ask(ri_recv_req_t *recv)
{
    ri_stream_t *stream   = recv->rtr.stream;
    ri_worker_t *worker   = stream->worker;
    ri_rtr_entry_t *entry = ri_rtr_entries_of(recv);
    ri_wire_msg_t msg     = {.type       = RI_WIRE_REVOKE,
                             .id         = stream->remote_conn_id,
                             .generation = entry->generation,
                             .entry      = recv->rtr.index,
                             .stream_id  = stream->id,
                             .uid        = worker->self.uid};

    if (entry->revoking) {
        return;
    }
    if (ri_peer_usable_conn(stream->peer) == NULL) {
        ri_way_fail_and_tell(worker, stream->peer);
        return;
    }
    entry->revoking = 1;
    entry->asked    = ri_clock_now();
    ++worker->rtr.num_revoking;
    ri_trace(&worker->trace, RI_TRACE_RTR_WITHDRAWN, recv->tag, recv->id);
    ri_control_send_message(stream->peer, &msg);
}

static int withdraw_take_message(ri_recv_req_t *recv)
{
    if (recv->rtr.state == RI_RTR_BY_KEY) {
        ri_rtr_withdraw_ask(recv);
    }
    return recv->rtr.state == RI_RTR_NONE;
}

static int withdraw_take_ud(ri_recv_req_t *recv)
{
    struct ri_ud_recv_op *op = ri_recv_op(recv);

    if ((op == NULL) ||
        (op->super.ended ? (op->super.op.status == UCS_OK) || op->super.ud.heard :
                           !op->super.ops->withdraw(&op->super.ud))) {
        return 0;
    }
    ri_trace(&recv->super.worker->trace, RI_TRACE_RTR_WITHDRAWN, recv->tag, recv->id);
    ri_rtr_done_unused(recv);
    return 1;
}

int ri_rtr_withdraw_take(ri_recv_req_t *recv)
{
    if ((recv->rtr.state == RI_RTR_NONE) || (recv->rtr.state == RI_RTR_QUEUED)) {
        return 1;
    }
    if (ri_rtr_state_is_by_key(recv)) {
        return withdraw_take_message(recv);
    }
    if (recv->rtr.state == RI_RTR_BY_UD) {
        return withdraw_take_ud(recv);
    }
    if ((recv->rtr.state == RI_RTR_KEPT) ||
        (!ri_grant_change(ri_rtr_state_grant(recv), ri_recv_generation(recv),
                          RI_RING_GRANT_FREE) &&
         (ri_rtr_state_of_grant(recv) != RI_RING_GRANT_FREE))) {
        return 0;
    }
    ri_trace(&recv->super.worker->trace, RI_TRACE_RTR_WITHDRAWN, recv->tag, recv->id);
    ri_rtr_done_unused(recv);
    return 1;
}

static void withdraw_quiesce_ud(ri_recv_req_t *recv)
{
    struct ri_ud_recv_op *op = ri_recv_op(recv);

    if (op != NULL) {
        recv->rtr.there = op->super.ended && (op->super.op.status == UCS_OK);
        ri_ud_run_leave(recv);
    }
}

/* Whether the sender is doing, within a call, what it has taken the RTR for. */
static int withdraw_is_writing(void *arg)
{
    uint32_t state = ri_rtr_state_of_grant(arg);

    return (state == RI_RING_GRANT_USED) || (state == RI_RING_GRANT_SHARING);
}

void ri_rtr_withdraw_quiesce(ri_recv_req_t *recv)
{
    if (recv->rtr.state == RI_RTR_BY_GRANT) {
        ri_quiesce(recv->rtr.stream->peer, withdraw_is_writing, recv);
    } else if (recv->rtr.state == RI_RTR_BY_UD) {
        withdraw_quiesce_ud(recv);
    }
}
