/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that is registered with a plane through a network, so that transfers can read or write it.
 */
#ifndef RI_KEYS_H
#define RI_KEYS_H

#include "../core/types/types.h"
#include "../../uct/api/plane.h"
#include "../wire/wire.h"

/* Memory that is registered, in pieces. */
struct ri_keys {
    ri_plane_t *plane; /* what the memory is registered with */
    size_t count;
    ri_plane_memory_t memory[RI_WIRE_SEGMENTS_MAX];
};

/**
 * Register pieces of memory that may be written: all or none.
 *
 * @param count  At most RI_WIRE_SEGMENTS_MAX.
 * @param keys   Set. The caller gives it to @ref ri_keys_release, which it need not after an error:
 *               it is empty then.
 *
 * @return UCS_OK, or the error of the plane.
 */
ucs_status_t ri_keys_register(ri_plane_t *plane, const ri_segment_t *segments,
                              size_t count, ri_keys_t *keys);

/** Register memory that nobody writes, for which a plane may have a cheaper way. @return As
 * ri_keys_register(). */
ucs_status_t ri_keys_register_source(ri_plane_t *plane, const ri_segment_t *segments,
                                     size_t count, ri_keys_t *keys);

/** Give back all registrations in @a keys, which may be none, and leave it empty. No transfer
 * uses them any more, and the plane is still open. */
void ri_keys_release(ri_keys_t *keys);

/** Give back all registrations in @a keys, and free @a keys itself, which was allocated by
 * malloc(). */
void ri_keys_free(ri_keys_t *keys);

#endif
