/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers that reach each other's memory through a network, and no other way.
 */
#ifndef RI_TEST_RDMA_TEST_H
#define RI_TEST_RDMA_TEST_H

#include "net_rndv_test.h"

namespace {

class rdma_test : public net_rndv_test {
protected:
    void with_net() override
    {
        m_a_rdma = std::make_unique<rdma>(*m_a);
        m_b_rdma = std::make_unique<rdma>(*m_b);
    }

    void stop_net() override
    {
        stop();
        m_a_rdma.reset();
        m_b_rdma.reset();
    }

    rdma &sender_net() override { return *m_a_rdma; }

    void connect() override
    {
        net_rndv_test::connect();
        ASSERT_FALSE(m_conn->flags & (RI_CONN_PLANE_READ | RI_CONN_PLANE_WRITE));
        ASSERT_EQ(0u, m_b_rdma->reads);
    }

    void check_idle() override
    {
        EXPECT_EQ(0u, m_a_rdma->keys());
        EXPECT_EQ(0u, m_b_rdma->keys());
        EXPECT_EQ(0u, m_b->worker()->num_transfers);
        EXPECT_EQ(0u, m_b_rdma->under_way());
    }

    void check_sent(const send_ptr &s)
    {
        ASSERT_TRUE(s->done);
        EXPECT_EQ(UCS_OK, s->status);
    }

    /* A receive that is being read, until m_b_rdma->holds is false */
    void start_read()
    {
        m_b_rdma->holds = true;
        m_content       = pattern(7, LONG);
        m_to            = std::make_unique<memory>(CONTIG, LONG);
        m_r             = recv(*m_to, 5);
        m_s             = m_a->send(m_conn, m_content, 5);
        pump();
        ASSERT_EQ(1u, m_b_rdma->under_way());
        ASSERT_FALSE(m_r->done);
        ASSERT_FALSE(m_s->done);
    }

    /* The network goes on */
    void let_go()
    {
        m_b_rdma->holds   = false;
        m_b_rdma->may_end = UINT_MAX;
        pump();
    }

    void check_receive_is_reset()
    {
        ASSERT_TRUE(m_r->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_r->status);
    }

    /* Ends, while something is being read */

    void break_stream_while_reading()
    {
        ri_stream_break(stream(), "a test");
        pump();
        EXPECT_FALSE(m_r->done) << "the network still writes there";
        EXPECT_TRUE(m_s->done);
        let_go();
        check_receive_is_reset();
        check_idle();
    }

    void end_receiver_while_reading()
    {
        ri_net_transfer_end_all(m_b->worker());
        check_receive_is_reset();
        pump();
        check_sent(m_s); /* it is told */
        check_idle();
    }

    /* The device would try for seconds to reach a process that has ended. */
    void lose_sender_while_reading()
    {
        setting<double> interval(ri_gone_interval, 0);
        size_t under_way = m_b_rdma->under_way();

        stream()->peer->gone.is_ended = 1;
        for (int look = 0; look < 2; ++look) {
            EXPECT_EQ(under_way, m_b_rdma->under_way());
            ri_gone_check(m_b->worker());
        }
        EXPECT_EQ(0u, m_b_rdma->under_way());
        m_b->progress();
        ri_gone_check(m_b->worker());
        check_receive_is_reset();
        ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    }

    std::unique_ptr<rdma> m_a_rdma, m_b_rdma;
    bytes m_content;
    std::unique_ptr<memory> m_to;
    recv_ptr m_r;
    send_ptr m_s;
};

} // namespace

#endif
