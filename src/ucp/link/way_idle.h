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
void ri_way_idle_check(ri_worker_t *worker);

/** One more way by connections is wanted, and there are as many as there may be: give up one that
 * is idle, if its peer agrees. There may be room when it returns, or only when the peer has
 * answered. */
void ri_way_idle_make_room(ri_worker_t *worker);

/** Handler of PLANE_REQ with RI_WIRE_PLANE_LEAVE: the peer wants to give its end of the way up. If
 * nothing goes by the way, agree, and give this side's end up. If something does, refuse. Without a
 * usable conn to answer by, nothing changes. */
void ri_way_idle_handle_leave(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** Handler of PLANE_ACK with RI_WIRE_PLANE_LEAVE: the peer of @a conn, which has one, answers the
 * wish to give the way up. If it agrees, this side's end is given up. If not, the way is used
 * again. */
void ri_way_idle_handle_left(ri_worker_t *worker, ri_conn_t *conn,
                             const ri_wire_msg_t *msg);

#endif
