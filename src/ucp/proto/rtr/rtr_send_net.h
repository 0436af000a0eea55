/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receiver-initiated rendezvous through a network, the sender's side. The RTR comes through a
 * network and has a key; the data is written there with an immediate that tells the receiver, so
 * the message has no other. (protocol-rndv.md section 4; the receiver's side is rtr_net.h)
 *
 * rtr_send_words.h keeps the RTRs, and rtr_send_untold.h tells of writes that go on.
 *
 * When a write fails nobody can tell whether all of it arrived. The message is sent again, under
 * its number, as an RTS that says so; the receiver sees to it that nothing of the write comes
 * any more before it takes it.
 */
#ifndef RI_RTR_SEND_NET_H
#define RI_RTR_SEND_NET_H

#include "../../core/worker.h"
#include "../../match/rtr_table.h"

/** @return What tells the receiver that the message of @a req was written where @a rtr says. */
uint32_t ri_rtr_send_net_immediate(const ri_send_req_t *req, const ri_rtr_t *rtr);

#endif
