/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rtr_done.h"
#include "../rndv/ud_run.h"
#include "rtr_queue.h"
#include "rtr_entries.h"
#include "rtr_state.h"

void ri_rtr_done_give_grant_back(ri_recv_req_t *recv)
{
    ri_rtr_grants_t *grants = ri_recv_grant_conn(recv)->rtr.grants;

    assert(grants->recv[recv->rtr.index] == recv);
    grants->recv[recv->rtr.index] = NULL;
    grants->free |= 1u << recv->rtr.index;
    recv->rtr.conn = NULL;
}

/* Give back what an RTR has that was sent. */
static void done_end_offer(ri_recv_req_t *recv)
{
    recv->rtr.stream->rtr.num_named -= (recv->rtr.state == RI_RTR_NAMED);
    if (recv->rtr.state == RI_RTR_BY_GRANT) {
        ri_rtr_done_give_grant_back(recv);
    } else if (recv->rtr.state == RI_RTR_BY_UD) {
        recv->rtr.stream->peer->rtr.entries->free |= 1u << recv->rtr.index;
        ri_ud_run_leave(recv);
    } else {
        ri_rtr_entries_release(recv);
    }
    if (recv->id != 0) {
        ri_id_free(&recv->super.worker->ids.recvs, recv->id);
        recv->id = 0;
    }
    ucs_list_del(&recv->list);
    --recv->rtr.stream->rtr.num;
}

/* The receive has no RTR any more. */
static void done_end(ri_recv_req_t *recv)
{
    if (recv->rtr.state == RI_RTR_NONE) {
        return;
    }
    if (ri_rtr_state_is_offered(recv)) {
        done_end_offer(recv);
    } else {
        ri_rtr_queue_remove(recv);
    }
    ri_rtr_state_set(recv, RI_RTR_NONE);
    if (ri_req_flags(&recv->super) & RI_REQ_POSTED) {
        ri_rtr_queue_release(
                &recv->waiters); /* they may have waited until the RTR is withdrawn */
    }
    ri_rtr_queue_wake(recv->super.worker);
}

void ri_rtr_done_unused(ri_recv_req_t *recv)
{
    if (ri_rtr_state_is_offered(recv)) {
        ++recv->super.worker->counters.rtr_dropped;
    }
    done_end(recv);
}

void ri_rtr_done_used(ri_recv_req_t *recv)
{
    ++recv->super.worker->counters.rtr_used;
    done_end(recv);
}
