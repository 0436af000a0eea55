/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/order/deliver_known.c: what is known of a message by its number. */

#include "deliver_test.h"

namespace {

class test_deliver_known : public deliver_test {};

TEST_F(test_deliver_known, what_has_come)
{
    uint32_t first = stream()->next_sn;

    EXPECT_TRUE(ri_deliver_known_has(stream(), first - 1)) << "before all others";
    for (uint32_t sn = first; sn < first + 6; ++sn) {
        EXPECT_FALSE(ri_deliver_known_has(stream(), sn));
    }
    for (uint32_t ahead :
         {0, 3, 5}) { /* the latter are kept until those between are there */
        eager(first + ahead, 1);
    }
    for (uint32_t ahead = 0; ahead < 6; ++ahead) {
        EXPECT_EQ((ahead == 0) || (ahead == 3) || (ahead == 5),
                  !!ri_deliver_known_has(stream(), first + ahead));
    }
}

/* A message has a receive when it is in order, and neither waits for one nor was probed. */
TEST_F(test_deliver_known, what_has_a_receive)
{
    uint32_t first = stream()->next_sn;

    recv_ptr op = m_node->recv(1, ~0ul, 8);
    eager(first, 1);
    EXPECT_TRUE(op->done);
    EXPECT_TRUE(ri_deliver_known_is_matched(stream(), first));

    eager(first + 1, 1);
    EXPECT_FALSE(ri_deliver_known_is_matched(stream(), first + 1))
            << "nobody waits for it";
    op = m_node->recv(1, ~0ul, 8);
    EXPECT_TRUE(ri_deliver_known_is_matched(stream(), first + 1));

    op = m_node->recv(1, ~0ul, 8);
    eager(first + 3, 1);
    EXPECT_FALSE(ri_deliver_known_is_matched(stream(), first + 3))
            << "its turn has not come";
    eager(first + 2, 2);
    EXPECT_TRUE(ri_deliver_known_is_matched(stream(), first + 3));
    EXPECT_FALSE(ri_deliver_known_is_matched(stream(), first + 2));
    op = m_node->recv(2, ~0ul, 8);
}

/* Also where numbers wrap */
TEST_F(test_deliver_known, too_far_ahead)
{
    size_t window = ri_config.reorder_window;

    stream()->next_sn        = ~0u - 2;
    ri_config.reorder_window = 2;
    EXPECT_FALSE(ri_deliver_known_is_far_ahead(stream(), ~0u - 3)) << "it is behind";
    EXPECT_FALSE(ri_deliver_known_is_far_ahead(stream(), ~0u - 2));
    EXPECT_FALSE(ri_deliver_known_is_far_ahead(stream(), ~0u - 2 + 1024));
    EXPECT_TRUE(ri_deliver_known_is_far_ahead(stream(), ~0u - 2 + 1025));
    eager(1, 1);
    EXPECT_FALSE(ri_deliver_known_is_far_ahead(stream(), 5));
    eager(2, 1);
    EXPECT_TRUE(ri_deliver_known_is_far_ahead(stream(), 5)) << "no more of them are kept";
    EXPECT_FALSE(ri_deliver_known_is_far_ahead(stream(), ~0u - 2))
            << "which takes no room";
    ri_config.reorder_window = window;
}

} // namespace
