/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of a process that has received by datagrams: a sender whose last acknowledgement was
 * lost asks for it, and nobody is there to answer. So whoever closes an endpoint or ends a
 * worker waits until the senders have said that they know (uct/ib/ud.h), reminds them, and at last
 * says it by UCP (TARGET with RI_WIRE_TARGET_RECEIVED). In the usual case they have said it
 * already, and nothing is waited for.
 */
#ifndef RI_UD_ENDS_H
#define RI_UD_ENDS_H

#include "../../core/worker.h"

/** Receiver: @return Whether the close of a conn to a peer has to wait. If not, all was done. */
int ri_ud_ends_must_wait(ri_conn_t *conn);

/** Receiver: the way to a peer is given up, and the plane will answer no questions any more. */
void ri_ud_ends_way_fails(ri_peer_t *peer);

/** Receiver: the worker ends. Waits for some tenths of a second at most. */
void ri_ud_ends_worker(ri_worker_t *worker);

/** Sender: TARGET with RI_WIRE_TARGET_RECEIVED. */
void ri_ud_ends_handle(ri_conn_t *conn, const ri_wire_msg_t *msg);

#endif
