/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Receives in runs that no grid tells, between two nodes that reach each other through a
 * network. */
#ifndef RI_TEST_RTR_LAYOUT_NET_TEST_H
#define RI_TEST_RTR_LAYOUT_NET_TEST_H

#include "rtr_net_test.h"
#include "unit/common/spread_type.h"

namespace {

class rtr_layout_net_test : public rtr_net_ends_test {
protected:
    void SetUp() override
    {
        rtr_net_ends_test::SetUp();
        make(m_in, LARGE, 1);
    }

    /* Runs of unequal lengths, of 4096 bytes and more, of @a length bytes in all, in no order */
    static void make(spread_type &type, size_t length, uint64_t seed, size_t gap = 300)
    {
        type.make_unequal(length, seed, 4096, 9000, gap, 100);
    }

    recv_ptr post_in(spread_type &type, size_t length = LARGE)
    {
        return type.post(*m_b, length, TAG);
    }

    recv_ptr post_in_seen(size_t length = LARGE)
    {
        recv_ptr r = post_in(m_in, length);

        EXPECT_EQ(RI_RTR_BY_KEY, rtr(r));
        EXPECT_EQ(1u, m_ba->count(RI_WIRE_RTR_LAYOUT));
        deliver();
        return r;
    }

    void check_in(const spread_type &type, const recv_ptr &r, const bytes &data)
    {
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_OK, r->status);
        EXPECT_EQ(data.size(), r->info.length);
        EXPECT_TRUE(type.spread(data) == type.memory);
        EXPECT_EQ(type.started, type.finished);
        EXPECT_EQ(0u, type.callbacks);
    }

    spread_type m_in, m_out;
};

} // namespace

#endif
