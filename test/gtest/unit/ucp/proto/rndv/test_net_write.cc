/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The sender offers, the receiver says where to, the sender writes through a network.
 * (src/ucp/proto/rndv/net_write.c, rndv_put.c) The tests run src/ucp/proto/rndv/net_expose.c, too.
 */

#include "unit/common/rdma_test.h"

namespace {

class test_net_write : public rdma_test {
protected:
    void SetUp() override
    {
        rdma_test::SetUp();
        ri_config.scheme = RI_SENDER_SCHEME_PUT;
    }

    /* A receive that is being written, until m_a_rdma->holds is false */
    void start_write()
    {
        m_a_rdma->holds = true;
        m_content       = pattern(7, LONG);
        m_to            = std::make_unique<memory>(CONTIG, LONG);
        m_r             = recv(*m_to, 5);
        m_s             = m_a->send(m_conn, m_content, 5);
        pump();
        ASSERT_EQ(1u, m_a_rdma->under_way());
        ASSERT_EQ(1u, m_a->worker()->num_transfers);
        ASSERT_EQ(1u, m_b_rdma->keys());
        ASSERT_FALSE(m_r->done);
        ASSERT_FALSE(m_s->done);
    }

    void let_go()
    {
        m_a_rdma->holds = false;
        for (unsigned i = 0; i < 10; ++i) {
            m_a->progress();
        }
    }

    /* Up to CTS, which was not handed over. @return The id of the receive. */
    uint32_t until_cts(memory &to)
    {
        m_r = recv(to, 5);
        m_s = m_a->send(m_conn, m_content, 5);
        while (m_ba->count(RI_WIRE_CTS) == 0) {
            deliver(m_ab, 0);
        }
        return m_ba->sent.back().parse().recv_id;
    }
};

TEST_F(test_net_write, shapes)
{
    connect();
    uint64_t written = m_a->counters().conns.tx_written_bytes;
    uint64_t read    = m_b->counters().streams.rx_read_bytes;
    exchange_shapes([&](shape_t in) {
        ((in == CONTIG) ? written : read) += LONG;
        EXPECT_EQ(written, m_a->counters().conns.tx_written_bytes);
        EXPECT_EQ(read, m_b->counters().streams.rx_read_bytes)
                << "what is not in one place is read";
    });
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
    EXPECT_EQ(0u, stale(*m_a) + stale(*m_b));
}

/* What cannot be written comes by UCP. */
TEST_F(test_net_write, failures)
{
    enum {
        REG,
        START,
        START_NO_MEMORY,
        END,
        END_BROKEN
    };
    for (int what : {REG, START, START_NO_MEMORY, END, END_BROKEN}) {
        SCOPED_TRACE(what);
        restart();
        connect();
        bytes content = pattern(what, LONG);
        memory from(CONTIG, LONG, content), to(CONTIG, LONG);

        m_b_rdma->reg_status   = (what == REG) ? UCS_ERR_NO_MEMORY : UCS_OK;
        m_a_rdma->start_status = (what == START)           ? UCS_ERR_UNREACHABLE :
                                 (what == START_NO_MEMORY) ? UCS_ERR_NO_MEMORY :
                                                             UCS_OK;
        m_a_rdma->end_status   = (what == END)        ? UCS_ERR_INVALID_ADDR :
                                 (what == END_BROKEN) ? UCS_ERR_UNREACHABLE :
                                                        UCS_OK;
        recv_ptr r             = recv(to, 5);
        rndv_ptr s             = send(from, 5);
        pump();
        ASSERT_TRUE(s->done);
        EXPECT_EQ(UCS_OK, s->status);
        check(r, to, content, 5);
        EXPECT_EQ(1u, m_b->counters().rndv_fallback);
        EXPECT_EQ((what == REG) ? 1u : 0u, m_a_rdma->ends());
        EXPECT_EQ((what == REG) ? 1u : 0u, m_b_rdma->ends())
                << "a late packet of a write must find nobody";
        check_idle();

        memory from2(CONTIG, LONG, content), to2(CONTIG, LONG);
        r = recv(to2, 6);
        s = send(from2, 6);
        pump();
        check(r, to2, content, 6);
        check_idle();
    }
}

TEST_F(test_net_write, sender_cannot_register)
{
    connect();
    check_unregistered(5);
}

TEST_F(test_net_write, several_at_a_time)
{
    connect();
    m_a_rdma->holds                     = true;
    std::vector<random_message> several = send_several(20);
    post_several(several);
    pump();
    EXPECT_EQ(20u, m_a_rdma->under_way());
    EXPECT_TRUE(ri_worker_has_work(m_a->worker())) << "or the worker would sleep";
    EXPECT_TRUE(ri_rndv_is_under_way(m_conn)) << "a close has to wait";
    m_a_rdma->holds = false;
    pump();
    check_several(several);
    EXPECT_FALSE(ri_rndv_is_under_way(m_conn));
}

/* Ends, while something is being written */

TEST_F(test_net_write, endpoint_of_the_sender_fails)
{
    connect();
    start_write();
    ri_conn_endpoint_failed(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_FALSE(m_s->done) << "the network still reads it";
    EXPECT_FALSE(m_r->done);
    let_go();
    ASSERT_TRUE(m_s->done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, m_s->status);
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_WRITTEN) + m_ab->count(RI_WIRE_RNDV_DATA));

    /* The receiver gives up. */
    ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
    ASSERT_TRUE(m_r->done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, m_r->status);
    EXPECT_EQ(0u, m_b_rdma->ends());
    check_idle();
}

TEST_F(test_net_write, endpoint_of_the_receiver_fails)
{
    connect();
    start_write();
    ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
    ASSERT_TRUE(m_r->done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, m_r->status);
    EXPECT_EQ(0u, m_b_rdma->ends()) << "nobody writes there any more";
    bytes before = m_to->read();
    let_go();
    EXPECT_TRUE(before == m_to->read());
    pump();
    ASSERT_TRUE(m_s->done) << "by UCP, for nobody";
    check_idle();
}

TEST_F(test_net_write, stream_breaks)
{
    connect();
    start_write();
    ri_stream_break(stream(), "a test");
    ASSERT_TRUE(m_r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_r->status);
    EXPECT_EQ(0u, m_b_rdma->ends()) << "nobody writes there any more";
    m_b->progress();
    m_ba->take(RI_WIRE_PLANE_ACK); /* so the sender does not know that the way is gone */
    pump();
    EXPECT_FALSE(m_s->done) << "the network still reads it";
    let_go();
    ASSERT_TRUE(m_s->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_s->status);
    pump();
    check_idle();
}

TEST_F(test_net_write, way_of_the_sender_fails)
{
    connect();
    start_write();
    ri_way_fail_and_tell(m_a->worker(), m_conn->peer);
    EXPECT_EQ(0u, m_a_rdma->under_way());
    pump();
    check(m_r, *m_to, m_content, 5);
    check_sent(m_s);
    EXPECT_EQ(1u, m_b->counters().rndv_fallback);
    EXPECT_EQ(0u, m_b_rdma->ends());
    check_idle();
}

TEST_F(test_net_write, workers_end)
{
    for (bool sender : {true, false}) {
        restart();
        connect();
        start_write();
        (sender ? m_a : m_b)->may_end_open = true;
        (sender ? m_a : m_b).reset();
        EXPECT_EQ(sender, m_s->done);
        EXPECT_EQ(!sender, m_r->done);
        if (sender) {
            EXPECT_NE(UCS_OK, m_s->status);
            EXPECT_EQ(0u, m_a_rdma->keys());
            ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
            EXPECT_TRUE(m_r->done);
        } else {
            EXPECT_EQ(0u, m_b_rdma->keys());
            let_go();
            ri_conn_endpoint_failed(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
            for (fake::request *req : m_ucx->requests) {
                req->ready = true; /* UCP has it in hand, and ends it */
            }
            m_ucx->complete(UCS_ERR_ENDPOINT_TIMEOUT);
            EXPECT_TRUE(m_s->done);
        }
        EXPECT_NE(UCS_OK, m_r->status);
        (sender ? m_ba : m_ab)->sent.clear();
        (sender ? m_b : m_a)->may_end_open = true;
    }
}

/* Messages that come too early, too late, twice, or from nobody */

TEST_F(test_net_write, repeated_cts)
{
    connect();
    m_content = pattern(7, LONG);
    memory to(CONTIG, LONG);
    until_cts(to);
    auto cts = m_ba->sent.back();

    m_a_rdma->holds = true;
    m_ba->sent.push_back(cts);
    m_ba->sent.push_back(cts);
    pump();
    EXPECT_EQ(1u, m_a_rdma->writes);
    EXPECT_EQ(2u, stale(*m_a));
    m_a_rdma->holds = false;
    pump();
    check(m_r, to, m_content, 5);
    check_sent(m_s);
    m_ba->sent.push_back(cts);
    pump();
    EXPECT_EQ(3u, stale(*m_a));
    EXPECT_EQ(1u, m_a_rdma->writes);
    check_idle();
}

/* The receiver has given up, and there is a new way. */
TEST_F(test_net_write, cts_of_an_earlier_way)
{
    connect();
    m_content = pattern(7, LONG);
    memory to(CONTIG, LONG);
    until_cts(to);
    ++m_conn->peer->way.number;
    pump();
    EXPECT_EQ(0u, m_a_rdma->writes);
    check(m_r, to, m_content, 5);
    check_sent(m_s);
    check_idle();
}

TEST_F(test_net_write, hostile_written)
{
    connect();
    start_write();
    uint32_t id = reinterpret_cast<ri_recv_req_t *>(ri_req_of_handle(m_r->handle))->id;

    for (uint32_t wrong : {0u, id + 1, ~0u}) {
        m_b->deliver(wire_msg(RI_WIRE_WRITTEN, stream()->id, wrong));
    }
    m_b->deliver(wire_msg(RI_WIRE_WRITTEN, stream()->id + 1, id));
    EXPECT_EQ(4u, stale(*m_b));
    EXPECT_FALSE(m_r->done);
    m_a_rdma->holds = false;
    pump();
    check(m_r, *m_to, m_content, 5);
    m_b->deliver(wire_msg(RI_WIRE_WRITTEN, stream()->id, id));
    EXPECT_EQ(5u, stale(*m_b));
    check_idle();
}

/* The sender says that it has nothing of the kind. */
TEST_F(test_net_write, rndv_data_of_another_length)
{
    connect();
    m_content = pattern(7, LONG);
    memory to(CONTIG, LONG);
    uint32_t id = until_cts(to);

    rndv_data(id, bytes(LONG - 1));
    ASSERT_TRUE(m_r->done);
    EXPECT_EQ(UCS_ERR_IO_ERROR, m_r->status);
    EXPECT_EQ(0u, m_b_rdma->ends());
    EXPECT_EQ(0u, m_b_rdma->keys());
    pump(); /* CTS, and a write that finds nobody */
    check_sent(m_s);
}

} // namespace
