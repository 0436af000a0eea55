/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers that reach each other's memory through a network, and no other way.
 */
#ifndef RI_TEST_RDMA_TEST_H
#define RI_TEST_RDMA_TEST_H

#include "fake_rdma.h"
#include "rndv_test.h"

namespace {

class rdma_test : public rndv_test {
protected:
    void SetUp() override
    {
        m_has_planes = false;
        rndv_test::SetUp();
        ri_config.hybrid_thresh = 0;
        with_rdma();
    }

    void TearDown() override
    {
        stop_rdma();
        rndv_test::TearDown();
    }

    void with_rdma()
    {
        m_a_rdma = std::make_unique<rdma>(*m_a);
        m_b_rdma = std::make_unique<rdma>(*m_b);
    }

    void stop_rdma()
    {
        stop();
        m_a_rdma.reset();
        m_b_rdma.reset();
    }

    void restart()
    {
        stop_rdma();
        start();
        with_rdma();
    }

    /* One long message by UCP makes the sender ask. */
    void connect()
    {
        memory from(CONTIG, LONG), to(CONTIG, LONG);
        recv_ptr r = recv(to, 1);
        rndv_ptr s = send(from, 1);

        pump();
        ASSERT_TRUE(r->done && s->done);
        ASSERT_TRUE(m_conn->flags & RI_CONN_RDMA);
        ASSERT_FALSE(m_conn->flags & (RI_CONN_PLANE_READ | RI_CONN_PLANE_WRITE));
        ASSERT_EQ(0u, m_b_rdma->reads);
        check_idle();
    }

    void check_idle()
    {
        EXPECT_EQ(0u, m_a_rdma->keys());
        EXPECT_EQ(0u, m_b_rdma->keys());
        EXPECT_EQ(0u, m_b->worker()->num_reads);
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

    std::unique_ptr<rdma> m_a_rdma, m_b_rdma;
    bytes m_content;
    std::unique_ptr<memory> m_to;
    recv_ptr m_r;
    send_ptr m_s;
};

} // namespace

#endif
