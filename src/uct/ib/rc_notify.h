/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receive queues of the rc plane: what tells of writes with an immediate.
 *
 * Each such write takes a receive without memory, and its completion has the immediate. A way
 * has a fixed number of receives, and some more, which those that have told wait for to be posted
 * again by one call. How many notifications may be on their way at a time is the protocol's matter:
 * it lets the remote side write only what it was offered, so no credits are exchanged.
 *
 * The sender may be told that its write has ended before this side has seen the completion. So
 * before a queue pair is destroyed it is put into the error state, in which it takes and
 * acknowledges nothing more, and all its receives are waited for. If they do not come, nobody can
 * tell what was acknowledged: the way is lost (uct/api/plane.h).
 */
#ifndef RI_RC_NOTIFY_H
#define RI_RC_NOTIFY_H

#include "rc.h"

#if HAVE_VERBS

/* Notifications that one way has receives for at any time, and receives in all. */
#define RI_RC_NOTIFY_DEPTH    32
#define RI_RC_NOTIFY_RECEIVES 40

/** listen() of the plane. */
ucs_status_t ri_rc_notify_listen(ri_rc_plane_t *plane, ri_plane_notified_func_t func);

/** No ways are left. */
void ri_rc_notify_cleanup(ri_rc_plane_t *plane);

/** @return How many receives the queue pair of the next way needs room for. */
unsigned ri_rc_notify_receives(const ri_rc_plane_t *plane);

/** Post the receives of a way that was prepared. If that fails it has none. */
void ri_rc_notify_start(ri_rc_plane_t *plane, ri_rc_ep_t *ep);

/** The queue pair is about to be destroyed: nothing is acknowledged any more, and all that was
 * has been told. */
void ri_rc_notify_stop(ri_rc_plane_t *plane, ri_rc_ep_t *ep);

/** @return Number of notifications. Ways may fail. */
unsigned ri_rc_notify_progress(ri_rc_plane_t *plane);

#endif

#endif
