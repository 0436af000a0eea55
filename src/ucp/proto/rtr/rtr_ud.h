/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs for messages that go as datagrams: the receiver's side, where it differs from that of RTRs
 * with grants (rtr.h). (protocol-rndv.md section 8)
 *
 * The RTR has a target: a queue pair to which the receive's memory is posted. A sender that uses
 * it sends the message there, and an RTS that says so, which has its turn in the stream as any
 * other. So the receiver knows from the stream whose message it is, and from its own plane when
 * that is there.
 *
 * There is no grant. Instead, the plane knows whether it has heard of a message to the target:
 *
 *   - It has heard of none. The receiver may withdraw the RTR by resetting the queue pair, without
 *     asking anybody. A sender that sends there later is told that nothing arrives, and its RTS
 *     counts as one without an RTR.
 *   - It has heard of one. The receive is promised to that message, as with a grant that is USED.
 *
 * So the values RI_RING_GRANT_* are used for these RTRs, too.
 *
 * Queue pairs are few. An RTR of which nothing has been heard gives its queue pair up for a message
 * that is there and needs one. Then no RTR is sent for a while.
 */
#ifndef RI_RTR_UD_H
#define RI_RTR_UD_H

#include "../../core/worker.h"
#include "../../order/recv_start.h"

/* Seconds for which no RTR is sent after one had to give its queue pair up. The time grows up to
 * the second number if that happens again and again. Tests change the first one. */
extern double ri_rtr_ud_backoff;
#define RI_RTR_UD_BACKOFF_MAX 0.1

/** @return Whether the sender of a stream may be sent RTRs by ud. */
int ri_rtr_ud_is_possible(const ri_stream_t *stream);

/** @return Whether it is too early to send RTRs again, after one had to give its queue pair up.
 * Until this returns 0, receives that wait to be offered are not tried. */
int ri_rtr_ud_backs_off(ri_worker_t *worker);

/**
 * Send the RTR of a posted receive that has none.
 *
 * @param ahead  How many posted receives of its tag and mask are older.
 *
 * @return UCS_OK: the RTR is sent, and the receive is BY_UD. UCS_ERR_NO_RESOURCE: it cannot be sent
 *         now. Another error: it can never be sent. With an error the receive has no RTR.
 */
ucs_status_t ri_rtr_ud_send(ri_recv_req_t *recv, ri_stream_t *stream, int ahead);

/** @return Whether a message was sent by the RTR that its receive has. */
int ri_rtr_ud_is_for(const ri_recv_req_t *recv, const ri_stream_t *stream,
                     const ri_arrival_t *arrival);

/**
 * What ri_rtr_meet() does for a receive that is BY_UD.
 *
 * @param status  It is set if the result is 1.
 *
 * @return As ri_rtr_meet(), or -1: the sender breaks the protocol, and nothing was done.
 */
int ri_rtr_ud_meet(ri_recv_req_t *recv, ri_stream_t *stream, const ri_arrival_t *arrival,
                   ucs_status_t *status);

/** Handler of ABANDON: the sender gives up the datagrams of a message. If the message has no
 * receive yet, the datagrams were sent by the RTR of the receive with the id msg->recv_id. That
 * receive then waits for the message in another form. */
void ri_rtr_ud_handle_abandon(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** @return Whether a stream's sender has RTRs by ud that it may use, or has used. */
int ri_rtr_ud_has(const ri_stream_t *stream);

#endif
