/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rtr_queue.h"
#include "rtr_state.h"

void ri_rtr_queue_add(ri_recv_req_t *recv)
{
    ri_worker_t *worker = recv->super.worker;

    ri_rtr_state_set(recv, RI_RTR_QUEUED);
    recv->rtr.awaits = NULL;
    ucs_list_add_tail(&worker->rtr.queue, &recv->list);
    ri_rtr_queue_wake(worker);
}

void ri_rtr_queue_await(ri_recv_req_t *recv, ri_recv_req_t **waiters)
{
    ri_rtr_state_set(recv, RI_RTR_QUEUED);
    recv->rtr.awaits = waiters;
    if (*waiters == NULL) {
        ucs_list_head_init(&recv->list);
        *waiters = recv;
    } else {
        ucs_list_add_tail(&(*waiters)->list, &recv->list);
    }
}

void ri_rtr_queue_remove(ri_recv_req_t *recv)
{
    ri_recv_req_t *next   = ucs_container_of(recv->list.next, ri_recv_req_t, list);
    ri_recv_req_t **first = ri_recv_awaits(recv);

    if ((first != NULL) && (*first == recv)) {
        *first = (next == recv) ? NULL : next;
    }
    ucs_list_del(&recv->list);
}

void ri_rtr_queue_again(ri_recv_req_t *recv)
{
    ri_rtr_queue_remove(recv);
    ri_rtr_queue_add(recv);
}

void ri_rtr_queue_release(ri_recv_req_t **waiters)
{
    while (*waiters != NULL) {
        ri_rtr_queue_again(*waiters);
    }
}
