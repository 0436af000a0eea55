/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives of the ud plane that have a queue pair, from the first post to the end. ud_queue.h gives
 * them one.
 */
#ifndef RI_UD_RECV_H
#define RI_UD_RECV_H

#include "ud_base.h"

#if HAVE_VERBS

/**
 * Give a receive a queue pair, to which its first window is posted, and a number. The caller
 * changes its state.
 *
 * @return UCS_OK: the queue pair is the receive's until that ends. UCS_ERR_NO_MEMORY: it is still
 *         the caller's.
 */
ucs_status_t ri_ud_recv_post(ri_ud_recv_t *recv, ri_ud_qp_t *qp);

/**
 * Poll the queue pairs of active receives, some of which may end.
 *
 * @param all  Leave none out, although nothing comes to some at the moment.
 */
void ri_ud_recv_progress(ri_ud_plane_t *plane, int all);

/** Let time go by for active receives, some of which may end. */
void ri_ud_recv_time(ri_ud_plane_t *plane);

/** A PROBE has come. @param message  Wire input. */
void ri_ud_recv_probe(ri_ud_ep_t *ep, ri_ud_message_t *message);

/** End a receive, if it has not ended: progress, or the end of the way, tells its protocol @a
 * status. When this returns nothing is written to its memory any more, and it has no queue pair. If
 * it had one the sender is told. */
void ri_ud_recv_cancel(ri_ud_recv_t *recv, ucs_status_t status);

/** withdraw() of the plane: cancel an offer whose sender was not heard of; what has come is looked
 * at first. @return Whether it has ended, and its sender was not heard of: nothing is written to
 * its memory any more then. */
int ri_ud_recv_withdraw(ri_ud_op_t *op);

/** claim() of the plane: an offer keeps its queue pair, as its sender has said that it begins. */
void ri_ud_recv_claim(ri_ud_op_t *op);

#endif

#endif
