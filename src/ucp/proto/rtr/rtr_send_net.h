/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receiver-initiated rendezvous through a network, the sender's side. The RTR comes through a
 * network and has a key; the data is written there with an immediate that tells the receiver, so
 * the message has no other. (protocol-rndv.md section 4; the receiver's side is rtr_net.h)
 *
 * An RTR that waits has a word of the conn's in place of a grant. The receiver cannot change it,
 * and asks (REVOKE).
 *
 * When a write fails nobody can tell whether all of it arrived. The message is sent again, under
 * its number, as an RTS that says so; the receiver sees to it that nothing of the write comes
 * any more before it takes it.
 */
#ifndef RI_RTR_SEND_NET_H
#define RI_RTR_SEND_NET_H

#include "../../core/worker.h"
#include "../../match/rtr_table.h"

/** This process can write the memory of the conn's peer, or send to it, through a network: begin to
 * take RTRs, unless that was done before. The peer has a way. @return Whether the peer is to be
 * told; 0 also if there are to be no RTRs, or there is no memory. */
int ri_rtr_send_net_open(ri_conn_t *conn);

/** Note that the write for message @a sn goes on. The receiver does not know of it before all data
 * is there, so it is told before a message of another form is sent. conn->rtr.untold exists. */
void ri_rtr_send_net_untold(ri_conn_t *conn, uint32_t sn, const ri_rtr_t *rtr);

/** The write for message @a sn has ended, or the message is sent in another way: the receiver need
 * not be told of it any more. It may have been told already. */
void ri_rtr_send_net_not_untold(ri_conn_t *conn, uint32_t sn);

/** @return What tells the receiver that the message of @a req was written where @a rtr says. */
uint32_t ri_rtr_send_net_immediate(const ri_send_req_t *req, const ri_rtr_t *rtr);

/** An RTR has come by message that is about @a way, which may be NULL. If it is about the way that
 * there is, and none of its entry is later, note it in the word of its entry; else count it as
 * stale. @return Whether it was noted, and is to be kept by ri_rtr_send_net_add(). */
int ri_rtr_send_net_note(ri_conn_t *conn, const ri_plane_ep_t *way,
                         const ri_wire_msg_t *msg);

/** Keep an RTR that ri_rtr_send_net_note() has noted: enter it into the conn's table, if its
 * message is to come. @a length: of the receive. */
void ri_rtr_send_net_add(ri_conn_t *conn, const ri_wire_msg_t *msg, ri_rtr_kind_t kind,
                         uint64_t length);

/** Handler of RTR and RTR_GRID: keep it, if it is about the way that there is. */
void ri_rtr_send_net_handle_rtr(ri_conn_t *conn, const ri_wire_msg_t *msg);

/** A conn is closed. If it has used RTRs of the peer, the peer may still ask which, as it need not
 * have been told of all writes. So the words of the conn's RTRs belong to the peer from now on. */
void ri_rtr_send_net_conn_ends(ri_conn_t *conn);

/** Handler of REVOKE: withdraw an RTR unless it was used, and answer which it is (REVOKED). @a conn
 * may be NULL: there is none of that id. What is of another peer is counted and ignored. */
void ri_rtr_send_net_handle_revoke(ri_worker_t *worker, ri_conn_t *conn,
                                   const ri_wire_msg_t *msg);

#endif
