/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that are to send an RTR and cannot yet (QUEUED). What such a receive waits for, and
 * what ends that, as nobody asks again:
 *
 * - an older receive of another mask that overlaps, or one of its own tag and mask whose RTR is
 *   out to another sender: it is among the waiters of that one, until that one is not posted any
 *   more or has no RTR;
 * - a class that is too large to be looked through: among its waiters, until it is small;
 * - too many of its own tag and mask ahead (rtr_deep.h): among the waiters of the worker, until it
 *   is the last of the oldest RI_RTR_DEPTH. Others of that sender do not wait for it;
 * - room, of any kind (rtr_entries.h): it is in the queue of that sender, of which only the first
 *   is tried: when a grant has been given back, or at each progress call if it is the ring that
 *   is full;
 * - nothing: it is in the queue of the worker, and its turn comes in progress.
 */
#ifndef RI_RTR_QUEUE_H
#define RI_RTR_QUEUE_H

#include "../../core/worker.h"

#include <limits.h>

/** Something has changed for receives that are queued, or wait for room: try them in progress. */
static inline void ri_rtr_queue_wake(ri_worker_t *worker)
{
    if (!ucs_list_is_empty(&worker->rtr.full)) {
        worker->rtr.turns = UINT_MAX; /* all */
        worker->rtr.retry = 1;
        worker->attention = 1;
    } else if (!ucs_list_is_empty(&worker->rtr.queue)) {
        worker->rtr.retry = 1;
        worker->attention = 1;
    }
}

/** Put a receive that has no RTR and stands in no list in the queue of its worker: it is QUEUED
 * then, and tried in progress. */
void ri_rtr_queue_add(ri_recv_req_t *recv);

/** Have a receive that has no RTR and stands in no list wait among @a waiters: those of another
 * receive, of a class or of the worker. It is QUEUED then. */
void ri_rtr_queue_await(ri_recv_req_t *recv, ri_recv_req_t **waiters);

/** Take a QUEUED receive out of where it waits. The caller changes its state. */
void ri_rtr_queue_remove(ri_recv_req_t *recv);

/** Put a QUEUED receive in the queue of its worker, as it does not have to wait any more. */
void ri_rtr_queue_again(ri_recv_req_t *recv);

/** Put all of @a waiters in the queue of their worker, as they do not have to wait any more. There
 * may be none. */
void ri_rtr_queue_release(ri_recv_req_t **waiters);

#endif
