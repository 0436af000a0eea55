/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A read could prove by itself which process it was from, but that takes a fifth of the time of a
 * short one. So the process is looked at before, now and then, as it has to be for a write.
 */
#include "reach_copy.h"
#include "serve.h"

/* Bytes that are copied between two looks for others who wait. */
#define REACH_PIECE ((size_t)1 << 20)

ucs_status_t ri_reach_copy_transfer(ri_reach_t *reach, int is_put,
                                    const ri_transfer_t *moving)
{
    const ri_plane_ops_t *ops = reach->ep->plane->ops;

    if (!ri_reach_is_there(reach)) {
        return UCS_ERR_UNREACHABLE;
    }
    return is_put ? ops->write(reach->ep, moving) : ops->read(reach->ep, moving);
}

ucs_status_t ri_reach_copy(ri_reach_t *reach, int is_put, const void *local,
                           uint64_t remote, size_t length)
{
    const ri_segment_t here    = {(uintptr_t)local, length};
    const ri_segment_t there   = {remote, length};
    const ri_transfer_t moving = {.local      = &here,
                                  .num_local  = 1,
                                  .remote     = &there,
                                  .num_remote = 1,
                                  .length     = length};

    return ri_reach_copy_transfer(reach, is_put, &moving);
}

ucs_status_t ri_reach_copy_long(ri_reach_t *reach, int is_put, const void *local,
                                uint64_t remote, size_t length)
{
    ucs_status_t status = UCS_OK;
    size_t piece;

    for (; (length > 0) && (status == UCS_OK); length -= piece) {
        piece  = ri_min(length, REACH_PIECE);
        status = ri_reach_copy(reach, is_put, local, remote, piece);
        local  = (const char *)local + piece;
        remote += piece;
        ri_serve();
    }
    return status;
}
