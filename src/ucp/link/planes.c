/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "planes.h"
#include "../core/module.h"
#include "control.h"
#include "../../ucs/settings.h"

#include <limits.h>
#include <string.h>

void ri_planes_open(ri_worker_t *worker)
{
    worker->plane   = NULL;
    worker->rdma    = NULL;
    worker->ud      = NULL;
    worker->process = ri_host_process_self();
    if (ri_config.cma) {
        ri_plane_cma.open(&worker->plane);
    }
    if ((ri_config.ib_devices[0] != '\0') && ri_config.use_rc) {
        ri_plane_rc.open(&worker->rdma);
    }
    /* Late questions of a sender do not wake who sleeps. */
    if ((ri_config.ib_devices[0] != '\0') && ri_config.use_ud &&
        !(worker->context->features & UCP_FEATURE_WAKEUP)) {
        ri_plane_ud.open(&worker->ud);
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

void ri_planes_withdraw(ri_worker_t *worker)
{
    ri_conn_t *conn;

    ucs_list_for_each(conn, &worker->conns, list) {
        if (conn->ring != NULL) {
            ri_ring_tx_leave(conn->ring);
        }
    }
    if ((worker->plane != NULL) && (worker->plane->ops->withdraw != NULL)) {
        worker->plane->ops->withdraw(worker->plane);
    }
}

void ri_planes_close(ri_worker_t *worker)
{
    planes_close(&worker->plane);
    planes_close(&worker->rdma);
    planes_close(&worker->ud);
}

/* What is said of this process: how to reach it, or else only how to look for it. */
static void planes_send_local(ri_conn_t *conn, ri_wire_type_t type, uint32_t id,
                              uint32_t value, ri_wire_plane_id_t which)
{
    ri_worker_t *worker = conn->worker;
    ri_wire_plane_t msg = {.base.value = value, .plane = which};

    msg.base.type = type;
    if ((which == RI_WIRE_PLANE_CMA) && (worker->plane != NULL)) {
        msg.length = worker->plane->ops->address(worker->plane, msg.address);
    } else if (worker->process.host != 0) {
        msg.length = sizeof(worker->process);
        memcpy(msg.address, &worker->process, msg.length);
    }
    ri_control_send_plane(conn, id, &msg);
}

/* Ask about this host, once. */
static void planes_ask_local(ri_conn_t *conn)
{
    const ri_worker_t *worker = conn->worker;

    if (!(conn->flags & RI_CONN_PLANE_ASKED) &&
        ((worker->plane != NULL) || (worker->process.host != 0))) {
        conn->flags |= RI_CONN_PLANE_ASKED;
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
        conn->flags |= RI_CONN_PLANE_TOLD;
        RI_MODULES_TELL(conn_writes, conn);
        planes_send_local(conn, RI_WIRE_PLANE_REQ, conn->remote_id, RI_WIRE_PLANE_WRITES,
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

    if (((worker->plane == NULL) && (worker->rdma == NULL) && (worker->ud == NULL)) ||
        (conn->flags & (RI_CONN_SELF | RI_CONN_PEER_MODE))) {
        return;
    }
    conn->flags |= RI_CONN_LONG;
    if (conn->remote_id == 0) {
        conn->flags |= RI_CONN_PLANE_WANTED;
        ri_control_ask(conn);
        return;
    }
    planes_ask_local(conn);
    planes_tell(conn);
    if ((worker->plane == NULL) || (conn->flags & RI_CONN_PLANE_REFUSED)) {
        ri_planes_ask_rdma(conn);
    }
}

void ri_planes_ask_wanted(ri_conn_t *conn)
{
    if (conn->flags & RI_CONN_PLANE_WANTED) {
        conn->flags &= ~RI_CONN_PLANE_WANTED;
        ri_planes_ask(conn);
    }
}

/* Forget a way. */
static void planes_end(ri_plane_ep_t **ep_p)
{
    ri_plane_ep_t *ep = *ep_p;

    if (ep != NULL) {
        *ep_p = NULL;
        ep->plane->ops->disconnect(ep);
    }
}

/* Reach the process that a peer says it is. */
static int planes_connect_local(ri_worker_t *worker, ri_peer_t *peer,
                                const ri_wire_msg_t *msg)
{
    ri_plane_ep_t *ep = NULL;

    if (peer->plane_ep != NULL) {
        return 1;
    }
    if ((worker->plane == NULL) ||
        (worker->plane->ops->connect(worker->plane, msg->plane_address,
                                     msg->plane_address_length, &ep) != UCS_OK)) {
        return 0; /* what is known of the peer stays */
    }
    planes_end(&peer->lost_ep);
    peer->plane_ep     = ep;
    peer->gone         = 0;
    worker->gone_local = 1;
    return 1;
}

/* Whether a peer can be looked for that says to be @a process, which is wire input. */
static int planes_may_look(const ri_worker_t *worker, const ri_host_process_t *process)
{
    return (worker->process.host != 0) && (process->host == worker->process.host) &&
           (process->pid != 0) && (process->pid <= INT_MAX);
}

void ri_planes_learn_process(ri_conn_t *conn, ri_host_process_t process)
{
    ri_peer_t *peer = conn->peer;

    if ((peer != NULL) && (peer->process.host == 0) &&
        planes_may_look(conn->worker, &process)) {
        peer->process            = process;
        conn->worker->gone_local = 1;
    }
}

/* No way leads to the peer, but who it is tells when it has ended: by now, perhaps. So the number
 * of a process of another host must not be looked for here. Both addresses of this host begin
 * with that. @return Whether it runs. */
static int planes_note_process(ri_worker_t *worker, ri_peer_t *peer,
                               const ri_wire_msg_t *msg)
{
    ri_host_process_t process;
    ri_host_look_t look;

    if (msg->plane_address_length < sizeof(process)) {
        return 0;
    }
    memcpy(&process, msg->plane_address, sizeof(process));
    if (!planes_may_look(worker, &process)) {
        return 0;
    }
    look = ri_host_process_look(&process);
    if (look == RI_HOST_UNKNOWN) {
        return 0;
    }
    peer->process      = process;
    worker->gone_local = 1;
    return look == RI_HOST_RUNS;
}

static int planes_connect(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg)
{
    int connected = 0;

    if (msg->plane_address_length > sizeof(msg->plane_address)) {
        /* no address */
    } else if (msg->plane == RI_WIRE_PLANE_PROCESS) {
        return planes_note_process(worker, peer, msg);
    } else if (msg->plane == RI_WIRE_PLANE_CMA) {
        connected = planes_connect_local(worker, peer, msg) ||
                    (planes_note_process(worker, peer, msg), 0);
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
    ri_conn_t *conn     = ri_peer_way_out(peer);
    uint32_t value;

    if (msg->value & RI_WIRE_PLANE_WRITES) {
        if (planes_is_net(msg)) {
            /* said once, also if this side has lost its end meanwhile */
            RI_MODULES_TELL(stream_written, stream);
        } else {
            stream->plane_write = 1;
        }
        return;
    }
    if (planes_is_net(msg)) {
        ri_planes_handle_rdma_req(stream, msg);
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
        ri_planes_handle_rdma_ack(worker, conn, msg);
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
        conn->flags |= RI_CONN_PLANE_READ;
    } else {
        ++worker->counters.planes_refused;
        conn->flags |= RI_CONN_PLANE_REFUSED;
        if (conn->flags & RI_CONN_LONG) {
            ri_planes_ask_rdma(conn);
        }
    }
    if (planes_connect(worker, conn->peer, msg) &&
        (worker->plane->capabilities & RI_PLANE_WRITE)) {
        conn->flags |= RI_CONN_PLANE_WRITE;
        planes_tell(conn);
    }
}

int ri_planes_is_gone(const ri_peer_t *peer)
{
    ri_plane_ep_t *ep = (peer->plane_ep != NULL) ? peer->plane_ep : peer->lost_ep;

    if (ep != NULL) {
        return ep->plane->ops->check(ep) != UCS_OK;
    }
    return peer->gone || ((peer->process.host != 0) &&
                          (ri_host_process_look(&peer->process) == RI_HOST_GONE));
}

int ri_planes_is_local(const ri_peer_t *peer)
{
    return (peer->plane_ep != NULL) || (peer->lost_ep != NULL) || peer->gone ||
           (peer->process.host != 0);
}

void ri_planes_failed(ri_worker_t *worker, ri_peer_t *peer)
{
    if (peer->plane_ep == NULL) {
        return;
    }
    ++worker->counters.planes_failed;
    peer->gone = ri_planes_is_gone(peer);
    if (peer->gone) {
        ri_planes_disconnect(peer);
    } else { /* it may end later */
        planes_end(&peer->lost_ep);
        peer->lost_ep  = peer->plane_ep;
        peer->plane_ep = NULL;
    }
}

void ri_planes_disconnect(ri_peer_t *peer)
{
    planes_end(&peer->lost_ep);
    planes_end(&peer->plane_ep);
}

static void planes_peer_freed(ri_worker_t *worker, ri_peer_t *peer)
{
    ri_planes_disconnect(peer);
    ri_planes_disconnect_rdma(worker, peer);
}

const ri_module_t ri_module_planes = {.name = "planes", .peer_freed = planes_peer_freed};
