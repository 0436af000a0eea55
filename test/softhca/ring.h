/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_RING_H_
#define SH_RING_H_

#include "wire.h"

#include <sys/uio.h>

/* Memory for any message */
typedef union sh_ring_msg {
    sh_msg_t msg;
    uint8_t bytes[SH_MAX_MSG];
} sh_ring_msg_t;

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

/**
 * Copy a message, but not the data that a datagram brings, and check its size.
 *
 * @param head  Where it begins
 * @param used  Bytes from there to the end of what was written
 * @param data  Where the data of a datagram is, if the message is one
 *
 * @return 0, or -1
 */
int sh_ring_get(sh_ring_t *ring, uint64_t head, uint64_t used, sh_ring_msg_t *message,
                struct iovec data[2]);

#endif
