/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "stream_ring.h"

#define STREAM_RING(_name) (1u << RI_STREAM_RING_##_name)

/* By the state before: the states that may follow. */
static const uint8_t stream_ring_may_become[RI_STREAM_RING_STATE_LAST] = {
        [RI_STREAM_RING_NONE] = STREAM_RING(OPEN),
        [RI_STREAM_RING_OPEN] = STREAM_RING(DEAD) | STREAM_RING(NONE),
        [RI_STREAM_RING_DEAD] = STREAM_RING(NONE),
};

int ri_stream_ring_may_become(ri_stream_ring_state_t from, ri_stream_ring_state_t to)
{
    return (stream_ring_may_become[from] >> to) & 1;
}
