/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of the receiver's side of RTRs (rtr.h): what is known of the RTR of one receive,
 * and its end. Why it ends is the matter of rtr.c (what is posted, matched and cancelled),
 * rtr_meet.c (what the sender has used) and rtr_ends.c (rings, streams and peers that end);
 * rtr_deep.c is about receives that wait as too many are ahead.
 *
 * What a QUEUED receive waits for, and what ends that, as nobody asks again:
 *
 * - an older receive of another mask that overlaps, or one of its own tag and mask whose RTR is
 *   out to another sender: it is among the waiters of that one, until that one is not posted
 *   any more or has no RTR;
 * - a class that is too large to be looked through: among its waiters, until it is small;
 * - too many of its own tag and mask ahead: among the waiters of the worker, until it is the last of
 *   the oldest RI_RTR_DEPTH. Others of that sender do not wait for it;
 * - room, of any kind: it is in the queue of that sender, of which only the first is tried: when a
 *   grant has been given back, or at each progress call if it is the ring that is full.
 */
#ifndef RI_RTR_STATE_H
#define RI_RTR_STATE_H

#include "rtr.h"
#include "../../../ucs/clock.h"

/* The grants of a conn's ring. */
struct ri_rtr_grants {
    uint32_t free;       /* one bit for each */
    uint32_t generation; /* of the latest */
    ri_recv_req_t *recv[RI_RING_GRANTS];
};

/* Polls of a write that does not end, until its sender is looked after. */
#define RI_RTR_CHECK 1024

/** @return Microseconds, modulo 2^32. */
static inline uint32_t ri_rtr_clock(void)
{
    return (uint32_t)(uint64_t)(ri_time() * 1e6);
}

/** @return The grant of a receive whose RTR is OUT. */
static inline ri_ring_grant_t *ri_rtr_grant(const ri_recv_req_t *recv)
{
    return &recv->rtr_conn->ring->control->grants[recv->rtr_index];
}

/** @return What the sender has done with the RTR of a receive, which is OUT or KEPT:
 * RI_RING_GRANT_*. */
static inline uint32_t ri_rtr_grant_state(const ri_recv_req_t *recv)
{
    return (recv->rtr == RI_RTR_KEPT) ?
                   recv->rtr_kept :
                   ri_ring_grant_state(ri_rtr_grant(recv), recv->rtr_generation);
}

/** @return Whether the sender may use the RTR of a receive, or has. */
static inline int ri_rtr_is_offered(const ri_recv_req_t *recv)
{
    return recv->rtr >= RI_RTR_OUT;
}

/** Change the state of a receive, and what is counted by it. */
static inline void ri_rtr_set(ri_recv_req_t *recv, ri_rtr_state_t state)
{
    ri_worker_t *worker = recv->super.worker;
    int offered         = ri_rtr_is_offered(recv);
    int change          = (state != RI_RTR_NONE) - (recv->rtr != RI_RTR_NONE);

    recv->rtr = state;
    worker->num_rtrs += change;
    worker->rtr_keys[ri_rtr_key(recv->tag & recv->mask)] += change;
    worker->num_offered += ri_rtr_is_offered(recv) - offered;
}

/** Something has changed for receives that are queued, or wait for room. */
static inline void ri_rtr_wake_queue(ri_worker_t *worker)
{
    if (!ucs_list_is_empty(&worker->rtr_full)) {
        worker->rtr_turns = UINT_MAX; /* all */
        worker->rtr_retry = 1;
        worker->attention = 1;
    } else if (!ucs_list_is_empty(&worker->rtr_queue)) {
        worker->rtr_retry = 1;
        worker->attention = 1;
    }
}

/** Put a receive in the queue. */
void ri_rtr_enqueue(ri_recv_req_t *recv);

/** Have a receive wait among @a waiters, those of another one or of a class. */
void ri_rtr_await(ri_recv_req_t *recv, ri_recv_req_t **waiters);

/** @return Whether a posted receive has one of its tag and mask ahead that waits as too many are. Then
 * it has to wait, too. */
int ri_rtr_deep_is_behind(const ri_recv_req_t *recv);

/** Have a receive wait as too many of its tag and mask are ahead. */
void ri_rtr_deep_await(ri_recv_req_t *recv);

/** A receive has left those of its tag and mask, and worker->rtr_deep is not empty: fewer are ahead of
 * later ones. */
void ri_rtr_deep_release(ri_worker_t *worker, const ri_recv_req_t *left);

/** What a QUEUED receive waits for is over: put it in the queue. */
void ri_rtr_requeue(ri_recv_req_t *recv);

/** The same for all waiters. */
void ri_rtr_release(ri_recv_req_t **waiters);

/** Receives of one tag and mask that may have RTRs: the oldest so many. Bounds the search for
 * those that count a receive. */
#define RI_RTR_DEPTH 64

/** Receives of a tag could not be cancelled: try again. */
void ri_rtr_cancel_again(ri_worker_t *worker, uint64_t tag);

/** The grant is not needed any more. */
void ri_rtr_give_grant_back(ri_recv_req_t *recv);

/** Wait until the sender has ended a write, or made a slot ready, or is gone (settle.h). */
void ri_rtr_settle(ri_recv_req_t *recv);

/** The receive has no RTR any more; if one had been sent it was for nothing. */
void ri_rtr_forget(ri_recv_req_t *recv);

/** @return Whether the receive has no RTR that the sender may use or has used, any more. After
 * a write that failed the message still is this receive's. */
int ri_rtr_take_back(ri_recv_req_t *recv);

/** The sender has used the RTR as it was meant. The receive has none any more. */
void ri_rtr_was_used(ri_recv_req_t *recv);

/** A receive that met its message while the sender was writing. If that fails the data is
 * asked for, or the receive ends with @a failure. @return Whether that has
 * ended; then the receive is complete, and anything may have happened. */
int ri_rtr_progress_writing(ri_recv_req_t *recv, ucs_status_t failure);

#endif
