/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared memory may change under a hostile peer, so each field of a record is read once. A
 * short message is delivered right here, without a look at any table; so are the parts of longer
 * ones. A record counts as read when it has been handled, and its payload stays where it is until
 * then.
 */
#include "ring_in.h"
#include "control_in.h"
#include "sequence_in.h"
#include "../core/types/handler.h"
#include "../link/ring_life.h"
#include "../order/assembly.h"
#include "../order/deliver.h"
#include "../order/deliver_known.h"
#include "../proto/pool/pool_send.h"

/* Records taken from one ring before the next ring has its turn. */
#define RING_BATCH 16

/* How often the next part of a message is looked for before the caller goes on. */
#define RING_PART_POLLS 256

/* The peer writes what it must not: drop all that it sends. */
static void ring_in_broken(ri_stream_t *stream, uint8_t type, uint32_t length)
{
    ri_deliver_breaking(stream, "a malformed record in its ring", type, length);
    ri_ring_life_free(stream);
}

/* Begin the message that a first part tells of. @return 0 if it breaks the protocol. */
static int ring_in_start(ri_stream_t *stream, const ri_ring_record_t *record,
                         uint32_t length)
{
    uint32_t total = __atomic_load_n(&record->extra, __ATOMIC_RELAXED);
    uint32_t sn    = __atomic_load_n(&record->value, __ATOMIC_RELAXED);
    uint64_t tag   = __atomic_load_n(&record->tag, __ATOMIC_RELAXED);

    if ((length == 0) || (total <= length) ||
        (total > (stream->ring->mask + 1) * RI_RING_LINE)) {
        return 0;
    }
    ri_sequence_in_note_ring(stream);
    ri_assembly_start(stream, sn, tag, total);
    return 1;
}

/* A part of a message. @return 0 if it breaks the protocol. */
static int ring_in_take_part(ri_stream_t *stream, const ri_ring_record_t *record,
                             uint8_t type, uint32_t length)
{
    ri_assembly_t *assembly = &stream->assembly;

    if (stream->broken ||
        ((type == RI_RING_START) && !ring_in_start(stream, record, length))) {
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
static void ring_in_await_part(ri_stream_t *stream)
{
    unsigned i;

    for (i = 0; (i < RING_PART_POLLS) && (stream->assembly.length != 0) &&
                (ri_ring_rx_peek(stream->ring) == NULL);
         ++i) {}
}

/* Some records say whether the peer was waiting for the latest long message. */
static void ring_in_note_hint(ri_stream_t *stream, const ri_ring_record_t *record,
                              uint8_t type)
{
    const ri_wire_row_t *row = ri_wire_type_row(type);
    uint8_t hint             = __atomic_load_n(&record->hint, __ATOMIC_RELAXED);

    if ((row != NULL) ? row->hints :
                        ((type == RI_RING_START) && (hint & RI_RING_HINT_SAID))) {
        ri_peer_note_hint(stream->peer, hint);
    }
}

/* A control message without fields. One to a stream is to that of the ring. */
static void ring_in_take_control(ri_stream_t *stream, const ri_ring_record_t *record,
                                 uint8_t type)
{
    int to_stream     = (ri_wire_rows[type].to == RI_WIRE_TO_STREAM);
    ri_wire_msg_t msg = {.type  = type,
                         .value = record->value,
                         .id    = to_stream ? stream->id : record->extra};

    ri_control_in(stream->worker, &msg);
}

/* Hand a record over to who is in charge of its type. @return 0 if it breaks the protocol. */
static int ring_in_take(ri_stream_t *stream, const ri_ring_record_t *record, uint8_t type,
                        uint32_t length)
{
    const ri_handler_t *handler;

    if (!ri_wire_type_may_go(type, RI_WIRE_BY_RING)) {
        return 0;
    }
    handler = &ri_handlers[type];
    if (handler->from_ring != NULL) {
        return handler->from_ring(stream, record, type, length);
    }
    ring_in_take_control(stream, record, type);
    return 1;
}

/* A record that is not an EAGER. @return Whether the ring is still there. */
static int ring_in_take_other(ri_stream_t *stream, const ri_ring_record_t *record,
                              uint8_t type, uint32_t length, uint32_t lines)
{
    int is_part = (type == RI_RING_START) || (type == RI_RING_PART);
    int is_well;

    /* Nothing comes between the parts of a message. */
    if ((stream->assembly.length != 0) && (type != RI_RING_PART)) {
        ring_in_broken(stream, type, length);
        return 0;
    }

    ring_in_note_hint(stream, record, type);
    is_well = (type == RI_RING_PAD) ? 1 :
              is_part               ? ring_in_take_part(stream, record, type, length) :
                                      ring_in_take(stream, record, type, length);
    if (!is_well) {
        ring_in_broken(stream, type, length);
        return 0;
    }
    if (stream->broken && (is_part || (type == RI_WIRE_EAGER_SYNC))) {
        ri_ring_life_free(stream);
        return 0;
    }
    if (stream->ring == NULL) { /* it was the last record */
        return 0;
    }
    ri_ring_rx_advance(stream->ring, lines);
    if (is_part) {
        ring_in_await_part(stream);
    }
    return 1;
}

/* Whether a record that is not an EAGER has a number. */
static int ring_in_is_numbered(uint8_t type)
{
    return (type == RI_RING_START) ||
           (ri_wire_type_in_sequence(type) && ri_wire_type_may_go(type, RI_WIRE_BY_RING));
}

/* Whether a record begins a message above EAGER_THRESH: its first part, or what announces it. */
static int ring_in_is_long(const ri_ring_record_t *record, uint8_t type)
{
    const ri_wire_row_t *row = ri_wire_type_row(type);

    return ((row != NULL) && row->announces) ||
           ((type == RI_RING_START) &&
            (__atomic_load_n(&record->extra, __ATOMIC_RELAXED) > ri_config.eager_thresh));
}

/* Whether there is a message among the next records; with @a is_long, such a one. */
static int ring_in_has(const ri_stream_t *stream, int is_long)
{
    const ri_ring_record_t *record;
    ri_ring_rx_t ahead;
    uint32_t lines;
    unsigned i;
    uint8_t type;

    if (stream->ring == NULL) {
        return 0;
    }
    ahead = *stream->ring;
    for (i = 0; (i < RING_BATCH) && ((record = ri_ring_rx_peek(&ahead)) != NULL); ++i) {
        type  = __atomic_load_n(&record->type, __ATOMIC_RELAXED);
        lines = ri_ring_rx_lines(&ahead, type,
                                 __atomic_load_n(&record->length, __ATOMIC_RELAXED));
        if (lines == 0) {
            return 0; /* polling deals with what is malformed */
        }
        if (is_long ? ring_in_is_long(record, type) : ring_in_is_numbered(type)) {
            return 1;
        }
        ahead.pos += lines;
    }
    return 0;
}

int ri_ring_in_has_message(const ri_stream_t *stream)
{
    return ring_in_has(stream, 0);
}

int ri_ring_in_has_long_message(const ri_stream_t *stream)
{
    return (stream->busy == 0) && ring_in_has(stream, 1);
}

/* Must a message be left in the ring? The one that is missing comes by active message, never
 * from behind in the ring, so it does come; unless the sender is gone, and then the ring must be
 * emptied. */
static int ring_in_is_ahead(const ri_stream_t *stream, uint32_t sn)
{
    return ri_deliver_known_is_far_ahead(stream, sn) &&
           (stream->ring_life.state != RI_STREAM_RING_DEAD);
}

/* Receive from one ring. @return Number of records. */
static unsigned ring_in_poll_one(ri_worker_t *worker, ri_stream_t *stream)
{
    ri_ring_rx_t *rx = &stream->ring_life.memory; /* what stream->ring points to */
    unsigned count   = 0;
    const ri_ring_record_t *record;
    uint32_t length, lines, sn, release;
    const uint8_t *payload;
    uint64_t tag;
    uint8_t type;

    while ((count < RING_BATCH) && ((record = ri_ring_rx_peek(rx)) != NULL)) {
        type   = __atomic_load_n(&record->type, __ATOMIC_RELAXED);
        length = __atomic_load_n(&record->length, __ATOMIC_RELAXED);
        lines  = ri_ring_rx_lines(rx, type, length);
        ++count;
        if (ri_unlikely(lines == 0)) {
            ring_in_broken(stream, type, length);
            return count;
        }

        if (ri_likely(type == RI_WIRE_EAGER)) {
            sn = __atomic_load_n(&record->value, __ATOMIC_RELAXED);
            if (ri_unlikely(sn != stream->next_sn) && ring_in_is_ahead(stream, sn)) {
                --count; /* or applications that progress while there are events spin */
                break;
            }
            ri_sequence_in_note_ring(stream);
            tag     = record->tag;
            payload = ri_ring_payload(record, length);
            release = __atomic_load_n(&record->extra, __ATOMIC_RELAXED);
            if (ri_unlikely(release != 0)) {
                ri_pool_send_released(worker, stream->peer->uid, &release, 1);
            }
            if (ri_unlikely(!ri_deliver_fast(stream, type, sn, tag, payload, length))) {
                ri_deliver_plain(stream, type, sn, tag, payload, length);
            }
            if (ri_unlikely(stream->broken)) {
                ri_ring_life_free(stream);
                return count;
            }
            ri_ring_rx_advance(rx, lines);
        } else if (ring_in_is_numbered(type) &&
                   ring_in_is_ahead(stream,
                                    __atomic_load_n(&record->value, __ATOMIC_RELAXED))) {
            --count;
            break;
        } else if (!ring_in_take_other(stream, record, type, length, lines)) {
            return count;
        }
    }

    if (ri_unlikely(rx->fd >= 0) && (count > 0)) {
        ri_ring_rx_mapped(rx);
    }
    return count;
}

void ri_ring_in_take_rtrs(ri_stream_t *stream)
{
    const ri_ring_record_t *record;
    const ri_wire_row_t *row;
    uint32_t length, lines;
    uint8_t type;

    if ((stream->ring == NULL) || (stream->busy != 0) || stream->broken ||
        (stream->assembly.length != 0)) {
        return;
    }
    while ((record = ri_ring_rx_peek(stream->ring)) != NULL) {
        type = __atomic_load_n(&record->type, __ATOMIC_RELAXED);
        row  = ri_wire_type_row(type);
        if ((row == NULL) || !row->is_ahead) {
            return;
        }
        length = __atomic_load_n(&record->length, __ATOMIC_RELAXED);
        lines  = ri_ring_rx_lines(stream->ring, type, length);
        if ((lines == 0) || !ring_in_take(stream, record, type, length)) {
            return; /* polling deals with it */
        }
        ring_in_note_hint(stream, record, type);
        ri_ring_rx_advance(stream->ring, lines);
    }
}

/* There is something to be done about a ring. @return Number of records. */
static ri_inline unsigned ring_in_poll_stream(ri_worker_t *worker, ri_stream_t *stream)
{
    unsigned count;

    ++stream->busy;
    count = ring_in_poll_one(worker, stream);
    if (ri_unlikely((count == 0) && (stream->ring_life.state == RI_STREAM_RING_DEAD))) {
        ri_ring_life_free(stream);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
    return count;
}

unsigned ri_ring_in_poll(ri_worker_t *worker, unsigned end)
{
    unsigned count = 0;

    while (end > 0) {
        count += ring_in_poll_stream(worker, worker->rings_in[end - 1]);
        /* From the end, so that a ring that is removed does not hide another one. */
        end = ri_ring_in_find_due(worker, ri_min(end - 1, worker->num_rings));
    }
    return count;
}
