/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs within a host: the receiver's side, as far as it is another one than through a network
 * (rtr.h). Each has a grant of the ring that it goes through (uct/shm/grant.h).
 */
#ifndef RI_RTR_HOST_H
#define RI_RTR_HOST_H

#include "../../core/worker.h"

/* Where the memory of a receive is. */
typedef struct ri_rtr_place {
    uint64_t address;    /* of the first run, if it is a grid */
    ri_wire_grid_t grid; /* of a receive in runs, if it is one */
    ri_layout_t *layout; /* NULL: it is contiguous, or a grid */
} ri_rtr_place_t;

/** @return Whether RTRs to the sender of a stream go with grants, in shared memory. Without a plane
 * to it nobody can tell whether the sender is still there. */
static inline int ri_rtr_host_is_possible(const ri_stream_t *stream)
{
    return stream->plane.any && (stream->peer->local.ep != NULL);
}

/** Find out where the memory of a receive is. @return Whether it may be offered to the sender of @a
 * stream: of one in runs, if that sender takes such RTRs, and the runs are long enough. */
int ri_rtr_host_find_place(const ri_recv_req_t *recv, const ri_stream_t *stream,
                           ri_rtr_place_t *place);

/**
 * Send the RTR of a posted receive that has none. Where there is no ring yet, one is asked for.
 *
 * @param place  Where the memory of the receive is.
 * @param ahead  How many posted receives of its tag and mask are older.
 *
 * @return UCS_OK: the RTR is sent, and the receive is BY_GRANT. UCS_ERR_NO_RESOURCE: there is no
 *         room now; what nothing else tells of, progress tries again. Another error: it can never
 *         be sent. With an error the receive has no RTR.
 */
ucs_status_t ri_rtr_host_send(ri_recv_req_t *recv, ri_stream_t *stream,
                              const ri_rtr_place_t *place, int ahead);

#endif
