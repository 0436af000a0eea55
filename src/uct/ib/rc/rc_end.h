/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How ways of the rc plane end: one alone, because a transfer or a receive of it has failed or
 * because it is not wanted any more; those that were prepared at an address that the device does
 * not have any more; or all, because the device or a completion queue has failed.
 */
#ifndef RI_RC_END_H
#define RI_RC_END_H

#include "rc_base.h"

#if HAVE_VERBS

/** A way, which was not FAILED, has failed, which counts: destroy its queue pair, and end what is
 * under way on it. Progress tells the users; nobody is called but for notifications.
 * @param first  What the user of the first transfer under way is told; the others are told
 * UCS_ERR_UNREACHABLE. */
void ri_rc_end_failed(ri_rc_ep_t *ep, ucs_status_t first);

/** If a way is CONNECTED it has failed, as ri_rc_end_failed() with UCS_ERR_UNREACHABLE. */
void ri_rc_end_connected(ri_rc_ep_t *ep);

/** The ways in the plane's failing have failed. If the plane is broken whoever has found that
 * out ends all ways, so nothing is done here. */
void ri_rc_end_failing(ri_rc_plane_t *plane);

/** disconnect() of the plane: destroy the queue pair of a way, free the way, and tell the users of
 * all its transfers that have not been told yet, within the call. Notifications that have come by
 * any way may be told, too, before that. */
void ri_rc_end_disconnect(ri_rc_ep_t *ep);

/** The device has another address. The peers of ways that were prepared before know the old one, by
 * which nobody finds this process: these ways have failed. */
void ri_rc_end_moved(ri_rc_plane_t *plane);

/** Nothing ends any more, as the device is gone or its driver at fault: all ways have failed,
 * and the plane is broken, of which the user is warned. If the plane is broken already nothing is
 * done. */
void ri_rc_end_all(ri_rc_plane_t *plane, const char *why);

#endif

#endif
