/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each handler makes an arrival (order/arrival.h) of a message, answers its hello, and delivers it.
 * One for each route: active message, ring, channel.
 */
#include "sequence_in.h"
#include "../link/control.h"
#include "../link/ring_life.h"
#include "../order/deliver.h"
#include "../proto/eager/frag.h"
#include "../proto/rndv/rndv.h"
#include "../proto/rtr/rtr_notified.h"

#include <string.h>

/* The part of an arrival that all active messages have in common. */
static ri_arrival_t sequence_arrival(const ri_wire_msg_t *msg, ri_msg_kind_t kind)
{
    return (ri_arrival_t){.sn        = msg->value,
                          .wire_type = msg->type,
                          .kind      = kind,
                          .req_id    = msg->req_id,
                          .tag       = msg->tag,
                          .length    = msg->length,
                          .data      = msg->payload};
}

/* A message with a hello that is not the first one has been sent by who waits for the id of its
 * stream. */
static void sequence_answer_hello(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    if (ri_unlikely(!stream->acked) && msg->has_hello && (msg->value > 1)) {
        ri_control_ack(stream);
    }
}

/* An RTS or POOL of a message that may be there already */
static int sequence_is_again(const ri_arrival_t *arrival)
{
    return (arrival->kind == RI_MSG_RTS) &&
           (((const ri_wire_rts_t *)arrival->data)->flags & RI_WIRE_RTS_AGAIN);
}

/* Deliver what has come by active message. */
static ucs_status_t sequence_deliver(ri_stream_t *stream, const ri_wire_msg_t *msg,
                                     ri_arrival_t *arrival)
{
    ucs_status_t status;

    sequence_answer_hello(stream, msg);
    if (msg->type != RI_WIRE_BULK) {
        ri_ring_life_note_am(stream);
    }
    ++stream->busy;
    if (ri_unlikely(sequence_is_again(arrival)) &&
        ri_rtr_notified_again(stream, arrival)) {
        status = UCS_OK;
    } else {
        status = ri_deliver(stream, arrival);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
    return status;
}

ucs_status_t ri_sequence_in_am(ri_worker_t *worker, ri_stream_t *stream,
                               const ri_wire_msg_t *msg, const ri_with_am_t *with)
{
    ri_arrival_t arrival = sequence_arrival(msg, RI_MSG_COPY);

    if (with->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
        arrival.kind = RI_MSG_AM_RNDV;
        arrival.desc = with->data;
    } else if ((with->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) &&
               (msg->length > RI_SEQUENCE_IN_COPY_MAX)) {
        arrival.kind = RI_MSG_AM_DATA;
        arrival.desc = with->data;
    }
    return sequence_deliver(stream, msg, &arrival);
}

ucs_status_t ri_sequence_in_am_rts(ri_worker_t *worker, ri_stream_t *stream,
                                   const ri_wire_msg_t *msg, const ri_with_am_t *with)
{
    ri_arrival_t arrival = sequence_arrival(msg, RI_MSG_RTS);

    ri_wire_check_rts(msg->type, msg->payload, msg->length, &arrival.length);
    return sequence_deliver(stream, msg, &arrival);
}

ucs_status_t ri_sequence_in_am_placed(ri_worker_t *worker, ri_stream_t *stream,
                                      const ri_wire_msg_t *msg, const ri_with_am_t *with)
{
    ri_arrival_t arrival = sequence_arrival(msg, RI_MSG_PLACED);

    ri_wire_check_placed(msg->payload, msg->length, &arrival.length);
    return sequence_deliver(stream, msg, &arrival);
}

ucs_status_t ri_sequence_in_am_first(ri_worker_t *worker, ri_stream_t *stream,
                                     const ri_wire_msg_t *msg, const ri_with_am_t *with)
{
    sequence_answer_hello(stream, msg);
    ri_frag_first(stream, msg);
    return UCS_OK;
}

/* @return A message as the header of its record tells of it. */
static ri_arrival_t sequence_ring_arrival(const ri_ring_record_t *record, uint8_t type,
                                          ri_msg_kind_t kind)
{
    return (ri_arrival_t){.sn        = __atomic_load_n(&record->value, __ATOMIC_RELAXED),
                          .wire_type = type,
                          .kind      = kind,
                          .req_id    = record->extra,
                          .tag       = record->tag};
}

int ri_sequence_in_ring_sync(ri_stream_t *stream, const ri_ring_record_t *record,
                             uint8_t type, uint32_t length)
{
    ri_arrival_t arrival = sequence_ring_arrival(record, type, RI_MSG_COPY);

    arrival.length = length;
    arrival.data   = ri_ring_payload(record, length);
    ri_sequence_in_note_ring(stream);
    ri_deliver(stream, &arrival);
    return 1;
}

int ri_sequence_in_ring_rts(ri_stream_t *stream, const ri_ring_record_t *record,
                            uint8_t type, uint32_t length)
{
    ri_arrival_t arrival = sequence_ring_arrival(record, type, RI_MSG_RTS);

    if (!ri_rndv_receive(stream, &arrival, ri_ring_payload(record, length), length)) {
        return 0;
    }
    ri_sequence_in_note_ring(stream);
    return 1;
}

int ri_sequence_in_ring_placed(ri_stream_t *stream, const ri_ring_record_t *record,
                               uint8_t type, uint32_t length)
{
    ri_arrival_t arrival = sequence_ring_arrival(record, type, RI_MSG_PLACED);
    ri_wire_placed_t payload;

    if (length != sizeof(payload)) {
        return 0;
    }
    memcpy(&payload, ri_ring_payload(record, length), sizeof(payload));
    if (ri_wire_check_placed(&payload, length, &arrival.length) != UCS_OK) {
        return 0;
    }
    ri_sequence_in_note_ring(stream);
    ri_deliver(stream, &arrival);
    return 1;
}

int ri_sequence_in_channel_rts(ri_stream_t *stream, const ri_channel_record_t *header,
                               const void *payload)
{
    ri_arrival_t arrival = {.sn        = header->value,
                            .wire_type = header->type,
                            .req_id    = header->extra,
                            .tag       = header->tag};

    ++stream->counters.rx_channel;
    return ri_rndv_receive(stream, &arrival, payload, header->length);
}
