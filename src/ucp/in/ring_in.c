/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes through the rings: records are checked, and handed to who is in charge of them.
 */
#include "../link/ring_channel.h"
#include "../link/control.h"
#include "../proto/pool/hybrid.h"
#include "../proto/rtr/recv_rndv.h"
#include "../proto/rndv/rndv.h"
#include "../../ucs/settings.h"
#include "../order/deliver.h"

#include <string.h>

/* Records taken from one ring before the next ring has its turn. */
#define RING_BATCH 16

/* How often the next part of a message is looked for before the caller goes on. */
#define RING_PART_POLLS 256

/* The peer writes what it must not: drop all that it sends. */
static void ring_channel_broken(ri_stream_t *stream, uint8_t type, uint32_t length)
{
    ri_deliver_breaking(stream, "a malformed record in its ring", type, length);
    ri_ring_channel_free(stream);
}

/* Begin the message that a first part tells of. @return 0 if it breaks the protocol. */
static int ring_channel_start(ri_stream_t *stream, const ri_ring_record_t *record,
                              uint32_t length)
{
    uint32_t total = __atomic_load_n(&record->extra, __ATOMIC_RELAXED);
    uint32_t sn    = __atomic_load_n(&record->value, __ATOMIC_RELAXED);
    uint64_t tag   = __atomic_load_n(&record->tag, __ATOMIC_RELAXED);

    if ((length == 0) || (total <= length) ||
        (total > (stream->ring->mask + 1) * RI_RING_LINE)) {
        return 0;
    }
    ++stream->counters.rx_ring;
    stream->ring_last_use = stream->worker->ring_clock;
    ri_assembly_start(stream, sn, tag, total);
    return 1;
}

/* A part of a message. @return 0 if it breaks the protocol. */
static int ring_channel_receive_part(ri_stream_t *stream, const ri_ring_record_t *record,
                                     uint8_t type, uint32_t length)
{
    ri_assembly_t *assembly = &stream->assembly;

    if (stream->broken ||
        ((type == RI_RING_START) && !ring_channel_start(stream, record, length))) {
        return 0;
    }
    if (stream->broken) {
        return 1; /* there was no memory to start it */
    }
    if ((length == 0) || (length > assembly->length - assembly->received)) {
        return 0;
    }
    ri_assembly_add(stream, ri_ring_payload(record, length), length);
    return 1;
}

/* The next part of a message is about to be published, unless its sender has lost the
 * processor. */
static void ring_channel_await_part(ri_stream_t *stream)
{
    unsigned i;

    for (i = 0; (i < RING_PART_POLLS) && (stream->assembly.length != 0) &&
                (ri_ring_rx_peek(stream->ring) == NULL);
         ++i) {}
}

/* Pool buffers that come back. @return 0 if it breaks the protocol. */
static int ring_channel_receive_release(ri_stream_t *stream,
                                        const ri_ring_record_t *record, uint32_t length)
{
    uint32_t ids[RI_WIRE_RELEASE_MAX];

    if ((length == 0) || (length > sizeof(ids)) || (length % sizeof(ids[0]))) {
        return 0;
    }
    memcpy(ids, record->payload, length);
    ++stream->worker->counters.rx_control;
    ri_hybrid_released(stream->worker, stream->peer->uid, ids, length / sizeof(ids[0]));
    return 1;
}

/* SYNC_ACK, FIN or WRITTEN. */
static void ring_channel_receive_ack(ri_stream_t *stream, const ri_ring_record_t *record,
                                     uint8_t type)
{
    ri_wire_msg_t msg = {.type  = type,
                         .value = record->value,
                         .id    = (type == RI_WIRE_WRITTEN) ? stream->id : record->extra};

    ri_control_handle(stream->worker, stream, &msg, NULL);
}

/* Where the data of a message is: RTS or POOL. @return 0 if it breaks the protocol. */
static int ring_channel_receive_rts(ri_stream_t *stream, const ri_ring_record_t *record,
                                    uint8_t type, uint32_t length)
{
    ri_arrival_t arrival = {.sn = __atomic_load_n(&record->value, __ATOMIC_RELAXED),
                            .wire_type = type,
                            .req_id    = record->extra,
                            .tag       = record->tag};

    if (!ri_rndv_receive(stream, &arrival, ri_ring_payload(record, length), length)) {
        return 0;
    }
    ++stream->counters.rx_ring;
    stream->ring_last_use = stream->worker->ring_clock;
    return 1;
}

/* The data of a message has been written. As for an RTS. */
static int ring_channel_receive_placed(ri_stream_t *stream,
                                       const ri_ring_record_t *record, uint32_t length)
{
    ri_arrival_t arrival = {.sn = __atomic_load_n(&record->value, __ATOMIC_RELAXED),
                            .wire_type = RI_WIRE_PLACED,
                            .kind      = RI_MSG_PLACED,
                            .req_id    = record->extra,
                            .tag       = record->tag};
    ri_wire_placed_t payload;

    if (length != sizeof(payload)) {
        return 0;
    }
    memcpy(&payload, ri_ring_payload(record, length), sizeof(payload));
    if (ri_wire_check_placed(&payload, length, &arrival.length) != UCS_OK) {
        return 0;
    }
    ++stream->counters.rx_ring;
    stream->ring_last_use = stream->worker->ring_clock;
    ri_deliver(stream, &arrival);
    return 1;
}

/* Some records say whether the peer was waiting for the latest long message. */
static void ring_channel_note_hint(ri_stream_t *stream, const ri_ring_record_t *record,
                                   uint8_t type)
{
    switch (type) {
    case RI_WIRE_RTS:
    case RI_WIRE_POOL:
    case RI_WIRE_PLACED:
    case RI_WIRE_RTR:
    case RI_WIRE_FIN:
    case RI_WIRE_RELEASE:
        stream->peer->ready = __atomic_load_n(&record->hint, __ATOMIC_RELAXED) & 1;
        break;
    default:
        break;
    }
}

/* A record that is not the most common one. @return Whether the ring is still there. */
static int ring_channel_receive_control(ri_stream_t *stream,
                                        const ri_ring_record_t *record, uint8_t type,
                                        uint32_t length, uint32_t lines)
{
    /* Nothing comes between the parts of a message. */
    if ((stream->assembly.length != 0) && (type != RI_RING_PART)) {
        ring_channel_broken(stream, type, length);
        return 0;
    }

    ring_channel_note_hint(stream, record, type);
    switch (type) {
    case RI_RING_PAD:
        break;
    case RI_RING_START:
    case RI_RING_PART:
        if (!ring_channel_receive_part(stream, record, type, length)) {
            ring_channel_broken(stream, type, length);
            return 0;
        }
        if (stream->broken) {
            ri_ring_channel_free(stream);
            return 0;
        }
        ri_ring_rx_advance(stream->ring, lines);
        ring_channel_await_part(stream);
        return 1;
    case RI_WIRE_RTS:
    case RI_WIRE_POOL:
        if (!ring_channel_receive_rts(stream, record, type, length)) {
            ring_channel_broken(stream, type, length);
            return 0;
        }
        break;
    case RI_WIRE_RELEASE:
        if (!ring_channel_receive_release(stream, record, length)) {
            ring_channel_broken(stream, type, length);
            return 0;
        }
        break;
    case RI_WIRE_PLACED:
        if (!ring_channel_receive_placed(stream, record, length)) {
            ring_channel_broken(stream, type, length);
            return 0;
        }
        break;
    case RI_WIRE_RTR:
        if (!ri_recv_rndv_receive(stream, record, length)) {
            ring_channel_broken(stream, type, length);
            return 0;
        }
        break;
    case RI_WIRE_SYNC_ACK:
    case RI_WIRE_FIN:
    case RI_WIRE_WRITTEN:
        ring_channel_receive_ack(stream, record, type);
        break;
    case RI_WIRE_CLOSING:
        ri_peer_note_closing(stream->peer);
        break;
    case RI_WIRE_RING_CLOSE:
        ri_ring_channel_free(stream);
        ri_stream_check_closed(stream);
        return 0;
    default:
        ring_channel_broken(stream, type, length);
        return 0;
    }
    ri_ring_rx_advance(stream->ring, lines);
    return 1;
}

/* Must a message be left in the ring? The one that is missing comes by active message, never
 * from behind in the ring, so it does come; unless the sender is gone, and then the ring must be
 * emptied. */
static int ring_channel_is_ahead(const ri_stream_t *stream, uint32_t sn)
{
    return ri_deliver_is_far_ahead(stream, sn) && !stream->ring_dead;
}

static void ring_channel_receive_sync(ri_stream_t *stream, const ri_ring_record_t *record,
                                      uint32_t sn, uint32_t length)
{
    ri_arrival_t arrival = {.sn        = sn,
                            .wire_type = RI_WIRE_EAGER_SYNC,
                            .kind      = RI_MSG_COPY,
                            .req_id    = record->extra,
                            .tag       = record->tag,
                            .length    = length,
                            .data      = ri_ring_payload(record, length)};

    ri_deliver(stream, &arrival);
}

/* Receive from one ring. The shared memory may change under a hostile peer, so each
 * field is read once. */
static unsigned ring_channel_poll_one(ri_worker_t *worker, ri_stream_t *stream)
{
    const ri_ring_record_t *record;
    unsigned count = 0;
    uint32_t length, lines, sn, release;
    const uint8_t *payload;
    uint64_t tag;
    uint8_t type;

    while ((count < RING_BATCH) && ((record = ri_ring_rx_peek(stream->ring)) != NULL)) {
        type   = __atomic_load_n(&record->type, __ATOMIC_RELAXED);
        length = __atomic_load_n(&record->length, __ATOMIC_RELAXED);
        lines  = ri_ring_rx_lines(stream->ring, type, length);
        ++count;
        if (ri_unlikely(lines == 0)) {
            ring_channel_broken(stream, type, length);
            return count;
        }

        if (ri_likely((type == RI_WIRE_EAGER) || (type == RI_WIRE_EAGER_SYNC))) {
            sn = __atomic_load_n(&record->value, __ATOMIC_RELAXED);
            if (ri_unlikely(sn != stream->next_sn) && ring_channel_is_ahead(stream, sn)) {
                --count; /* or applications that progress while there are events spin */
                break;
            }
            ++stream->counters.rx_ring;
            stream->ring_last_use = worker->ring_clock;
            if (ri_likely(type == RI_WIRE_EAGER)) {
                tag     = record->tag;
                payload = ri_ring_payload(record, length);
                release = __atomic_load_n(&record->extra, __ATOMIC_RELAXED);
                if (ri_unlikely(release != 0)) {
                    ri_hybrid_released(worker, stream->peer->uid, &release, 1);
                }
                if (ri_unlikely(
                            !ri_deliver_fast(stream, type, sn, tag, payload, length))) {
                    ri_deliver_plain(stream, type, sn, tag, payload, length);
                }
            } else {
                ring_channel_receive_sync(stream, record, sn, length);
            }
            if (ri_unlikely(stream->broken)) {
                ri_ring_channel_free(stream);
                return count;
            }
            ri_ring_rx_advance(stream->ring, lines);
        } else if (ri_unlikely((type == RI_RING_START) || (type == RI_WIRE_RTS) ||
                               (type == RI_WIRE_POOL) || (type == RI_WIRE_PLACED)) &&
                   ring_channel_is_ahead(
                           stream, __atomic_load_n(&record->value, __ATOMIC_RELAXED))) {
            --count;
            break;
        } else if (!ring_channel_receive_control(stream, record, type, length, lines)) {
            return count;
        }
    }

    if (ri_unlikely(count && (stream->ring->fd >= 0))) {
        ri_ring_rx_mapped(stream->ring);
    }
    return count;
}

void ri_ring_channel_take_rtrs(ri_stream_t *stream)
{
    const ri_ring_record_t *record;
    uint32_t length, lines;

    if ((stream->ring == NULL) || (stream->busy != 0) || stream->broken ||
        (stream->assembly.length != 0)) {
        return;
    }
    while (((record = ri_ring_rx_peek(stream->ring)) != NULL) &&
           (__atomic_load_n(&record->type, __ATOMIC_RELAXED) == RI_WIRE_RTR)) {
        length = __atomic_load_n(&record->length, __ATOMIC_RELAXED);
        lines  = ri_ring_rx_lines(stream->ring, RI_WIRE_RTR, length);
        if ((lines == 0) || !ri_recv_rndv_receive(stream, record, length)) {
            return; /* polling deals with it */
        }
        ring_channel_note_hint(stream, record, RI_WIRE_RTR);
        ri_ring_rx_advance(stream->ring, lines);
    }
}

/* There is something to be done about a ring. @return Number of records. */
static ri_noinline unsigned ring_channel_poll_stream(ri_worker_t *worker,
                                                     ri_stream_t *stream)
{
    unsigned count = 0;

    ++stream->busy;
    if (ri_ring_rx_peek(stream->ring) != NULL) {
        count = ring_channel_poll_one(worker, stream);
    } else {
        ri_ring_channel_free(stream);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
    return count;
}

unsigned ri_ring_channel_poll(ri_worker_t *worker)
{
    unsigned count = 0;
    unsigned i;

    /* From the end, so that a ring that is removed does not hide another one. */
    for (i = worker->num_rings; i-- > 0;) {
        ri_stream_t *stream = (i < worker->num_rings) ? worker->rings[i] : NULL;

        if ((stream != NULL) &&
            ((ri_ring_rx_peek(stream->ring) != NULL) || ri_unlikely(stream->ring_dead))) {
            count += ring_channel_poll_stream(worker, stream);
        }
    }
    return count;
}
