/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A matched message begins to fill its receive: its data is placed, or fetched, or an own protocol
 * takes over.
 */
#ifndef RI_RECV_START_H
#define RI_RECV_START_H

#include "arrival.h"
#include "../core/types/msg_kind.h"

/* The kinds of messages that are order's own. */
extern const ri_msg_ops_t ri_msg_ops_copy;
extern const ri_msg_ops_t ri_msg_ops_am_data;
extern const ri_msg_ops_t ri_msg_ops_am_rndv;

/**
 * Move the data of a matched message into the receive's memory. The receive was taken out of the
 * queue. It may meet its RTR here: then the stream may be broken. arrival->desc is set to NULL if
 * UCP has taken the descriptor back.
 *
 * @param stream  NULL: the message is this worker's own, or its stream is of no importance.
 *
 * @return The status of the receive, whose datatype is finished then: the caller completes it
 *         (ri_req_complete_recv()). UCS_INPROGRESS: it ends later by itself.
 */
ucs_status_t ri_recv_start(ri_recv_req_t *recv, ri_stream_t *stream,
                           ri_arrival_t *arrival);

/**
 * Start the receive of a message that was waiting, as @ref ri_recv_start does, and answer a sender
 * that waits for that; frees the message, which is in no queue any more. A send of this worker to
 * itself ends, which calls back. A stream that is not busy may be gone afterwards.
 *
 * @return As @ref ri_recv_start.
 */
ucs_status_t ri_recv_start_msg(ri_recv_req_t *recv, ri_msg_t *msg);

/** A message has met its receive: tell a sender that waits for that (@a req_id is not 0). A
 * rendezvous has an answer of its own, or needs none, and nothing is done. @a stream NULL: it is
 * this worker itself. */
void ri_recv_start_ack(ri_stream_t *stream, ri_msg_kind_t kind, uint32_t req_id);

#endif
