/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker ends with transfers under way through a network, a channel, and receives that are
 * offered by it: before its conns end, all ways have. (src/ucp/run/worker_life.c)
 */

#include "unit/ucp/proto/rtr/rtr_net_test.h"

namespace {

class test_worker_life_net : public rtr_net_test {
protected:
    void TearDown() override
    {
        end();
        ri_test::TearDown();
    }

    /* What m_b has under way. Its reads and the writes of m_a do not end by themselves. */
    void make_busy()
    {
        with_channels(true);
        for (int i = 0; (i < 100) && (m_conn->channel == nullptr); ++i) {
            m_b->recv(8, ALL, 8);
            m_a->send(m_conn, bytes(8), 8);
            pump();
        }
        for (int i = 0; i < 2; ++i) { /* the way back */
            m_a->recv(9, ALL, LARGE);
            m_b->send(m_back, bytes(LARGE), 9);
            pump();
        }
        ASSERT_TRUE(m_back->flags & RI_CONN_WAY);
        ASSERT_EQ(nullptr, m_back->channel) << "answers would go by it, and be held up";
        m_node   = m_b.get();
        m_unread = send(LARGE, 5);
        m_read   = send(LARGE, 6);
        pump();
        ASSERT_EQ(2u, worker()->match.num_unexpected);
        ASSERT_EQ(1u, worker()->channels.num_in);
        m_sent = m_b->send(m_back, pattern(1, LARGE), 7);
        ASSERT_FALSE(m_sent->done);

        m_a_rdma->holds = m_b_rdma->holds = true;
        m_used                            = post_seen();
        m_written                         = send();
        ASSERT_EQ(1u, m_a_rdma->under_way());
        m_offered = post_seen();
        worker()->reqs.in_use -= 2; /* nobody completes a posted receive */
        m_reading = m_b->recv(6, ALL, LARGE, [this] { check_stopped(); });
        ASSERT_EQ(1u, m_b_rdma->under_way());
    }

    ri_worker_t *worker() { return m_node->worker(); }

    /* The read ends with its way; channels have ended before. */
    void check_stopped()
    {
        ++m_stopped;
        EXPECT_EQ(0u, worker()->channels.num_in);
        EXPECT_EQ(0u, m_b_rdma->ends());
        EXPECT_EQ(0u, m_b_rdma->under_way());
        EXPECT_EQ(0u, worker()->rtr.num_entries);
        EXPECT_EQ(RI_RTR_NONE, rtr(m_used));
        EXPECT_EQ(RI_RTR_NONE, rtr(m_offered));
        EXPECT_EQ(2u, m_ba->count(RI_WIRE_FIN))
                << "of what nobody has received, and this";
        EXPECT_EQ(nullptr, m_back->peer->way.ep);
        EXPECT_EQ(UCS_OK, m_back->status);
        EXPECT_FALSE(m_sent->done) << "its conn is there still";
    }

    void end_busy()
    {
        m_b->may_end_open = m_a->may_end_open = true;
        m_b.reset();
        m_ba = nullptr;
        EXPECT_EQ(1u, m_stopped);
        EXPECT_TRUE(m_reading->done);
        EXPECT_NE(UCS_OK, m_reading->status);
        EXPECT_FALSE(m_used->done || m_offered->done) << "nobody has written them";
        EXPECT_EQ(UCS_ERR_CANCELED, m_sent->status);
        EXPECT_EQ(0u, m_b_rdma->keys());
        m_ab->sent.clear();
        m_a_rdma->holds = false;
        m_a.reset();
        for (const send_ptr &s : {m_unread, m_read, m_written}) {
            EXPECT_TRUE(s->done);
        }
    }

    node *m_node; /* m_b, also while it ends */
    send_ptr m_unread, m_read, m_written, m_sent;
    recv_ptr m_used, m_offered, m_reading;
    unsigned m_stopped = 0;
};

TEST_F(test_worker_life_net, phases)
{
    make_busy();
    end_busy();
}

/* The ends of the peer, which was killed, work no more. */
TEST_F(test_worker_life_net, killed_peer)
{
    make_busy();
    m_a_rdma->kill();
    end_busy();
}

TEST_F(test_worker_life_net, no_memory)
{
    make_busy();
    m_ucx->memory     = 0; /* nothing can be told */
    m_b->may_end_open = m_a->may_end_open = true;
    m_reading->on_done                    = nullptr;
    m_b.reset();
    m_ba          = nullptr;
    m_ucx->memory = -1;
    EXPECT_TRUE(m_reading->done && m_sent->done);
    EXPECT_EQ(0u, m_b_rdma->keys());
    m_ab->sent.clear();
    m_a.reset();
}

} // namespace
