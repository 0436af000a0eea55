/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes by channels.
 */
#include "rdma_channel.h"
#include "planes.h"
#include "rdma.h"
#include "../core/config.h"
#include "../tag/deliver.h"

#include <string.h>

/* Records taken from one channel before the next one has its turn. */
#define CHANNEL_BATCH 16

/* Take a record. It counts as read before it is handed over, as a callback may call progress,
 * against UCX's rules, and so get here again; but its sender is not told before. */
static void channel_take(ri_channel_in_t *in, const ri_channel_record_t *header,
                         const void *payload)
{
    ri_stream_t *stream = in->stream;

    ri_channel_rx_advance(&in->rx, header);
    ++stream->counters.rx_eager_rdma;
    in->last_use = stream->worker->ring_clock;
    if (ri_unlikely(!ri_deliver_fast(stream, RI_WIRE_EAGER, header->value, header->tag,
                                     payload, header->length))) {
        ri_deliver_plain(stream, RI_WIRE_EAGER, header->value, header->tag, payload,
                         header->length);
    }
}

/* Take up to @a max records. @return How many. */
static unsigned channel_take_some(ri_channel_in_t *in, unsigned max)
{
    ri_stream_t *stream = in->stream;
    ri_channel_record_t header;
    const void *payload;
    unsigned count;

    ++stream->busy;
    ++in->busy;
    for (count = 0; (count < max) && !stream->broken; ++count) {
        payload = ri_channel_rx_peek(&in->rx, &header);
        if ((payload == NULL) ||
            (!in->dead && ri_deliver_is_far_ahead(stream, header.value))) {
            break;
        }
        if (ri_unlikely(header.type != RI_WIRE_EAGER)) {
            ri_deliver_breaking(stream, "a malformed record in its channel", header.type,
                                header.length);
            break;
        }
        channel_take(in, &header, payload);
    }
    --in->busy;
    --stream->busy;
    return count;
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

int ri_rdma_channel_has(ri_stream_t *stream, uint32_t sn, uint32_t way)
{
    ri_peer_t *peer = stream->peer;

    if (peer->rdma_way == way) {
        ri_planes_rdma_failed(stream->worker, peer);
    }
    while ((stream->channel != NULL) && stream->channel->dead &&
           (channel_take_some(stream->channel, CHANNEL_BATCH) > 0)) {}
    return !stream->broken && ri_deliver_has(stream, sn);
}
