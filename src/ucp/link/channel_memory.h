/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of one end of a channel: the buffer of its receiver, or the shadow of its sender, and
 * behind it the word that the other side writes.
 */
#ifndef RI_CHANNEL_MEMORY_H
#define RI_CHANNEL_MEMORY_H

#include "../../uct/api/plane.h"

/**
 * Make such memory, with zeros in it. It has pages of its own, so that nothing else is registered
 * with it, and UCX tells when it goes.
 *
 * @param size  Of the buffer or shadow, in bytes.
 * @param keys  Set to the keys of all of it.
 *
 * @return The memory, which ri_channel_memory_unmap() frees, or NULL: there is none.
 */
void *ri_channel_memory_map(ri_plane_t *plane, size_t size, ri_plane_memory_t *keys);

/** Free such memory and its keys. Nobody may write it any more. */
void ri_channel_memory_unmap(ri_plane_t *plane, void *memory, size_t size,
                             ri_plane_memory_t *keys);

#endif
