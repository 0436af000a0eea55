/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs for messages that go as datagrams, the receiver's side, as far as it is another one than
 * with grants (rtr.h). (protocol-rndv.md section 8)
 *
 * The RTR has a target: a queue pair to which the receive's memory is posted. A sender that uses
 * it sends the message there, and an RTS that says so, which has its turn in the stream as any
 * other. So the receiver knows from the stream whose message it is, and from its own plane when
 * that is there.
 *
 * In place of the grant stands what the plane has heard. As long as that is nothing, the receiver
 * withdraws the RTR by resetting the queue pair, without asking anybody: what is sent there
 * then comes to nothing, its sender is told so, and its RTS is one without an RTR. What has been
 * heard of is promised, as what a grant says to be USED. So RI_RING_GRANT_* tell how far it is.
 *
 * Queue pairs are few. An RTR of which nothing has been heard gives its one to a message that is
 * there, and then none is sent for a while.
 */
#ifndef RI_RTR_UD_H
#define RI_RTR_UD_H

#include "../../core/worker.h"
#include "../../order/recv_start.h"

/* How long no RTR is sent when one had to give its queue pair up, and at most if that happens
 * again and again; seconds. Tests change it. */
extern double ri_rtr_ud_backoff;
#define RI_RTR_UD_BACKOFF_MAX 0.1

/** @return Whether the sender of a stream may be sent RTRs by ud. */
int ri_rtr_ud_is_possible(const ri_stream_t *stream);

/** @return Whether it is too early to send RTRs again after one had to make way. When it is not any
 * more, those that wait have their turn; until then they are not tried. */
int ri_rtr_ud_backs_off(ri_worker_t *worker);

/**
 * Send the RTR of a posted receive that has none.
 *
 * @param ahead  How many posted receives of its tag and mask are older.
 *
 * @return UCS_OK: it is BY_UD; UCS_ERR_NO_RESOURCE: not now; an error: never. Then it has none
 *         still.
 */
ucs_status_t ri_rtr_ud_send(ri_recv_req_t *recv, ri_stream_t *stream, int ahead);

/** @return Whether a message was sent by the RTR that its receive has. */
int ri_rtr_ud_is_for(const ri_recv_req_t *recv, const ri_stream_t *stream,
                     const ri_arrival_t *arrival);

/**
 * A receive that is BY_UD has met a message, as of ri_rtr_meet().
 *
 * @param status  Set with 1 as the result.
 *
 * @return As ri_rtr_meet(). But -1: the sender breaks the protocol, and the receive is as it was.
 */
int ri_rtr_ud_meet(ri_recv_req_t *recv, ri_stream_t *stream, const ri_arrival_t *arrival,
                   ucs_status_t *status);

/** Handler of ABANDON: the sender of a message gives up what it has sent. If that has got no
 * receive yet, it was sent by the RTR of the receive msg->recv_id: that waits for the message in
 * another form then. */
void ri_rtr_ud_handle_abandon(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** @return Whether a stream's sender has RTRs by ud that it may use, or has used. */
int ri_rtr_ud_has(const ri_stream_t *stream);

#endif
