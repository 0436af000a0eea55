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

#include "rc_base.h"

#if HAVE_VERBS

/** Set up the plane's lists. */
void ri_rc_queue_init(ri_rc_plane_t *plane);

/** Free the memory of operations. No ways may be left, and nobody to be told. */
void ri_rc_queue_cleanup(ri_rc_plane_t *plane);

/**
 * read() and write() of the plane.
 *
 * @param transfer  Its lists are not needed any more when this returns.
 * @param opcode    IBV_WR_RDMA_READ or IBV_WR_RDMA_WRITE.
 *
 * @return UCS_INPROGRESS: transfer->op is told of the end by ri_rc_queue_progress(). UCS_OK: there
 *         was nothing to do, and nobody is told. An error: nothing of the transfer goes on, and
 *         nobody is told; UCS_ERR_UNREACHABLE: the way is not connected, or has failed just now.
 */
ucs_status_t ri_rc_queue_start(ri_rc_ep_t *ep, const ri_transfer_t *transfer,
                               enum ibv_wr_opcode opcode);

/** progress() of the plane: users of transfers and notifications are called, who may start
 * others and end ways. @return How many transfers and receives have ended. */
unsigned ri_rc_queue_progress(ri_rc_plane_t *plane);

#endif

#endif
