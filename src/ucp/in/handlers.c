/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of handlers at the end, and those of control messages that only touch conns, streams
 * and peers. All others are where their part of the protocol is.
 */
#include "../core/types/handler.h"
#include "channel_in.h"
#include "control_in.h"
#include "sequence_in.h"
#include "../core/rma_order.h"
#include "../core/send_req.h"
#include "../core/stream_ring.h"
#include "../link/control.h"
#include "../link/planes.h"
#include "../link/channel_life.h"
#include "../link/ring_life.h"
#include "../proto/eager/frag.h"
#include "../proto/pool/pool_send.h"
#include "../proto/rndv/am_rndv.h"
#include "../proto/rndv/rndv.h"
#include "../proto/rndv/rndv_put.h"
#include "../proto/rndv/rndv_ud.h"
#include "../proto/rtr/rtr_layout.h"
#include "../proto/rtr/rtr_send_host.h"
#include "../proto/rtr/rtr_send_ud.h"
#include "../proto/rtr/rtr_send_words.h"
#include "../proto/rtr/rtr_revoked.h"
#include "../proto/rtr/rtr_ud.h"
#include "../proto/rtr/rtr_used.h"
#include "../../ucs/log.h"

#include <string.h>

static ucs_status_t handle_frag(ri_worker_t *worker, ri_stream_t *stream,
                                const ri_wire_msg_t *msg, const ri_with_am_t *with)
{
    ri_frag_next(worker, msg);
    return UCS_OK;
}

static ucs_status_t handle_rndv_data(ri_worker_t *worker, ri_stream_t *stream,
                                     const ri_wire_msg_t *msg, const ri_with_am_t *with)
{
    int is_elsewhere = !!(with->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV);

    return ri_am_rndv_handle_data(stream, msg, is_elsewhere ? with->data : NULL);
}

static ucs_status_t handle_conn_req(ri_worker_t *worker, ri_stream_t *stream,
                                    const ri_wire_msg_t *msg, const ri_with_am_t *with)
{
    ucp_ep_h reply_ep             = with->reply_ep;
    ri_conn_t *conn               = (reply_ep != NULL) ? ri_conn_find(reply_ep) : NULL;
    const ri_wire_worker_t remote = {.uid = msg->hello.uid, .am_id = msg->hello.am_id};
    uint32_t lent                 = 0; /* id of a conn that must not outlive this call */

    ri_control_in_note(worker, msg);
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
    ri_stream_set_unacked(stream); /* it asks, so it has not got an earlier answer yet */
    ri_control_ack(stream);

    /* Stock frees an endpoint that the application does not have when its connection fails,
     * and tells nobody. It is there now, as it was handed over. */
    if ((lent != 0) && (ri_id_get(&worker->ids.conns, lent) == conn)) {
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
    }
    return UCS_OK;
}

static void handle_remote_id(ri_conn_t *conn, uint32_t id)
{
    ri_conn_stop_timeout(conn);
    conn->remote_id = id;
    ri_conn_update_fast(conn);
    ri_conn_say_lost(conn);
    ri_planes_ask_wanted(conn);
}

/* The peer of a conn says who it is, and by which id, of a stream, it knows the conn. It may be the
 * first to say so, to a conn that was made by a socket address. @return Whether that was taken. */
static int handle_introduction(ri_conn_t *conn, uint64_t uid, uint32_t remote_id)
{
    ri_worker_t *worker = conn->worker;

    if (!ri_wire_id_is_valid(remote_id) || !ri_wire_uid_is_valid(uid)) {
        ++worker->counters.rx_malformed;
        return 0;
    }
    if ((conn->peer == NULL) &&
        (ri_conn_set_peer(conn, &(ri_wire_worker_t){.uid = uid}) != UCS_OK)) {
        return 0;
    }
    if (conn->peer->uid != uid) {
        ++worker->counters.rx_malformed;
        return 0;
    }
    handle_remote_id(conn, remote_id);
    return 1;
}

static void handle_conn_ack(ri_worker_t *worker, ri_conn_t *conn,
                            const ri_wire_msg_t *msg)
{
    handle_introduction(conn, msg->uid, msg->value);
}

/* A ring was offered to, or asked back from, a conn that is closed or has failed. Its owner
 * must not wait. */
static void handle_refuse_ring(ri_worker_t *worker, uint64_t uid, uint32_t stream_id)
{
    ri_peer_t *peer;
    ri_conn_t *conn;

    if (!ri_wire_id_is_valid(stream_id)) {
        return;
    }
    peer = ri_map_get(&worker->peers, uid);
    conn = (peer != NULL) ? ri_peer_usable_conn(peer) : NULL;
    if (conn != NULL) {
        ri_control_send(conn, RI_WIRE_RING_REFUSE, stream_id, 0);
    }
}

static void handle_ring_offer(ri_worker_t *worker, ri_conn_t *conn,
                              const ri_wire_msg_t *msg)
{
    if (conn == NULL) {
        ++worker->counters.rx_stale;
        handle_refuse_ring(worker, msg->uid, msg->ring_stream_id);
        return;
    }
    if (handle_introduction(conn, msg->uid, msg->ring_stream_id)) {
        ri_ring_life_open(conn, msg);
    }
}

static void handle_ring_stop(ri_worker_t *worker, ri_conn_t *conn,
                             const ri_wire_msg_t *msg)
{
    if (conn == NULL) {
        ++worker->counters.rx_stale;
        handle_refuse_ring(worker, msg->uid, msg->value);
        return;
    }
    if (conn->status != UCS_OK) {
        /* Records that are left in the ring may never have their turn */
        handle_refuse_ring(worker, msg->uid, msg->value);
    }
    ri_ring_life_stop(conn);
}

static void handle_ring_refuse(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_ring_life_refused(stream);
}

static void handle_ring_req(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_ring_life_consider(stream);
}

/* The last record of a ring. */
static int handle_ring_close(ri_stream_t *stream, const ri_ring_record_t *record,
                             uint8_t type, uint32_t length)
{
    ri_ring_life_free(stream);
    ri_stream_check_closed(stream);
    return 1;
}

static void handle_sync_ack(ri_worker_t *worker, ri_conn_t *conn,
                            const ri_wire_msg_t *msg)
{
    ri_send_req_t *req = ri_id_get(&worker->ids.sends, msg->value);

    if ((req == NULL) || (req->conn != conn) || (req->wire_type != RI_WIRE_EAGER_SYNC) ||
        !(req->waiting & RI_SEND_WAIT_MATCH)) {
        ++worker->counters.rx_stale;
        return;
    }
    ri_send_end_wait(req, RI_SEND_WAIT_MATCH, UCS_OK);
}

/* The value tells whether operations were started after the question; then the next
 * message asks again. */
static void handle_order_ack(ri_worker_t *worker, ri_conn_t *conn,
                             const ri_wire_msg_t *msg)
{
    if (!(conn->flags & RI_CONN_ORDER_ASKED)) {
        ++worker->counters.rx_stale;
        return;
    }
    ri_conn_clear_flags(conn, RI_CONN_ORDER_ASKED);
    if (msg->value == conn->rma.count) {
        ri_rma_ordered(conn);
    }
}

/* Whether a conn lost a number, and waits for the end of what was sent before that. */
static int handle_has_left(const ri_conn_t *conn)
{
    return (conn->flags & RI_CONN_LOST) &&
           (!ucs_list_is_empty((ucs_list_link_t *)&conn->sends) ||
            !ucs_list_is_empty((ucs_list_link_t *)&conn->lent));
}

/* The peer has broken the conn's stream. Stock knows nothing of it, so this ends what it
 * would end if its endpoint had failed. */
static void handle_reset(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    int peer_mode = !!(conn->flags & RI_CONN_PEER_MODE);
    uint32_t id   = conn->id;

    if ((msg->value != conn->serial) || (conn->flags & RI_CONN_SELF) ||
        ((conn->status != UCS_OK) && !handle_has_left(conn))) {
        ++worker->counters.rx_stale;
        return;
    }

    ri_error("a peer has ended the connection from this process: it lost a message, or "
             "got one that it does not understand; its own output has the reason");
    ri_conn_say_over(conn);
    if (ri_id_get(&worker->ids.conns, id) == conn) {
        ri_conn_fail(conn, UCS_ERR_CONNECTION_RESET);
    }
    if (peer_mode) {
        ri_conn_tell_failure(worker, id, UCS_ERR_CONNECTION_RESET);
    }
}

static void handle_bye(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_stream_set_closed(stream, msg->value);
    ri_peer_note_bye(stream->peer, stream->remote_conn_id);
    ri_stream_ring_end(stream); /* if there is one that was not even mapped */
    if ((stream->rtr.num_named > 0) &&
        ((int32_t)(stream->next_sn - stream->closed_sn) > 1)) {
        /* By USED. The data does not come, and its sender may have ended others. */
        ri_stream_set_closed(stream, stream->next_sn - 1);
        ri_stream_break(stream, "a message that was lost after its turn");
    }
    ri_stream_check_closed(stream);
}

static void handle_closing(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_peer_note_closing(conn->peer);
}

static int handle_closing_record(ri_stream_t *stream, const ri_ring_record_t *record,
                                 uint8_t type, uint32_t length)
{
    ri_peer_note_closing(stream->peer);
    return 1;
}

static void handle_order_req(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_control_answer(stream, RI_WIRE_ORDER_ACK, msg->value);
}

static void handle_nack(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_handlers[ri_wire_nack_type(msg->flags)].nacked(worker, conn, msg);
}

/* In a ring, the payload says by its length how many there are. */
static int handle_release_record(ri_stream_t *stream, const ri_ring_record_t *record,
                                 uint8_t type, uint32_t length)
{
    uint32_t ids[RI_WIRE_RELEASE_MAX];

    if ((length == 0) || (length > sizeof(ids)) || (length % sizeof(ids[0]))) {
        return 0;
    }
    memcpy(ids, record->payload, length);
    ++stream->worker->counters.rx_control;
    ri_pool_send_released(stream->worker, stream->peer->uid, ids,
                          length / sizeof(ids[0]));
    return 1;
}

/* RTRs that come by active message could come by a channel, and are all that comes from who
 * does nothing but receive long messages. */
static void handle_note_rtr(ri_worker_t *worker, const ri_wire_msg_t *msg)
{
    const ri_conn_t *conn = ri_id_get(&worker->ids.conns, msg->id);
    ri_stream_t *stream;

    /* Which conn of the peer carried it is not known; nearly always there is but one. */
    if ((worker->channels.max > 0) && (conn != NULL) && (conn->peer != NULL) &&
        !ucs_list_is_empty(&conn->peer->streams)) {
        stream = ucs_list_head(&conn->peer->streams, ri_stream_t, peer_list);
        ri_ring_life_note_am(stream);
    }
}

static ucs_status_t handle_rtr_from_am(ri_worker_t *worker, ri_stream_t *stream,
                                       const ri_wire_msg_t *msg, const ri_with_am_t *with)
{
    handle_note_rtr(worker, msg);
    ri_control_in(worker, msg);
    return UCS_OK;
}

static void handle_rtr(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_rtr_send_words_handle_rtr(conn, msg);
}

/* In a ring an RTR has another form, and names a grant of that ring. */
static int handle_rtr_record(ri_stream_t *stream, const ri_ring_record_t *record,
                             uint8_t type, uint32_t length)
{
    return ri_rtr_send_host_receive(stream, record, length);
}

static int handle_layout_record(ri_stream_t *stream, const ri_ring_record_t *record,
                                uint8_t type, uint32_t length)
{
    return ri_rtr_layout_receive(stream, record, length);
}

/* Its id is that of a conn or a stream. */
static ucs_status_t handle_layout_refused(ri_worker_t *worker, ri_stream_t *stream,
                                          const ri_wire_msg_t *msg,
                                          const ri_with_am_t *with)
{
    ri_control_in_note(worker, msg);
    ri_rtr_layout_handle_refused(worker, msg);
    return UCS_OK;
}

/* EAGER in rings, and EAGER and EAGER_SYNC in channels never get here: see ring_in.c and
 * channel_in.c. */
const ri_handler_t ri_handlers[RI_WIRE_TYPE_LAST] = {
        [RI_WIRE_EAGER]      = {.from_am = ri_sequence_in_am},
        [RI_WIRE_EAGER_SAME] = {.from_am = ri_sequence_in_am},
        [RI_WIRE_EAGER_SYNC] = {.from_am   = ri_sequence_in_am,
                                .from_ring = ri_sequence_in_ring_sync},
        [RI_WIRE_BULK]       = {.from_am = ri_sequence_in_am},
        [RI_WIRE_FIRST]      = {.from_am = ri_sequence_in_am_first},
        [RI_WIRE_FRAG]       = {.from_am = handle_frag},
        [RI_WIRE_RTS]        = {.from_am      = ri_sequence_in_am_rts,
                                .from_ring    = ri_sequence_in_ring_rts,
                                .from_channel = ri_sequence_in_channel_rts,
                                .nacked       = ri_am_rndv_handle_nack},
        [RI_WIRE_POOL]       = {.from_am      = ri_sequence_in_am_rts,
                                .from_ring    = ri_sequence_in_ring_rts,
                                .from_channel = ri_sequence_in_channel_rts,
                                .nacked       = ri_pool_send_handle_nack},
        [RI_WIRE_PLACED]     = {.from_am   = ri_sequence_in_am_placed,
                                .from_ring = ri_sequence_in_ring_placed},

        [RI_WIRE_CONN_REQ]  = {.from_am = handle_conn_req},
        [RI_WIRE_CONN_ACK]  = {.to_conn = handle_conn_ack},
        [RI_WIRE_RESET]     = {.to_conn = handle_reset},
        [RI_WIRE_BYE]       = {.to_stream = handle_bye},
        [RI_WIRE_CLOSING]   = {.to_conn   = handle_closing,
                               .from_ring = handle_closing_record},
        [RI_WIRE_SYNC_ACK]  = {.to_conn = handle_sync_ack},
        [RI_WIRE_ORDER_REQ] = {.to_stream = handle_order_req},
        [RI_WIRE_ORDER_ACK] = {.to_conn = handle_order_ack},
        [RI_WIRE_PLANE_REQ] = {.to_stream = ri_planes_handle_req},
        [RI_WIRE_PLANE_ACK] = {.to_conn = ri_planes_handle_ack},

        [RI_WIRE_RING_REQ]    = {.to_stream = handle_ring_req},
        [RI_WIRE_RING_OFFER]  = {.to_conn = handle_ring_offer},
        [RI_WIRE_RING_REFUSE] = {.to_stream = handle_ring_refuse},
        [RI_WIRE_RING_STOP]   = {.to_conn = handle_ring_stop},
        [RI_WIRE_RING_CLOSE]  = {.from_ring = handle_ring_close},

        [RI_WIRE_CHANNEL_OFFER]  = {.to_conn = ri_channel_out_handle_offer},
        [RI_WIRE_CHANNEL_ACCEPT] = {.to_stream = ri_channel_life_handle_accept},
        [RI_WIRE_CHANNEL_STOP]   = {.to_conn = ri_channel_out_handle_stop},
        [RI_WIRE_CHANNEL_CLOSE]  = {.to_stream = ri_channel_life_handle_close},
        [RI_WIRE_CHANNEL_AGAIN]  = {.to_stream = ri_channel_in_handle_again},

        [RI_WIRE_FIN]       = {.to_conn = ri_rndv_handle_fin},
        [RI_WIRE_NACK]      = {.to_conn = handle_nack},
        [RI_WIRE_RNDV_DATA] = {.from_am = handle_rndv_data},
        [RI_WIRE_RELEASE]   = {.to_conn   = ri_pool_send_handle_release,
                               .from_ring = handle_release_record},
        [RI_WIRE_CTS]       = {.to_conn = ri_rndv_put_handle_cts},
        [RI_WIRE_WRITTEN]   = {.to_stream = ri_rndv_put_handle_written},
        [RI_WIRE_TARGET]    = {.to_conn = ri_rndv_ud_handle_target},
        [RI_WIRE_ABANDON]   = {.to_stream = ri_rtr_ud_handle_abandon},

        [RI_WIRE_RTR]            = {.from_am   = handle_rtr_from_am,
                                    .to_conn   = handle_rtr,
                                    .from_ring = handle_rtr_record},
        [RI_WIRE_RTR_GRID]       = {.from_am = handle_rtr_from_am, .to_conn = handle_rtr},
        [RI_WIRE_LAYOUT]         = {.to_conn   = ri_rtr_layout_handle,
                                    .from_ring = handle_layout_record},
        [RI_WIRE_RTR_LAYOUT]     = {.to_conn = handle_rtr},
        [RI_WIRE_LAYOUT_REFUSED] = {.from_am = handle_layout_refused},
        [RI_WIRE_RTR_UD]         = {.to_conn = ri_rtr_send_ud_handle_rtr},
        [RI_WIRE_REVOKE]         = {.to_conn = ri_rtr_send_words_handle_revoke},
        [RI_WIRE_REVOKED]        = {.to_stream = ri_rtr_revoked_handle},
        [RI_WIRE_USED]           = {.to_stream = ri_rtr_used_handle}};
