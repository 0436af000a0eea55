/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receiver-initiated rendezvous through a network, the sender's side. The RTR comes by message
 * and has a key; the data is written there with an immediate that tells the receiver, so the
 * message has no other. (protocol-rndv.md section 4; the receiver's side is rtr_message.h)
 *
 * An RTR that waits has a word of the conn's in place of a grant. The receiver cannot change it,
 * and asks (REVOKE).
 *
 * When a write fails nobody can tell whether all of it arrived. The message is sent again, under
 * its number, as an RTS that says so; the receiver sees to it that nothing of the write comes
 * any more before it takes it.
 */
#ifndef RI_RECV_RNDV_MESSAGE_H
#define RI_RECV_RNDV_MESSAGE_H

#include "../../core/worker.h"

/** This process can write the peer's memory through a network: begin to take RTRs. @return
 * Whether the peer is to be told. */
int ri_recv_rndv_message_open(ri_conn_t *conn);

/** @return The room of the receive of @a rtr, which came by message; 0 if the notification of a
 * write could not tell the receiver all of the message of @a req, or its way is not there. */
uint64_t ri_recv_rndv_message_room(const ri_send_req_t *req, const ri_rtr_t *rtr);

/** Get ready to write. @return Whether that was possible and the RTR is used now: then
 * @ref ri_recv_rndv_message_start must follow. */
int ri_recv_rndv_message_take(ri_send_req_t *req, const ri_rtr_t *rtr);

/** Write; the request has its number. @return UCS_OK: it waits for RI_SEND_WAIT_WRITE, or, if
 * it is sent again, for its answer. UCS_INPROGRESS, or an error, as of ri_rndv_send(). */
ucs_status_t ri_recv_rndv_message_start(ri_send_req_t *req, const ri_rtr_t *rtr);

/** The write of number @a sn goes on: the receiver does not know of it before all of it is there. */
void ri_recv_rndv_message_untold(ri_conn_t *conn, uint32_t sn, const ri_rtr_t *rtr);

/** It has ended, so that nobody need be told, or its message is sent in another way. */
void ri_recv_rndv_message_not_untold(ri_conn_t *conn, uint32_t sn);

/** A message of another form takes the next number: tell the receiver which of its receives are
 * being written for those before it, so that it need not wait for them. There are such. */
void ri_recv_rndv_message_tell(ri_conn_t *conn);

/** @return What tells the receiver that the message of @a req was written where @a rtr says. */
uint32_t ri_recv_rndv_message_immediate(const ri_send_req_t *req, const ri_rtr_t *rtr);

/** An RTR has come by message that is about @a way, which may be NULL. @return Whether it is to be
 * kept: it is about the way that there is, and none of its slot is later. */
int ri_recv_rndv_message_is_new(ri_conn_t *conn, const ri_plane_ep_t *way,
                                const ri_wire_msg_t *msg);

/** Keep it. @a length: of the receive. */
void ri_recv_rndv_message_add(ri_conn_t *conn, const ri_wire_msg_t *msg,
                              ri_rtr_kind_t kind, uint64_t length);

void ri_recv_rndv_message_handle_rtr(ri_conn_t *conn, const ri_wire_msg_t *msg);

/** A conn is closed. What it has used of the peer's RTRs the peer may still ask for: a notification
 * that was acknowledged need not have been told there. */
void ri_recv_rndv_message_conn_ends(ri_conn_t *conn);

/** @a conn may be NULL: there is none of that id. */
void ri_recv_rndv_message_handle_revoke(ri_worker_t *worker, ri_conn_t *conn,
                                        const ri_wire_msg_t *msg);

#endif
