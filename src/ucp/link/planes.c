/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Planes are opened when the worker begins. Then each side asks the other one once what it can
 * reach, by PLANE_REQ and PLANE_ACK; of ways through a network way_open.c does that.
 */
#include "planes.h"
#include "../core/types/module.h"
#include "control.h"
#include "local.h"
#include "way.h"
#include "way_open.h"
#include "../../ucs/settings.h"

#include <string.h>

static ucs_status_t planes_worker_made(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->net.ways);
    return UCS_OK;
}

/* Open the planes that this process can use: worker->plane, worker->net.rc and worker->net.ud,
 * which are NULL where one is not wanted or does not work. Find out who this process is to
 * others on the host. */
static void planes_worker_starts(ri_worker_t *worker)
{
    worker->plane        = NULL;
    worker->net.rc       = NULL;
    worker->net.ud       = NULL;
    worker->self.process = ri_host_process_self();
    if (ri_config.cma) {
        ri_plane_cma.open(&worker->plane);
    }
    if ((ri_config.ib_devices[0] != '\0') && ri_config.use_rc) {
        ri_plane_rc.open(&worker->net.rc);
    }
    /* Late questions of a sender do not wake who sleeps. */
    if ((ri_config.ib_devices[0] != '\0') && ri_config.use_ud &&
        !(worker->context->features & UCP_FEATURE_WAKEUP)) {
        ri_plane_ud.open(&worker->net.ud);
    }
    RI_MODULES_TELL(planes_opened, worker);
}

static void planes_close(ri_plane_t **plane_p)
{
    ri_plane_t *plane = *plane_p;

    if (plane != NULL) {
        *plane_p = NULL;
        plane->ops->close(plane);
    }
}

void ri_planes_leave(ri_worker_t *worker)
{
    ri_conn_t *conn;

    ucs_list_for_each(conn, &worker->conns, list) {
        if (conn->ring != NULL) {
            ri_ring_tx_leave(conn->ring);
        }
    }
    if ((worker->plane != NULL) && (worker->plane->ops->leave != NULL)) {
        worker->plane->ops->leave(worker->plane);
    }
}

/* No way of planes is left, and no memory is registered with them. */
static void planes_worker_closes(ri_worker_t *worker)
{
    planes_close(&worker->plane);
    planes_close(&worker->net.rc);
    planes_close(&worker->net.ud);
}

/* Tell how to reach this process, or else only how to look for it. */
static void planes_send_local(ri_conn_t *conn, ri_wire_type_t type, uint32_t id,
                              uint32_t value, ri_wire_plane_id_t which)
{
    ri_worker_t *worker = conn->worker;
    ri_wire_msg_t msg   = {.type = type, .id = id, .value = value, .plane = which};

    if ((which == RI_WIRE_PLANE_CMA) && (worker->plane != NULL)) {
        msg.plane_address_length = worker->plane->ops->address(worker->plane,
                                                               msg.plane_address);
    } else if (worker->self.process.host != 0) {
        msg.plane_address_length = sizeof(worker->self.process);
        memcpy(msg.plane_address, &worker->self.process, sizeof(worker->self.process));
    }
    ri_control_send_on(conn, &msg);
}

/* Ask about this host, once. */
static void planes_ask_local(ri_conn_t *conn)
{
    const ri_worker_t *worker = conn->worker;

    if (!(conn->flags & RI_CONN_PLANE_ASKED) &&
        ((worker->plane != NULL) || (worker->self.process.host != 0))) {
        ri_conn_set_flags(conn, RI_CONN_PLANE_ASKED);
        planes_send_local(conn, RI_WIRE_PLANE_REQ, conn->remote_id, 0,
                          (worker->plane != NULL) ? RI_WIRE_PLANE_CMA :
                                                    RI_WIRE_PLANE_PROCESS);
    }
}

/* RTRs cost each message something, so they are for conns that have use for them. */
static void planes_tell(ri_conn_t *conn)
{
    uint32_t flags = RI_CONN_LONG | RI_CONN_PLANE_WRITE;

    if ((conn->flags & (flags | RI_CONN_PLANE_TOLD)) == flags) {
        ri_conn_set_flags(conn, RI_CONN_PLANE_TOLD);
        RI_MODULES_TELL(conn_can_write, conn);
        planes_send_local(conn, RI_WIRE_PLANE_REQ, conn->remote_id,
                          RI_WIRE_PLANE_WRITES | RI_WIRE_PLANE_GRIDS |
                                  RI_WIRE_PLANE_LAYOUTS,
                          RI_WIRE_PLANE_CMA);
    }
}

void ri_planes_find(ri_conn_t *conn)
{
    if ((conn->remote_id != 0) && !(conn->flags & (RI_CONN_SELF | RI_CONN_PEER_MODE))) {
        planes_ask_local(conn);
    }
}

void ri_planes_ask(ri_conn_t *conn)
{
    const ri_worker_t *worker = conn->worker;

    if (((worker->plane == NULL) && (worker->net.rc == NULL) &&
         (worker->net.ud == NULL)) ||
        (conn->flags & (RI_CONN_SELF | RI_CONN_PEER_MODE))) {
        return;
    }
    ri_conn_set_flags(conn, RI_CONN_LONG);
    if (conn->remote_id == 0) {
        ri_conn_set_flags(conn, RI_CONN_PLANE_WANTED);
        ri_control_ask(conn);
        return;
    }
    planes_ask_local(conn);
    planes_tell(conn);
    if ((worker->plane == NULL) || (conn->flags & RI_CONN_PLANE_REFUSED)) {
        ri_way_open_ask(conn);
    }
}

void ri_planes_ask_wanted(ri_conn_t *conn)
{
    if (conn->flags & RI_CONN_PLANE_WANTED) {
        ri_conn_clear_flags(conn, RI_CONN_PLANE_WANTED);
        ri_planes_ask(conn);
    }
}

static int planes_connect(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg)
{
    int connected = 0;

    if (msg->plane_address_length > sizeof(msg->plane_address)) {
        /* no address */
    } else if (msg->plane == RI_WIRE_PLANE_PROCESS) {
        return ri_local_note(worker, peer, msg);
    } else if (msg->plane == RI_WIRE_PLANE_CMA) {
        connected = ri_local_connect(worker, peer, msg) ||
                    (ri_local_note(worker, peer, msg), 0);
    }
    worker->counters.planes_refused += !connected;
    return connected;
}

/* Whether a message is about a way through a network. */
static int planes_is_net(const ri_wire_msg_t *msg)
{
    return (msg->plane == RI_WIRE_PLANE_RC) || (msg->plane == RI_WIRE_PLANE_UD);
}

void ri_planes_handle_req(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = stream->worker;
    ri_peer_t *peer     = stream->peer;
    ri_conn_t *conn     = ri_peer_usable_conn(peer);
    uint32_t value;

    if (msg->value & RI_WIRE_PLANE_WRITES) {
        if (planes_is_net(msg)) {
            /* said once, also if this side has lost its end meanwhile */
            RI_MODULES_TELL(stream_will_be_written, stream);
            stream->way.grids   = !!(msg->value & RI_WIRE_PLANE_GRIDS);
            stream->way.layouts = !!(msg->value & RI_WIRE_PLANE_LAYOUTS);
        } else {
            stream->plane.any     = 1;
            stream->plane.grids   = !!(msg->value & RI_WIRE_PLANE_GRIDS);
            stream->plane.layouts = !!(msg->value & RI_WIRE_PLANE_LAYOUTS);
        }
        return;
    }
    if (planes_is_net(msg)) {
        ri_way_open_handle_req(stream, msg);
        return;
    }
    value = planes_connect(worker, peer, msg) ? RI_WIRE_PLANE_REACHED : 0;
    ri_trace(&worker->trace, RI_TRACE_PLANE, peer->uid, value);
    if (conn != NULL) {
        planes_send_local(conn, RI_WIRE_PLANE_ACK, stream->remote_conn_id, value,
                          (msg->plane == RI_WIRE_PLANE_PROCESS) ? RI_WIRE_PLANE_PROCESS :
                                                                  RI_WIRE_PLANE_CMA);
    }
}

void ri_planes_handle_ack(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    int is_process = (msg->plane == RI_WIRE_PLANE_PROCESS);

    if ((conn->peer != NULL) && planes_is_net(msg)) {
        ri_way_open_handle_ack(worker, conn, msg);
        return;
    }
    if (!(conn->flags & RI_CONN_PLANE_ASKED) || (conn->peer == NULL) ||
        (is_process != (worker->plane == NULL))) {
        ++worker->counters.rx_stale;
        return;
    }
    if (is_process) {
        planes_connect(worker, conn->peer, msg);
        return;
    }
    if (msg->value & RI_WIRE_PLANE_REACHED) {
        ri_conn_set_flags(conn, RI_CONN_PLANE_READ);
    } else {
        ++worker->counters.planes_refused;
        ri_conn_set_flags(conn, RI_CONN_PLANE_REFUSED);
        if (conn->flags & RI_CONN_LONG) {
            ri_way_open_ask(conn);
        }
    }
    if (planes_connect(worker, conn->peer, msg) &&
        (worker->plane->capabilities & RI_PLANE_WRITE)) {
        ri_conn_set_flags(conn, RI_CONN_PLANE_WRITE);
        planes_tell(conn);
    }
}

static void planes_peer_made(ri_worker_t *worker, ri_peer_t *peer)
{
    (void)worker;
    peer->way.kind = RI_WIRE_PLANE_RC;
}

static void planes_peer_freed(ri_worker_t *worker, ri_peer_t *peer)
{
    ri_local_disconnect(peer);
    ri_way_end(worker, peer, RI_WAY_NONE);
}

const ri_module_t ri_module_planes = {.name          = "planes",
                                      .worker_made   = planes_worker_made,
                                      .worker_starts = planes_worker_starts,
                                      .worker_stops  = ri_planes_leave,
                                      .worker_closes = planes_worker_closes,
                                      .peer_made     = planes_peer_made,
                                      .peer_freed    = planes_peer_freed};
