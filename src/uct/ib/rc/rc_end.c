/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An end is destroyed at once when it fails. Others that wait for its completions are told within
 * the call.
 */
#include "rc_end.h"
#include "../device/address.h"
#include "../device/events.h"
#include "rc_notify.h"

#if HAVE_VERBS

#include "../../../ucs/log.h"

/* End the device's part of a way. */
static void end_ep_close(ri_rc_ep_t *ep)
{
    ri_rc_plane_t *plane = ri_rc_plane(ep);
    int was_connected    = (ep->state == RI_RC_CONNECTED);

    if (ep->state == RI_RC_FAILED) {
        return;
    }
    ri_rc_ep_set_state(ep, RI_RC_FAILED);
    ep->next = NULL;
    ri_rc_ep_stop_waiting(ep);
    ri_rc_notify_stop(plane, ep);
    ucs_list_del(&ep->failing);
    ucs_list_head_init(&ep->failing);
    /* If it stays the peer could go on to write memory that is in use for something else. */
    ri_ib_events_end_qp(plane->ib.device, ep->qp, was_connected);
    ep->qp = NULL;
    plane->dead += ep->posted - ep->ended;
    ep->ended = ep->posted;
}

/* End the device's part of a way, and what is under way on it, the first of it with
 * @a first. */
static void end_ep(ri_rc_ep_t *ep, ucs_status_t first)
{
    ri_rc_plane_t *plane = ri_rc_plane(ep);
    ucs_status_t status  = first;
    ri_rc_op_t *op, *tmp;

    end_ep_close(ep);
    ucs_list_for_each_safe(op, tmp, &ep->ops, list) {
        ri_rc_op_end(plane, op, status);
        status = UCS_ERR_UNREACHABLE;
    }
}

void ri_rc_end_failed(ri_rc_ep_t *ep, ucs_status_t first)
{
    ++ri_rc_plane(ep)->ib.super.failures;
    end_ep(ep, first);
}

void ri_rc_end_connected(ri_rc_ep_t *ep)
{
    if (ep->state == RI_RC_CONNECTED) {
        ri_rc_end_failed(ep, UCS_ERR_UNREACHABLE);
    }
}

void ri_rc_end_failing(ri_rc_plane_t *plane)
{
    while (!ucs_list_is_empty(&plane->failing) && !plane->ib.is_broken) {
        ri_rc_end_connected(ucs_list_head(&plane->failing, ri_rc_ep_t, failing));
    }
}

void ri_rc_end_disconnect(ri_rc_ep_t *ep)
{
    ri_rc_plane_t *plane = ri_rc_plane(ep);
    ucs_list_link_t ending;
    ri_plane_op_t *user;
    ucs_status_t status;
    ri_rc_op_t *op, *tmp;

    end_ep(ep, UCS_ERR_UNREACHABLE);
    ucs_list_head_init(&ending);
    ucs_list_for_each_safe(op, tmp, &plane->ended, list) {
        if (op->ep == ep) {
            ucs_list_del(&op->list);
            ucs_list_add_tail(&ending, &op->list);
        }
    }
    ucs_list_del(&ep->list);
    ri_ib_plane_free_way(&plane->ib, ep, ep->id);

    while (!ucs_list_is_empty(&ending)) {
        op     = ucs_list_extract_head(&ending, ri_rc_op_t, list);
        user   = op->user;
        status = op->status;
        ri_rc_op_free(plane, op);
        user->done(user, status);
    }
}

void ri_rc_end_moved(ri_rc_plane_t *plane)
{
    unsigned moves = ri_ib_address_get(plane->ib.device).moves;
    ri_rc_ep_t *ep;

    ucs_list_for_each(ep, &plane->eps, list) {
        if ((ep->state != RI_RC_FAILED) && (ep->moves != moves)) {
            ri_rc_end_failed(ep, UCS_ERR_UNREACHABLE);
        }
    }
}

void ri_rc_end_all(ri_rc_plane_t *plane, const char *why)
{
    ri_rc_ep_t *ep;

    if (plane->ib.is_broken) {
        return;
    }
    ri_warn("no more transfers by verbs: %s; messages go through UCX", why);
    plane->ib.is_broken = 1;
    ucs_list_for_each(ep, &plane->eps, list) {
        if (ep->state != RI_RC_FAILED) {
            ri_rc_end_failed(ep, UCS_ERR_UNREACHABLE);
        }
    }
    plane->outstanding = 0;
    plane->dead        = 0;
}

#endif
