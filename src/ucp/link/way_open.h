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
void ri_way_ask(ri_conn_t *conn);

/** PLANE_REQ of a way through a network: the peer asks for one, which is made and connected if
 * that is possible, and answered if there is a usable conn; or it has given up its end; or it
 * wants to. */
void ri_way_handle_req(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** PLANE_ACK of a way through a network: connect this side's end, or give it up if the peer has
 * none. What was not asked is counted as stale. @a conn has a peer. */
void ri_way_handle_ack(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg);

#endif
