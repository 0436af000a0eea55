/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of an RTR: what it has is given back, and receives that wait for that go on. Why it ends
 * is the matter of its callers: rtr.c (what is posted, matched and cancelled), rtr_meet.c,
 * rtr_used.c, rtr_notified.c and rtr_ud.c (what the sender has used), rtr_withdraw.c and
 * rtr_revoked.c (what it is asked for), and rtr_ends.c (rings, streams and peers that end).
 */
#ifndef RI_RTR_DONE_H
#define RI_RTR_DONE_H

#include "../../core/worker.h"

/** The sender has used the RTR of a receive as it was meant. The receive has none any more: its
 * grant or entry and its id are given back, a transfer by datagrams is let go of, and the receive
 * stands in no list of RTRs. Receives that wait for that are tried in progress. Nobody is called
 * back. */
void ri_rtr_done_used(ri_recv_req_t *recv);

/** Give back what the RTR of a receive has, as @ref ri_rtr_done_used does; if one had been sent, it
 * was for nothing. A QUEUED receive waits no more. Nothing is done if it has none. Nobody writes by
 * the RTR any more: the caller has seen to that. */
void ri_rtr_done_unused(ri_recv_req_t *recv);

/** The grant of an RTR, which is BY_GRANT or was until now, is not needed any more: another RTR may
 * have it. The state of the receive is the caller's to change. */
void ri_rtr_done_give_grant_back(ri_recv_req_t *recv);

#endif
