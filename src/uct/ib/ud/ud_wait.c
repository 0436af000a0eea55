/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ud_wait.h"

#if HAVE_VERBS

void ri_ud_wait_add(ri_ud_plane_t *plane, ri_ud_recv_t *recv)
{
    ri_ud_ep_t *ep = recv->super.ep;

    if (ucs_list_is_empty(&ep->waiting)) {
        ucs_list_add_tail(&plane->waiting, &ep->wait_list);
    }
    ucs_list_add_tail(&ep->waiting, &recv->super.list);
    ri_ud_recv_set_state(recv, RI_UD_RECV_WAITING);
    ++plane->counters.ud_waits;
}

void ri_ud_wait_remove(ri_ud_recv_t *recv)
{
    ri_ud_ep_t *ep = recv->super.ep;

    ucs_list_del(&recv->super.list);
    ucs_list_del(&ep->wait_list);
    ucs_list_head_init(&ep->wait_list);
    if (!ucs_list_is_empty(&ep->waiting)) {
        ucs_list_add_tail(&ri_ud_plane(ep)->waiting, &ep->wait_list);
    }
}

#endif
