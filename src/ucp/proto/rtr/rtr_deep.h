/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that wait with their RTR because too many receives of their tag and mask were posted
 * before them: only the oldest RI_RTR_DEPTH may be offered (rtr_queue.h).
 *
 * Each receive that leaves the queue lets one more be offered: the first one behind the oldest
 * RI_RTR_DEPTH. Where many receives are posted this happens with each message. So that receive is
 * remembered, for a few tags, instead of being searched for: it stands at the head of the ring of
 * those that wait, and is marked (ri_recv_req_t.rtr.first). If that receive does not wait, none is
 * marked.
 */
#ifndef RI_RTR_DEEP_H
#define RI_RTR_DEEP_H

#include "../../core/worker.h"

/** @return Whether an older receive of the same tag and mask waits because too many are ahead of
 * it. Then @a recv has to wait, too. */
int ri_rtr_deep_is_behind(const ri_recv_req_t *recv);

/** Let a receive that has no RTR wait, because too many of its tag and mask are ahead. It is QUEUED
 * afterwards. */
void ri_rtr_deep_await(ri_recv_req_t *recv);

/** The receive @a left is not posted any more, so that fewer receives are ahead of later ones of
 * its tag and mask: try the one that may be offered now. worker->rtr.deep is not empty. */
void ri_rtr_deep_release(ri_worker_t *worker, const ri_recv_req_t *left);

#endif
