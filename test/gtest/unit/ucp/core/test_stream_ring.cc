/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/stream_ring.c */

#include "unit/common/ri_cpp.h"
#include "unit/common/state_changes.h"

extern "C" {
#include "ucp/core/stream_ring.h"
}

#include <gtest/gtest.h>

namespace {

/* Which changes ri_stream_ring_state_t allows */
TEST(test_stream_ring, states)
{
    const state_changes<ri_stream_ring_state_t> legal = {
            {RI_STREAM_RING_NONE, RI_STREAM_RING_OPEN},
            {RI_STREAM_RING_OPEN, RI_STREAM_RING_DEAD},
            {RI_STREAM_RING_OPEN, RI_STREAM_RING_NONE},
            {RI_STREAM_RING_DEAD, RI_STREAM_RING_NONE}};

    check_state_changes<RI_STREAM_RING_STATE_LAST>(ri_stream_ring_may_become, legal);
}

TEST(test_stream_ring, end)
{
    ri_stream_t stream = {};

    ri_stream_ring_end(&stream); /* there is none */
    EXPECT_EQ(RI_STREAM_RING_NONE, stream.ring_life.state);
    stream.ring = &stream.ring_life.memory;
    ri_stream_ring_set_state(&stream, RI_STREAM_RING_OPEN);
    for (int i = 0; i < 2; ++i) { /* by several who do not know of each other */
        ri_stream_ring_end(&stream);
        EXPECT_EQ(RI_STREAM_RING_DEAD, stream.ring_life.state);
    }
    stream.ring = nullptr;
    ri_stream_ring_set_state(&stream, RI_STREAM_RING_NONE);
    ri_stream_ring_end(&stream);
    EXPECT_EQ(RI_STREAM_RING_NONE, stream.ring_life.state);
}

} // namespace
