/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs through a network, for senders that are reached through a network: the receiver's side, as
 * far as it is another one than with grants (rtr.h). (protocol-rndv.md section 4)
 *
 * An RTR has an entry of its peer's, with a generation that tells it from earlier ones, until its
 * data or its message has come, or it was withdrawn. There is no word that both sides could
 * change, so to withdraw it the receiver asks the sender. Meanwhile a cancel is not decided,
 * and a message of another sender that the receive may have to be left to waits, and all behind
 * it (stream->stalled).
 *
 * What ends all RTRs of a peer without asking is the end of this side's end of the way: nothing
 * is written by it after that, and what was before has told (uct/ib/rc/rc_notify.h).
 *
 * A notification is taken as the PLACED that it stands for.
 */
#ifndef RI_RTR_NET_H
#define RI_RTR_NET_H

#include "../../core/worker.h"
#include "../../order/recv_start.h"

/* Whether such RTRs are sent and taken. */
extern int ri_rtr_net_on;

/** Have the worker's plane through a network, which was opened, report writes that have come with
 * an immediate. If it cannot, receives are not offered by it. */
void ri_rtr_net_listen(ri_worker_t *worker);

/** @return Whether the sender of a stream may be sent RTRs through a network. */
int ri_rtr_net_is_possible(const ri_stream_t *stream);

/** @return Whether the memory of a receive can be offered to the sender of a stream through a
 * network: it is contiguous, or a grid (ri_dt_grid()), and that sender takes such ones. */
int ri_rtr_net_takes(const ri_recv_req_t *recv, const ri_stream_t *stream);

/**
 * Send the RTR of a posted receive that has none.
 *
 * @param ahead  How many posted receives of its tag and mask are older.
 *
 * @return UCS_OK: it is BY_KEY; UCS_ERR_NO_RESOURCE: not now; an error: never. Then it has none
 *         still.
 */
ucs_status_t ri_rtr_net_send(ri_recv_req_t *recv, ri_stream_t *stream, int ahead);

/** @return Whether a stream's sender has RTRs through a network that it may use, or has used. */
int ri_rtr_net_has(const ri_stream_t *stream);

/** A stream ends: its sender writes nothing any more by RTRs through a network, when this returns:
 * if it has any, this side's end of the way is given up, and all else that goes by the way
 * fails. */
void ri_rtr_net_withdraw(ri_stream_t *stream);

#endif
