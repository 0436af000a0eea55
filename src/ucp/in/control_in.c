/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Control messages that have come. One handler per type; each may be called at any time, any
 * number of times: what does not fit the state is counted and ignored.
 */
#include "../link/control.h"
#include "../proto/rndv/am_rndv.h"
#include "../proto/pool/hybrid.h"
#include "../link/planes.h"
#include "../link/rdma_channel.h"
#include "../proto/rtr/recv_rndv_message.h"
#include "../proto/rtr/recv_rndv_ud.h"
#include "../link/ring_channel.h"
#include "../proto/rndv/rndv.h"
#include "../proto/rtr/rtr_message.h"
#include "../proto/rtr/rtr_used.h"
#include "../proto/rndv/send_rndv_put.h"
#include "../proto/rndv/send_rndv_ud.h"
#include "../../ucs/log.h"
#include "../core/rma.h"
#include "../core/send_req.h"

static void control_handle_conn_req(ri_worker_t *worker, ri_stream_t *stream,
                                    const ri_wire_msg_t *msg, ucp_ep_h reply_ep)
{
    ri_conn_t *conn               = (reply_ep != NULL) ? ri_conn_find(reply_ep) : NULL;
    const ri_wire_worker_t remote = {.uid = msg->hello.uid, .am_id = msg->hello.am_id};
    uint32_t lent                 = 0; /* id of a conn that must not outlive this call */

    /* UCX re-uses the memory of endpoints that it made for replies and gave up. A conn of
     * the application's is left as it is, whatever the peer says. */
    if ((conn != NULL) && !(conn->flags & (RI_CONN_USER | RI_CONN_SELF)) &&
        (conn->peer != NULL) && (conn->peer->uid != msg->hello.uid)) {
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
        conn = NULL;
    }
    if ((reply_ep != NULL) && (conn == NULL)) {
        if (ri_conn_create(worker, reply_ep, &remote, UCS_OK, 0, &conn) == UCS_OK) {
            lent = (msg->value & RI_WIRE_CONN_REQ_PEER) ? conn->id : 0;
        }
    } else if ((conn != NULL) && (conn->peer == NULL) && !(conn->flags & RI_CONN_SELF)) {
        ri_conn_set_peer(conn, &remote);
    }
    stream->acked = 0; /* it asks, so it has not got an earlier answer yet */
    ri_control_ack(stream);

    /* Stock frees an endpoint that the application does not have when its connection fails,
     * and tells nobody. It is there now, as it was handed over. */
    if ((lent != 0) && (ri_id_get(&worker->conn_ids, lent) == conn)) {
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
    }
}

static void control_set_remote_id(ri_conn_t *conn, uint32_t id)
{
    ri_conn_stop_timeout(conn);
    conn->remote_id = id;
    ri_conn_update_fast(conn);
    ri_conn_say_lost(conn);
    ri_planes_ask_wanted(conn);
}

static void control_handle_conn_ack(ri_worker_t *worker, ri_conn_t *conn,
                                    const ri_wire_msg_t *msg)
{
    if (!ri_wire_id_is_valid(msg->value) || !ri_wire_uid_is_valid(msg->uid)) {
        ++worker->counters.rx_malformed;
        return;
    }
    if ((conn->peer == NULL) &&
        (ri_conn_set_peer(conn, &(ri_wire_worker_t){.uid = msg->uid}) != UCS_OK)) {
        return;
    }
    if (conn->peer->uid != msg->uid) {
        ++worker->counters.rx_malformed;
        return;
    }
    control_set_remote_id(conn, msg->value);
}

static void control_handle_ring_offer(ri_worker_t *worker, ri_conn_t *conn,
                                      const ri_wire_msg_t *msg)
{
    if (!ri_wire_id_is_valid(msg->ring_stream_id)) {
        ++worker->counters.rx_malformed;
        return;
    }
    control_set_remote_id(conn, msg->ring_stream_id);
    ri_ring_channel_open(conn, msg);
}

/* A ring was offered to, or asked back from, a conn that is closed or has failed. Its owner
 * must not wait. */
static void control_refuse_ring(ri_worker_t *worker, const ri_wire_msg_t *msg)
{
    uint32_t stream_id = (msg->type == RI_WIRE_RING_OFFER) ? msg->ring_stream_id :
                                                             msg->value;
    ri_peer_t *peer;
    ri_conn_t *conn;

    if (((msg->type != RI_WIRE_RING_OFFER) && (msg->type != RI_WIRE_RING_STOP)) ||
        !ri_wire_id_is_valid(stream_id)) {
        return;
    }
    peer = ri_map_get(&worker->peers, msg->uid);
    conn = (peer != NULL) ? ri_peer_way_out(peer) : NULL;
    if (conn != NULL) {
        ri_control_send(conn, RI_WIRE_RING_REFUSE, stream_id, 0);
    }
}

static void control_handle_sync_ack(ri_worker_t *worker, ri_conn_t *conn,
                                    const ri_wire_msg_t *msg)
{
    ri_send_req_t *req = ri_id_get(&worker->req_ids, msg->value);

    if ((req == NULL) || (req->conn != conn) || (req->wire_type != RI_WIRE_EAGER_SYNC) ||
        !(req->waiting & RI_SEND_WAIT_MATCH)) {
        ++worker->counters.rx_stale;
        return;
    }
    ri_send_end_wait(req, RI_SEND_WAIT_MATCH, UCS_OK);
}

/* The value tells whether operations were started after the question; then the next
 * message asks again. */
static void control_handle_order_ack(ri_worker_t *worker, ri_conn_t *conn,
                                     const ri_wire_msg_t *msg)
{
    if (!(conn->flags & RI_CONN_ORDER_ASKED)) {
        ++worker->counters.rx_stale;
        return;
    }
    conn->flags &= ~RI_CONN_ORDER_ASKED;
    if (msg->value == conn->rma_count) {
        ri_rma_ordered(conn);
    }
}

/* Whether a conn lost a number, and waits for the end of what was sent before that. */
static int control_has_left(const ri_conn_t *conn)
{
    return (conn->flags & RI_CONN_LOST) &&
           (!ucs_list_is_empty((ucs_list_link_t *)&conn->sends) ||
            !ucs_list_is_empty((ucs_list_link_t *)&conn->lent));
}

/* The peer has broken the conn's stream. Stock knows nothing of it, so this ends what it
 * would end if its endpoint had failed. */
static void control_handle_reset(ri_worker_t *worker, ri_conn_t *conn,
                                 const ri_wire_msg_t *msg)
{
    int peer_mode = !!(conn->flags & RI_CONN_PEER_MODE);
    uint32_t id   = conn->id;

    if ((msg->value != conn->serial) || (conn->flags & RI_CONN_SELF) ||
        ((conn->status != UCS_OK) && !control_has_left(conn))) {
        ++worker->counters.rx_stale;
        return;
    }

    ri_error("a peer has ended the connection to it: "
             "it lost a message of this process, or got one that it does not understand; "
             "it has printed a line that says more");
    ri_conn_say_over(conn);
    if (ri_id_get(&worker->conn_ids, id) == conn) {
        ri_conn_fail(conn, UCS_ERR_CONNECTION_RESET);
    }
    if (peer_mode) {
        ri_conn_tell_failure(worker, id, UCS_ERR_CONNECTION_RESET);
    }
}

/* A message that is addressed to a stream. */
static void control_handle_to_stream(ri_worker_t *worker, const ri_wire_msg_t *msg)
{
    ri_stream_t *stream = ri_id_get(&worker->stream_ids, msg->id);

    if (stream == NULL) {
        ++worker->counters.rx_stale;
        return;
    }

    switch (msg->type) {
    case RI_WIRE_RING_REFUSE:
        ri_ring_channel_refused(stream);
        break;
    case RI_WIRE_ORDER_REQ:
        ri_control_answer(stream, RI_WIRE_ORDER_ACK, msg->value);
        break;
    case RI_WIRE_PLANE_REQ:
        ri_planes_handle_req(stream, msg);
        break;
    case RI_WIRE_WRITTEN:
        ri_send_rndv_put_handle_written(stream, msg);
        break;
    case RI_WIRE_RING_REQ:
        ri_ring_channel_consider(stream);
        break;
    case RI_WIRE_REVOKED:
        ri_rtr_message_handle_revoked(stream, msg);
        break;
    case RI_WIRE_USED:
        ri_rtr_used_handle(stream, msg);
        break;
    case RI_WIRE_ABANDON:
        ri_send_rndv_ud_handle_abandon(stream, msg);
        break;
    case RI_WIRE_CHANNEL_ACCEPT:
        ri_rdma_channel_handle_accept(stream, msg);
        break;
    case RI_WIRE_CHANNEL_CLOSE:
        ri_rdma_channel_handle_close(stream, msg);
        break;
    case RI_WIRE_CHANNEL_AGAIN:
        ri_rdma_channel_handle_again(stream, msg);
        break;
    default: /* RI_WIRE_BYE */
        stream->closed    = 1;
        stream->closed_sn = msg->value;
        stream->ring_dead = 1; /* if there is one that was not even mapped */
        if ((stream->num_named > 0) &&
            ((int32_t)(stream->next_sn - stream->closed_sn) > 1)) {
            /* By USED. The data does not come, and its sender may have ended others. */
            stream->closed_sn = stream->next_sn - 1;
            ri_stream_break(stream, "a message that was lost after its turn");
        }
        ri_stream_check_closed(stream);
        break;
    }
}

void ri_control_handle(ri_worker_t *worker, ri_stream_t *stream, const ri_wire_msg_t *msg,
                       ucp_ep_h reply_ep)
{
    ri_conn_t *conn = NULL;

    ++worker->counters.rx_control;
    ri_trace(&worker->trace, RI_TRACE_CONTROL_RX, msg->type, msg->value);

    switch (msg->type) {
    case RI_WIRE_CONN_REQ:
        control_handle_conn_req(worker, stream, msg, reply_ep);
        return;
    case RI_WIRE_RING_REFUSE:
    case RI_WIRE_ORDER_REQ:
    case RI_WIRE_PLANE_REQ:
    case RI_WIRE_BYE:
    case RI_WIRE_WRITTEN:
    case RI_WIRE_RING_REQ:
    case RI_WIRE_REVOKED:
    case RI_WIRE_USED:
    case RI_WIRE_ABANDON:
    case RI_WIRE_CHANNEL_ACCEPT:
    case RI_WIRE_CHANNEL_CLOSE:
    case RI_WIRE_CHANNEL_AGAIN:
        control_handle_to_stream(worker, msg);
        return;
    default:
        break;
    }

    conn = ri_id_get(&worker->conn_ids, msg->id);
    if (msg->type == RI_WIRE_REVOKE) {
        ri_recv_rndv_message_handle_revoke(worker, conn, msg);
        return;
    }
    if (msg->type == RI_WIRE_CHANNEL_OFFER) {
        ri_rdma_channel_handle_offer(worker, conn, msg);
        return;
    }
    if (msg->type == RI_WIRE_CHANNEL_STOP) {
        ri_rdma_channel_handle_stop(worker, conn, msg);
        return;
    }
    if (conn == NULL) {
        ++worker->counters.rx_stale;
        control_refuse_ring(worker, msg);
        return;
    }

    switch (msg->type) {
    case RI_WIRE_CONN_ACK:
        control_handle_conn_ack(worker, conn, msg);
        break;
    case RI_WIRE_SYNC_ACK:
        control_handle_sync_ack(worker, conn, msg);
        break;
    case RI_WIRE_RING_OFFER:
        control_handle_ring_offer(worker, conn, msg);
        break;
    case RI_WIRE_RING_STOP:
        if (conn->status != UCS_OK) {
            /* What is left in the ring may never have its turn. */
            control_refuse_ring(worker, msg);
        }
        ri_ring_channel_stop(conn);
        break;
    case RI_WIRE_ORDER_ACK:
        control_handle_order_ack(worker, conn, msg);
        break;
    case RI_WIRE_RESET:
        control_handle_reset(worker, conn, msg);
        break;
    case RI_WIRE_PLANE_ACK:
        ri_planes_handle_ack(worker, conn, msg);
        break;
    case RI_WIRE_FIN:
        ri_rndv_handle_fin(worker, conn, msg);
        break;
    case RI_WIRE_NACK:
        if (msg->flags & RI_WIRE_NACK_POOL) {
            ri_hybrid_handle_nack(worker, conn, msg);
        } else {
            ri_am_rndv_handle_nack(worker, conn, msg);
        }
        break;
    case RI_WIRE_RELEASE:
        ri_hybrid_handle_release(worker, conn, msg);
        break;
    case RI_WIRE_CLOSING:
        ri_peer_note_closing(conn->peer);
        break;
    case RI_WIRE_CTS:
        ri_send_rndv_put_handle_cts(worker, conn, msg);
        break;
    case RI_WIRE_TARGET:
        ri_send_rndv_ud_handle_target(worker, conn, msg);
        break;
    case RI_WIRE_RTR:
        ri_recv_rndv_message_handle_rtr(conn, msg);
        break;
    case RI_WIRE_RTR_UD:
        ri_recv_rndv_ud_handle_rtr(worker, conn, msg);
        break;
    default:
        ++worker->counters.rx_malformed;
        break;
    }
}
