/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A read proves by itself which process it was from. A write cannot, so the process is looked at
 * before.
 */
#include "reach_copy.h"

ucs_status_t ri_reach_copy(ri_reach_t *reach, int is_put, const void *local,
                           uint64_t remote, size_t length)
{
    const ri_plane_ops_t *ops  = reach->ep->plane->ops;
    const ri_segment_t here    = {(uintptr_t)local, length};
    const ri_segment_t there   = {remote, length};
    const ri_transfer_t moving = {.local      = &here,
                                  .num_local  = 1,
                                  .remote     = &there,
                                  .num_remote = 1,
                                  .length     = length,
                                  .verify     = !is_put};

    if (!is_put) {
        return ops->read(reach->ep, &moving);
    }
    return ri_reach_is_there(reach) ? ops->write(reach->ep, &moving) :
                                      UCS_ERR_UNREACHABLE;
}
