/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of one end of a channel.
 */
#include "channel_memory.h"
#include "../../uct/ib/rc/rc_channel.h"

#include <sys/mman.h>

/* Behind the buffer, or the shadow. */
#define CHANNEL_WORD RI_CHANNEL_LINE

void *ri_channel_memory_map(ri_plane_t *plane, size_t size, ri_plane_memory_t *keys)
{
    void *memory = mmap(NULL, size + CHANNEL_WORD, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        return NULL;
    }
    if (plane->ops->reg(plane, memory, size + CHANNEL_WORD, keys) != UCS_OK) {
        munmap(memory, size + CHANNEL_WORD);
        return NULL;
    }
    return memory;
}

void ri_channel_memory_unmap(ri_plane_t *plane, void *memory, size_t size,
                             ri_plane_memory_t *keys)
{
    plane->ops->release(plane, keys);
    munmap(memory, size + CHANNEL_WORD);
}
