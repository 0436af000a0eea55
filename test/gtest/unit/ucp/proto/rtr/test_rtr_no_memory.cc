/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Senders that have an RTR by message, and no memory: their message goes another way, or later;
 * neither the way nor the connection ends for that. (src/ucp/proto/rtr/rtr_send_net.c,
 * rtr_send_pool.c) The tests run src/ucp/proto/rndv/send_keys.c, too.
 */

#include "unit/fakes/fake_malloc.h"
#include "rtr_net_test.h"

namespace {

class test_rtr_no_memory : public rtr_net_test {
protected:
    void start_with(bool by_pool)
    {
        ri_config.hybrid_net = 0;
        ri_config.pool_size  = 1 << 20;
        restart();
        ri_config.hybrid_net = by_pool ? LARGE : 0;
    }

    void TearDown() override
    {
        ri_config.hybrid_net = 0;
        rtr_net_test::TearDown();
    }
};

/* Each allocation fails in turn, the first time and when the pool has its buffers. */
TEST_F(test_rtr_no_memory, to_start)
{
    for (bool by_pool : {false, true}) {
        SCOPED_TRACE(by_pool);
        start_with(by_pool);
        unsigned failed = 0;
        bool fails      = true;
        for (int n = 0; fails; ++n) {
            SCOPED_TRACE(n);
            recv_ptr r               = post_seen();
            uint64_t used            = m_b->counters().rtr_used;
            fake::malloc_fails_after = n;
            send_ptr s               = send();
            fails                    = (fake::malloc_fails_after < 0);
            fake::malloc_fails_after = -1;
            pump();
            check(r, s);
            check_sent(s);
            EXPECT_EQ(UCS_OK, m_conn->status);
            ASSERT_EQ(RI_WAY_CONNECTED, m_conn->peer->way.state);
            EXPECT_EQ(0u, m_conn->counters.tx_again);
            failed += (m_b->counters().rtr_used == used);
        }
        EXPECT_EQ(by_pool ? 0u : 1u, failed) << "without the RTR";
    }
}

/* The way has failed when the write is to start, and UCP has no memory: the message is sent when
 * there is some. */
TEST_F(test_rtr_no_memory, to_send_instead)
{
    for (bool by_pool : {false, true}) {
        SCOPED_TRACE(by_pool);
        start_with(by_pool);
        recv_ptr r1 = post_seen(), r2 = post(8, TAG + 1);
        m_a_rdma->start_status = UCS_ERR_UNREACHABLE;
        m_ucx->memory          = 0;
        send_ptr s1            = send();
        bytes data             = s1->data;
        EXPECT_EQ(by_pool, s1->done);
        for (int i = 0; i < 3; ++i) {
            m_a->progress();
        }
        EXPECT_EQ(UCS_OK, m_conn->status);
        EXPECT_TRUE(ri_worker_has_work(m_a->worker())) << "the application may sleep";
        m_a_rdma->start_status = UCS_OK;
        if (by_pool) {
            s1->data.assign(LARGE, 0xee); /* what an application does then */
        }
        m_ucx->memory = -1;
        send_ptr s2   = send(8, TAG + 1);
        pump();
        ASSERT_TRUE(r1->done);
        EXPECT_EQ(UCS_OK, r1->status);
        EXPECT_TRUE(r1->buffer == data);
        check(r2, s2);
        check_sent(s1);
        EXPECT_EQ(1u, m_conn->counters.tx_again);
        EXPECT_EQ(0u, malformed());
    }
}

/* ... until the connection, or the worker, ends */
TEST_F(test_rtr_no_memory, to_send_instead_and_the_end)
{
    for (bool by_pool : {false, true}) {
        SCOPED_TRACE(by_pool);
        start_with(by_pool);
        recv_ptr r             = post_seen();
        m_a_rdma->start_status = UCS_ERR_UNREACHABLE;
        m_ucx->memory          = 0;
        send_ptr s             = send();
        EXPECT_EQ(UCS_OK, m_conn->status);
        ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
        m_a->progress();
        EXPECT_EQ(0u, m_a->worker()->num_transfers);
        EXPECT_EQ(0u, m_a->worker()->pool.used);
        check_sent(s, by_pool ? UCS_OK : UCS_ERR_CONNECTION_RESET);
        m_a_rdma->start_status = UCS_OK;
        m_ucx->memory          = -1;
        m_conn->status         = UCS_OK;
        ri_stream_break(stream(), "a test");
        m_b->cancel(r);
        pump();
        check_canceled(r);
    }
}

ri_conn_t *g_conn;
decltype(ri_stock.am_send_nbx) g_send;

ucs_status_ptr_t send_and_fail(ucp_ep_h ep, unsigned id, const void *header,
                               size_t header_length, const void *buffer, size_t count,
                               const ucp_request_param_t *param)
{
    ucs_status_ptr_t ret = g_send(ep, id, header, header_length, buffer, count, param);

    if (g_conn != nullptr) {
        ri_conn_fail(g_conn, UCS_ERR_CONNECTION_RESET);
        g_conn = nullptr;
    }
    return ret;
}

/* The conn fails within the call that sends again: the buffer comes back. */
TEST_F(test_rtr_no_memory, conn_fails_meanwhile)
{
    for (bool at_start : {false, true}) {
        SCOPED_TRACE(at_start);
        start_with(true);
        recv_ptr r             = post_seen();
        m_a_rdma->start_status = at_start ? UCS_ERR_UNREACHABLE : UCS_OK;
        m_a_rdma->end_status   = at_start ? UCS_OK : UCS_ERR_UNREACHABLE;
        g_send                 = ri_stock.am_send_nbx;
        g_conn                 = m_conn;
        ri_stock.am_send_nbx   = send_and_fail;
        send_ptr s             = send();
        m_a->progress();
        ri_stock.am_send_nbx = g_send;
        EXPECT_EQ(nullptr, g_conn);
        EXPECT_EQ(0u, m_a->worker()->pool.used);
        check_sent(s);
        m_a_rdma->start_status = m_a_rdma->end_status = UCS_OK;
        m_conn->status                                = UCS_OK;
        ri_stream_break(stream(), "a test");
        m_b->cancel(r);
        pump();
    }
}

} // namespace
