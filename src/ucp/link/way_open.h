/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How a way through a network is asked for and made. (way.h)
 */
#ifndef RI_WAY_OPEN_H
#define RI_WAY_OPEN_H

#include "../core/worker.h"

/** Ask the peer of a conn for a way through a network, and make this side's end if there is none.
 * Does nothing if the conn has asked, has no peer, or if it is too early, in vain too often, or
 * impossible. The receiver's id is known. */
void ri_way_open_ask(ri_conn_t *conn);

/** Handler of PLANE_REQ of a way through a network. If the peer asks for a way, this side's end is
 * made and connected if that is possible, and the answer is sent if there is a usable conn. If the
 * peer says that it has given up its end, or wants to, the functions of way.h and way_idle.h handle
 * that. */
void ri_way_open_handle_req(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** Handler of PLANE_ACK of a way through a network: connect this side's end, or give it up if the
 * peer has no end. An answer to something that was not asked is counted as stale. @a conn has a
 * peer. */
void ri_way_open_handle_ack(ri_worker_t *worker, ri_conn_t *conn,
                            const ri_wire_msg_t *msg);

#endif
