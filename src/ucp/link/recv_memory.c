/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "recv_memory.h"
#include "bounce.h"
#include "../core/memory.h"

#include <stdlib.h>

static ucs_status_t memory_open_direct(ri_recv_memory_t *place, ri_plane_t *plane,
                                       const ri_recv_req_t *recv, ri_segment_t *segments,
                                       size_t *count)
{
    *count = ri_dt_segments(&recv->data, segments, RI_WIRE_SEGMENTS_MAX);
    return ri_keys_register(plane, segments, *count, &place->keys);
}

static ucs_status_t memory_open_stage(ri_recv_memory_t *place, ri_plane_t *plane,
                                      const ri_recv_req_t *recv, ri_segment_t *segments,
                                      size_t *count)
{
    place->stage = malloc(recv->info.length);
    if (place->stage == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    segments[0] = (ri_segment_t){(uintptr_t)place->stage, recv->info.length};
    *count      = 1;
    return ri_keys_register(plane, segments, 1, &place->keys);
}

ucs_status_t ri_recv_memory_open(ri_recv_memory_t *place, ri_plane_t *plane,
                                 const ri_recv_req_t *recv, int direct,
                                 ri_segment_t *segments, size_t *count)
{
    ucs_status_t status = UCS_ERR_NO_MEMORY;

    *place = (ri_recv_memory_t){.stage = NULL};
    if (direct) {
        status = memory_open_direct(place, plane, recv, segments, count);
    }
    if (!direct || ((status != UCS_OK) && ri_dt_is_spread(&recv->data))) {
        status = memory_open_stage(place, plane, recv, segments, count);
    }
    return status;
}

ucs_status_t ri_recv_memory_finish(const ri_recv_memory_t *place, ri_recv_req_t *recv)
{
    if (place->stage == NULL) {
        return UCS_OK;
    }
    return ri_memory_of_recv_is_host(recv) ?
                   ri_dt_unpack(&recv->data, place->stage, recv->info.length) :
                   ri_bounce(recv, place->stage, recv->info.length);
}

void ri_recv_memory_close(ri_recv_memory_t *place)
{
    ri_keys_release(&place->keys);
    free(place->stage);
}
