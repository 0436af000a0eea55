/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs that are withdrawn, so that the receive can be cancelled or given to another message. How
 * that is done depends on the RTR's state:
 *
 *     with a grant (OUT)      the grant is changed by compare-and-swap: whoever is first has it
 *     as datagrams (BY_UD)    the queue pair is reset, if it has heard of no message yet
 *     with a key (SENT)       the sender is asked (REVOKE), and what depends on the answer waits
 *                            (rtr_revoke.h)
 *
 * rtr_net.h withdraws those with a key at once, when their stream ends.
 */
#ifndef RI_RTR_WITHDRAW_H
#define RI_RTR_WITHDRAW_H

#include "../../core/worker.h"

/**
 * Withdraw the RTR of a receive.
 *
 * @return Whether the sender may use none and has used none: the receive is free for another
 * message.
 *         If not, the RTR has been used, or the sender was asked. If it was used for a write that
 *         failed, the message comes by another way, and still is for this receive.
 */
int ri_rtr_withdraw_take(ri_recv_req_t *recv);

/** Ask the sender not to use an RTR through a network, which is SENT, unless it was asked before.
 * Without a way to ask, this side's end of the way is given up: then no receive that is SENT to
 * that peer has an RTR any more. */
void ri_rtr_withdraw_ask(ri_recv_req_t *recv);

/** The RTR of a receive, OUT or BY_UD, has been used: see to it that nothing is written any more.
 * Within a host, wait until the sender has ended a write, or made a slot ready, or is gone, for
 * some time at most (link/settle.h). A transfer by datagrams is let go of. The state of the RTR
 * stays; of another one nothing is done. */
void ri_rtr_withdraw_settle(ri_recv_req_t *recv);

#endif
