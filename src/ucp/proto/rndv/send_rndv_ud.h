/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sender-initiated rendezvous by datagrams: when the RTS is matched, the receiver posts its
 * memory and says where the message is to go (TARGET); the sender sends it there (uct/ib/ud.h).
 * There is no further message: the plane tells either side of the end. (protocol.md section 8)
 *
 * Who of the two ends the transfer early cannot know whether the other one has seen it end well,
 * so only the sender goes on from there: it asks (ABANDON), and the receiver says that it has the
 * message (FIN), or wants it by UCP (NACK). A receiver whose transfer has failed waits for that.
 *
 * A message that is sent by an RTR goes in the same way once its RTS has met its receive. Until
 * then its sender may be told that nothing comes of it, by the plane or by an answer to the RTS,
 * as if there had been no RTR: then that one is as any other RTS.
 *
 * The receive's memory is its own again as soon as its transfer was cancelled, so it can end with
 * its stream. That of the send is read until the plane says so.
 */
#ifndef RI_SEND_RNDV_UD_H
#define RI_SEND_RNDV_UD_H

#include "../../link/rdma.h"
#include "../select.h"
#include "../../core/worker.h"
#include "../../order/recv_start.h"
#include "../../../uct/ib/ud.h"

/* Progress calls after a message has been received in which the plane is looked after: its sender
 * may ask whether it was. */
#define RI_UD_LINGER (1u << 20)

/** Sender: the RTS was sent, and says that the message goes to @a target, which an RTR of receive
 * @a recv_id has told: send it. */
void ri_send_rndv_ud_start_by_rtr(ri_send_req_t *req, const uint8_t *target,
                                  uint32_t recv_id);

/** Receiver: as ri_rndv_recv(), of an RTS with RI_WIRE_RTS_SENDS, when @a fetch was chosen:
 * RI_FETCH_SENT, SENT_BOUNCE or AM. */
ucs_status_t ri_send_rndv_ud_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                                  const ri_arrival_t *arrival, ri_fetch_t fetch);

/** Receiver: what a transfer tells (ud_run.h). */
void ri_send_rndv_ud_recv_ready(ri_ud_op_t *ud, const ri_ud_target_t *target);
void ri_send_rndv_ud_recv_end(ri_rdma_op_t *op, int ending);

/** Sender: TARGET. */
void ri_send_rndv_ud_handle_target(ri_worker_t *worker, ri_conn_t *conn,
                                   const ri_wire_msg_t *msg);

/** Receiver: ABANDON. */
void ri_send_rndv_ud_handle_abandon(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** Sender: for `forget` of protocols that send datagrams. The plane says when it has let go of the data
 * (RI_SEND_WAIT_WRITE). */
void ri_send_rndv_ud_forget(ri_send_req_t *req);

#endif
