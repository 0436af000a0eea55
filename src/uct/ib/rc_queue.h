/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The send queues of the rc plane.
 *
 * A transfer is cut at the ends of remote segments, by the number of local segments that a
 * work request gathers or scatters, and by the length of a message. As many work requests as
 * there is room for go to the device with one call. The rest waits, and all later transfers
 * of this way behind it, until progress finds that others have ended.
 *
 * A short write stands in its work request, so that the device need not fetch it.
 *
 * A work request tells its end only if it is the last of its transfer or of its chain, or
 * when a quarter of the queue has not: the ends of all before it are known then, too. One
 * that fails always tells, and so does each that is flushed behind it. So a place in the
 * completion queue is kept for every work request, and it never overruns.
 */
#ifndef RI_RC_QUEUE_H
#define RI_RC_QUEUE_H

#include "rc.h"

#if HAVE_VERBS

#include <stdlib.h>

/** Set up and free the plane's part of it. At the end no ways may be left. */
void ri_rc_queue_init(ri_rc_plane_t *plane);
void ri_rc_queue_cleanup(ri_rc_plane_t *plane);

/** read() and write() of the plane. */
ucs_status_t ri_rc_queue_start(ri_rc_ep_t *ep, const ri_transfer_t *transfer,
                               enum ibv_wr_opcode opcode);

/** progress() of the plane. */
unsigned ri_rc_queue_progress(ri_rc_plane_t *plane);

/** Nothing ends any more: the device is gone, or its driver at fault. */
void ri_rc_queue_broken(ri_rc_plane_t *plane, const char *why);

/** A way that works does not any more. */
void ri_rc_queue_fail(ri_rc_ep_t *ep);

/** The device has another address: at the old one, of which the peers of all ways know that were
 * prepared before, nobody finds it. */
void ri_rc_queue_moved(ri_rc_plane_t *plane);

/** Destroy the queue pair, then free @a ep and end all that was under way. */
void ri_rc_queue_disconnect(ri_rc_ep_t *ep);

/* What rc_queue.c and rc_end.c share: */

static inline ri_rc_plane_t *ri_rc_plane(const ri_rc_ep_t *ep)
{
    return ri_container_of(ep->super.plane, ri_rc_plane_t, super);
}

/** A way has failed: end the device's part of it, and what is under way on it, the first of it with
 * @a first. */
void ri_rc_ep_fail(ri_rc_ep_t *ep, ucs_status_t first);

/** Give the memory of an operation back that is in no list. */
static inline void ri_rc_op_free(ri_rc_plane_t *plane, ri_rc_op_t *op)
{
    free(op->lists);
    ucs_list_add_head(&plane->free_ops, &op->list);
}

/** An operation of a way has ended: progress will tell. */
static inline void ri_rc_op_end(ri_rc_plane_t *plane, ri_rc_op_t *op, ucs_status_t status)
{
    op->status = status;
    op->ep->super.long_writes -= op->is_long;
    ucs_list_del(&op->list);
    ucs_list_add_tail(&plane->ended, &op->list);
}

/** Stop waiting for room. */
static inline void ri_rc_ep_stop_waiting(ri_rc_ep_t *ep)
{
    ucs_list_del(&ep->waiting);
    ucs_list_head_init(&ep->waiting);
}

#endif

#endif
