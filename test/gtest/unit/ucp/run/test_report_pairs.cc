/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/report_pairs.c */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucp/run/report_pairs.h"
}

#include <gtest/gtest.h>
#include <map>

namespace {

class test_report_pairs : public testing::Test {
protected:
    void TearDown() override { ri_report_pairs_cleanup(&m_pairs); }

    static ri_conn_counters_t sent(uint64_t ring, uint64_t bytes)
    {
        ri_conn_counters_t counters = {};

        counters.tx_eager_ring = ring;
        counters.tx_bytes      = bytes;
        return counters;
    }

    void add(uint64_t uid, uint64_t ring, uint64_t bytes)
    {
        ri_conn_counters_t counters = sent(ring, bytes);

        ri_report_pairs_add(&m_pairs, uid, &counters);
    }

    ri_report_pairs_t m_pairs = {};
};

TEST_F(test_report_pairs, names)
{
    EXPECT_STREQ("ring", ri_report_table_protocol_name(RI_REPORT_PROTOCOL_RING));
    EXPECT_STREQ("ucp", ri_report_table_protocol_name(RI_REPORT_PROTOCOL_UCP));
    EXPECT_STREQ("self", ri_report_table_protocol_name(RI_REPORT_PROTOCOL_SELF));
}

TEST_F(test_report_pairs, every_protocol)
{
    ri_conn_counters_t c = sent(1, 1000);

    c.tx_eager_am   = 2;
    c.tx_eager_rdma = 3;
    c.tx_hybrid     = 4;
    c.tx_recv_rndv  = 5;
    c.tx_coop       = 6;
    c.tx_rndv       = 7;
    c.tx_put        = 1;
    c.tx_ud         = 7;
    c.tx_bulk       = 9;
    c.tx_self       = 10;
    c.tx_self_bytes = 77;
    ri_report_pairs_add(&m_pairs, 0x1, &c);
    ri_report_pairs_merge(&m_pairs);
    ASSERT_EQ(1u, m_pairs.count);
    for (unsigned protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        EXPECT_EQ(protocol + 1, m_pairs.list[0].counts[protocol].messages) << protocol;
    }
    EXPECT_EQ(923u, m_pairs.list[0].counts[RI_REPORT_PROTOCOL_RING].bytes);
    EXPECT_EQ(77u, m_pairs.list[0].counts[RI_REPORT_PROTOCOL_SELF].bytes);
}

TEST_F(test_report_pairs, nothing_sent)
{
    add(0x1, 0, 0);
    EXPECT_EQ(0u, m_pairs.count);
    ri_report_pairs_merge(&m_pairs);
    EXPECT_EQ(0u, m_pairs.count);
}

/* Any number of conns to few peers takes little memory */
TEST_F(test_report_pairs, conns_to_few_peers)
{
    for (unsigned i = 0; i < 10000; ++i) {
        add(100 + i % 3, 1, 10);
    }
    EXPECT_LE(m_pairs.room, 16u);
    ri_report_pairs_merge(&m_pairs);
    ASSERT_EQ(3u, m_pairs.count);
    EXPECT_EQ(100u, m_pairs.list[0].uid);
    EXPECT_EQ(3334u, m_pairs.list[0].counts[RI_REPORT_PROTOCOL_RING].messages);
    EXPECT_EQ(33340u, m_pairs.list[0].counts[RI_REPORT_PROTOCOL_RING].bytes);
}

TEST_F(test_report_pairs, many_peers)
{
    std::map<uint64_t, uint64_t> expected;
    ri_report_pairs_t all = {};
    unsigned seed         = 1;

    for (unsigned i = 0; i < 5000; ++i) {
        seed = seed * 1103515245 + 12345;
        add(seed >> 20, 1 + i % 7, 8);
        expected[seed >> 20] += 1 + i % 7;
    }
    ri_report_pairs_add_all(&all, &m_pairs);
    ri_report_pairs_add_all(&all, &m_pairs);
    ri_report_pairs_merge(&all);
    ASSERT_EQ(expected.size(), all.count);
    EXPECT_LE(all.room, 4 * all.count);
    for (size_t i = 0; i < all.count; ++i) {
        EXPECT_EQ(2 * expected[all.list[i].uid],
                  all.list[i].counts[RI_REPORT_PROTOCOL_RING].messages);
        EXPECT_TRUE((i == 0) || (all.list[i].uid > all.list[i - 1].uid));
    }
    ri_report_pairs_cleanup(&all);
}

} // namespace
