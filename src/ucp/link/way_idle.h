/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ways through a network that nobody uses are given up: after UCXRI_IB_IDLE, or earlier if
 * there are UCXRI_RC_MAX_PEERS and another peer needs one. (protocol.md section 7)
 */
#ifndef RI_WAY_IDLE_H
#define RI_WAY_IDLE_H

#include "../core/worker.h"

/* Seconds until a peer that was asked to give up its end is taken not to answer: the conn that
 * the answer is for may have gone, or nothing leads there. */
extern double ri_way_answer;

/** Give up ways that nobody uses, if both sides agree: at most one is ended or asked for in a
 * call. A peer that does not exist, or that the application has no endpoint to that works, is
 * not asked. */
void ri_way_check_idle(ri_worker_t *worker);

/** There may be no way more by connections, and one is wanted: give up one that is idle, if its
 * peer agrees. There may be room when it returns, or when the peer has answered. */
void ri_way_make_room(ri_worker_t *worker);

/** PLANE_REQ with RI_WIRE_PLANE_LEAVE: the peer wants to give its end up. Agree and be without
 * this side's, or refuse if something goes by it. Without a usable conn to answer by, all stays
 * as it is. */
void ri_way_handle_leave(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** PLANE_ACK with RI_WIRE_PLANE_LEAVE: the peer of @a conn, which has one, has agreed to do
 * without the way, so this side's end goes; or not, and the way is used again. */
void ri_way_handle_left(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg);

#endif
