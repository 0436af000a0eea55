/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that wait for a queue pair of the pool: those of one way in order, ways in turn.
 * (protocol-ud.md, section 7)
 */
#include "ud_plane.h"

#if HAVE_VERBS

void ri_ud_wait(ri_ud_plane_t *plane, ri_ud_recv_t *recv)
{
    ri_ud_ep_t *ep = recv->super.ep;

    if (ucs_list_is_empty(&ep->waiting)) {
        ucs_list_add_tail(&plane->waiting, &ep->wait_list);
    }
    ucs_list_add_tail(&ep->waiting, &recv->super.list);
    recv->state = RI_UD_RECV_WAITING;
    ++plane->counters.ud_waits;
}

void ri_ud_wait_end(ri_ud_recv_t *recv)
{
    ri_ud_ep_t *ep = recv->super.ep;

    ucs_list_del(&recv->super.list);
    ucs_list_del(&ep->wait_list);
    ucs_list_head_init(&ep->wait_list);
    if (!ucs_list_is_empty(&ep->waiting)) {
        ucs_list_add_tail(&ri_ud_plane(ep)->waiting, &ep->wait_list);
    }
}

/* Take an offer back that nobody has used. @return Whether there was one. */
static int wait_revoke_offer(ri_ud_plane_t *plane)
{
    ri_ud_recv_t *recv, *tmp;

    ucs_list_for_each_safe(recv, tmp, &plane->active, super.list) {
        if (recv->is_offer && ri_ud_revoke(recv->super.op)) {
            ++plane->counters.ud_revoked;
            return 1;
        }
    }
    return 0;
}

/* No queue pair exists, and none can be made: what waits would do so for ever. */
static void wait_end_all(ri_ud_plane_t *plane)
{
    ri_ud_recv_t *recv;
    ri_ud_ep_t *ep;

    while (!ucs_list_is_empty(&plane->waiting)) {
        ep   = ucs_list_head(&plane->waiting, ri_ud_ep_t, wait_list);
        recv = ucs_list_head(&ep->waiting, ri_ud_recv_t, super.list);
        ri_ud_recv_cancel(recv, UCS_ERR_NO_RESOURCE);
    }
}

void ri_ud_recv_serve(ri_ud_plane_t *plane)
{
    ucs_status_t status;
    ri_ud_recv_t *recv;
    ri_ud_qp_t *qp;
    ri_ud_ep_t *ep;

    while (!ucs_list_is_empty(&plane->waiting)) {
        qp = ri_ud_pool_take(&plane->pool);
        if (qp == NULL) {
            if (wait_revoke_offer(plane) || ri_ud_take_stalled(plane)) {
                continue;
            }
            if (plane->pool.count == 0) {
                wait_end_all(plane);
            }
            break;
        }
        ep   = ucs_list_head(&plane->waiting, ri_ud_ep_t, wait_list);
        recv = ucs_list_head(&ep->waiting, ri_ud_recv_t, super.list);
        ri_ud_wait_end(recv);
        status = ri_ud_recv_post(recv, qp);
        if (status == UCS_OK) {
            recv->state = RI_UD_RECV_READY;
            ucs_list_add_tail(&plane->ready, &recv->super.list);
        } else {
            ri_ud_pool_put(&plane->pool, qp);
            recv->state = RI_UD_RECV_ENDED;
            ri_ud_transfer_end(&recv->super, status);
        }
    }
}

#endif
