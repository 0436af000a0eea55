/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "planes.h"
#include "control.h"
#include "recv_rndv.h"
#include "../core/config.h"

void ri_planes_open(ri_worker_t *worker)
{
    worker->plane = NULL;
    worker->rdma  = NULL;
    if (ri_config.cma) {
        ri_plane_cma.open(&worker->plane);
    }
    if (ri_config.ib_devices[0] != '\0') {
        ri_plane_rc.open(&worker->rdma);
    }
}

void ri_planes_close(ri_worker_t *worker)
{
    if (worker->plane != NULL) {
        worker->plane->ops->close(worker->plane);
        worker->plane = NULL;
    }
    if (worker->rdma != NULL) {
        worker->rdma->ops->close(worker->rdma);
        worker->rdma = NULL;
    }
}

static void planes_send_local(ri_conn_t *conn, ri_wire_type_t type, uint32_t id,
                              uint32_t value)
{
    ri_plane_t *plane   = conn->worker->plane;
    ri_wire_plane_t msg = {.base.value = value, .plane = RI_WIRE_PLANE_CMA};

    msg.base.type = type;
    if (plane != NULL) {
        msg.length = plane->ops->address(plane, msg.address);
    }
    ri_control_send_plane(conn, id, &msg);
}

void ri_planes_ask(ri_conn_t *conn)
{
    int local     = (conn->worker->plane != NULL) && !(conn->flags & RI_CONN_RDMA_WANTED);
    uint32_t done = local ? RI_CONN_PLANE_ASKED : RI_CONN_RDMA_ASKED;

    if ((!local && (conn->worker->rdma == NULL)) ||
        (conn->flags & (done | RI_CONN_SELF | RI_CONN_PEER_MODE))) {
        return;
    }
    if (conn->remote_id == 0) {
        conn->flags |= RI_CONN_PLANE_WANTED;
        ri_control_ask(conn);
        return;
    }
    if (!local) {
        ri_planes_ask_rdma(conn);
        return;
    }
    conn->flags |= RI_CONN_PLANE_ASKED;
    planes_send_local(conn, RI_WIRE_PLANE_REQ, conn->remote_id, 0);
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
    if (worker->plane == NULL) {
        return 0;
    }
    if (peer->plane_ep == NULL) {
        planes_end(&peer->lost_ep);
        peer->gone = 0;
    }
    if ((peer->plane_ep == NULL) &&
        (worker->plane->ops->connect(worker->plane, msg->plane_address,
                                     msg->plane_address_length,
                                     &peer->plane_ep) != UCS_OK)) {
        peer->plane_ep = NULL;
    }
    return peer->plane_ep != NULL;
}

static int planes_connect(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg)
{
    int connected = 0;

    if (msg->plane_address_length > sizeof(msg->plane_address)) {
        /* no address */
    } else if (msg->plane == RI_WIRE_PLANE_CMA) {
        connected = planes_connect_local(worker, peer, msg);
    }
    worker->counters.planes_refused += !connected;
    return connected;
}

void ri_planes_handle_req(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = stream->worker;
    ri_peer_t *peer     = stream->peer;
    ri_conn_t *conn     = ri_peer_way_out(peer);
    uint32_t value;

    if (msg->value & RI_WIRE_PLANE_WRITES) {
        stream->plane_write = 1;
        return;
    }
    if (msg->plane == RI_WIRE_PLANE_RC) {
        ri_planes_handle_rdma_req(stream, msg);
        return;
    }
    value = planes_connect(worker, peer, msg) ? RI_WIRE_PLANE_REACHED : 0;
    ri_trace(&worker->trace, RI_TRACE_PLANE, peer->uid, value);
    if (conn != NULL) {
        planes_send_local(conn, RI_WIRE_PLANE_ACK, stream->remote_conn_id, value);
    }
}

void ri_planes_handle_ack(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    if ((conn->peer != NULL) && (msg->plane == RI_WIRE_PLANE_RC)) {
        ri_planes_handle_rdma_ack(worker, conn, msg);
        return;
    }
    if (!(conn->flags & RI_CONN_PLANE_ASKED) || (conn->peer == NULL)) {
        ++worker->counters.rx_stale;
        return;
    }
    if (msg->value & RI_WIRE_PLANE_REACHED) {
        conn->flags |= RI_CONN_PLANE_READ;
    } else {
        ++worker->counters.planes_refused;
        conn->flags |= RI_CONN_RDMA_WANTED;
        ri_planes_ask_rdma(conn);
    }
    if (planes_connect(worker, conn->peer, msg) &&
        (worker->plane->capabilities & RI_PLANE_WRITE) &&
        !(conn->flags & RI_CONN_PLANE_WRITE)) {
        conn->flags |= RI_CONN_PLANE_WRITE;
        ri_recv_rndv_open(conn);
        planes_send_local(conn, RI_WIRE_PLANE_REQ, conn->remote_id, RI_WIRE_PLANE_WRITES);
    }
}

int ri_planes_is_gone(const ri_peer_t *peer)
{
    ri_plane_ep_t *ep = (peer->plane_ep != NULL) ? peer->plane_ep : peer->lost_ep;

    return (ep != NULL) ? (ep->plane->ops->check(ep) != UCS_OK) : peer->gone;
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
