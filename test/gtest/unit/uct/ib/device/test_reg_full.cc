/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/device/reg_full.c: what counts as full, and for how long. */

#include "unit/common/ri_cpp.h"
#include "unit/common/setting.h"

extern "C" {
#include "ucs/clock.h"
#include "uct/ib/device/reg_full.h"
}

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace {

/* The first pause. What the test itself takes is far less than half of it. */
constexpr double PAUSE = 1000;

class test_reg_full : public testing::Test {
protected:
    test_reg_full() { ri_reg_full_init(&m_full); }

    /* A registration comes into use and does not fit. @return The pause, in first pauses. */
    double fails(size_t length)
    {
        ri_reg_full_use(&m_full, length);
        ri_reg_full_fails(&m_full);
        ri_reg_full_unuse(&m_full, length);
        return std::round((m_full.retry - ri_clock_now()) / PAUSE);
    }

    void fits(size_t length)
    {
        ri_reg_full_use(&m_full, length);
        ri_reg_full_fits(&m_full);
    }

    setting<double> m_backoff{ri_reg_full_backoff, PAUSE};
    ri_reg_full_t m_full;
};

TEST_F(test_reg_full, pauses_double_up_to_a_hundred)
{
    for (double expected : {1, 2, 4, 8, 16, 32, 64, 100, 100}) {
        EXPECT_EQ(expected, fails(100));
    }
    for (int i = 0; i < 40; ++i) {
        ASSERT_EQ(100, fails(100));
    }
}

TEST_F(test_reg_full, the_first_pause_comes_again_when_as_much_has_fitted)
{
    EXPECT_EQ(1, fails(100));
    EXPECT_EQ(2, fails(100));
    fits(99);
    EXPECT_EQ(4, fails(1)) << "less had fitted before";
    fits(1);
    EXPECT_EQ(SIZE_MAX, ri_reg_full_room(&m_full));
    EXPECT_EQ(1, fails(100));
}

TEST_F(test_reg_full, room_while_it_pauses)
{
    EXPECT_EQ(SIZE_MAX, ri_reg_full_room(&m_full));
    fits(50);
    fails(100);
    EXPECT_EQ(99u, ri_reg_full_room(&m_full)) << "150 were too much";
    ri_reg_full_use(&m_full, 99);
    EXPECT_EQ(0u, ri_reg_full_room(&m_full));
    ri_reg_full_unuse(&m_full, 99);

    /* As many bytes in fewer registrations: their number may have been the limit */
    ri_reg_full_unuse(&m_full, 50);
    EXPECT_EQ(SIZE_MAX, ri_reg_full_room(&m_full));
}

} // namespace
