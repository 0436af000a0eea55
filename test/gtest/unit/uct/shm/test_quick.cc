/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/quick.h, ring.c: whether a ring is quick, by the time that its payloads take to be written */

#include "ring_test.h"

#include "uct/shm/distance.h"

namespace {

const double ALWAYS = 1e-9, NEVER = 1e9; /* bytes in a tick */

class test_quick : public ring_test {
protected:
    void SetUp() override
    {
        ring_test::SetUp();
        open_both(1 << 20);
    }

    void carry(double rate, uint32_t length = RI_QUICK_LENGTH)
    {
        std::vector<uint8_t> data(length);

        ri_quick_rate = rate;
        ASSERT_TRUE(ri_ring_parts_put(&m_tx, 1, 2, 0, data.data(), length));
        while (const ri_ring_record_t *record = ri_ring_rx_peek(&m_rx)) {
            ri_ring_rx_advance(&m_rx,
                               ri_ring_rx_lines(&m_rx, record->type, record->length));
        }
    }

    void carry_times(unsigned times, double rate, uint32_t length = RI_QUICK_LENGTH)
    {
        for (unsigned i = 0; i < times; ++i) {
            carry(rate, length);
        }
    }
};

TEST_F(test_quick, is_assumed_first)
{
    ri_quick_rate = NEVER;
    EXPECT_TRUE(ri_ring_tx_is_quick(&m_tx));
    ri_quick_rate = 0; /* it is not known what a tick is */
    EXPECT_FALSE(ri_ring_tx_is_quick(&m_tx));
}

TEST_F(test_quick, slow_after_some_times)
{
    carry_times(RI_QUICK_TIMES - 1, NEVER);
    EXPECT_TRUE(ri_ring_tx_is_quick(&m_tx));
    carry(NEVER);
    EXPECT_FALSE(ri_ring_tx_is_quick(&m_tx));
    carry_times(100, NEVER);
    EXPECT_FALSE(ri_ring_tx_is_quick(&m_tx));
    carry(ALWAYS);
    EXPECT_TRUE(ri_ring_tx_is_quick(&m_tx)) << "however long it was slow";
}

TEST_F(test_quick, a_quick_one_makes_up_for_two)
{
    for (unsigned i = 0; i < 10 * RI_QUICK_TIMES; ++i) {
        carry_times(2, NEVER);
        carry(ALWAYS);
        ASSERT_TRUE(ri_ring_tx_is_quick(&m_tx)) << i;
    }
    for (unsigned i = 0; i < RI_QUICK_TIMES; ++i) {
        carry_times(3, NEVER);
        carry(ALWAYS);
    }
    EXPECT_EQ(RI_QUICK_TIMES - 2u, m_tx.quick.slow);
}

TEST_F(test_quick, short_payloads_do_not_count)
{
    carry_times(2 * RI_QUICK_TIMES, NEVER, RI_QUICK_LENGTH - 1);
    EXPECT_TRUE(ri_ring_tx_is_quick(&m_tx));
    carry_times(RI_QUICK_TIMES, NEVER);
    carry_times(2 * RI_QUICK_TIMES, ALWAYS, RI_QUICK_LENGTH - 1);
    EXPECT_FALSE(ri_ring_tx_is_quick(&m_tx));
}

/* A far sender's payloads go past its cache: that says nothing, and the ring is not quick. */
TEST_F(test_quick, far)
{
    ri_distance_far_ticks = 1; /* whatever is measured */
    m_tx.distance.times   = RI_DISTANCE_FAR_TIMES;
    carry_times(2 * RI_QUICK_TIMES, NEVER);
    EXPECT_FALSE(ri_ring_tx_is_quick(&m_tx));
    m_tx.distance.times = 0;
    EXPECT_TRUE(ri_ring_tx_is_quick(&m_tx));
    EXPECT_EQ(0u, m_tx.quick.slow);
}

TEST_F(test_quick, is_tried_again)
{
    carry_times(RI_QUICK_TIMES, NEVER);
    for (unsigned round = 0; round < RI_QUICK_DOUBLE + 3; ++round) {
        unsigned others = RI_QUICK_RETRY << std::min<unsigned>(round, RI_QUICK_DOUBLE);

        for (unsigned i = 0; i < others; ++i) {
            ASSERT_FALSE(ri_ring_tx_is_quick(&m_tx)) << i << " in round " << round;
            ri_quick_pass_by(&m_tx.quick);
        }
        for (unsigned i = 0; i < RI_QUICK_TIMES; ++i) {
            ASSERT_TRUE(ri_ring_tx_is_quick(&m_tx)) << i << " in round " << round;
            carry(NEVER);
        }
    }
    EXPECT_FALSE(ri_ring_tx_is_quick(&m_tx));
}

/* Once it was quick, it is tried again as soon as at first. */
TEST_F(test_quick, is_tried_again_after_it_was_quick)
{
    carry_times(RI_QUICK_TIMES, NEVER);
    for (unsigned i = 0; i < 100 * RI_QUICK_RETRY; ++i) {
        ri_quick_pass_by(&m_tx.quick);
    }
    carry(ALWAYS);
    carry_times(RI_QUICK_TIMES, NEVER);
    m_tx.quick.passed_by = 0;
    for (unsigned i = 0; i < RI_QUICK_RETRY; ++i) {
        ASSERT_FALSE(ri_ring_tx_is_quick(&m_tx)) << i;
        ri_quick_pass_by(&m_tx.quick);
    }
    EXPECT_TRUE(ri_ring_tx_is_quick(&m_tx));
}

} // namespace
