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

/** Destroy the queue pair, then free @a ep and end all that was under way. */
void ri_rc_queue_disconnect(ri_rc_ep_t *ep);

#endif

#endif
