/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Control messages that are sent, and those that wait for a usable conn.
 */
#include "control.h"
#include "../core/types/module.h"
#include "am.h"
#include "channel_send.h"
#include "ring_send.h"
#include "../../ucs/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls of progress in which a peer may make itself known before it is asked. */
#define CONTROL_ASK_CALLS 64

/* A control message that waits: in peer->owed for a usable conn, or in worker->control for stock to
 * have memory again. The other side may wait for the message, so none may be lost as long as that
 * side can be reached. */
typedef struct control_owed {
    ucs_list_link_t list;
    uint64_t uid;     /* of the receiver, 0: not known */
    uint32_t conn_id; /* of the conn that was to carry it */
    uint8_t length;
    uint8_t message[RI_WIRE_CONTROL_MAX];
} control_owed_t;

static ri_wire_type_t control_type(const void *message)
{
    return ((const ri_wire_base_t *)message)->type & ~RI_WIRE_FLAG_HELLO;
}

/* Whether a message says something about the very endpoint that carries it. */
static int control_is_bound(const void *message)
{
    return ri_wire_rows[control_type(message)].is_bound;
}

static control_owed_t *control_owe(uint64_t uid, uint32_t conn_id, const void *message,
                                   size_t length)
{
    control_owed_t *owed = malloc(sizeof(*owed));

    if (owed == NULL) {
        ri_error("out of memory: a peer does not get a control message (type %s)",
                 ri_wire_rows[control_type(message)].name);
        return NULL;
    }
    owed->uid     = uid;
    owed->conn_id = conn_id;
    owed->length  = length;
    memcpy(owed->message, message, length);
    return owed;
}

/* Send by active message. @return Whether it need not be tried again: it is on its way, or
 * the endpoint has failed, which its error handler deals with. */
static int control_try(ri_conn_t *conn, const void *message, size_t length)
{
    unsigned flags = (control_type(message) == RI_WIRE_CONN_REQ) ? RI_AM_REPLY : 0;
    ri_am_buffer_t *buffer = ri_am_buffer_get(conn->worker, 0);
    ucs_status_t status;

    if (buffer == NULL) {
        return 0;
    }
    memcpy(buffer->data, message, length);
    status = ri_am_send_buffer(conn, buffer, length, 0, flags);
    if (UCS_STATUS_IS_ERR(status)) {
        ri_debug("control message not sent: status %d", status);
    }
    return (status != UCS_ERR_NO_RESOURCE) && (status != UCS_ERR_NO_MEMORY);
}

/* Keep an answer until there is a usable conn to its receiver. */
static void control_owe_answer(ri_peer_t *peer, const void *message, size_t length)
{
    control_owed_t *owed = control_owe(peer->uid, 0, message, length);

    if (owed != NULL) {
        ucs_list_add_tail(&peer->owed, &owed->list);
    }
}

/* The endpoint of a conn is closed. @return Another conn that carries its message, or NULL:
 * there is none, and it is kept until there is. */
static ri_conn_t *control_instead(ri_conn_t *conn, const void *message, size_t length)
{
    ri_peer_t *peer  = conn->peer;
    ri_conn_t *other = (peer != NULL) ? ri_peer_usable_conn(peer) : NULL;

    if (control_is_bound(message) || (peer == NULL)) {
        return NULL;
    }
    if (other == NULL) {
        control_owe_answer(peer, message, length);
    }
    return other;
}

static void control_count(ri_conn_t *conn, const void *message)
{
    ++conn->counters.tx_control;
    ri_trace(&conn->worker->trace, RI_TRACE_CONTROL_TX, control_type(message),
             ((const ri_wire_base_t *)message)->value);
}

/* By the channel, or by active message. */
static void control_send_net(ri_conn_t *conn, const void *message, size_t length)
{
    ri_worker_t *worker = conn->worker;
    control_owed_t *owed;

    if (ri_unlikely(conn->flags & RI_CONN_LEFT)) {
        conn = control_instead(conn, message, length);
        if (conn == NULL) {
            return;
        }
    }
    control_count(conn, message);
    if (ri_channel_send_control(conn, message, length)) {
        return;
    }
    if (ucs_list_is_empty(&worker->control) && control_try(conn, message, length)) {
        return;
    }

    owed = control_owe((conn->peer != NULL) ? conn->peer->uid : 0, conn->id, message,
                       length);
    if (owed != NULL) {
        ucs_list_add_tail(&worker->control, &owed->list);
        worker->attention = 1;
    }
}

void ri_control_send_on(ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    uint8_t message[RI_WIRE_CONTROL_MAX];
    size_t length = ri_wire_pack(msg, message);

    control_send_net(conn, message, length);
}

ucs_status_t ri_control_send_payload(ri_conn_t *conn, const ri_wire_msg_t *msg,
                                     const void *payload, size_t length)
{
    ri_worker_t *worker    = conn->worker;
    ri_am_buffer_t *buffer = NULL;
    ucs_status_t status;
    size_t header;

    if (ri_control_has_room(conn) && (length <= ri_config.eager_thresh)) {
        buffer = ri_am_buffer_get(worker, length);
    }
    if (buffer == NULL) {
        return UCS_ERR_NO_RESOURCE;
    }
    header = ri_wire_pack(msg, buffer->data);
    control_count(conn, buffer->data);
    memcpy(buffer->data + header, payload, length);
    status = ri_am_send_buffer(conn, buffer, header + length, 0, 0);
    return UCS_STATUS_IS_ERR(status) ? status : UCS_OK;
}

/* The conn that may carry a message which waited: the one that was to, or any other to the
 * same peer. */
static ri_conn_t *control_usable_conn(ri_worker_t *worker, const control_owed_t *owed)
{
    ri_conn_t *conn = ri_id_get(&worker->ids.conns, owed->conn_id);
    ri_peer_t *peer;

    if ((conn != NULL) && ri_conn_goes_on(conn) && !(conn->flags & RI_CONN_LEFT)) {
        return conn;
    }
    if (control_is_bound(owed->message)) {
        return NULL;
    }
    peer = (owed->uid != 0) ? ri_map_get(&worker->peers, owed->uid) : NULL;
    return (peer != NULL) ? ri_peer_usable_conn(peer) : NULL;
}

/* There is no usable conn for a message any more: there may be one later, if the peer is still
 * known. */
static void control_keep(ri_worker_t *worker, control_owed_t *owed)
{
    ri_peer_t *peer = (owed->uid != 0) ? ri_map_get(&worker->peers, owed->uid) : NULL;

    if ((peer != NULL) && !control_is_bound(owed->message)) {
        ucs_list_add_tail(&peer->owed, &owed->list);
    } else {
        free(owed);
    }
}

void ri_control_progress(ri_worker_t *worker)
{
    control_owed_t *owed;
    ri_conn_t *conn;

    while (!ucs_list_is_empty(&worker->control)) {
        owed = ucs_list_extract_head(&worker->control, control_owed_t, list);
        conn = control_usable_conn(worker, owed);
        if (conn == NULL) {
            control_keep(worker, owed);
        } else if (control_try(conn, owed->message, owed->length)) {
            free(owed);
        } else {
            ucs_list_add_head(&worker->control, &owed->list);
            return;
        }
    }
}

int ri_control_is_waiting(const ri_conn_t *conn)
{
    const control_owed_t *owed;

    ucs_list_for_each(owed, &conn->worker->control, list) {
        if (owed->conn_id == conn->id) {
            return 1;
        }
    }
    return 0;
}

void ri_control_ask(ri_conn_t *conn)
{
    ri_wire_msg_t ask = {
            .type      = RI_WIRE_CONN_REQ,
            .value     = (conn->flags & RI_CONN_PEER_MODE) ? RI_WIRE_CONN_REQ_PEER : 0,
            .has_hello = 1};

    if (conn->flags & RI_CONN_ASKED) {
        return;
    }
    ri_conn_set_flags(conn, RI_CONN_ASKED);
    ri_conn_stop_timeout(conn); /* the conn asks now, not later */
    ri_conn_start_timeout(conn);
    ri_am_pack_hello(conn, (uint8_t *)&ask.hello);
    ri_control_send_on(conn, &ask);
}

void ri_control_ask_later(ri_conn_t *conn)
{
    ri_worker_t *worker = conn->worker;

    if ((conn->flags & RI_CONN_ASKED) || !ucs_list_is_empty(&conn->asking.link)) {
        return;
    }
    ucs_list_add_tail(&worker->asking.next, &conn->asking.link);
    worker->asking.countdown = CONTROL_ASK_CALLS;
    worker->attention        = 1;
}

/* Whether an answer is still missed: the id, or UCX's own, which longer active messages need. */
static int control_needs_answer(const ri_conn_t *conn)
{
    return (conn->status == UCS_OK) && !(conn->flags & RI_CONN_CLOSING) &&
           ((conn->remote_id == 0) ||
            ((conn->ring == NULL) && !(conn->flags & RI_CONN_AM_READY)));
}

void ri_control_progress_asks(ri_worker_t *worker)
{
    ri_conn_t *conn;

    if (--worker->asking.countdown > 0) {
        return;
    }
    /* A send that fails may make the application close any endpoint. */
    while (!ucs_list_is_empty(&worker->asking.next)) {
        conn = ucs_list_head(&worker->asking.next, ri_conn_t, asking.link);
        ri_conn_stop_timeout(conn); /* takes it out */
        if (control_needs_answer(conn)) {
            ri_control_ask(conn);
        }
    }
}

void ri_control_send(ri_conn_t *conn, ri_wire_type_t type, uint32_t id, uint32_t value)
{
    ri_wire_base_t base = {.type = type, .value = value};

    if (ri_wire_type_may_go(type, RI_WIRE_BY_RING) &&
        ri_ring_send_control(conn, type, id, value, NULL, 0)) {
        control_count(conn, &base);
        return;
    }
    ri_wire_set_id(&base, id);
    control_send_net(conn, &base, sizeof(base));
}

void ri_control_ask_order(ri_conn_t *conn)
{
    if (!(conn->flags & RI_CONN_ORDER_ASKED) && (conn->remote_id != 0)) {
        ri_conn_set_flags(conn, RI_CONN_ORDER_ASKED);
        ri_control_send(conn, RI_WIRE_ORDER_REQ, conn->remote_id, conn->rma.count);
    }
}

void ri_control_ack(ri_stream_t *stream)
{
    ri_conn_t *conn   = ri_peer_usable_conn(stream->peer);
    ri_wire_msg_t ack = {.type  = RI_WIRE_CONN_ACK,
                         .id    = stream->remote_conn_id,
                         .value = stream->id,
                         .uid   = stream->worker->self.uid};

    if ((conn == NULL) || stream->acked) {
        return;
    }

    ri_stream_set_acked(stream);
    ri_control_send_on(conn, &ack);
}

void ri_control_offer_ring(ri_conn_t *conn, ri_stream_t *stream)
{
    ri_wire_msg_t offer = {.type           = RI_WIRE_RING_OFFER,
                           .id             = stream->remote_conn_id,
                           .value          = (stream->ring->mask + 1) * RI_RING_LINE,
                           .ring_pid       = getpid(),
                           .ring_fd        = stream->ring->fd,
                           .ring_stream_id = stream->id,
                           .ring_cookie    = stream->ring_life.cookie,
                           .uid            = stream->worker->self.uid};

    ri_control_send_on(conn, &offer);
}

void ri_control_stop_ring(ri_conn_t *conn, ri_stream_t *stream)
{
    ri_wire_msg_t stop = {.type  = RI_WIRE_RING_STOP,
                          .id    = stream->remote_conn_id,
                          .value = stream->id,
                          .uid   = stream->worker->self.uid};

    ri_control_send_on(conn, &stop);
}

/* Send an answer, not through a ring. @a conn NULL: there is none that is usable. */
static void control_answer(ri_conn_t *conn, ri_peer_t *peer, const void *message,
                           size_t length)
{
    if (conn != NULL) {
        control_send_net(conn, message, length);
    } else {
        control_owe_answer(peer, message, length);
    }
}

void ri_control_send_message(ri_peer_t *peer, const ri_wire_msg_t *msg)
{
    uint8_t message[RI_WIRE_CONTROL_MAX];
    size_t length = ri_wire_pack(msg, message);

    control_answer(ri_peer_usable_conn(peer), peer, message, length);
}

void ri_control_nack(ri_stream_t *stream, uint32_t req_id, uint32_t recv_id,
                     uint32_t flags)
{
    ri_wire_msg_t nack = {.type    = RI_WIRE_NACK,
                          .id      = stream->remote_conn_id,
                          .value   = req_id,
                          .recv_id = recv_id,
                          .flags   = flags};

    ri_control_send_message(stream->peer, &nack);
}

void ri_control_cts(ri_stream_t *stream, uint32_t req_id, uint32_t recv_id,
                    const void *address, uint32_t key)
{
    ri_wire_msg_t cts = {.type    = RI_WIRE_CTS,
                         .id      = stream->remote_conn_id,
                         .value   = req_id,
                         .recv_id = recv_id,
                         .key     = key,
                         .address = (uintptr_t)address};

    ri_control_send_message(stream->peer, &cts);
}

void ri_control_release(ri_peer_t *peer, uint32_t conn_id, const uint32_t *ids,
                        unsigned count)
{
    ri_conn_t *conn   = ri_peer_usable_conn(peer);
    ri_wire_msg_t msg = {.type = RI_WIRE_RELEASE, .id = conn_id, .value = count};
    size_t length     = count * sizeof(*ids);

    if ((conn != NULL) &&
        ri_ring_send_control(conn, RI_WIRE_RELEASE, conn_id, count, ids, length)) {
        control_count(conn, &(ri_wire_base_t){.type = msg.type, .value = msg.value});
        return;
    }
    memcpy(msg.release, ids, length);
    ri_control_send_message(peer, &msg);
}

void ri_control_answer(ri_stream_t *stream, ri_wire_type_t type, uint32_t value)
{
    ri_conn_t *conn     = ri_peer_usable_conn(stream->peer);
    ri_wire_base_t base = {.type = type, .value = value};

    if (conn != NULL) {
        ri_control_send(conn, type, stream->remote_conn_id, value);
        return;
    }
    ri_wire_set_id(&base, stream->remote_conn_id);
    control_owe_answer(stream->peer, &base, sizeof(base));
}

void ri_control_flush_owed(ri_worker_t *worker, ri_peer_t *peer)
{
    uint64_t uid = peer->uid;
    control_owed_t *owed;
    ri_conn_t *conn;

    /* A send that fails may make the application close the endpoint. */
    while (((peer = ri_map_get(&worker->peers, uid)) != NULL) &&
           ((conn = ri_peer_usable_conn(peer)) != NULL) &&
           !ucs_list_is_empty(&peer->owed)) {
        owed = ucs_list_extract_head(&peer->owed, control_owed_t, list);
        control_send_net(conn, owed->message, owed->length);
        free(owed);
    }
}

/* Free what waits in a list, without sending it. */
static void control_drop(ucs_list_link_t *list)
{
    control_owed_t *owed, *tmp;

    ucs_list_for_each_safe(owed, tmp, list, list) {
        ucs_list_del(&owed->list);
        free(owed);
    }
}

static void control_conn_loses(ri_conn_t *conn)
{
    if (conn->remote_id == 0) {
        ri_control_ask(conn); /* told with the answer */
    }
}

static void control_conn_lost(ri_conn_t *conn, ri_conn_t *by)
{
    ri_control_send(by, RI_WIRE_BYE, conn->remote_id, conn->end_sn - 1);
}

static void control_stream_breaks(ri_stream_t *stream)
{
    ri_control_answer(stream, RI_WIRE_RESET, stream->remote_serial);
}

static ucs_status_t control_worker_made(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->control);
    ucs_list_head_init(&worker->asking.next);
    return UCS_OK;
}

static void control_worker_closes(ri_worker_t *worker)
{
    control_drop(&worker->control);
}

static void control_peer_made(ri_worker_t *worker, ri_peer_t *peer)
{
    (void)worker;
    ucs_list_head_init(&peer->owed);
}

/* Drop the answers that are owed to the senders of the peer's streams. */
static void control_peer_freed(ri_worker_t *worker, ri_peer_t *peer)
{
    (void)worker;
    control_drop(&peer->owed);
}

const ri_module_t ri_module_control = {.name          = "control",
                                       .worker_made   = control_worker_made,
                                       .worker_closes = control_worker_closes,
                                       .peer_made     = control_peer_made,
                                       .peer_reached  = ri_control_flush_owed,
                                       .peer_freed    = control_peer_freed,
                                       .conn_loses    = control_conn_loses,
                                       .conn_lost     = control_conn_lost,
                                       .stream_breaks = control_stream_breaks};
