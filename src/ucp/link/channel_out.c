/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's end of a channel: accepted, asked back, closed, and kept for the last credit.
 */
#include "channel_out.h"
#include "channel_memory.h"
#include "control.h"
#include "way.h"
#include "way_use.h"
#include "../../ucs/settings.h"

#include <stdlib.h>

#define CHANNEL_STATE(_name) (1u << RI_CHANNEL_##_name)

/* By the state before: the states that may follow. */
static const uint8_t channel_may_become[RI_CHANNEL_STATE_LAST] = {
        [RI_CHANNEL_OPEN]     = CHANNEL_STATE(STOPPING) | CHANNEL_STATE(AGAIN),
        [RI_CHANNEL_STOPPING] = CHANNEL_STATE(AGAIN),
        [RI_CHANNEL_AGAIN]    = CHANNEL_STATE(AGAIN),
};

int ri_channel_out_may_become(ri_channel_state_t from, ri_channel_state_t to)
{
    return (channel_may_become[from] >> to) & 1;
}

/* Whether short messages of a conn may go by its channel, or by any way, without a request. */
static void channel_update_fast(ri_conn_t *conn)
{
    const ri_channel_out_t *out = conn->channel;

    conn->channel_end = ((out != NULL) && (out->state == RI_CHANNEL_OPEN)) ? out->end : 0;
    ri_conn_update_fast(conn);
}

/* Say that a channel is not written (any more). */
static void channel_say_close(ri_peer_t *peer, uint32_t stream_id, uint32_t serial,
                              uint32_t reason, uint32_t end)
{
    ri_wire_msg_t msg = {.type   = RI_WIRE_CHANNEL_CLOSE,
                         .id     = stream_id,
                         .value  = end,
                         .serial = serial,
                         .reason = reason};

    ri_control_send_message(peer, &msg);
}

/* A write has ended. */
static void channel_written(ri_plane_op_t *op, ucs_status_t status)
{
    ri_channel_out_t *out = ri_container_of(op, ri_channel_out_t, op);
    ri_peer_t *peer       = out->conn->peer;

    --out->under_way;
    --peer->way.num_transfers;
    --out->conn->worker->num_transfers;
    if ((status != UCS_OK) || out->failed) {
        out->failed = 1;
        return;
    }
    ri_channel_tx_pop(&out->tx);
    ri_way_worked(peer, out->way);
}

/* Whether an offer can be accepted. */
static int channel_fits(const ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker   = conn->worker;
    const ri_peer_t *peer = conn->peer;
    size_t num_out        = ucs_list_length(&worker->channels.out);
    size_t num_kept       = ucs_list_length(&worker->channels.kept);

    return (conn->channel == NULL) && (conn->status == UCS_OK) && (peer != NULL) &&
           !(conn->flags & (RI_CONN_CLOSING | RI_CONN_PEER_MODE)) &&
           (worker->channels.max > 0) &&
           (ri_way_use_ep_that(peer, RI_PLANE_WRITE) != NULL) &&
           (peer->way.number == msg->way) && !peer->way.leaving &&
           (conn->remote_id == msg->stream_id) && (num_out < worker->channels.max) &&
           (num_out + num_kept < 2 * worker->channels.max) &&
           ri_channel_size_is_valid(msg->value) &&
           (msg->value <= ri_config.ib_eager_size);
}

static ri_channel_out_t *channel_accept(ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker   = conn->worker;
    ri_channel_out_t *out = calloc(1, sizeof(*out));

    if (out == NULL) {
        return NULL;
    }
    out->memory = ri_channel_memory_map(worker->net.rc, msg->value, &out->keys);
    if (out->memory == NULL) {
        free(out);
        return NULL;
    }
    out->size = msg->value;
    ri_channel_tx_init(&out->tx, out->memory, out->size, msg->number,
                       (const uint64_t *)((char *)out->memory + out->size));
    out->op.done = channel_written;
    out->conn    = conn;
    out->peer    = conn->peer;
    out->address = msg->address;
    out->key     = msg->key;
    out->serial  = msg->serial;
    out->way     = msg->way;
    out->end     = (ri_config.ib_eager_max == 0) ?
                           0 :
                           ri_min(out->tx.max_payload, ri_config.ib_eager_max) + 1;
    ucs_list_add_tail(&worker->channels.out, &out->list);
    ++worker->num_channel_ends;
    conn->channel = out;
    ri_trace(&worker->trace, RI_TRACE_CHANNEL_OPEN, conn->id, out->size);
    return out;
}

void ri_channel_out_handle_offer(ri_worker_t *worker, ri_conn_t *conn,
                                 const ri_wire_msg_t *msg)
{
    ri_wire_msg_t answer = {
            .type = RI_WIRE_CHANNEL_ACCEPT, .id = msg->stream_id, .serial = msg->serial};
    ri_peer_t *peer       = ri_map_get(&worker->peers, msg->uid);
    ri_channel_out_t *out = NULL;

    if ((peer == NULL) || ((conn != NULL) && (conn->channel != NULL) &&
                           (conn->channel->serial == msg->serial))) {
        ++worker->counters.rx_stale; /* the same offer once more */
        return;
    }
    if ((conn != NULL) && (conn->peer == peer) && channel_fits(conn, msg)) {
        out = channel_accept(conn, msg);
    }
    if (out == NULL) {
        channel_say_close(peer, msg->stream_id, msg->serial, RI_WIRE_CHANNEL_REFUSED, 0);
        return;
    }
    channel_update_fast(conn);
    answer.address = (uintptr_t)out->tx.credit;
    answer.key     = out->keys.remote_key;
    ri_control_send_message(peer, &answer);
}

/* Nobody writes a credit there any more. */
static void channel_free_kept(ri_worker_t *worker, ri_channel_out_t *out)
{
    ucs_list_del(&out->list);
    ri_channel_memory_unmap(worker->net.rc, out->memory, out->size, &out->keys);
    free(out);
}

/* @return Whether there was such a channel of a peer, which is closed. */
static int channel_forget_kept(ri_worker_t *worker, const ri_peer_t *peer,
                               uint32_t serial)
{
    ri_channel_out_t *out;

    ucs_list_for_each(out, &worker->channels.kept, list) {
        if ((out->peer == peer) && (out->serial == serial) &&
            (out->state == RI_CHANNEL_STOPPING)) {
            channel_free_kept(worker, out);
            return 1;
        }
    }
    return 0;
}

void ri_channel_out_handle_stop(ri_worker_t *worker, ri_conn_t *conn,
                                const ri_wire_msg_t *msg)
{
    ri_channel_out_t *out = (conn != NULL) ? conn->channel : NULL;
    ri_peer_t *peer       = ri_map_get(&worker->peers, msg->uid);

    if ((out != NULL) && (out->serial == msg->serial)) {
        if (out->state == RI_CHANNEL_OPEN) {
            ri_channel_out_set_state(out, RI_CHANNEL_STOPPING);
        }
        channel_update_fast(conn);
        ri_channel_out_go_on(out);
        return;
    }
    if (channel_forget_kept(worker, peer, msg->serial)) {
        return;
    }
    ++worker->counters.rx_stale;
    /* Of a channel that it has no more, a conn that works has said all, or will. */
    if ((peer != NULL) && ((conn == NULL) || (conn->status != UCS_OK))) {
        channel_say_close(peer, msg->stream_id, msg->serial, RI_WIRE_CHANNEL_UNKNOWN, 0);
    }
}

void ri_channel_out_end(ri_channel_out_t *out)
{
    ri_conn_t *conn     = out->conn;
    ri_worker_t *worker = conn->worker;

    ri_trace(&worker->trace, RI_TRACE_CHANNEL_CLOSE, conn->id, out->tx.pos);
    ucs_list_del(&out->list);
    --worker->num_channel_ends;
    out->conn     = NULL;
    conn->channel = NULL;
    ucs_list_add_tail(&worker->channels.kept, &out->list);
    if ((out->peer->way.ep == NULL) || (out->peer->way.number != out->way)) {
        channel_free_kept(worker, out);
    }
    channel_update_fast(conn);
}

void ri_channel_out_go_on(ri_channel_out_t *out)
{
    ri_conn_t *conn = out->conn;

    if ((out->state == RI_CHANNEL_STOPPING) && !out->failed &&
        !ri_channel_send_is_busy(conn)) {
        channel_say_close(conn->peer, conn->remote_id, out->serial,
                          RI_WIRE_CHANNEL_CLOSED, out->tx.pos);
        ri_channel_out_end(out);
    }
}

void ri_channel_out_abandon(ri_conn_t *conn)
{
    if ((conn->channel != NULL) && (conn->channel->under_way > 0)) {
        ri_way_fail_and_tell(conn->worker, conn->peer);
    }
    if (conn->channel != NULL) {
        ri_channel_out_end(conn->channel);
    }
}

void ri_channel_out_way_ended(ri_worker_t *worker, const ri_peer_t *peer)
{
    ri_channel_out_t *out, *next;
    ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if (conn->channel == NULL) {
            continue;
        }
        assert(conn->channel->under_way == 0);
        if (ri_conn_goes_on(conn)) {
            ri_channel_out_set_state(conn->channel, RI_CHANNEL_AGAIN);
            channel_update_fast(conn);
        } else {
            ri_channel_out_end(conn->channel);
        }
    }
    ucs_list_for_each_safe(out, next, &worker->channels.kept, list) {
        if (out->peer == peer) {
            channel_free_kept(worker, out);
        }
    }
}
