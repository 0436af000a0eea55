/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory that the data of a receive comes into through a network: the receive's own if it is
 * in few pieces, else a copy that is unpacked when all has come.
 */
#ifndef RI_RECV_MEMORY_H
#define RI_RECV_MEMORY_H

#include "keys.h"
#include "../core/types/request.h"

typedef struct ri_recv_memory {
    ri_keys_t keys;
    void *stage; /* the copy, or NULL if it is the receive's own memory */
} ri_recv_memory_t;

/**
 * Find and register the place of a receive's data, whose length is in recv->info.
 *
 * @param place     Set, also if it fails: it is for @ref ri_recv_memory_close in both cases.
 * @param direct    It is the receive's own memory, which is in few pieces (ri_dt_fits_net()). If
 *                  these are runs, and cannot all be registered, it is a copy all the same.
 * @param segments  Set to the pieces, of which there is room for RI_WIRE_SEGMENTS_MAX.
 *
 * @return UCS_OK, UCS_ERR_NO_MEMORY or the error of the plane.
 */
ucs_status_t ri_recv_memory_open(ri_recv_memory_t *place, ri_plane_t *plane,
                                 const ri_recv_req_t *recv, int direct,
                                 ri_segment_t *segments, size_t *count);

/** All data has come: unpack what is not in the receive's own memory. The place is not used any
 * more when it returns. @return With what the caller completes the receive; UCS_INPROGRESS: it
 * does not, as @ref ri_bounce completes it. */
ucs_status_t ri_recv_memory_finish(const ri_recv_memory_t *place, ri_recv_req_t *recv);

/** Give back what @ref ri_recv_memory_open has registered and allocated, which may be nothing.
 * Nobody writes there any more. */
void ri_recv_memory_close(ri_recv_memory_t *place);

#endif
