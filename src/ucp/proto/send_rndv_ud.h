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
 * The receive's memory is its own again as soon as its transfer was cancelled, so it can end with
 * its stream. That of the send is read until the plane says so.
 */
#ifndef RI_SEND_RNDV_UD_H
#define RI_SEND_RNDV_UD_H

#include "select.h"
#include "../core/worker.h"
#include "../tag/recv_start.h"

/** Sender: as ri_rndv_send(). The data is registered (req->keys). */
ucs_status_t ri_send_rndv_ud_start(ri_send_req_t *req);

/** Receiver: as ri_rndv_recv(), of an RTS with RI_WIRE_RTS_SENDS, when @a fetch was chosen:
 * RI_FETCH_SENT, SENT_BOUNCE or AM. */
ucs_status_t ri_send_rndv_ud_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                                  const ri_arrival_t *arrival, ri_fetch_t fetch);

/** Sender: TARGET. */
void ri_send_rndv_ud_handle_target(ri_worker_t *worker, ri_conn_t *conn,
                                   const ri_wire_msg_t *msg);

/** Receiver: ABANDON. */
void ri_send_rndv_ud_handle_abandon(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** Receiver: a receive waits no more; its memory is nobody else's when this returns. */
void ri_send_rndv_ud_forget(ri_recv_req_t *recv);

/** Sender: its conn has failed, or it ends otherwise. The plane says when it has let go of the
 * data (RI_SEND_WAIT_WRITE). */
void ri_send_rndv_ud_abort(ri_send_req_t *req);

#endif
