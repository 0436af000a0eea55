/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_RING_H_
#define SH_RING_H_

#include "wire.h"

#include <sys/uio.h>

/** Copy bytes to and from a ring; positions count the bytes ever. */
void sh_ring_write(sh_ring_t *ring, uint64_t tail, const void *data, size_t length);
void sh_ring_read(const sh_ring_t *ring, uint64_t head, void *data, size_t length);

/** Where in memory a part of a ring is, in one or two pieces. */
void sh_ring_places(sh_ring_t *ring, uint64_t position, size_t length,
                    struct iovec places[2]);

/** What a message of @a size bytes takes of a ring. */
static inline size_t sh_ring_align(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

#endif
