/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of the ring of a stream (ri_stream_ring_state_t), and the only place that changes it.
 */
#ifndef RI_STREAM_RING_H
#define RI_STREAM_RING_H

#include <assert.h>

#include "types/stream_types.h"

/** @return Whether the ring of a stream may change from one state to another, see
 * ri_stream_ring_state_t. */
int ri_stream_ring_may_become(ri_stream_ring_state_t from, ri_stream_ring_state_t to);

/** Change the state of the ring of a stream, as ri_stream_ring_state_t allows it. stream->ring is
 * what it has to be in the new state. */
static inline void ri_stream_ring_set_state(ri_stream_t *stream,
                                            ri_stream_ring_state_t state)
{
    assert(ri_stream_ring_may_become(stream->ring_life.state, state));
    assert((stream->ring != NULL) == (state != RI_STREAM_RING_NONE));
    stream->ring_life.state = state;
}

/** Nobody sends into the ring of a stream any more, if it has one: polling frees it when it is
 * empty. */
static inline void ri_stream_ring_end(ri_stream_t *stream)
{
    if (stream->ring_life.state == RI_STREAM_RING_OPEN) {
        ri_stream_ring_set_state(stream, RI_STREAM_RING_DEAD);
    }
}

#endif
