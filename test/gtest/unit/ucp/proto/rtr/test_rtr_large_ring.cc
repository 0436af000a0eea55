/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/rtr/rtr.c: receives whose messages a large ring takes are not offered */

#include "rtr_test.h"

namespace {

class test_rtr_large_ring : public rtr_test {
protected:
    void configure() override
    {
        rtr_test::configure();
        ri_config.ring_size  = 262144;
        ri_config.ring_eager = 32768;
        ri_config.rtr        = UCS_AUTO;
    }

    void TearDown() override
    {
        ri_config.ring_eager = 0;
        rtr_test::TearDown();
    }

    uint64_t by_ring() { return m_a->counters().conns.tx_eager_ring; }

    /* A receive that is offered or not, and its message: @return whether it came by the ring. */
    bool goes_by_ring(size_t length, bool offered)
    {
        uint64_t before = by_ring();
        recv_ptr r      = post(length);

        EXPECT_EQ(offered ? RI_RTR_BY_GRANT : RI_RTR_NONE, rtr(r)) << length;
        m_a->progress();
        send_ptr s = send(length);
        pump();
        check(r, s);
        return by_ring() != before;
    }
};

TEST_F(test_rtr_large_ring, are_not_offered)
{
    guess(stream());
    EXPECT_TRUE(goes_by_ring(8192, false));
    EXPECT_TRUE(goes_by_ring(8193, false));
    EXPECT_TRUE(goes_by_ring(32768, false));
    EXPECT_FALSE(goes_by_ring(32769, true));
    EXPECT_EQ(0u, m_b->counters().rtr_suppressed); /* these were no long messages */
}

/* Wherever possible */
TEST_F(test_rtr_large_ring, are_offered_if_it_is_wanted)
{
    ri_config.rtr = UCS_YES;
    guess(stream());
    EXPECT_TRUE(goes_by_ring(8192, false));
    EXPECT_FALSE(goes_by_ring(8193, true));
    EXPECT_FALSE(goes_by_ring(32768, true));
}

} // namespace
