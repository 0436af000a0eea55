/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs that are withdrawn, so that the receive can be cancelled or given to another message. How
 * that is done depends on the RTR's state:
 *
 *     with a grant (BY_GRANT) the grant is changed by compare-and-swap: whoever is first has it
 *     as datagrams (BY_UD)    the queue pair is reset, if it has heard of no message yet
 *     with a key (BY_KEY)     the sender is asked (REVOKE), and what depends on the answer waits
 *                            (rtr_revoked.h)
 *
 * rtr_net.h withdraws those with a key at once, when their stream ends.
 */
#ifndef RI_RTR_WITHDRAW_H
#define RI_RTR_WITHDRAW_H

#include "../../core/worker.h"

/**
 * Withdraw the RTR of a receive, if it has one.
 *
 * @return 1: the receive has no RTR, or none any more: its state is NONE or QUEUED. The sender has
 *         not used the RTR, and cannot use it from now on. The receive may be given to any message.
 *         0: the sender has used the RTR, or was asked and has not answered. The receive stays with
 *         that sender's message, even if the write failed and the message comes by another way.
 */
int ri_rtr_withdraw_take(ri_recv_req_t *recv);

/** Ask the sender, by REVOKE, not to use the RTR of a receive that is BY_KEY; a second call for the
 * same RTR does nothing. If there is no usable conn to ask by, this side's end of the way to the
 * peer is given up instead. Then all receives that were BY_KEY to that peer lose their RTRs. */
void ri_rtr_withdraw_ask(ri_recv_req_t *recv);

/** Make sure that nobody writes the memory of a receive any more whose RTR has been used. For
 * BY_GRANT, wait until the sender has ended its write, has made a slot ready, or is gone, but not
 * longer than link/quiesce.h says. For BY_UD, let go of the transfer. In other states nothing is
 * done. The state of the RTR stays as it is. */
void ri_rtr_withdraw_quiesce(ri_recv_req_t *recv);

#endif
