/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages whose sender says which receive it is writing for them (USED), the receiver's side.
 * Such a message has its turn before its data is there: its receive leaves the queue (NAMED), so
 * that what was sent later can be matched, and is complete when the notification has come.
 * (protocol-rndv.md section 4)
 *
 * USED is of use only where it comes before the notification, and void with the way that the RTR
 * was for; so it is never missed, and of what does not fit any more nothing is made.
 */
#ifndef RI_RTR_USED_H
#define RI_RTR_USED_H

#include "../../core/worker.h"
#include "../../order/recv_start.h"

/** Handler of USED: messages were written by RTRs. If one has its turn before its notification
 * comes, its receive is NAMED. What is of no use any more is counted and ignored. Calls back; a
 * stream that is not busy may be gone afterwards. */
void ri_rtr_used_handle(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** The data of a NAMED receive is there, as its notification says: complete the receive. If number
 * or length make no sense, its stream is broken instead. The stream is kept by stream->busy. Calls
 * back. */
void ri_rtr_used_notified(ri_recv_req_t *recv, uint32_t sn, size_t length);

/** An RTS says that its message may be there, and the way is gone. @return Whether a receive is
 * NAMED for it: then that reads it; or the stream was broken, if the way is there. The stream is
 * kept by stream->busy. Calls back. */
int ri_rtr_used_again(ri_stream_t *stream, ri_arrival_t *arrival);

/** This side's end of the way to a peer is gone: what USED has said of messages that have not had
 * their turn is void, and forgotten. */
void ri_rtr_used_drop(ri_peer_t *peer);

/** The stream of a NAMED receive ends, and nothing comes any more by its way: the receive
 * completes, with UCS_OK if its notification has come, else with @a status. Calls back. */
void ri_rtr_used_end(ri_recv_req_t *recv, ucs_status_t status);

#endif
