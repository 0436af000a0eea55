/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who has a channel: made, offered, accepted, asked back and closed.
 */
#include "rdma_channel.h"
#include "../core/module.h"
#include "control.h"
#include "planes.h"
#include "rdma.h"
#include "../../ucs/settings.h"
#include "../../ucs/random.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>

/* As for rings: the peer was silent while so many messages came from others. */
#define CHANNEL_IDLE_MESSAGES 1024

/* A stream whose sender has refused is thought about again after twice as many messages each
 * time, up to so many times. */
#define CHANNEL_SHIFT_MAX 16

/* Behind the buffer, or the shadow. */
#define CHANNEL_WORD RI_CHANNEL_LINE

/* Whether short messages of a conn may go by its channel, or by any way, without a request. */
static void channel_update_fast(ri_conn_t *conn)
{
    const ri_channel_out_t *out = conn->channel;

    conn->channel_end = ((out != NULL) && (out->state == RI_CHANNEL_OPEN)) ? out->end : 0;
    ri_conn_update_fast(conn);
}

/* Memory of one side. It has pages of its own, so that nothing is registered with it, and UCX
 * tells when it goes. @return NULL: there is none. */
static void *channel_map(ri_plane_t *plane, size_t size, ri_plane_memory_t *keys)
{
    void *memory = mmap(NULL, size + CHANNEL_WORD, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        return NULL;
    }
    if (plane->ops->reg(plane, memory, size + CHANNEL_WORD, keys) != UCS_OK) {
        munmap(memory, size + CHANNEL_WORD);
        return NULL;
    }
    return memory;
}

static void channel_unmap(ri_plane_t *plane, void *memory, size_t size,
                          ri_plane_memory_t *keys)
{
    plane->ops->release(plane, keys);
    munmap(memory, size + CHANNEL_WORD);
}

/* A credit has ended. */
static void channel_credited(ri_plane_op_t *op, ucs_status_t status)
{
    ri_channel_in_t *in = ri_container_of(op, ri_channel_in_t, op);

    --in->under_way;
    --in->stream->peer->num_rdma;
    --in->stream->worker->num_reads;
    in->failed |= (status != UCS_OK);
}

/* Ask a channel back, or if it is closed, tell that no credit comes any more. */
static void channel_ask_back(ri_stream_t *stream, uint32_t serial)
{
    ri_wire_channel_t msg = {.base.type = RI_WIRE_CHANNEL_STOP,
                             .stream_id = stream->id,
                             .serial    = serial,
                             .uid       = stream->worker->uid};

    ri_wire_set_id(&msg.base, stream->remote_conn_id);
    ri_control_send_message(stream->peer, &msg, sizeof(msg));
}

/* Ask the channel back that was idle for longest. @return 0 if none is idle enough. */
static int channel_evict(ri_worker_t *worker)
{
    ri_channel_in_t *victim = NULL;
    unsigned i;

    for (i = 0; i < worker->num_channels_in; ++i) {
        ri_channel_in_t *in = worker->channels_in[i];

        if (!in->stopping && !in->dead &&
            ((victim == NULL) || (in->last_use < victim->last_use))) {
            victim = in;
        }
    }
    if ((victim == NULL) ||
        (worker->ring_clock - victim->last_use < CHANNEL_IDLE_MESSAGES)) {
        return 0;
    }

    victim->stopping = 1;
    ++worker->num_channels_stopping;
    ++worker->counters.channels_given_back;
    channel_ask_back(victim->stream, victim->serial);
    return 1;
}

/* Whether there may be one more. */
static int channel_has_room(ri_worker_t *worker)
{
    unsigned counted = worker->num_channels_in - worker->num_channels_stopping;

    return ((counted < worker->max_channels) || channel_evict(worker)) &&
           (worker->num_channels_in < 2 * worker->max_channels);
}

/* Offer a new channel. */
static void channel_offer(ri_stream_t *stream)
{
    ri_worker_t *worker   = stream->worker;
    ri_channel_in_t *in   = calloc(1, sizeof(*in));
    ri_wire_channel_t msg = {.base.type  = RI_WIRE_CHANNEL_OFFER,
                             .base.value = ri_config.ib_eager_size,
                             .stream_id  = stream->id,
                             .uid        = worker->uid,
                             .number     = ri_random(),
                             .way        = stream->peer->rdma_way};

    if (in == NULL) {
        return;
    }
    in->memory = channel_map(worker->rdma, ri_config.ib_eager_size, &in->keys);
    if (in->memory == NULL) {
        free(in);
        return;
    }
    ri_channel_rx_init(&in->rx, in->memory, ri_config.ib_eager_size, msg.number);
    in->op.done                                    = channel_credited;
    in->stream                                     = stream;
    in->size                                       = ri_config.ib_eager_size;
    in->serial                                     = ++worker->channel_serial;
    in->way                                        = msg.way;
    in->last_use                                   = worker->ring_clock;
    stream->channel                                = in;
    worker->channels_in[worker->num_channels_in++] = in;
    ++worker->num_channels;
    ++worker->counters.channels_offered;
    worker->counters.channels_active = worker->num_channels_in;
    ri_trace(&worker->trace, RI_TRACE_CHANNEL_OPEN, stream->id, in->size);

    msg.serial  = in->serial;
    msg.address = (uintptr_t)in->memory;
    msg.key     = in->keys.remote_key;
    ri_wire_set_id(&msg.base, stream->remote_conn_id);
    ri_control_send_message(stream->peer, &msg, sizeof(msg));
}

void ri_rdma_channel_consider(ri_stream_t *stream)
{
    ri_worker_t *worker = stream->worker;
    ri_peer_t *peer     = stream->peer;
    ri_conn_t *conn     = ri_peer_way_out(peer);

    stream->am_left = UINT_MAX;
    if ((worker->max_channels == 0) || (worker->rdma == NULL) || stream->broken ||
        stream->closed || peer->failed) {
        return;
    }
    stream->am_left = ri_max(ri_config.ib_eager_after, 1u)
                      << ri_min(stream->channels_refused, CHANNEL_SHIFT_MAX);
    /* Endpoints that are UCX's own are for answers. */
    if ((stream->channel != NULL) || (peer->plane_ep != NULL) || (conn == NULL) ||
        ((conn->flags & (RI_CONN_USER | RI_CONN_PEER_MODE | RI_CONN_CLOSING)) !=
         RI_CONN_USER)) {
        return;
    }
    if (conn->remote_id == 0) {
        ri_control_ask(conn);
        return;
    }
    if (ri_rdma_way_that(peer, RI_PLANE_WRITE) == NULL) {
        /* The next time it may be there. For control messages alone it is not worth one: these go
         * with long ones, which ask for it. */
        if ((ri_rdma_way(peer) == NULL) && (ri_config.ib_eager_max > 0)) {
            ri_planes_ask_rdma(conn);
        }
        return;
    }
    if (!peer->rdma_leaving && channel_has_room(worker)) {
        channel_offer(stream);
    }
}

/* Whether nothing comes again, any more. */
static int channel_has_all(const ri_channel_in_t *in)
{
    return in->all_told && (in->again >= in->all);
}

/* Its sender has nothing (more) to send again. */
static void channel_note_all(ri_channel_in_t *in)
{
    if (channel_has_all(in) && (in->memory == NULL)) {
        ri_rdma_channel_forget(in->stream);
    }
}

void ri_rdma_channel_free(ri_channel_in_t *in)
{
    ri_stream_t *stream = in->stream;
    ri_worker_t *worker = stream->worker;
    uint32_t serial     = in->serial;
    int tell            = !in->dead && in->closed && (in->address != 0);
    unsigned i;

    ri_trace(&worker->trace, RI_TRACE_CHANNEL_CLOSE, stream->id, in->rx.pos);
    for (i = 0; worker->channels_in[i] != in; ++i) {}
    worker->channels_in[i] = worker->channels_in[--worker->num_channels_in];
    worker->num_channels_stopping -= in->stopping;
    worker->counters.channels_active = worker->num_channels_in;
    --worker->num_channels;
    channel_unmap(worker->rdma, in->memory, in->size, &in->keys);
    in->memory = NULL;
    if (!in->dead || in->closed || channel_has_all(in)) {
        ri_rdma_channel_forget(stream);
    }
    if (tell) {
        channel_ask_back(stream, serial);
    }
}

void ri_rdma_channel_forget(ri_stream_t *stream)
{
    if (stream->channel != NULL) {
        assert(stream->channel->memory == NULL);
        free(stream->channel);
        stream->channel = NULL;
    }
}

void ri_rdma_channel_handle_accept(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_channel_in_t *in = stream->channel;

    if ((in == NULL) || (in->serial != msg->serial) || (in->address != 0)) {
        ++stream->worker->counters.rx_stale;
        return;
    }
    in->address = msg->address;
    in->key     = msg->key;
}

void ri_rdma_channel_handle_close(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = stream->worker;
    ri_channel_in_t *in = stream->channel;

    if ((in == NULL) || (in->serial != msg->serial) || in->closed || in->all_told) {
        ++worker->counters.rx_stale;
        return;
    }
    if (in->dead) { /* before its sender heard of that, it had ended: all is in the buffer */
        in->all_told = 1;
        channel_note_all(in);
        return;
    }
    if ((msg->way == RI_WIRE_CHANNEL_REFUSED) && (in->address == 0)) {
        ++worker->counters.channels_refused;
        ++stream->channels_refused;
        in->closed = 1;
        in->end    = in->rx.pos;
    } else if ((msg->way == RI_WIRE_CHANNEL_CLOSED) &&
               (msg->value - in->rx.pos <= in->rx.mask + 1)) {
        in->closed = 1;
        in->end    = msg->value;
    } else {
        /* Something may still be on its way into the memory: it is let in no more. A conn that is
         * gone sends nothing again. */
        in->all_told = (msg->way == RI_WIRE_CHANNEL_UNKNOWN);
        ri_planes_rdma_failed(worker, stream->peer);
    }
}

void ri_rdma_channel_handle_again(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_channel_record_t record = {.length = msg->length,
                                  .type   = msg->record_type,
                                  .value  = msg->record_value,
                                  .extra  = msg->record_extra,
                                  .tag    = msg->tag};
    ri_channel_in_t *in        = stream->channel;

    if ((in == NULL) || (in->serial != msg->serial) || (in->way != msg->way) ||
        in->closed || channel_has_all(in) ||
        (in->all_told && (msg->record_type == RI_WIRE_CHANNEL_ALL))) {
        ++stream->worker->counters.rx_stale;
        return;
    }
    ++stream->busy;
    if (!in->dead) {
        ri_planes_rdma_failed(stream->worker, stream->peer);
    }
    ri_rdma_channel_drain(in);
    if (record.type == RI_WIRE_CHANNEL_ALL) {
        in->all_told = 1;
        in->all      = record.value;
    } else {
        ++in->again;
        ri_rdma_channel_take_again(in, &record, msg->value, msg->payload);
    }
    channel_note_all(in);
    --stream->busy;
    ri_stream_check_closed(stream);
}

/* Say that a channel is not written (any more). */
static void channel_say_close(ri_peer_t *peer, uint32_t stream_id, uint32_t serial,
                              uint32_t why, uint32_t end)
{
    ri_wire_channel_t msg = {.base.type  = RI_WIRE_CHANNEL_CLOSE,
                             .base.value = end,
                             .serial     = serial,
                             .way        = why};

    ri_wire_set_id(&msg.base, stream_id);
    ri_control_send_message(peer, &msg, sizeof(msg));
}

/* A write has ended. */
static void channel_written(ri_plane_op_t *op, ucs_status_t status)
{
    ri_channel_out_t *out = ri_container_of(op, ri_channel_out_t, op);
    ri_peer_t *peer       = out->conn->peer;

    --out->under_way;
    --peer->num_rdma;
    --out->conn->worker->num_reads;
    if ((status != UCS_OK) || out->failed) {
        out->failed = 1;
        return;
    }
    ri_channel_tx_pop(&out->tx);
    ri_planes_rdma_worked(peer, out->way);
}

/* Whether an offer can be accepted. */
static int channel_fits(const ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker   = conn->worker;
    const ri_peer_t *peer = conn->peer;
    size_t num_out        = ucs_list_length(&worker->channels_out);
    size_t num_kept       = ucs_list_length(&worker->channels_kept);

    return (conn->channel == NULL) && (conn->status == UCS_OK) && (peer != NULL) &&
           !(conn->flags & (RI_CONN_CLOSING | RI_CONN_PEER_MODE)) &&
           (worker->max_channels > 0) &&
           (ri_rdma_way_that(peer, RI_PLANE_WRITE) != NULL) &&
           (peer->rdma_way == msg->way) && !peer->rdma_leaving &&
           (conn->remote_id == msg->stream_id) && (num_out < worker->max_channels) &&
           (num_out + num_kept < 2 * worker->max_channels) &&
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
    out->memory = channel_map(worker->rdma, msg->value, &out->keys);
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
    ucs_list_add_tail(&worker->channels_out, &out->list);
    ++worker->num_channels;
    conn->channel = out;
    ri_trace(&worker->trace, RI_TRACE_CHANNEL_OPEN, conn->id, out->size);
    return out;
}

void ri_rdma_channel_handle_offer(ri_worker_t *worker, ri_conn_t *conn,
                                  const ri_wire_msg_t *msg)
{
    ri_wire_channel_t answer = {.base.type = RI_WIRE_CHANNEL_ACCEPT,
                                .serial    = msg->serial};
    ri_peer_t *peer          = ri_map_get(&worker->peers, msg->uid);
    ri_channel_out_t *out    = NULL;

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
    ri_wire_set_id(&answer.base, msg->stream_id);
    ri_control_send_message(peer, &answer, sizeof(answer));
}

/* Nobody writes a credit there any more. */
static void channel_free_kept(ri_worker_t *worker, ri_channel_out_t *out)
{
    ucs_list_del(&out->list);
    channel_unmap(worker->rdma, out->memory, out->size, &out->keys);
    free(out);
}

/* @return Whether there was such a channel of a peer, which is closed. */
static int channel_forget_kept(ri_worker_t *worker, const ri_peer_t *peer,
                               uint32_t serial)
{
    ri_channel_out_t *out;

    ucs_list_for_each(out, &worker->channels_kept, list) {
        if ((out->peer == peer) && (out->serial == serial) &&
            (out->state == RI_CHANNEL_STOPPING)) {
            channel_free_kept(worker, out);
            return 1;
        }
    }
    return 0;
}

void ri_rdma_channel_handle_stop(ri_worker_t *worker, ri_conn_t *conn,
                                 const ri_wire_msg_t *msg)
{
    ri_channel_out_t *out = (conn != NULL) ? conn->channel : NULL;
    ri_peer_t *peer       = ri_map_get(&worker->peers, msg->uid);

    if ((out != NULL) && (out->serial == msg->serial)) {
        if (out->state == RI_CHANNEL_OPEN) {
            out->state = RI_CHANNEL_STOPPING;
        }
        channel_update_fast(conn);
        ri_rdma_channel_go_on(out);
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

void ri_rdma_channel_free_out(ri_channel_out_t *out)
{
    ri_conn_t *conn     = out->conn;
    ri_worker_t *worker = conn->worker;

    ri_trace(&worker->trace, RI_TRACE_CHANNEL_CLOSE, conn->id, out->tx.pos);
    ucs_list_del(&out->list);
    --worker->num_channels;
    out->conn     = NULL;
    conn->channel = NULL;
    ucs_list_add_tail(&worker->channels_kept, &out->list);
    if ((out->peer->rdma_ep == NULL) || (out->peer->rdma_way != out->way)) {
        channel_free_kept(worker, out);
    }
    channel_update_fast(conn);
}

void ri_rdma_channel_go_on(ri_channel_out_t *out)
{
    ri_conn_t *conn = out->conn;

    if ((out->state == RI_CHANNEL_STOPPING) && !out->failed &&
        !ri_rdma_channel_is_busy(conn)) {
        channel_say_close(conn->peer, conn->remote_id, out->serial,
                          RI_WIRE_CHANNEL_CLOSED, out->tx.pos);
        ri_rdma_channel_free_out(out);
    }
}

void ri_rdma_channel_way_ended(ri_worker_t *worker, ri_peer_t *peer)
{
    ri_channel_out_t *out, *next;
    ri_stream_t *stream;
    ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if (conn->channel == NULL) {
            continue;
        }
        assert(conn->channel->under_way == 0);
        if (ri_conn_goes_on(conn)) {
            conn->channel->state = RI_CHANNEL_AGAIN;
            channel_update_fast(conn);
        } else {
            ri_rdma_channel_free_out(conn->channel);
        }
    }
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        if (stream->channel != NULL) {
            stream->channel->dead = 1;
        }
    }
    ucs_list_for_each_safe(out, next, &worker->channels_kept, list) {
        if (out->peer == peer) {
            channel_free_kept(worker, out);
        }
    }
}

void ri_rdma_channel_abandon(ri_conn_t *conn)
{
    if ((conn->channel != NULL) && (conn->channel->under_way > 0)) {
        ri_planes_rdma_failed(conn->worker, conn->peer);
    }
    if (conn->channel != NULL) {
        ri_rdma_channel_free_out(conn->channel);
    }
}

int ri_rdma_channel_is_any_busy(const ri_worker_t *worker)
{
    const ri_channel_out_t *out;

    ucs_list_for_each(out, &worker->channels_out, list) {
        if (ri_rdma_channel_is_busy(out->conn)) {
            return 1;
        }
    }
    return 0;
}

void ri_rdma_channel_end_all(ri_worker_t *worker)
{
    ri_conn_t *conn;

    worker->max_channels = 0;
    while (worker->num_channels_in > 0) {
        ri_channel_in_t *in = worker->channels_in[0];

        ri_planes_disconnect_rdma(worker, in->stream->peer);
        ri_rdma_channel_free(in);
    }
    while (!ucs_list_is_empty(&worker->channels_out)) {
        conn = ucs_list_head(&worker->channels_out, ri_channel_out_t, list)->conn;
        ri_planes_disconnect_rdma(worker, conn->peer);
        if (conn->channel != NULL) {
            ri_rdma_channel_free_out(conn->channel);
        }
    }
    while (!ucs_list_is_empty(&worker->channels_kept)) {
        ri_planes_disconnect_rdma(
                worker,
                ucs_list_head(&worker->channels_kept, ri_channel_out_t, list)->peer);
    }
}

static void channel_conn_fails(ri_conn_t *conn, int is_first)
{
    (void)is_first;
    ri_rdma_channel_abandon(conn);
}

const ri_module_t ri_module_channel = {.name           = "channel",
                                       .conn_fails     = channel_conn_fails,
                                       .conn_closes    = ri_rdma_channel_abandon,
                                       .stream_is_busy = ri_rdma_channel_is_there,
                                       .stream_freed   = ri_rdma_channel_forget};
