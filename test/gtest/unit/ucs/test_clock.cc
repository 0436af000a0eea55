/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/clock.[hc] */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace {

TEST(test_clock, time_is_in_seconds)
{
    double before = ri_clock_now();

    usleep(20000);
    double passed = ri_clock_now() - before;
    EXPECT_GE(passed, 0.02);
    EXPECT_LT(passed, 20.0) << "however busy the machine is";
}

TEST(test_clock, never_goes_back)
{
    double time    = ri_clock_now();
    uint64_t ticks = ri_clock_ticks();

    for (int i = 0; i < 10000; ++i) {
        double time_now    = ri_clock_now();
        uint64_t ticks_now = ri_clock_ticks();

        ASSERT_GE(time_now, time);
        ASSERT_GE((int64_t)(ticks_now - ticks), 0);
        time  = time_now;
        ticks = ticks_now;
    }
}

/* Fine enough to time a message, and a unit is the same at any time. */
TEST(test_clock, ticks_pass_with_time)
{
    double rate[2];

    for (double &one : rate) {
        double before  = ri_clock_now();
        uint64_t ticks = ri_clock_ticks();

        while (ri_clock_now() - before < 0.01) {}
        ticks = ri_clock_ticks() - ticks;
        one   = ticks / (ri_clock_now() - before);
    }
    EXPECT_GT(rate[0], 1e6);
    EXPECT_LT(rate[0], 2 * rate[1]);
    EXPECT_LT(rate[1], 2 * rate[0]);
}

} // namespace
