/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of the receiver's side of RTRs (rtr.h): what is known of the RTR of one receive,
 * and its end. Why it ends is the matter of rtr.c (what is posted, matched and cancelled),
 * rtr_meet.c (what the sender has used) and rtr_ends.c (rings, streams and peers that end).
 */
#ifndef RI_RTR_STATE_H
#define RI_RTR_STATE_H

#include "rtr.h"

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

/** Something has changed for receives that are to send an RTR. */
static inline void ri_rtr_wake_queue(ri_worker_t *worker)
{
    if (!ucs_list_is_empty(&worker->rtr_queue)) {
        worker->rtr_retry = 1;
        worker->attention = 1;
    }
}

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
