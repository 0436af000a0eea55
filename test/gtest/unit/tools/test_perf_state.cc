/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_perf_state.h */

extern "C" {
#include "tools/ucxri_perf_state.h"
}

#include <gtest/gtest.h>

namespace {

TEST(test_perf_state, near_and_far)
{
    EXPECT_EQ(PERF_STATE_NEAR, perf_state_of(1));
    EXPECT_EQ(PERF_STATE_NEAR, perf_state_of(PERF_STATE_NEAR_NS - 0.1));
    EXPECT_EQ(PERF_STATE_FAR, perf_state_of(PERF_STATE_NEAR_NS));
    EXPECT_EQ(PERF_STATE_UNKNOWN, perf_state_of(0));
}

TEST(test_perf_state, join)
{
    EXPECT_DOUBLE_EQ(110, perf_state_join(100, 120));
    EXPECT_DOUBLE_EQ(110, perf_state_join(120, 100));
    EXPECT_EQ(0, perf_state_join(100, 131));
    EXPECT_EQ(0, perf_state_join(131, 100));
    EXPECT_EQ(0, perf_state_join(0, 100));
}

} // namespace
