/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's end of a channel: who gets one, and how it is offered, asked back and freed.
 */
#include "channel_life.h"
#include "channel_memory.h"
#include "../core/types/module.h"
#include "control.h"
#include "way.h"
#include "way_open.h"
#include "way_use.h"
#include "../../ucs/settings.h"
#include "../../ucs/random.h"

#include <stdlib.h>

/* A channel may be taken from a peer that was silent while this number of messages came from
 * others. */
#define CHANNEL_IDLE_MESSAGES 1024

/* Bounds what a mistyped UCXRI_IB_EAGER_PEERS costs. */
#define CHANNEL_PEERS_MAX 4096u

/* A stream whose sender has refused is thought about again after twice as many messages each
 * time, up to this number of times. */
#define CHANNEL_SHIFT_MAX 16

/* A credit has ended. */
static void channel_credited(ri_plane_op_t *op, ucs_status_t status)
{
    ri_channel_in_t *in = ri_container_of(op, ri_channel_in_t, op);

    --in->under_way;
    --in->stream->peer->way.num_transfers;
    --in->stream->worker->num_transfers;
    in->failed |= (status != UCS_OK);
}

/* Ask a channel back, or if it is closed, tell that no credit comes any more. */
static void channel_ask_back(ri_stream_t *stream, uint32_t serial)
{
    ri_wire_msg_t msg = {.type      = RI_WIRE_CHANNEL_STOP,
                         .id        = stream->remote_conn_id,
                         .stream_id = stream->id,
                         .serial    = serial,
                         .uid       = stream->worker->self.uid};

    ri_control_send_message(stream->peer, &msg);
}

/* Ask the channel back that was idle for longest. @return 0 if none is idle enough. */
static int channel_evict(ri_worker_t *worker)
{
    ri_channel_in_t *victim = NULL;
    unsigned i;

    for (i = 0; i < worker->channels.num_in; ++i) {
        ri_channel_in_t *in = worker->channels.in[i];

        if (!in->stopping && !in->dead &&
            ((victim == NULL) || (in->last_use < victim->last_use))) {
            victim = in;
        }
    }
    if ((victim == NULL) ||
        (worker->rings.clock - victim->last_use < CHANNEL_IDLE_MESSAGES)) {
        return 0;
    }

    victim->stopping = 1;
    ri_channel_life_check_in(victim);
    ++worker->channels.num_stopping;
    ++worker->counters.channels_given_back;
    channel_ask_back(victim->stream, victim->serial);
    return 1;
}

/* Whether there may be one more. */
static int channel_has_room(ri_worker_t *worker)
{
    unsigned counted = worker->channels.num_in - worker->channels.num_stopping;

    return ((counted < worker->channels.max) || channel_evict(worker)) &&
           (worker->channels.num_in < 2 * worker->channels.max);
}

/* Offer a new channel. */
static void channel_offer(ri_stream_t *stream)
{
    ri_worker_t *worker = stream->worker;
    ri_channel_in_t *in = calloc(1, sizeof(*in));
    ri_wire_msg_t msg   = {.type      = RI_WIRE_CHANNEL_OFFER,
                           .id        = stream->remote_conn_id,
                           .value     = ri_config.ib_eager_size,
                           .stream_id = stream->id,
                           .uid       = worker->self.uid,
                           .number    = ri_random(),
                           .way       = stream->peer->way.number};

    if (in == NULL) {
        return;
    }
    in->memory = ri_channel_memory_map(worker->net.rc, ri_config.ib_eager_size,
                                       &in->keys);
    if (in->memory == NULL) {
        free(in);
        return;
    }
    ri_channel_rx_init(&in->rx, in->memory, ri_config.ib_eager_size, msg.number);
    in->op.done                                    = channel_credited;
    in->stream                                     = stream;
    in->size                                       = ri_config.ib_eager_size;
    in->serial                                     = ++worker->channels.serial;
    in->way                                        = msg.way;
    in->last_use                                   = worker->rings.clock;
    stream->channel                                = in;
    worker->channels.in[worker->channels.num_in++] = in;
    ++worker->num_channel_ends;
    ++worker->counters.channels_offered;
    worker->counters.channels_active = worker->channels.num_in;
    ri_trace(&worker->trace, RI_TRACE_CHANNEL_OPEN, stream->id, in->size);

    msg.serial  = in->serial;
    msg.address = (uintptr_t)in->memory;
    msg.key     = in->keys.remote_key;
    ri_control_send_message(stream->peer, &msg);
}

void ri_channel_life_consider(ri_stream_t *stream)
{
    ri_worker_t *worker = stream->worker;
    ri_peer_t *peer     = stream->peer;
    ri_conn_t *conn     = ri_peer_usable_conn(peer);

    stream->am_left = RI_STREAM_AM_NEVER;
    if ((worker->channels.max == 0) || (worker->net.rc == NULL) || stream->broken ||
        stream->closed || peer->failed) {
        return;
    }
    stream->am_left = ri_max(ri_config.ib_eager_after, 1u)
                      << ri_min(stream->channels_refused, CHANNEL_SHIFT_MAX);
    /* Endpoints that are UCX's own are for answers. */
    if ((stream->channel != NULL) || (peer->local.ep != NULL) || (conn == NULL) ||
        ((conn->flags & (RI_CONN_USER | RI_CONN_PEER_MODE | RI_CONN_CLOSING)) !=
         RI_CONN_USER)) {
        return;
    }
    if (conn->remote_id == 0) {
        ri_control_ask(conn);
        return;
    }
    if (ri_way_use_ep_that(peer, RI_PLANE_WRITE) == NULL) {
        /* The next time it may be there. For control messages alone it is not worth one: these go
         * with long ones, which ask for it. */
        if ((ri_way_use_ep(peer) == NULL) && (ri_config.ib_eager_max > 0)) {
            ri_way_open_ask(conn);
        }
        return;
    }
    if (!peer->way.leaving && channel_has_room(worker)) {
        channel_offer(stream);
    }
}

void ri_channel_life_note_all(ri_channel_in_t *in)
{
    if (ri_channel_life_has_all(in) && (in->memory == NULL)) {
        ri_channel_life_forget(in->stream);
    }
}

void ri_channel_life_free(ri_channel_in_t *in)
{
    ri_stream_t *stream = in->stream;
    ri_worker_t *worker = stream->worker;
    uint32_t serial     = in->serial;
    int tell            = !in->dead && in->closed && (in->address != 0);
    unsigned i;

    ri_trace(&worker->trace, RI_TRACE_CHANNEL_CLOSE, stream->id, in->rx.pos);
    for (i = 0; worker->channels.in[i] != in; ++i) {}
    worker->channels.in[i] = worker->channels.in[--worker->channels.num_in];
    worker->channels.num_stopping -= in->stopping;
    worker->counters.channels_active = worker->channels.num_in;
    --worker->num_channel_ends;
    ri_channel_memory_unmap(worker->net.rc, in->memory, in->size, &in->keys);
    in->memory = NULL;
    if (!in->dead || in->closed || ri_channel_life_has_all(in)) {
        ri_channel_life_forget(stream);
    } else {
        ri_channel_life_check_in(in);
    }
    if (tell) {
        channel_ask_back(stream, serial);
    }
}

void ri_channel_life_forget(ri_stream_t *stream)
{
    if (stream->channel != NULL) {
        assert(stream->channel->memory == NULL);
        free(stream->channel);
        stream->channel = NULL;
    }
}

void ri_channel_life_handle_accept(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_channel_in_t *in = stream->channel;

    if ((in == NULL) || (in->serial != msg->serial) || (in->address != 0)) {
        ++stream->worker->counters.rx_stale;
        return;
    }
    in->address = msg->address;
    in->key     = msg->key;
}

void ri_channel_life_handle_close(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = stream->worker;
    ri_channel_in_t *in = stream->channel;

    if ((in == NULL) || (in->serial != msg->serial) || in->closed || in->all_told) {
        ++worker->counters.rx_stale;
        return;
    }
    if (in->dead) { /* before its sender heard of that, it had ended: all is in the buffer */
        in->all_told = 1;
        ri_channel_life_check_in(in);
        ri_channel_life_note_all(in);
        return;
    }
    if ((msg->reason == RI_WIRE_CHANNEL_REFUSED) && (in->address == 0)) {
        ++worker->counters.channels_refused;
        ++stream->channels_refused;
        in->closed = 1;
        in->end    = in->rx.pos;
        ri_channel_life_check_in(in);
    } else if ((msg->reason == RI_WIRE_CHANNEL_CLOSED) &&
               (msg->value - in->rx.pos <= in->rx.mask + 1)) {
        in->closed = 1;
        in->end    = msg->value;
        ri_channel_life_check_in(in);
    } else {
        /* Something may still be on its way into the memory: it is let in no more. A conn that is
         * gone sends nothing again. */
        ri_way_fail_and_tell(worker, stream->peer);
        in->all_told = (msg->reason == RI_WIRE_CHANNEL_UNKNOWN);
        ri_channel_life_check_in(in);
    }
}

/* This side's end of the way to a peer is gone: nothing is under way by it. */
static void channel_way_ended(ri_worker_t *worker, ri_peer_t *peer, int is_lost)
{
    ri_stream_t *stream;

    (void)is_lost;
    ri_channel_out_way_ended(worker, peer);
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        if (stream->channel != NULL) {
            stream->channel->dead = 1;
            ri_channel_life_check_in(stream->channel);
        }
    }
}

/* Channels generate no events, so they are not for applications that may sleep. */
static ucs_status_t channel_worker_made(ri_worker_t *worker)
{
    unsigned max = (worker->context->features & UCP_FEATURE_WAKEUP) ?
                           0 :
                           ri_min(ri_config.ib_eager_peers, CHANNEL_PEERS_MAX);

    ucs_list_head_init(&worker->channels.out);
    ucs_list_head_init(&worker->channels.kept);
    worker->channels.in = calloc(2 * max + 1, sizeof(*worker->channels.in));
    if (worker->channels.in == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    worker->channels.max = max;
    return UCS_OK;
}

/* The ways that channels go by end, and the channels of both sides, read or not. There are none
 * from now on. */
static void channel_worker_stops(ri_worker_t *worker)
{
    ri_conn_t *conn;

    worker->channels.max = 0;
    while (worker->channels.num_in > 0) {
        ri_channel_in_t *in = worker->channels.in[0];

        ri_way_end(worker, in->stream->peer, RI_WAY_NONE);
        ri_channel_life_free(in);
    }
    while (!ucs_list_is_empty(&worker->channels.out)) {
        conn = ucs_list_head(&worker->channels.out, ri_channel_out_t, list)->conn;
        ri_way_end(worker, conn->peer, RI_WAY_NONE);
        if (conn->channel != NULL) {
            ri_channel_out_end(conn->channel);
        }
    }
    while (!ucs_list_is_empty(&worker->channels.kept)) {
        ri_way_end(worker,
                   ucs_list_head(&worker->channels.kept, ri_channel_out_t, list)->peer,
                   RI_WAY_NONE);
    }
}

static void channel_worker_freed(ri_worker_t *worker)
{
    free(worker->channels.in);
}

static void channel_conn_fails(ri_conn_t *conn, int is_first)
{
    (void)is_first;
    ri_channel_out_abandon(conn);
}

static int channel_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need)
{
    return (need == RI_STREAM_NEED_ITSELF) && ri_channel_life_is_there(stream);
}

const ri_module_t ri_module_channel = {.name             = "channel",
                                       .worker_made      = channel_worker_made,
                                       .worker_stops     = channel_worker_stops,
                                       .worker_freed     = channel_worker_freed,
                                       .conn_fails       = channel_conn_fails,
                                       .conn_closes      = ri_channel_out_abandon,
                                       .stream_is_needed = channel_stream_is_needed,
                                       .stream_freed     = ri_channel_life_forget,
                                       .way_ended        = channel_way_ended};
