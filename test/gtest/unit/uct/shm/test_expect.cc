/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/expect.h: which lines are fetched before a record comes. */

#include "ring_test.h"
#include "uct/shm/expect.h"

namespace {

class test_expect : public ring_test {};

/* An answer is expected to be as long as the latest record, up to a length. */
TEST_F(test_expect, lines_of_an_answer)
{
    open_both(65536);
    ri_expect_answer(&m_rx);
    EXPECT_EQ(0u, m_rx.expected_lines) << "nothing has come";
    for (uint32_t length :
         {1u, 41u, 65u, 64u * RI_RING_FETCH_MAX, 64u * RI_RING_FETCH_MAX + 1, 40u}) {
        uint32_t lines = (ri_ring_lines(length) - 1 <= RI_RING_FETCH_MAX) ?
                                 ri_ring_lines(length) - 1 :
                                 0;

        ASSERT_TRUE(send({1, 2, 3, 4, std::vector<uint8_t>(length)}));
        ASSERT_TRUE(receive());
        EXPECT_EQ(0u, m_rx.expected_lines) << length;
        ri_expect_answer(&m_rx);
        EXPECT_EQ(lines, m_rx.expected_lines) << length;
        ri_expect_fetch(&m_rx); /* changes nothing */
        EXPECT_EQ(nullptr, ri_ring_rx_peek(&m_rx));
    }
}

/* Up to the last line of a lap, behind which lines of its beginning follow. */
TEST_F(test_expect, lines_of_the_next_lap)
{
    open_both(4096);
    m_rx.pos            = m_rx.mask - 1;
    m_rx.expected_lines = RI_RING_FETCH_MAX;
    ri_expect_fetch(&m_rx);
    EXPECT_EQ(nullptr, ri_ring_rx_peek(&m_rx));
}

} // namespace
