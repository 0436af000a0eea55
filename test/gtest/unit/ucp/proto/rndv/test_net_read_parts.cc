/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Reads in parts, each of which is unpacked while the next ones are on their way.
 * (src/ucp/proto/rndv/net_read.c)
 */

#include "unit/common/rdma_test.h"
#include "unit/common/spread_type.h"

namespace {

const size_t PARTS = 8;
const size_t MB    = 1 << 20;
const size_t PART  = MB / PARTS;

class test_net_read_parts : public rdma_test {
protected:
    void SetUp() override
    {
        rdma_test::SetUp();
        m_type.make(100, 28, 10);
    }

    void restart_and_connect()
    {
        m_s.reset();
        restart();
        connect();
    }

    /* A receive in runs, and its message, whose data is in one place. The receive has room for @a
     * looser elements more than the message has. */
    void exchange(size_t length, size_t looser = 5)
    {
        ucp_request_param_t extra = {};

        extra.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
        extra.datatype     = m_type.datatype;
        m_content          = pattern(length, length);
        m_type.clear(length + looser * m_type.size);
        m_r = m_b->recv_into(m_type.memory.data(), m_type.count_of(length) + looser, 5,
                             extra);
        m_s = m_a->send(m_conn, m_content, 5);
        pump();
    }

    /* A read of which @a ended parts have ended */
    void start_parts(unsigned ended)
    {
        connect();
        m_b_rdma->may_end = 0;
        exchange(MB);
        m_b_rdma->may_end = ended;
        pump();
        ASSERT_EQ(PARTS - ended, m_b_rdma->under_way());
    }

    void check_received()
    {
        ASSERT_TRUE(m_r->done);
        EXPECT_EQ(UCS_OK, m_r->status);
        EXPECT_EQ(m_content.size(), m_r->info.length);
        EXPECT_TRUE(m_type.spread(m_content) == m_type.memory);
        EXPECT_EQ(m_type.started, m_type.finished);
        check_sent(m_s);
        check_idle();
    }

    spread_type m_type;
};

TEST_F(test_net_read_parts, sizes)
{
    const struct {
        size_t length, parts;
    } cases[] = {{65536, 1},         {65537, 2}, {200001, 4}, {8 * 65536, 8},
                 {8 * 65536 + 1, 8}, {MB, 8},    {MB + 7, 8}, {3 * MB, 8}};

    connect();
    for (const auto &c : cases) {
        SCOPED_TRACE(c.length);
        unsigned reads = m_b_rdma->reads;
        exchange(c.length);
        check_received();
        EXPECT_EQ(c.parts, m_b_rdma->reads - reads);
    }
    EXPECT_EQ(0u, m_type.callbacks);
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
}

TEST_F(test_net_read_parts, unpacked_as_they_come)
{
    bytes some;

    start_parts(0);
    for (size_t i = 1; i < PARTS; ++i) {
        m_b_rdma->may_end = 1;
        pump();
        EXPECT_FALSE(m_r->done);
        EXPECT_FALSE(m_s->done);
        some.assign(m_content.begin(), m_content.begin() + i * PART);
        EXPECT_TRUE(m_type.spread(some) == m_type.memory) << i;
    }
    let_go();
    check_received();
}

/* What is there and what is not: all comes by UCP. */
TEST_F(test_net_read_parts, one_fails)
{
    for (ucs_status_t status : {UCS_ERR_INVALID_ADDR, UCS_ERR_UNREACHABLE}) {
        for (bool at_start : {true, false}) {
            for (unsigned good : {0, 1, 4, 7}) {
                SCOPED_TRACE(std::to_string(at_start) + " " + std::to_string(good));
                restart_and_connect();
                unsigned reads = m_b_rdma->reads;
                (at_start ? m_b_rdma->start_status : m_b_rdma->end_status) = status;
                (at_start ? m_b_rdma->good_starts : m_b_rdma->good_ends)   = good;
                exchange(MB);
                check_received();
                EXPECT_EQ(at_start ? good + 1 : PARTS, m_b_rdma->reads - reads);
                EXPECT_EQ(1u, m_b->counters().rndv_fallback);
                EXPECT_FALSE(m_conn->flags & RI_CONN_WAY);
            }
        }
    }
}

/* Runs that cannot all be registered are read to one place. */
TEST_F(test_net_read_parts, runs_that_cannot_be_registered)
{
    m_type.make(5000, 1000, 15);
    for (bool fails : {false, true}) {
        restart_and_connect();
        unsigned reads     = m_b_rdma->reads;
        m_b_rdma->bad_regs = fails ? 1 : 0;
        exchange(75000, 0); /* as many runs as can be listed, but one */
        check_received();
        EXPECT_EQ(1u, m_b_rdma->reads - reads);
        EXPECT_EQ(0u, m_b->counters().rndv_fallback);
    }
}

TEST_F(test_net_read_parts, stream_breaks)
{
    start_parts(3);
    break_stream_while_reading();
}

TEST_F(test_net_read_parts, worker_of_the_receiver_ends)
{
    start_parts(3);
    end_receiver_while_reading();
}

/* The device is told of the end of its way, and says so of all that was under way. */
TEST_F(test_net_read_parts, sender_is_gone)
{
    start_parts(0);
    lose_sender_while_reading();
}

} // namespace
