/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/coop/coop_methods.c: which of two methods is faster. How long messages take is said by
 * times at which they are matched and end: the clock of the test is the real one, so they differ by
 * much more than that can be wrong.
 */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>

namespace {

const size_t LENGTH = 100000;

class test_coop_methods : public ::testing::Test {
protected:
    /* A message that has ended @a ticks ticks after the one before */
    void message(uint64_t ticks, size_t length = LENGTH)
    {
        ri_coop_lane_t &lane = m_methods.lanes[number(length)];
        unsigned method      = ri_coop_methods_of(&m_methods, length);

        lane.ended_at = ri_clock_ticks() - ticks;
        ri_coop_methods_note(&m_methods, length, method, ri_clock_ticks() - ticks / 2);
    }

    /* A lap. @return The method that it went by. */
    unsigned lap(const uint64_t ticks[2], size_t length = LENGTH)
    {
        unsigned method = ri_coop_methods_of(&m_methods, length);

        for (unsigned i = 0; i < RI_COOP_METHODS_LAP; ++i) {
            EXPECT_EQ(method, ri_coop_methods_of(&m_methods, length)) << "within a lap";
            message(ticks[method], length);
        }
        return method;
    }

    static unsigned number(size_t length)
    {
        unsigned i = 0;

        while (((size_t)65536 << i) <= length) {
            ++i;
        }
        return i;
    }

    ri_coop_methods_t m_methods = {};
};

const uint64_t FAST = 10000000, SLOW = 20000000; /* some milliseconds */

TEST_F(test_coop_methods, takes_the_faster_one)
{
    for (unsigned faster : {0, 1}) {
        const uint64_t ticks[2] = {faster ? SLOW : FAST, faster ? FAST : SLOW};

        m_methods = {};
        EXPECT_EQ(0u, lap(ticks));
        EXPECT_EQ(1u, lap(ticks)) << "not known yet";
        for (unsigned i = 0; i < RI_COOP_METHODS_TRY - 2; ++i) {
            EXPECT_EQ(faster, lap(ticks)) << i;
        }
    }
}

/* The slower one is tried now and then, and more seldom the more often it was slower. */
TEST_F(test_coop_methods, tries_the_slower_one)
{
    const uint64_t ticks[2] = {FAST, SLOW};
    std::vector<unsigned> tried;

    for (unsigned i = 0; i < 4 * RI_COOP_METHODS_TRY_MAX; ++i) {
        if (lap(ticks) == 1) {
            tried.push_back(i);
        }
    }
    ASSERT_LE(6u, tried.size());
    for (size_t i = 3; i < tried.size(); ++i) {
        unsigned before = tried[i - 1] - tried[i - 2], now = tried[i] - tried[i - 1];

        EXPECT_LE(before, now);
        EXPECT_GE(RI_COOP_METHODS_TRY_MAX + 1, now);
    }
    EXPECT_LE(RI_COOP_METHODS_TRY_MAX - 1, tried.back() - tried[tried.size() - 2]);
}

TEST_F(test_coop_methods, changes_its_mind)
{
    const uint64_t before[2] = {FAST, SLOW}, after[2] = {2 * SLOW, SLOW};
    unsigned laps = 0;

    for (unsigned i = 0; i < 10; ++i) {
        lap(before);
    }
    while ((laps < 2 * RI_COOP_METHODS_TRY) && (lap(after) == 0)) {
        ++laps;
    }
    EXPECT_GE(2u, laps) << "the method that it goes by is measured in each lap";
}

/* Single messages may be disturbed. */
TEST_F(test_coop_methods, median)
{
    const uint64_t ticks[2] = {FAST, SLOW};

    for (unsigned first : {0, 1, 2}) { /* the one in the middle is disturbed, or is not */
        m_methods = {};
        for (unsigned i = 0; i < RI_COOP_METHODS_LAP; ++i) {
            message((i % 3 == first) ? 100 * FAST : FAST);
        }
        EXPECT_EQ(1u, lap(ticks));
        EXPECT_EQ(0u, ri_coop_methods_of(&m_methods, LENGTH)) << first;
    }
}

/* What went by another method, or in another lap, counts for nothing. */
TEST_F(test_coop_methods, disturbed)
{
    ri_coop_lane_t &lane = m_methods.lanes[number(LENGTH)];

    message(FAST);
    EXPECT_EQ(1u, lane.count);
    m_methods.disturbed = 1;
    message(FAST);
    EXPECT_EQ(1u, lane.count);
    EXPECT_EQ(0, m_methods.disturbed);
    ri_coop_methods_note(&m_methods, LENGTH, 1, ri_clock_ticks());
    EXPECT_EQ(1u, lane.count);
    message(FAST);
    EXPECT_EQ(2u, lane.count);
}

TEST_F(test_coop_methods, lengths_apart)
{
    const uint64_t first[2] = {FAST, SLOW}, second[2] = {SLOW, FAST};

    for (unsigned i = 0; i < 4; ++i) {
        lap(first, 100000);
        lap(second, 200000);
    }
    EXPECT_EQ(0u, ri_coop_methods_of(&m_methods, 100000));
    EXPECT_EQ(1u, ri_coop_methods_of(&m_methods, 200000));
    EXPECT_EQ(0u, ri_coop_methods_of(&m_methods, 1)) << "the shortest are together";
    EXPECT_EQ(0u, ri_coop_methods_of(&m_methods, (size_t)1 << 40));
}

/* With a bias the second method has to be faster by a sixteenth. */
TEST_F(test_coop_methods, biased)
{
    const uint64_t little[2] = {FAST, FAST - FAST / 25},
                   much[2]   = {FAST, FAST - FAST / 8};

    m_methods.biased = 1;
    for (unsigned i = 0; i < 3; ++i) {
        lap(little);
    }
    EXPECT_EQ(0u, ri_coop_methods_of(&m_methods, LENGTH));
    m_methods        = {};
    m_methods.biased = 1;
    for (unsigned i = 0; i < 3; ++i) {
        lap(much);
    }
    EXPECT_EQ(1u, ri_coop_methods_of(&m_methods, LENGTH));
}

/* Where the application computes for most of the time, what the messages themselves take
 * decides. */
TEST_F(test_coop_methods, biased_and_busy)
{
    ri_coop_lane_t &lane = m_methods.lanes[number(LENGTH)];

    m_methods.biased = 1;
    for (unsigned i = 0; i < 2 * RI_COOP_METHODS_LAP; ++i) {
        unsigned method = ri_coop_methods_of(&m_methods, LENGTH);
        lane.ended_at   = ri_clock_ticks() - 100 * FAST;
        ri_coop_methods_note(&m_methods, LENGTH, method,
                             ri_clock_ticks() - (method ? FAST : SLOW));
    }
    EXPECT_EQ(1u, ri_coop_methods_of(&m_methods, LENGTH));
}

/* A trial whose messages do not count ends. */
TEST_F(test_coop_methods, trial_that_does_not_end)
{
    const uint64_t ticks[2] = {FAST, SLOW};
    unsigned i;

    lap(ticks);
    while (lap(ticks) != 0) {}
    for (i = 0;
         (i < 2 * RI_COOP_METHODS_TRY) && (ri_coop_methods_of(&m_methods, LENGTH) == 0);
         ++i) {
        lap(ticks);
    }
    ASSERT_EQ(1u, ri_coop_methods_of(&m_methods, LENGTH));
    for (i = 0; (i < 100) && (ri_coop_methods_of(&m_methods, LENGTH) == 1); ++i) {
        m_methods.disturbed = 1;
        message(SLOW);
    }
    EXPECT_EQ(2 * RI_COOP_METHODS_LAP, i);
}

/* What was known of the slower method may be of another time: a trial counts alone. */
TEST_F(test_coop_methods, trial_counts_alone)
{
    const uint64_t before[2] = {FAST, 8 * FAST}, after[2] = {FAST, FAST / 2};
    unsigned i;

    for (i = 0; i < 4; ++i) {
        lap(before);
    }
    for (i = 0; (i < 2 * RI_COOP_METHODS_TRY) && (lap(after) == 0); ++i) {}
    EXPECT_EQ(1u, ri_coop_methods_of(&m_methods, LENGTH)) << "after one trial";
}

} // namespace
