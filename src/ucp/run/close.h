/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the close of an endpoint waits for, and until when.
 *
 * A send may be complete for the application, or the application may not care for its end any
 * more, while the data is still in this process: in the pool, or where the application has it. The
 * peer reads it when it receives the message. So a close waits for that; but a peer that never
 * receives it must not hold the close up. In an MPI's finalisation both sides close their endpoints
 * and then wait for each other where nobody calls UCX any more.
 *
 * Therefore a side that closes its last endpoint to a peer says so (CLOSING), and a close ends when
 * nothing has moved for a moment after that word. Without that word, as it could not be sent, or as
 * the peer computes, a close ends when nothing has moved for UCXRI_CLOSE_TIMEOUT. What was not
 * received is left as it is then: the conn stays, without an endpoint, and the peer can
 * receive it until the worker is destroyed. (protocol.md section 5)
 *
 * Rejected: to end such sends and tell the peer. A peer that computes for long would lose a message
 * in a program without a mistake: a send that is copied to the pool is complete before its
 * receive is there. And memory must not be given back that a peer may still read.
 */
#ifndef RI_CLOSE_H
#define RI_CLOSE_H

#include "../core/worker.h"

/* After CLOSING, what the peer has begun, or finds in its rings, may still move: so many seconds
 * without that end a close. Tests change it. */
extern double ri_close_grace;

/** @return Whether a close has to wait: for messages that the peer has not received yet, or for
 * what the peer has to learn. */
int ri_close_must_wait(ri_conn_t *conn);

/** Say what there is to say before a close. @return Whether it has gone out. */
int ri_close_say_bye(ri_conn_t *conn);

/** Let the peer know that its application closes the last endpoint to it, if that is so, as soon as
 * nothing is being received from it. */
void ri_close_say_closing(ri_conn_t *conn);

/** Start to wait. */
void ri_close_start_wait(ri_conn_t *conn, ri_close_wait_t *wait);

/** @return Whether a close that has to wait has done so for long enough, and what it waits for can
 * be left as it is. To be called now and then, from progress. */
int ri_close_is_over(ri_conn_t *conn, ri_close_wait_t *wait);

/** The endpoint of a conn is about to be closed, but what was sent on it is not all received:
 * the conn stays for that. What waits for the endpoint ends. */
void ri_close_leave_conn(ri_conn_t *conn);

/** Leave what the peer has not received: the conn goes on without its endpoint. */
void ri_close_leave(ri_conn_t *conn);

/** Free the conns that were left and of which the peer has received all by now. */
void ri_close_check_left(ri_worker_t *worker);

#endif
