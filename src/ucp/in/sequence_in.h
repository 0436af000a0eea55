/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages in sequence that have come, on their way to be delivered: handlers for the table of
 * in/handlers.c. Short messages that come by a ring or a channel are delivered by those who take
 * them out of it. (protocol.md section 4)
 *
 * Unless said otherwise, a function is one of those that core/types/handler.h describes. Those for
 * active messages also send the id of the stream to a sender that still waits for it. They take a
 * payload that ri_wire_parse() has checked, and free the stream if it is closed and not busy; the
 * others check the payload after they have copied it.
 */
#ifndef RI_SEQUENCE_IN_H
#define RI_SEQUENCE_IN_H

#include "../core/types/handler.h"
#include "../core/worker.h"

/* A longer message that is kept stays in UCP's descriptor, as in stock. */
#define RI_SEQUENCE_IN_COPY_MAX 1024

/** EAGER, EAGER_SAME, EAGER_SYNC, BULK by active message. If the message has to wait for its
 * receive, up to RI_SEQUENCE_IN_COPY_MAX bytes are copied; more is kept in UCP's descriptor if UCP
 * allows that, and so is what is still at the sender. Calls back; a stream that is not busy may be
 * gone afterwards. @return See ri_handler_t.from_am. */
ucs_status_t ri_sequence_in_am(ri_worker_t *worker, ri_stream_t *stream,
                               const ri_wire_msg_t *msg, const ri_with_am_t *with);

/** RTS, POOL by active message. One that is sent again is answered if its message is here already.
 * Calls back; a stream that is not busy may be gone afterwards.
 * @return See ri_handler_t.from_am. */
ucs_status_t ri_sequence_in_am_rts(ri_worker_t *worker, ri_stream_t *stream,
                                   const ri_wire_msg_t *msg, const ri_with_am_t *with);

/** PLACED by active message. Calls back; a stream that is not busy may be gone afterwards.
 * @return See ri_handler_t.from_am. */
ucs_status_t ri_sequence_in_am_placed(ri_worker_t *worker, ri_stream_t *stream,
                                      const ri_wire_msg_t *msg, const ri_with_am_t *with);

/** FIRST by active message. @return See ri_handler_t.from_am. */
ucs_status_t ri_sequence_in_am_first(ri_worker_t *worker, ri_stream_t *stream,
                                     const ri_wire_msg_t *msg, const ri_with_am_t *with);

/** Count a message in a ring, or its first part. */
static inline void ri_sequence_in_note_ring(ri_stream_t *stream)
{
    ++stream->counters.rx_ring;
    stream->ring_life.last_use = stream->worker->rings.clock;
}

/** EAGER_SYNC in a ring. @return 1. */
int ri_sequence_in_ring_sync(ri_stream_t *stream, const ri_ring_record_t *record,
                             uint8_t type, uint32_t length);

/** RTS, POOL in a ring. @return 0 if the record breaks the protocol. */
int ri_sequence_in_ring_rts(ri_stream_t *stream, const ri_ring_record_t *record,
                            uint8_t type, uint32_t length);

/** PLACED in a ring. @return 0 if the record breaks the protocol. */
int ri_sequence_in_ring_placed(ri_stream_t *stream, const ri_ring_record_t *record,
                               uint8_t type, uint32_t length);

/** RTS, POOL in a channel. @return 0 if the record breaks the protocol. */
int ri_sequence_in_channel_rts(ri_stream_t *stream, const ri_channel_record_t *header,
                               const void *payload);

#endif
