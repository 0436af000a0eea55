/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Queue pairs of the pool whose senders do not send, while others wait for one. (protocol-ud.md,
 * section 7)
 */
#include "ud_plane.h"

#if HAVE_VERBS

/* So often at least it is looked for senders that have stopped, before one is found. */
#define STALL_LOOKS 16

/* Time in which this process does not call progress hardly counts: it cannot have heard anything. */
static uint64_t stall_waited(ri_ud_plane_t *plane)
{
    uint64_t waited = ri_min(plane->now - plane->stall_looked,
                             plane->times.stall / STALL_LOOKS);

    plane->stall_looked = plane->now;
    return waited;
}

int ri_ud_take_stalled(ri_ud_plane_t *plane)
{
    uint64_t waited = stall_waited(plane);
    ri_ud_recv_t *recv, *worst = NULL;
    uint32_t heard;

    ucs_list_for_each(recv, &plane->active, super.list) {
        /* Of the peer, not of the transfer: that may wait for its turn behind many others. */
        heard         = recv->super.ep->heard;
        recv->stalled = (heard == recv->seen) ? recv->stalled + waited : 0;
        recv->seen    = heard;
        if ((recv->stalled >= plane->times.stall) &&
            ((worst == NULL) || (recv->stalled > worst->stalled))) {
            worst = recv;
        }
    }
    if (worst == NULL) {
        return 0;
    }
    ++plane->counters.ud_revoked;
    ri_ud_recv_cancel(worst, UCS_ERR_CANCELED);
    return 1;
}

#endif
