/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rtr_state.h"
#include "rtr_slots.h"
#include "rtr_message.h"
#include "rtr_ud.h"
#include "../../link/settle.h"

void ri_rtr_give_grant_back(ri_recv_req_t *recv)
{
    ri_rtr_grants_t *grants = recv->rtr_conn->grants;

    grants->recv[recv->rtr_index] = NULL;
    grants->free |= 1u << recv->rtr_index;
    recv->rtr_conn = NULL;
}

void ri_rtr_enqueue(ri_recv_req_t *recv)
{
    ri_worker_t *worker = recv->super.worker;

    ri_rtr_set(recv, RI_RTR_QUEUED);
    recv->rtr_awaits = NULL;
    ucs_list_add_tail(&worker->rtr_queue, &recv->list);
    ri_rtr_wake_queue(worker);
}

void ri_rtr_slots_wait(ri_recv_req_t *recv, ri_worker_t *worker, ri_peer_t *peer,
                       int first)
{
    ri_rtr_slots_t *slots = ri_rtr_slots_get(worker, peer);

    if (slots == NULL) {
        return; /* it sends none */
    }
    ri_rtr_set(recv, RI_RTR_QUEUED);
    recv->rtr_awaits = NULL;
    if (first) {
        ucs_list_add_head(&slots->full, &recv->list);
    } else {
        ucs_list_add_tail(&slots->full, &recv->list);
    }
    ri_rtr_slots_enlist(slots);
}

void ri_rtr_slots_forget(ri_rtr_slots_t *slots)
{
    if (slots == NULL) {
        return;
    }
    while (!ucs_list_is_empty(&slots->full)) {
        ri_rtr_forget(ucs_list_head(&slots->full, ri_recv_req_t, list));
    }
    ri_rtr_slots_delist(slots);
}

void ri_rtr_await(ri_recv_req_t *recv, ri_recv_req_t **waiters)
{
    ri_rtr_set(recv, RI_RTR_QUEUED);
    recv->rtr_awaits = waiters;
    if (*waiters == NULL) {
        ucs_list_head_init(&recv->list);
        *waiters = recv;
    } else {
        ucs_list_add_tail(&(*waiters)->list, &recv->list);
    }
}

/* Take a QUEUED receive out of where it waits. */
static void rtr_dequeue(ri_recv_req_t *recv)
{
    ri_recv_req_t *next = ucs_container_of(recv->list.next, ri_recv_req_t, list);

    if ((recv->rtr_awaits != NULL) && (*recv->rtr_awaits == recv)) {
        *recv->rtr_awaits = (next == recv) ? NULL : next;
    }
    ucs_list_del(&recv->list);
}

void ri_rtr_requeue(ri_recv_req_t *recv)
{
    rtr_dequeue(recv);
    ri_rtr_enqueue(recv);
}

void ri_rtr_release(ri_recv_req_t **waiters)
{
    while (*waiters != NULL) {
        ri_rtr_requeue(*waiters);
    }
}

/* Give back what an RTR has that was sent. */
static void rtr_end_offer(ri_recv_req_t *recv)
{
    recv->rtr_stream->num_named -= (recv->rtr == RI_RTR_NAMED);
    if (recv->rtr == RI_RTR_OUT) {
        ri_rtr_give_grant_back(recv);
    } else if (recv->rtr == RI_RTR_BY_UD) {
        ri_rtr_ud_release(recv);
    } else {
        ri_rtr_message_release(recv);
    }
    if (recv->id != 0) {
        ri_id_free(&recv->super.worker->recv_ids, recv->id);
        recv->id = 0;
    }
    ucs_list_del(&recv->list);
    --recv->rtr_stream->num_rtrs;
}

/* The receive has no RTR any more. */
static void rtr_end(ri_recv_req_t *recv)
{
    if (recv->rtr == RI_RTR_NONE) {
        return;
    }
    if (ri_rtr_is_offered(recv)) {
        rtr_end_offer(recv);
    } else {
        rtr_dequeue(recv);
    }
    ri_rtr_set(recv, RI_RTR_NONE);
    if (ri_req_flags(&recv->super) & RI_REQ_POSTED) {
        ri_rtr_release(&recv->waiters); /* they may have waited for it to be taken back */
    }
    ri_rtr_wake_queue(recv->super.worker);
}

/* Whether the sender is doing, within a call, what it has taken the RTR for. */
static int rtr_is_unsettled(void *arg)
{
    uint32_t state = ri_rtr_grant_state(arg);

    return (state == RI_RING_GRANT_USED) || (state == RI_RING_GRANT_SHARING);
}

void ri_rtr_settle(ri_recv_req_t *recv)
{
    if (recv->rtr == RI_RTR_OUT) {
        ri_settle(recv->rtr_stream->peer, rtr_is_unsettled, recv);
    } else if (recv->rtr == RI_RTR_BY_UD) {
        ri_rtr_ud_settle(recv);
    }
}

void ri_rtr_forget(ri_recv_req_t *recv)
{
    if (ri_rtr_is_offered(recv)) {
        ++recv->super.worker->counters.rtr_dropped;
    }
    rtr_end(recv);
}

int ri_rtr_take_back(ri_recv_req_t *recv)
{
    if ((recv->rtr == RI_RTR_NONE) || (recv->rtr == RI_RTR_QUEUED)) {
        return 1;
    }
    if (recv->rtr >= RI_RTR_SENT) {
        return ri_rtr_message_take_back(recv);
    }
    if (recv->rtr == RI_RTR_BY_UD) {
        return ri_rtr_ud_take_back(recv);
    }
    if ((recv->rtr == RI_RTR_KEPT) ||
        (!ri_ring_grant_change(ri_rtr_grant(recv), recv->rtr_generation,
                               RI_RING_GRANT_FREE) &&
         (ri_rtr_grant_state(recv) != RI_RING_GRANT_FREE))) {
        return 0;
    }
    ri_trace(&recv->super.worker->trace, RI_TRACE_RTR_BACK, recv->tag, recv->id);
    ri_rtr_forget(recv);
    return 1;
}

void ri_rtr_was_used(ri_recv_req_t *recv)
{
    ++recv->super.worker->counters.rtr_used;
    rtr_end(recv);
}
