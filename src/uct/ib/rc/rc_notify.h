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

#include "rc_base.h"

#if HAVE_VERBS

/* Notifications that one way has receives for at any time, and receives in all. */
#define RI_RC_NOTIFY_DEPTH    32
#define RI_RC_NOTIFY_RECEIVES 40

/**
 * listen() of the plane. To be called before ways are prepared: those that there are have no
 * receives.
 *
 * @param func  Called for each notification, within ri_rc_notify_poll() and ri_rc_notify_stop().
 *
 * @return UCS_OK. UCS_ERR_UNSUPPORTED: there is no completion queue for them, which is logged.
 */
ucs_status_t ri_rc_notify_listen(ri_rc_plane_t *plane, ri_plane_notified_func_t func);

/** Destroy the completion queue of receives, if there is one. No ways may be left. */
void ri_rc_notify_cleanup(ri_rc_plane_t *plane);

/** @return How many receives the queue pair of the next way needs room for, at least 1. */
unsigned ri_rc_notify_receives(const ri_rc_plane_t *plane);

/** Post the receives of a way that was prepared, and set how many notifications it may have
 * under way. If posting fails the way has no notifications. */
void ri_rc_notify_start(ri_rc_plane_t *plane, ri_rc_ep_t *ep);

/** The queue pair of a way is about to be destroyed. When this returns it acknowledges no write
 * with an immediate any more, and the user has been told of all those that it has acknowledged; or
 * the way is marked as lost. Notifications of other ways may be told, too. */
void ri_rc_notify_stop(ri_rc_plane_t *plane, ri_rc_ep_t *ep);

/**
 * Take the completions of receives, of which the user is told. Ways that are CONNECTED, and of
 * which a receive has failed, are put into the plane's failing, for the caller to end.
 *
 * @param count_p  The number of completions is added to this.
 *
 * @return 0: the completion queue cannot be read.
 */
int ri_rc_notify_poll(ri_rc_plane_t *plane, unsigned *count_p);

#endif

#endif
