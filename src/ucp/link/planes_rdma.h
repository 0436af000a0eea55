/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is common to those who make ways through a network (planes_rdma.c) and those who give
 * up what is idle (planes_idle.c).
 */
#ifndef RI_PLANES_RDMA_H
#define RI_PLANES_RDMA_H

#include "../../ucs/settings.h"
#include "../core/worker.h"

/** Say something about the way to the peer of a conn: PLANE_REQ or PLANE_ACK. @a kind, @a asked:
 * the plane and number in the question that is answered; else peer->rdma_kind and 0. */
void ri_way_send(ri_conn_t *conn, ri_wire_type_t type, uint32_t id, uint32_t value,
                 uint32_t kind, uint32_t asked);

/** Be without this side's end. What is under way by it ends within the call. */
void ri_way_drop(ri_worker_t *worker, ri_peer_t *peer, ri_rdma_state_t state);

/** @return Whether there may be one way more by connections. */
static inline int ri_way_has_room(const ri_worker_t *worker)
{
    return worker->num_ways < ri_config.rc_max_peers;
}

/** There may not, and one is wanted: give up one that is idle, if its peer agrees. */
void ri_way_make_room(ri_worker_t *worker);

/** PLANE_REQ with RI_WIRE_PLANE_LEAVE, and the answer. */
void ri_way_handle_leave(ri_stream_t *stream, const ri_wire_msg_t *msg);
void ri_way_handle_left(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg);

#endif
