/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A record that is found counts as read before it is handed over, as its handler may call back into
 * the application, and so get here again. A send or a receive may look at records that are not read
 * yet: RTRs are taken from wherever they are, and so are RTS and POOL if they come first.
 */
#include "channel_in.h"
#include "control_in.h"
#include "../core/types/handler.h"
#include "../link/net_transfer.h"
#include "../link/channel_life.h"
#include "../link/channel_recover.h"
#include "../link/way.h"
#include "../order/deliver.h"
#include "../order/deliver_known.h"

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

/* A control message, as it would be by active message. The payload may change under a hostile
 * peer. @return 0 if it breaks the protocol. */
static int channel_take_control(ri_stream_t *stream, const ri_channel_record_t *header,
                                const void *payload)
{
    ri_wire_base_t base = {.type = header->type, .value = header->value};
    uint8_t copy[RI_WIRE_CONTROL_MAX];
    ri_wire_msg_t msg;

    if (!ri_wire_id_is_valid(header->extra) ||
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
    ri_control_in(stream->worker, &msg);
    return 1;
}

/* Hand a record over to who is in charge of it. @return 0 if it breaks the protocol. */
static int channel_take(ri_stream_t *stream, const ri_channel_record_t *header,
                        const void *payload)
{
    const ri_handler_t *handler;

    if (!ri_wire_type_may_go(header->type, RI_WIRE_BY_CHANNEL)) {
        return 0;
    }
    if (ri_wire_rows[header->type].is_eager) {
        channel_take_eager(stream, header, payload);
        return 1;
    }
    handler = &ri_handlers[header->type];
    return (handler->from_channel != NULL) ?
                   handler->from_channel(stream, header, payload) :
                   channel_take_control(stream, header, payload);
}

/* Must a record be left in the buffer? */
static int channel_is_ahead(const ri_channel_in_t *in, const ri_channel_record_t *header)
{
    return !in->dead && ri_wire_type_in_sequence(header->type) &&
           ri_deliver_known_is_far_ahead(in->stream, header->value);
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
        in->last_use  = stream->worker->rings.clock;
        if (ri_unlikely(was_looked_at && ri_wire_is_rtr(header.type))) {
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

/* Take all that is in a channel that nobody can write any more. */
static void channel_drain(ri_channel_in_t *in)
{
    while ((in->memory != NULL) && (channel_take_some(in, CHANNEL_BATCH) > 0)) {}
}

/* Take a record that comes again, unless it was in the buffer. The channel is dead and read to its
 * end. */
static void channel_take_again(ri_channel_in_t *in, const ri_channel_record_t *record,
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

void ri_channel_in_handle_again(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_channel_record_t record = {.length = msg->length,
                                  .type   = msg->record_type,
                                  .value  = msg->record_value,
                                  .extra  = msg->record_extra,
                                  .tag    = msg->tag};
    ri_channel_in_t *in        = stream->channel;

    if ((in == NULL) || (in->serial != msg->serial) || (in->way != msg->way) ||
        in->closed || ri_channel_life_has_all(in) ||
        (in->all_told && (msg->record_type == RI_WIRE_CHANNEL_ALL))) {
        ++stream->worker->counters.rx_stale;
        return;
    }
    ++stream->busy;
    if (!in->dead) {
        ri_way_fail_and_tell(stream->worker, stream->peer);
    }
    channel_drain(in);
    if (record.type == RI_WIRE_CHANNEL_ALL) {
        in->all_told = 1;
        in->all      = record.value;
        ri_channel_life_check_in(in);
    } else {
        ++in->again;
        channel_take_again(in, &record, msg->value, msg->payload);
    }
    ri_channel_life_note_all(in);
    --stream->busy;
    ri_stream_check_closed(stream);
}

/* Tell the sender how far its records have been read, now and then. What is told may grow while
 * it is on its way. */
static void channel_publish(ri_channel_in_t *in)
{
    ri_worker_t *worker    = in->stream->worker;
    ri_peer_t *peer        = in->stream->peer;
    ri_plane_ep_t *ep      = peer->way.ep;
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

    if ((in->address == 0) || in->dead || in->closed || in->failed || peer->way.leaving ||
        !ri_channel_rx_publish(&in->rx)) {
        return;
    }
    __atomic_store_n(word, ri_channel_credit(in->rx.key, in->rx.pos), __ATOMIC_RELAXED);
    if (ep->plane->ops->write(ep, &transfer) != UCS_INPROGRESS) {
        in->failed = 1;
        return;
    }
    ++in->under_way;
    ++peer->way.num_transfers;
    ++worker->num_transfers;
    ri_way_use(worker, peer);
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
        stream->peer->way.used = 1;
        channel_publish(in);
    }
    if (ri_unlikely(!in->dead && channel_is_over(in))) {
        ri_way_fail_and_tell(stream->worker, stream->peer);
    }
    if (ri_unlikely((in->dead && (count == 0)) ||
                    (in->closed && (in->rx.pos == in->end) && (in->under_way == 0)))) {
        ri_channel_life_free(in);
    }
    ri_stream_check_closed(stream);
    return count;
}

unsigned ri_channel_in_progress(ri_worker_t *worker)
{
    unsigned count = 0;
    unsigned i;

    /* From the end, so that one that is removed does not hide another one. */
    for (i = worker->channels.num_in; i-- > 0;) {
        if (i < worker->channels.num_in) {
            count += channel_progress_in(worker->channels.in[i]);
        }
    }
    ri_channel_recover_progress(worker);
    return count;
}

void ri_channel_in_take_rtrs(ri_stream_t *stream)
{
    ri_channel_in_t *in = stream->channel;
    ri_channel_record_t header;
    const void *payload;
    ri_channel_rx_t at;
    unsigned count;

    if (!ri_channel_life_is_there(stream) || in->dead || stream->broken) {
        return;
    }
    at     = in->rx;
    at.pos = in->looked;
    for (count = 0; count < CHANNEL_BATCH; ++count) {
        payload = ri_channel_rx_peek(&at, &header);
        if (payload == NULL) {
            return;
        }
        if (ri_wire_is_rtr(header.type)) {
            if (!channel_take(stream, &header, payload)) {
                return; /* who reads it deals with it */
            }
            ++stream->counters.rx_looked;
        }
        ri_channel_rx_advance(&at, &header);
        in->looked = at.pos;
    }
}

/* Take the first record of a channel if it announces a long message that is only to be queued;
 * whatever else it is, and what is malformed, is for progress. @return Whether it was taken. */
static int channel_keep_announced(ri_channel_in_t *in)
{
    ri_stream_t *stream = in->stream;
    uint64_t rts[RI_WIRE_RTS_MAX /
                 sizeof(uint64_t)]; /* the peer may change what is there */
    ri_channel_record_t header;
    const ri_wire_row_t *row;
    ri_arrival_t arrival;
    const void *payload;

    payload = ri_channel_rx_peek(&in->rx, &header);
    row     = (payload != NULL) ? ri_wire_type_row(header.type) : NULL;
    if ((row == NULL) || !row->announces || (header.length > sizeof(rts))) {
        return 0;
    }
    memcpy(rts, payload, header.length);
    arrival = (ri_arrival_t){.sn        = header.value,
                             .wire_type = header.type,
                             .kind      = RI_MSG_RTS,
                             .req_id    = header.extra,
                             .tag       = header.tag,
                             .data      = rts};
    if ((ri_wire_check_rts(arrival.wire_type, rts, header.length, &arrival.length) !=
         UCS_OK) ||
        !ri_deliver_unexpected(stream, &arrival)) {
        return 0;
    }
    channel_advance(in, &header);
    in->last_use = stream->worker->rings.clock;
    ++stream->counters.rx_channel;
    return 1;
}

void ri_channel_in_keep_announced(ri_worker_t *worker)
{
    ri_channel_in_t *in;
    unsigned i, count;

    for (i = 0; i < worker->channels.num_in; ++i) {
        in = worker->channels.in[i];
        if (in->dead || (in->busy > 0)) {
            continue;
        }
        for (count = 0; (count < CHANNEL_BATCH) && channel_keep_announced(in); ++count) {}
        if (count > 0) {
            in->stream->peer->way.used = 1;
            channel_publish(in);
        }
    }
}
