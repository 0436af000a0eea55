/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sender-initiated rendezvous by datagrams: when the RTS is matched, the receiver posts its
 * memory and says where the message is to go (TARGET); the sender sends it there (uct/ib/ud/ud.h).
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
 *
 * This is the sender's side; rndv_ud_recv.h is the receiver's.
 */
#ifndef RI_RNDV_UD_H
#define RI_RNDV_UD_H

#include <assert.h>

#include "../../core/worker.h"
#include "ud_run.h"

/** @return Whether the target of a send may change from one value to another, see ri_send_target_t.
 * */
int ri_rndv_ud_may_become(ri_send_target_t from, ri_send_target_t to);

/** Sender: change the target of a send, as ri_send_target_t allows it. */
static inline void ri_rndv_ud_set_target(ri_send_req_t *req, ri_send_target_t target)
{
    assert(ri_rndv_ud_may_become((ri_send_target_t)req->target, target));
    req->target = target;
}

/** Sender: the RTS was sent, and says that the message goes to @a target, which an RTR of receive
 * @a recv_id has told: send it. If that cannot be done the receiver is told (ABANDON), and answers
 * the RTS as any other. */
void ri_rndv_ud_start_by_rtr(ri_send_req_t *req, const uint8_t *target, uint32_t recv_id);

/** Sender: handler of TARGET: send the message where it says, or give up what is being sent, or
 * learn that a message was received. What does not fit the state of the request is counted and
 * ignored. */
void ri_rndv_ud_handle_target(ri_worker_t *worker, ri_conn_t *conn,
                              const ri_wire_msg_t *msg);

/** Sender: for `forget` of protocols that send datagrams: release the keys, and cancel what is
 * being sent. The plane says when it has let go of the data (RI_SEND_WAIT_WRITE). */
void ri_rndv_ud_forget(ri_send_req_t *req);

#endif
