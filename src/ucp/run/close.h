/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reasons for which the close of an endpoint waits, and until when.
 *
 * A send may be complete for the application, or the application may not care for its end any more,
 * while the data is still in this process: in the pool, or where the application has it. The peer
 * reads it when it receives the message. So a close waits for that; but a peer that never receives
 * it must not hold the close up. In an MPI's finalisation both sides close their endpoints and then
 * wait for each other where nobody calls UCX any more.
 *
 * Therefore a side that closes its last endpoint to a peer says so (CLOSING), and a close ends when
 * nothing has moved for a moment after that word. Without that word, as it could not be sent, or as
 * the peer computes, a close ends when nothing has moved for UCXRI_CLOSE_TIMEOUT. What was not
 * received is left as it is then: the conn stays, without an endpoint, and the peer can receive it
 * until the worker is destroyed. (protocol.md section 5)
 *
 * UCX's part of a close is a flush. Over TCP the peer has to answer that, also where nothing was
 * sent, as UCX connects the endpoint for the flush. A rank of MPICH before 4.2 answers nobody when
 * its own closes have ended: it waits in the process manager's barrier, and its worker is destroyed
 * behind that. So there each side says that it closes, and makes sure that it can say so: it asks a
 * peer that it does not know. A close ends when UCX's flush has, or a moment after the peer's word.
 * Without that word it waits as UCX does: the peer may compute, and what it has not taken yet may
 * not have left this process. Other programs close as UCX does: one that has closed its endpoints
 * may still receive by its worker; and ranks of later MPICH end their processes behind their
 * closes.
 *
 * Rejected: to end such sends and tell the peer. A peer that computes for long would lose a message
 * in a program without a mistake: a send that is copied to the pool is complete before its receive
 * is there. And memory must not be given back that a peer may still read.
 */
#ifndef RI_CLOSE_H
#define RI_CLOSE_H

#include "../core/worker.h"

/* After CLOSING, what the peer has begun, or finds in its rings, may still move. The number of
 * seconds without such a move that end a close. Tests change it. */
extern double ri_close_grace;

/* The number of seconds without an answer to UCX's flush that end a close; all that the peer needed
 * has come by then. */
extern double ri_close_answer_grace;

/* 1: this process closes as one of MPICH. Tests set it. */
extern int ri_close_like_mpich;

/** A close of @a conn begins: find out whether both sides have to say that they close
 * (RI_CONN_TELLS). */
void ri_close_begin(ri_conn_t *conn);

/** @return Whether a close has to wait: for messages that the peer has not received yet, for what
 * flushes wait for, or for what the peer has to learn of datagrams that have come from it. The peer
 * may be reminded of those, or told. */
int ri_close_must_wait(ri_conn_t *conn);

/** Say what there is to say before a close: CLOSING, buffers of the peer that are owed, and BYE,
 * each only where that is safe. The conn's ring is given back. No send waits for room in it.
 * @return Whether all has gone out; if not, some waits for memory of UCP, and this is to be called
 * again. */
int ri_close_say_bye(ri_conn_t *conn);

/** Let the peer know that its application closes the last endpoint to it, if that is so; once for a
 * conn, and not in error handling mode PEER. As long as something is being received from the peer,
 * nothing is done: the caller tries again in progress. */
void ri_close_say_closing(ri_conn_t *conn);

/** Start to wait: note the time, and how far the peer is. The time counts in which other closes of
 * the worker have waited and the peer has not moved either, so that closes that follow each other
 * take no longer than one. */
void ri_close_start_wait(ri_conn_t *conn, ri_close_wait_t *wait);

/** Start to wait anew, as something has changed: the time before does not count. */
void ri_close_start_anew(ri_conn_t *conn, ri_close_wait_t *wait);

/** Call this now and then, from progress. @return Whether a close that has to wait has done so
 * for long enough, and what it waits for can be left as it is; or that only the peer's answer is
 * missing, and does not come any more. Never so if UCXRI_CLOSE_TIMEOUT is
 * infinite and the peer has not said that it closes, too. */
int ri_close_has_expired(ri_conn_t *conn, ri_close_wait_t *wait);

/** Call this now and then while UCX is asked to flush the endpoint of @a conn for its close.
 * @return Whether the peer has said that it closes, too, and has not moved for a moment since: it
 * will not answer. */
int ri_close_is_unanswered(ri_conn_t *conn, ri_close_wait_t *wait);

/** The endpoint of a conn is about to be closed by the caller, but what was sent on it is not all
 * received: the conn stays for that, without an endpoint. Flushes and closes that wait for it end
 * with UCS_ERR_CANCELED, which calls back. ri_close_check_left() frees the conn. */
void ri_close_leave_conn(ri_conn_t *conn);

/** Report what the peer of a conn has not received, once in a process. */
void ri_close_report(const ri_conn_t *conn);

/** A worker ends: report what peers have not received by now whose connections were closed, if
 * there are several. */
void ri_close_report_all(const ri_worker_t *worker);

/** Tell the peer what it may be told, and leave the conn as ri_close_leave_conn() does. */
void ri_close_leave(ri_conn_t *conn);

/** Free the conns that were left and of which the peer has received all by now. Calls back; any
 * conn may be gone afterwards. */
void ri_close_check_left(ri_worker_t *worker);

#endif
