/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs through a network whose way ends so that nobody can tell what has come by it (rtr_net.h):
 * the sender may have been told that its write has ended, and then it never sends the message
 * again. And RTRs whose sender does not answer REVOKE: their ways are given up.
 */
#ifndef RI_RTR_LOST_H
#define RI_RTR_LOST_H

#include "../../core/worker.h"

/** Seconds until a sender is taken not to answer REVOKE: it may have ended its part, and not call
 * the library any more. Tests change it. */
extern double ri_rtr_lost_patience;

/** The way to a peer ends, and is lost (uct/api/plane.h): streams that it may have brought
 * something of which nobody was told are marked, and broken later by ri_rtr_lost_break(). No
 * callback is called. */
void ri_rtr_lost_way(ri_peer_t *peer);

/** Break the streams that ri_rtr_lost_way() has marked. Calls back; any stream that is not busy may
 * be gone afterwards. */
void ri_rtr_lost_break(ri_worker_t *worker);

/** @return Whether there is something for @ref ri_rtr_lost_break. */
static inline int ri_rtr_lost_has_work(const ri_worker_t *worker)
{
    return worker->net.lost;
}

/** For ri_promises_t: messages wait for answers to REVOKE, and may not do so any longer. The ways
 * to all who have not answered yet are given up. */
void ri_rtr_lost_decide(ri_worker_t *worker);

/** Give up the ways to senders that have not answered a REVOKE for ri_rtr_lost_patience, or a
 * little longer: this is called often, while one is not answered, and looks at all entries only now
 * and then. */
void ri_rtr_lost_check_asked(ri_worker_t *worker);

#endif
