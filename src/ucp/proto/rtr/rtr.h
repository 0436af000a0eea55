/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's side of receiver-initiated rendezvous: which receives offer their memory to a
 * sender before there is a message (RTR), and when that is withdrawn. (protocol-rndv.md)
 *
 * With an RTR within a host goes a grant, a word in memory that both sides see: the sender has to
 * change it before it writes, and the receiver changes it to withdraw the RTR. Whoever is first has
 * it. So a receive can be cancelled, or given to another sender's message, at once and without
 * asking anybody. An RTR for datagrams is withdrawn by the plane (rtr_ud.h). An RTR by a key, for
 * writes through a network, is withdrawn by a message, which its sender has to answer
 * (rtr_withdraw.h).
 *
 * ri_rtr_state_t (core/types/request.h) has the states of a receive, and their legal order.
 */
#ifndef RI_RTR_H
#define RI_RTR_H

#include "../../core/worker.h"

/** A receive above the eager threshold was posted: send an RTR if that is right and may pay, or
 * have it wait until it can. The receive stays posted in any case. */
void ri_rtr_posted(ri_recv_req_t *recv);

/** For ri_promises_t: find and take out the receive of a short message, if no receive of its tag
 * and mask is promised. @return NULL: it may have to be by @ref ri_rtr_match. */
ri_recv_req_t *ri_rtr_match_plain(ri_worker_t *worker, uint64_t tag);

/** For ri_promises_t: find and take out the receive of a message of @a stream (NULL: of this worker
 * itself). RTRs to others that stand in its way are withdrawn; receives whose RTR was used by
 * another sender are passed by. @return NULL: there is none. */
ri_recv_req_t *ri_rtr_match(ri_worker_t *worker, const ri_stream_t *stream, uint64_t tag);

/** Cancel a posted receive: it completes with UCS_ERR_CANCELED before this returns, unless an RTR
 * of it, or one that counts it, has been used, or its sender has to be asked (REVOKE). Then it
 * stays posted, with recv->rtr.canceled, until the answer, until its message has come, or until
 * that cannot come any more. */
void ri_rtr_cancel(ri_recv_req_t *recv);

/** Receives that @a tag fits and that could not be cancelled (recv->rtr.canceled) may be so now:
 * try again. Calls back. */
void ri_rtr_cancel_again(ri_worker_t *worker, uint64_t tag);

/** Send what is queued, as far as it is possible now; look after receives that the sender writes,
 * which may complete. Calls back. */
void ri_rtr_progress(ri_worker_t *worker);

/** @return Whether there is something for @ref ri_rtr_progress. */
static inline int ri_rtr_has_work(ri_worker_t *worker)
{
    return !ucs_list_is_empty(&worker->rtr.writing) ||
           (worker->rtr.retry && (!ucs_list_is_empty(&worker->rtr.queue) ||
                                  !ucs_list_is_empty(&worker->rtr.full)));
}

#endif
