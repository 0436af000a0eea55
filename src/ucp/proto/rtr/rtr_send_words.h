/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs through a network that have come, at the sender, which may write by them (rtr_send_net.h,
 * rtr_send_pool.h, rtr_send_ud.h). (protocol-rndv.md section 4)
 *
 * An RTR that waits has a word of the conn's in place of a grant. The receiver cannot change it,
 * and asks (REVOKE).
 */
#ifndef RI_RTR_SEND_WORDS_H
#define RI_RTR_SEND_WORDS_H

#include "../../core/worker.h"
#include "../../match/rtr_table.h"

/** This process can write the memory of the conn's peer, or send to it, through a network: begin to
 * take RTRs, unless that was done before. The peer has a way. @return Whether the peer is to be
 * told; 0 also if there are to be no RTRs, or there is no memory. */
int ri_rtr_send_words_open(ri_conn_t *conn);

/** An RTR has come by message that is about @a way, which may be NULL. If it is about the way that
 * there is, and none of its entry is later, note it in the word of its entry; else count it as
 * stale. @return Whether it was noted, and is to be kept by ri_rtr_send_words_add(). */
int ri_rtr_send_words_note(ri_conn_t *conn, const ri_plane_ep_t *way,
                           const ri_wire_msg_t *msg);

/** Keep an RTR that ri_rtr_send_words_note() has noted: enter it into the conn's table, if its
 * message is to come. @a length: of the receive. */
void ri_rtr_send_words_add(ri_conn_t *conn, const ri_wire_msg_t *msg, ri_rtr_kind_t kind,
                           uint64_t length);

/** Handler of RTR and RTR_GRID: keep it, if it is about the way that there is. */
void ri_rtr_send_words_handle_rtr(ri_conn_t *conn, const ri_wire_msg_t *msg);

/** A conn is closed. If it has used RTRs of the peer, the peer may still ask which, as it need not
 * have been told of all writes. So the words of the conn's RTRs belong to the peer from now on. */
void ri_rtr_send_words_conn_ends(ri_conn_t *conn);

/** Handler of REVOKE: withdraw an RTR unless it was used, and answer which it is (REVOKED). @a conn
 * may be NULL: there is none of that id. What is of another peer is counted and ignored. */
void ri_rtr_send_words_handle_revoke(ri_worker_t *worker, ri_conn_t *conn,
                                     const ri_wire_msg_t *msg);

#endif
