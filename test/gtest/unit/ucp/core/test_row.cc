/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/row.c: which messages are taken for ones of a row. */

#include "unit/fakes/fake_ucx.h"

using namespace fake;

namespace {

class test_row : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        m_conn.peer = &m_peer;
        ucs_list_head_init(&m_conn.sends);
    }

    /* A long send begins. @return Whether it is one of a row. */
    bool begin()
    {
        m_sends.emplace_back();
        ri_send_req_t &req = m_sends.back();

        ri_send_req_init(&req, &m_conn, 1);
        ri_row_note_send(&m_peer);
        bool is_one = ri_row_ask(&req);
        EXPECT_TRUE(is_one || !m_conn.row.on);
        ++m_conn.tx_sn;
        req.wire_type = RI_WIRE_RTS;
        req.waiting   = RI_SEND_WAIT_MATCH;
        return is_one;
    }

    void end_all()
    {
        for (ri_send_req_t &req : m_sends) {
            ucs_list_del(&req.list);
        }
        m_sends.clear();
    }

    unsigned row(unsigned count)
    {
        unsigned ones = 0;

        for (unsigned i = 0; i < count; ++i) {
            ones += begin();
        }
        end_all();
        return ones;
    }

    ri_peer_t m_peer = {};
    ri_conn_t m_conn = {};
    std::list<ri_send_req_t> m_sends;
};

TEST_F(test_row, those_that_follow)
{
    EXPECT_EQ(0u, row(1));
    EXPECT_EQ(0u, row(1));
    EXPECT_EQ(2u, row(3));
    EXPECT_EQ(2u, row(3)) << "a row of three says nothing of the next one";
}

TEST_F(test_row, the_first_of_the_next_one)
{
    EXPECT_EQ(3u, row(4));
    EXPECT_EQ(4u, row(4));
    EXPECT_EQ(1u, row(1));
    EXPECT_EQ(0u, row(1)) << "the row before was one message";
}

/* A send that waits for its receive for long does not make a row of those behind it. */
TEST_F(test_row, long_ago)
{
    EXPECT_FALSE(begin());
    m_conn.tx_sn += 3;
    EXPECT_TRUE(begin());
    m_conn.tx_sn += 4;
    EXPECT_FALSE(begin());
    end_all();
}

/* One that was not announced, or was matched, is not on its way. */
TEST_F(test_row, what_is_not_waited_for)
{
    EXPECT_FALSE(begin());
    m_sends.back().wire_type = RI_WIRE_EAGER;
    EXPECT_FALSE(begin());
    m_sends.back().waiting = 0;
    EXPECT_FALSE(begin());
    end_all();
}

/* What was sent eagerly in between does not hide it. */
TEST_F(test_row, behind_another_one)
{
    EXPECT_FALSE(begin());
    EXPECT_TRUE(begin());
    m_sends.back().wire_type = RI_WIRE_EAGER;
    EXPECT_TRUE(begin());
    end_all();
}

/* Sends that are not asked for, as they must end fast, count as well. */
TEST_F(test_row, as_many_each_way)
{
    ri_row_note_send(&m_peer);
    EXPECT_FALSE(ri_row_is_mutual(&m_peer)) << "nothing came";
    ri_row_note_receive(&m_peer);
    EXPECT_TRUE(ri_row_is_mutual(&m_peer));
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_TRUE(ri_row_is_mutual(&m_peer));
        ri_row_note_send(&m_peer);
    }
    EXPECT_FALSE(ri_row_is_mutual(&m_peer)) << "five to one";
}

/* Both sides copy only if the receiver has few messages of its own to read. */
TEST_F(test_row, mutual)
{
    row(4);
    EXPECT_TRUE(m_conn.row.on);
    ri_row_note_receive(&m_peer);
    row(3);
    EXPECT_TRUE(m_conn.row.on) << "seven to one";
    ri_row_note_receive(&m_peer);
    row(1);
    EXPECT_FALSE(m_conn.row.on) << "eight to two";

    for (unsigned i = 0; i < 10000; ++i) { /* what was long ago does not count */
        ri_row_note_receive(&m_peer);
        ASSERT_GT((unsigned)RI_ROW_COUNTED, m_peer.row.received);
    }
    EXPECT_EQ(0u, m_peer.row.sent);
}

} // namespace
