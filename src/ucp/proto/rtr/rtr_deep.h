/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that send no RTR as too many of their tag and mask are ahead (rtr_queue.h). With each
 * that leaves, one more has few enough ahead. Where many are posted this is done for each message,
 * so the receive that is next is remembered, for a few tags: it is marked, at the head of the ring
 * of those that wait. It is the one directly behind the last that has few enough ahead; if that
 * one does not wait, none is marked.
 */
#ifndef RI_RTR_DEEP_H
#define RI_RTR_DEEP_H

#include "../../core/worker.h"

/** @return Whether a posted receive has one of its tag and mask ahead that waits as too many are.
 * Then it has to wait, too. */
int ri_rtr_deep_is_behind(const ri_recv_req_t *recv);

/** Have a receive without an RTR wait as too many of its tag and mask are ahead: it is QUEUED
 * then. */
void ri_rtr_deep_await(ri_recv_req_t *recv);

/** A receive has left those of its tag and mask, and worker->rtr.deep is not empty: fewer are ahead
 * of later ones. */
void ri_rtr_deep_release(ri_worker_t *worker, const ri_recv_req_t *left);

#endif
