/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "keys.h"

#include <stdlib.h>

void ri_keys_release(ri_keys_t *keys)
{
    while (keys->count > 0) {
        keys->plane->ops->release(keys->plane, &keys->memory[--keys->count]);
    }
}

void ri_keys_free(ri_keys_t *keys)
{
    ri_keys_release(keys);
    free(keys);
}

typedef ucs_status_t (*keys_register_func_t)(ri_plane_t *plane, void *address,
                                             size_t length, ri_plane_memory_t *memory);

static ucs_status_t keys_register(ri_plane_t *plane, keys_register_func_t reg,
                                  const ri_segment_t *segments, size_t count,
                                  ri_keys_t *keys)
{
    ucs_status_t status;

    keys->plane = plane;
    for (keys->count = 0; keys->count < count; ++keys->count) {
        status = reg(plane, (void *)segments[keys->count].address,
                     segments[keys->count].length, &keys->memory[keys->count]);
        if (status != UCS_OK) {
            ri_keys_release(keys);
            return status;
        }
    }
    return UCS_OK;
}

ucs_status_t ri_keys_register(ri_plane_t *plane, const ri_segment_t *segments,
                              size_t count, ri_keys_t *keys)
{
    return keys_register(plane, plane->ops->reg, segments, count, keys);
}

ucs_status_t ri_keys_register_source(ri_plane_t *plane, const ri_segment_t *segments,
                                     size_t count, ri_keys_t *keys)
{
    keys_register_func_t reg = (plane->ops->reg_source != NULL) ? plane->ops->reg_source :
                                                                  plane->ops->reg;

    return keys_register(plane, reg, segments, count, keys);
}
