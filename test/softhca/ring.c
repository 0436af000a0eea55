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

int sh_ring_get(sh_ring_t *ring, uint64_t head, uint64_t used, sh_ring_msg_t *message,
                struct iovec data[2])
{
    const sh_msg_t *msg = &message->msg;
    size_t length;

    if ((used > SH_RING_SIZE) || (used < sizeof(*msg)) || (used % 8)) {
        return -1;
    }
    sh_ring_read(ring, head, message, sizeof(*msg));
    if ((msg->size < sizeof(*msg)) || (msg->size > SH_MAX_MSG) ||
        (sh_ring_align(msg->size) > used)) {
        return -1;
    }
    length = msg->size - sizeof(*msg);
    if ((msg->type == SH_MSG_DATAGRAM) && !(msg->flags & SH_MSG_FETCH)) {
        sh_ring_places(ring, head + sizeof(*msg), length, data);
    } else {
        sh_ring_read(ring, head + sizeof(*msg), message->bytes + sizeof(*msg), length);
    }
    return 0;
}
