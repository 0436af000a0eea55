/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs by message, for senders that are reached through a network: the receiver's side, as far
 * as it is another one than with grants (rtr.h). (protocol-rndv.md section 4)
 *
 * An RTR has a slot of its peer's, with a generation that tells it from earlier ones, until its
 * data or its message has come, or it was taken back. There is no word that both sides could
 * change, so to take it back the receiver asks the sender. Meanwhile a cancel is not decided,
 * and a message of another sender that the receive may have to be left to waits, and all behind
 * it (stream->stalled).
 *
 * What ends all RTRs of a peer without asking is the end of this side's end of the way: nothing
 * is written by it after that, and what was before has told (uct/ib/rc_notify.h).
 *
 * A notification is taken as the PLACED that it stands for.
 */
#ifndef RI_RTR_MESSAGE_H
#define RI_RTR_MESSAGE_H

#include "../../core/worker.h"
#include "../../order/recv_start.h"

/* Whether such RTRs are sent and taken. */
extern int ri_rtr_message_on;

/** The plane was opened. */
void ri_rtr_message_listen(ri_worker_t *worker);

/** @return Whether the sender of a stream may be sent RTRs by message. */
int ri_rtr_message_is_possible(const ri_stream_t *stream);

/** Send the RTR of a posted receive. @return UCS_OK; UCS_ERR_NO_RESOURCE: not now; an error:
 * never. */
ucs_status_t ri_rtr_message_send(ri_recv_req_t *recv, ri_stream_t *stream, int ahead);

/** Give the slot of a receive back, if it has one. */
void ri_rtr_message_release(ri_recv_req_t *recv);

/** @return Whether the RTR is taken back; else that was asked for, or it has been used. */
int ri_rtr_message_take_back(ri_recv_req_t *recv);

/** @return Whether a message that has its turn has to wait, because it is not known yet if the
 * receive that it should have is promised to another sender. That was asked then.
 * @a stream NULL: of this worker itself. */
int ri_rtr_message_is_contested(ri_worker_t *worker, const ri_stream_t *stream,
                                uint64_t tag);

/** An RTS says that its message may be there. @return Whether it is, and that was answered. */
int ri_rtr_message_again(ri_stream_t *stream, ri_arrival_t *arrival);

/** Messages wait for answers to REVOKE, and may not do so any longer: give up the ways to those
 * who do not answer. What waits goes on in progress. */
void ri_rtr_message_decide(ri_worker_t *worker);

/* Seconds until a sender is taken not to answer REVOKE: it may have ended its part, and not call
 * the library any more. */
extern double ri_rtr_message_patience;

/** Some REVOKE is not answered yet: likewise, the ways to those who do not for that long, or a 64th
 * more: this is called often, and looks at all slots now and then only. */
void ri_rtr_message_check_asked(ri_worker_t *worker);

void ri_rtr_message_handle_revoked(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** Take what the plane has told. @return How much that was. */
unsigned ri_rtr_message_progress(ri_worker_t *worker);

/** @return Whether a stream's sender has RTRs that it may use, or has. */
int ri_rtr_message_has(const ri_stream_t *stream);

/** A stream ends: its sender writes nothing any more by RTRs, when this returns. */
void ri_rtr_message_withdraw(ri_stream_t *stream);

/** ... after that: decide what waited for its answers. */
void ri_rtr_message_settle(ri_stream_t *stream);

/** The way to a peer ends, and is lost (uct/api/plane.h): streams that it may have brought
 * something of which nobody was told are broken in progress. */
void ri_rtr_message_way_lost(ri_peer_t *peer);
void ri_rtr_message_break_lost(ri_worker_t *worker);

/** This side's end of the way to a peer is gone. */
void ri_rtr_message_way_ended(ri_peer_t *peer);

/** A peer that has no stream any more is freed. */
void ri_rtr_message_forget_peer(ri_peer_t *peer);

/** The worker ends. */
void ri_rtr_message_end_all(ri_worker_t *worker);

#endif
