/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of the RTR of one receive (rtr.h), and the only place that changes it.
 */
#ifndef RI_RTR_STATE_H
#define RI_RTR_STATE_H

#include "../../core/recv_req.h"
#include "../../core/worker.h"
#include "../../order/promises.h"

#include <limits.h>

/* The grants of a conn's ring. */
struct ri_rtr_grants {
    uint32_t free;       /* one bit for each grant */
    uint32_t generation; /* of the latest grant */
    ri_recv_req_t *recv[RI_RING_GRANTS];
};

/** @return The grant of a receive whose RTR is BY_GRANT. */
static inline ri_ring_grant_t *ri_rtr_state_grant(const ri_recv_req_t *recv)
{
    return &ri_recv_grant_conn(recv)->ring->control->grants[recv->rtr.index];
}

/** @return What the sender has done with the RTR of a receive, which is BY_GRANT or KEPT:
 * RI_RING_GRANT_*. */
static inline uint32_t ri_rtr_state_of_grant(const ri_recv_req_t *recv)
{
    return (recv->rtr.state == RI_RTR_KEPT) ?
                   recv->rtr.kept :
                   ri_grant_state(ri_rtr_state_grant(recv), ri_recv_generation(recv));
}

/** @return Whether the sender may use the RTR of a receive, or has. */
static inline int ri_rtr_state_is_offered(const ri_recv_req_t *recv)
{
    return (recv->rtr.state != RI_RTR_NONE) && (recv->rtr.state != RI_RTR_QUEUED);
}

/** @return Whether the RTR of a receive has a key. */
static inline int ri_rtr_state_is_by_key(const ri_recv_req_t *recv)
{
    return (recv->rtr.state == RI_RTR_BY_KEY) || (recv->rtr.state == RI_RTR_KEY_USED) ||
           (recv->rtr.state == RI_RTR_WRITTEN) || (recv->rtr.state == RI_RTR_NAMED);
}

/** @return Whether a receive may change from one state to another, see ri_rtr_state_t. */
int ri_rtr_state_may_become(ri_rtr_state_t from, ri_rtr_state_t to);

/** @return Whether there may be receives with RTRs among those of the tag and mask of a
 * receive. */
static inline int ri_rtr_state_has_kin(const ri_recv_req_t *recv)
{
    return recv->super.worker->rtr.by_class[ri_promises_class(recv->tag & recv->mask)] !=
           0;
}

/** Change the state of a receive, and what is counted by it. */
static inline void ri_rtr_state_set(ri_recv_req_t *recv, ri_rtr_state_t state)
{
    ri_worker_t *worker = recv->super.worker;
    int offered         = ri_rtr_state_is_offered(recv);
    int change          = (state != RI_RTR_NONE) - (recv->rtr.state != RI_RTR_NONE);

    assert(ri_rtr_state_may_become((ri_rtr_state_t)recv->rtr.state, state));
    recv->rtr.state = state;
    worker->rtr.num += change;
    worker->rtr.by_class[ri_promises_class(recv->tag & recv->mask)] += change;
    worker->rtr.num_offered += ri_rtr_state_is_offered(recv) - offered;
    if (ri_rtr_state_is_offered(recv) != offered) {
        ri_timeline_note(&worker->timeline,
                         offered ? RI_TIMELINE_WITHDRAWN : RI_TIMELINE_OFFER, recv,
                         recv->tag, 0, 0, 0);
    }
}

/** Number of receives of one tag and mask that may have RTRs: the oldest ones. It bounds the search
 * for those that count a receive. */
#define RI_RTR_DEPTH 64

#endif
