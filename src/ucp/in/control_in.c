/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "control_in.h"
#include "../core/types/handler.h"

void ri_control_in_note(ri_worker_t *worker, const ri_wire_msg_t *msg)
{
    ++worker->counters.rx_control;
    ri_trace(&worker->trace, RI_TRACE_CONTROL_RX, msg->type, msg->value);
}

static void control_in_to_stream(ri_worker_t *worker, const ri_wire_msg_t *msg)
{
    ri_stream_t *stream = ri_id_get(&worker->ids.streams, msg->id);

    if (stream == NULL) {
        ++worker->counters.rx_stale;
        return;
    }
    ri_handlers[msg->type].to_stream(stream, msg);
}

static void control_in_to_conn(ri_worker_t *worker, const ri_wire_msg_t *msg,
                               ri_wire_to_t to)
{
    ri_conn_t *conn = ri_id_get(&worker->ids.conns, msg->id);

    /* Nobody has anything to say to a conn to the worker itself. */
    if (((conn == NULL) && (to != RI_WIRE_TO_CONN_OR_NONE)) ||
        ((conn != NULL) && (conn->flags & RI_CONN_SELF))) {
        ++worker->counters.rx_stale;
        return;
    }
    ri_handlers[msg->type].to_conn(worker, conn, msg);
}

void ri_control_in(ri_worker_t *worker, const ri_wire_msg_t *msg)
{
    ri_wire_to_t to = ri_wire_rows[msg->type].to;

    ri_control_in_note(worker, msg);
    if (to == RI_WIRE_TO_STREAM) {
        control_in_to_stream(worker, msg);
    } else {
        control_in_to_conn(worker, msg, to);
    }
}
