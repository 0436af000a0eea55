/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes by channels.
 */
#include "../link/rdma_channel.h"
#include "../link/control.h"
#include "../link/planes.h"
#include "../link/rdma.h"
#include "../proto/rndv/rndv.h"
#include "../../ucs/settings.h"
#include "../order/deliver.h"

#include <string.h>

/* Records taken from one channel before the next one has its turn. */
#define CHANNEL_BATCH 16

/* A short message. */
static void channel_take_eager(ri_stream_t *stream, const ri_channel_record_t *header,
                               const void *payload)
{
    ri_arrival_t arrival = {.sn        = header->value,
                            .wire_type = header->type,
                            .kind      = RI_MSG_COPY,
                            .tag       = header->tag,
                            .length    = header->length,
                            .data      = payload};

    ++stream->counters.rx_eager_rdma;
    if (ri_unlikely(header->type != RI_WIRE_EAGER)) {
        arrival.req_id = header->extra;
        ri_deliver(stream, &arrival);
    } else if (ri_unlikely(!ri_deliver_fast(stream, RI_WIRE_EAGER, arrival.sn,
                                            arrival.tag, payload, arrival.length))) {
        ri_deliver(stream, &arrival);
    }
}

/* What offers a long message. @return 0 if it breaks the protocol. */
static int channel_take_rts(ri_stream_t *stream, const ri_channel_record_t *header,
                            const void *payload)
{
    ri_arrival_t arrival = {.sn        = header->value,
                            .wire_type = header->type,
                            .req_id    = header->extra,
                            .tag       = header->tag};

    ++stream->counters.rx_channel;
    return ri_rndv_receive(stream, &arrival, payload, header->length);
}

/* A control message, as it would be by active message. The payload may change under a hostile
 * peer. @return 0 if it breaks the protocol. */
static int channel_take_control(ri_stream_t *stream, const ri_channel_record_t *header,
                                const void *payload)
{
    ri_wire_base_t base = {.type = header->type, .value = header->value};
    uint8_t copy[RI_WIRE_CONTROL_MAX];
    ri_wire_msg_t msg;

    if (!ri_rdma_channel_carries(header->type) || !ri_wire_id_is_valid(header->extra) ||
        (header->length > sizeof(copy) - sizeof(base))) {
        return 0;
    }
    ri_wire_set_id(&base, header->extra);
    memcpy(copy, &base, sizeof(base));
    memcpy(copy + sizeof(base), payload, header->length);
    if (ri_wire_parse(NULL, 0, copy, sizeof(base) + header->length, 0, &msg) != UCS_OK) {
        return 0;
    }
    ++stream->counters.rx_channel;
    ri_control_handle(stream->worker, stream, &msg, NULL);
    return 1;
}

/* Hand a record over to who is in charge of it. @return 0 if it breaks the protocol. */
static int channel_take(ri_stream_t *stream, const ri_channel_record_t *header,
                        const void *payload)
{
    switch (header->type) {
    case RI_WIRE_EAGER:
    case RI_WIRE_EAGER_SYNC:
        channel_take_eager(stream, header, payload);
        return 1;
    case RI_WIRE_RTS:
    case RI_WIRE_POOL:
        return channel_take_rts(stream, header, payload);
    default:
        return channel_take_control(stream, header, payload);
    }
}

/* Must a record be left in the buffer? */
static int channel_is_ahead(const ri_channel_in_t *in, const ri_channel_record_t *header)
{
    return !in->dead && ri_wire_type_in_sequence(header->type) &&
           ri_deliver_is_far_ahead(in->stream, header->value);
}

/* The record that was found counts as read. @return Whether a send has looked at it. */
static int channel_advance(ri_channel_in_t *in, const ri_channel_record_t *header)
{
    int was_looked_at = (int32_t)(in->looked - in->rx.pos) > 0;

    ri_channel_rx_advance(&in->rx, header);
    if (ri_likely((int32_t)(in->looked - in->rx.pos) < 0)) {
        in->looked = in->rx.pos;
    }
    return was_looked_at;
}

/* Take up to @a max records. Each counts as read before it is handed over, as a callback may call
 * progress, against UCX's rules, and so get here again; but its sender is not told before.
 * @return How many. */
static unsigned channel_take_some(ri_channel_in_t *in, unsigned max)
{
    ri_stream_t *stream = in->stream;
    ri_channel_record_t header;
    const void *payload;
    int was_looked_at;
    unsigned count;

    ++stream->busy;
    ++in->busy;
    for (count = 0; (count < max) && !stream->broken; ++count) {
        payload = ri_channel_rx_peek(&in->rx, &header);
        if ((payload == NULL) || channel_is_ahead(in, &header)) {
            break;
        }
        was_looked_at = channel_advance(in, &header);
        in->last_use  = stream->worker->ring_clock;
        if (ri_unlikely(was_looked_at && (header.type == RI_WIRE_RTR))) {
            continue;
        }
        if (ri_unlikely(!channel_take(stream, &header, payload))) {
            ri_deliver_breaking(stream, "a malformed record in its channel", header.type,
                                header.length);
            break;
        }
    }
    --in->busy;
    --stream->busy;
    return count;
}

void ri_rdma_channel_drain(ri_channel_in_t *in)
{
    while ((in->memory != NULL) && (channel_take_some(in, CHANNEL_BATCH) > 0)) {}
}

void ri_rdma_channel_take_again(ri_channel_in_t *in, const ri_channel_record_t *record,
                                uint32_t position, const void *payload)
{
    ri_stream_t *stream = in->stream;

    if (stream->broken || ((int32_t)(position - in->rx.pos) < 0)) {
        return; /* it was there */
    }
    ++in->busy;
    if (!channel_take(stream, record, payload)) {
        ri_deliver_breaking(stream, "a malformed record that was sent again",
                            record->type, record->length);
    }
    --in->busy;
}

/* Tell the sender how far its records have been read, now and then. What is told may grow while
 * it is on its way. */
static void channel_publish(ri_channel_in_t *in)
{
    ri_worker_t *worker    = in->stream->worker;
    ri_peer_t *peer        = in->stream->peer;
    ri_plane_ep_t *ep      = peer->rdma_ep;
    uint64_t *word         = (uint64_t *)((char *)in->memory + in->size);
    ri_segment_t local     = {(uintptr_t)word, sizeof(*word)};
    ri_segment_t remote    = {in->address, sizeof(*word)};
    ri_transfer_t transfer = {.local       = &local,
                              .num_local   = 1,
                              .remote      = &remote,
                              .num_remote  = 1,
                              .length      = sizeof(*word),
                              .local_keys  = &in->keys.local_key,
                              .remote_keys = &in->key,
                              .op          = &in->op};

    if ((in->address == 0) || in->dead || in->closed || in->failed ||
        peer->rdma_leaving || !ri_channel_rx_publish(&in->rx)) {
        return;
    }
    __atomic_store_n(word, ri_channel_credit(in->rx.key, in->rx.pos), __ATOMIC_RELAXED);
    if (ep->plane->ops->write(ep, &transfer) != UCS_INPROGRESS) {
        in->failed = 1;
        return;
    }
    ++in->under_way;
    ++peer->num_rdma;
    ++worker->num_reads;
    ri_rdma_use(worker, peer);
}

/* Nobody is to write into a channel any more. */
static int channel_is_over(const ri_channel_in_t *in)
{
    const ri_stream_t *stream = in->stream;

    return in->failed || stream->broken || stream->closed || stream->peer->failed;
}

static unsigned channel_progress_in(ri_channel_in_t *in)
{
    ri_stream_t *stream = in->stream;
    unsigned count      = channel_take_some(in, CHANNEL_BATCH);

    if (in->busy > 0) {
        return count; /* within a record: the caller goes on */
    }
    if (count > 0) {
        stream->peer->rdma_used = 1;
        channel_publish(in);
    }
    if (ri_unlikely(!in->dead && channel_is_over(in))) {
        ri_planes_rdma_failed(stream->worker, stream->peer);
    }
    if (ri_unlikely((in->dead && (count == 0)) ||
                    (in->closed && (in->rx.pos == in->end) && (in->under_way == 0)))) {
        ri_rdma_channel_free(in);
    }
    ri_stream_check_closed(stream);
    return count;
}

unsigned ri_rdma_channel_progress(ri_worker_t *worker)
{
    unsigned count = 0;
    unsigned i;

    /* From the end, so that one that is removed does not hide another one. */
    for (i = worker->num_channels_in; i-- > 0;) {
        if (i < worker->num_channels_in) {
            count += channel_progress_in(worker->channels_in[i]);
        }
    }
    ri_rdma_channel_progress_out(worker);
    return count;
}

void ri_rdma_channel_take_rtrs(ri_stream_t *stream)
{
    ri_channel_in_t *in = stream->channel;
    ri_channel_record_t header;
    const void *payload;
    ri_channel_rx_t at;
    unsigned count;

    if (!ri_rdma_channel_is_there(stream) || in->dead || stream->broken) {
        return;
    }
    at     = in->rx;
    at.pos = in->looked;
    for (count = 0; count < CHANNEL_BATCH; ++count) {
        payload = ri_channel_rx_peek(&at, &header);
        if (payload == NULL) {
            return;
        }
        if (header.type == RI_WIRE_RTR) {
            if (!channel_take(stream, &header, payload)) {
                return; /* who reads it deals with it */
            }
            ++stream->counters.rx_looked;
        }
        ri_channel_rx_advance(&at, &header);
        in->looked = at.pos;
    }
}

/* Take the first record of a channel if it offers a long message that is only to be queued; whatever
 * else it is, and what is malformed, is for progress. @return Whether it was taken. */
static int channel_keep_offer(ri_channel_in_t *in)
{
    ri_stream_t *stream = in->stream;
    uint64_t rts[RI_WIRE_RTS_MAX /
                 sizeof(uint64_t)]; /* the peer may change what is there */
    ri_channel_record_t header;
    ri_arrival_t arrival;
    const void *payload;

    payload = ri_channel_rx_peek(&in->rx, &header);
    if ((payload == NULL) ||
        ((header.type != RI_WIRE_RTS) && (header.type != RI_WIRE_POOL)) ||
        (header.length > sizeof(rts))) {
        return 0;
    }
    memcpy(rts, payload, header.length);
    arrival = (ri_arrival_t){.sn        = header.value,
                             .wire_type = header.type,
                             .kind      = RI_MSG_RTS,
                             .req_id    = header.extra,
                             .tag       = header.tag,
                             .data      = rts};
    if ((ri_wire_check_rts(rts, header.length, &arrival.length) != UCS_OK) ||
        !ri_deliver_unexpected(stream, &arrival)) {
        return 0;
    }
    channel_advance(in, &header);
    in->last_use = stream->worker->ring_clock;
    ++stream->counters.rx_channel;
    return 1;
}

void ri_rdma_channel_keep_offers(ri_worker_t *worker)
{
    ri_channel_in_t *in;
    unsigned i, count;

    for (i = 0; i < worker->num_channels_in; ++i) {
        in = worker->channels_in[i];
        if (in->dead || (in->busy > 0)) {
            continue;
        }
        for (count = 0; (count < CHANNEL_BATCH) && channel_keep_offer(in); ++count) {}
        if (count > 0) {
            in->stream->peer->rdma_used = 1;
            channel_publish(in);
        }
    }
}
