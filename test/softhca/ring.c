/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ring.h"
#include "util.h"

#include <string.h>

void sh_ring_write(sh_ring_t *ring, uint64_t tail, const void *data, size_t length)
{
    size_t offset = tail % SH_RING_SIZE;
    size_t first  = sh_min(length, SH_RING_SIZE - offset);

    if ((data != NULL) && (length > 0)) {
        memcpy(ring->data + offset, data, first);
        memcpy(ring->data, (const char *)data + first, length - first);
    }
}

void sh_ring_read(const sh_ring_t *ring, uint64_t head, void *data, size_t length)
{
    size_t offset = head % SH_RING_SIZE;
    size_t first  = sh_min(length, SH_RING_SIZE - offset);

    memcpy(data, ring->data + offset, first);
    memcpy((char *)data + first, ring->data, length - first);
}

void sh_ring_places(sh_ring_t *ring, uint64_t position, size_t length,
                    struct iovec places[2])
{
    size_t offset = position % SH_RING_SIZE;
    size_t first  = sh_min(length, SH_RING_SIZE - offset);

    places[0] = (struct iovec){ring->data + offset, first};
    places[1] = (struct iovec){ring->data, length - first};
}
