/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of a process that has received by datagrams: a sender whose last acknowledgement was
 * lost asks again, and nobody is there to answer. So whoever closes an endpoint or ends a
 * worker waits until the senders have said that they know (uct/ib/ud/ud.h), reminds them, and at
 * last says it by UCP (TARGET with RI_WIRE_TARGET_RECEIVED). In the usual case they have said it
 * already, and nothing is waited for.
 */
#ifndef RI_UD_ENDS_H
#define RI_UD_ENDS_H

#include "../../core/worker.h"

/** Receiver: reminds the peer of what it has to say before a conn to it is closed. @return Whether
 * the close has to wait, and ask again in progress. If not, all was done: nothing is open, or the
 * peer was told by UCP, or nobody is left to be told. */
int ri_ud_ends_remind(ri_conn_t *conn);

/** Receiver: the way to a peer is given up, and the plane will answer no questions any more: tell
 * the peer by UCP what has come, if it does not know and is still there. */
void ri_ud_ends_way_fails(ri_peer_t *peer);

/** Sender: TARGET with RI_WIRE_TARGET_RECEIVED: a message that was sent by the present way was
 * received. What is of another way is counted and ignored. */
void ri_ud_ends_handle(ri_conn_t *conn, const ri_wire_msg_t *msg);

#endif
