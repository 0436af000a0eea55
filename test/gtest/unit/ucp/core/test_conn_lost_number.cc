/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sends that go on when a later number of their conn is lost: the peer receives them as ever, and
 * may read, or ask for, their memory. (protocol.md, sections 5 and 8) The tests run
 * src/ucp/core/send_req.c and src/ucp/proto/fetch.c, too.
 */

#include "unit/ucp/link/channel_life_test.h"
#include "unit/ucp/proto/rtr/rtr_net_test.h"

extern "C" {
#include "ucp/proto/coop/coop_send.h"
}

namespace {

using rndv_memory = ::memory;

class test_conn_lost_number : public rndv_test {
protected:
    /* As if the next message could not be sent after others have been. */
    void lose()
    {
        ++m_conn->tx_sn;
        ri_conn_lose(m_conn, m_conn->tx_sn, UCS_ERR_NO_MEMORY);
        EXPECT_EQ(UCS_ERR_NO_MEMORY, m_conn->status);
    }

    bool is_stream_there() { return !ucs_list_is_empty(&m_b->worker()->streams); }
};

TEST_F(test_conn_lost_number, earlier_is_read)
{
    for (bool rings : {false, true}) {
        for (bool writes : {false, true}) {
            SCOPED_TRACE(std::to_string(rings) + std::to_string(writes));
            stop();
            m_writes             = writes;
            ri_config.ring_peers = rings ? 4 : 0;
            start();
            connect_planes();
            bytes content = pattern(1, LONG);
            rndv_memory from(CONTIG, LONG, content), to(CONTIG, LONG);
            rndv_ptr s = send(from, 5);

            lose();
            ASSERT_FALSE(s->done) << "its memory may be read";
            pump();
            ASSERT_FALSE(s->done);
            recv_ptr r = recv(to, 5);
            pump();
            check(r, to, content, 5);
            ASSERT_TRUE(s->done);
            EXPECT_EQ(UCS_OK, s->status);
            EXPECT_FALSE(is_stream_there()) << "no BYE";
        }
    }
}

/* The sender writes, when the receiver has said where to. BYE would let that hand it back. */
TEST_F(test_conn_lost_number, earlier_is_written)
{
    m_writes         = true;
    ri_config.scheme = RI_SENDER_SCHEME_PUT;
    stop();
    start();
    connect_planes();
    bytes content = pattern(1, LONG);
    rndv_memory from(CONTIG, LONG, content), to(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    deliver();
    lose();
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_BYE));
    recv_ptr r = recv(to, 5);
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_CTS));
    deliver(m_ba, 0);
    EXPECT_EQ(1u, m_a_plane->writes);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_BYE));
    pump();
    check(r, to, content, 5);
    EXPECT_EQ(UCS_OK, s->status);
    EXPECT_FALSE(is_stream_there());
}

TEST_F(test_conn_lost_number, later_fails)
{
    connect_planes();
    rndv_memory from(CONTIG, LONG);
    rndv_ptr s1     = send(from, 5);
    uint32_t end_sn = ++m_conn->tx_sn;
    rndv_ptr s2     = send(from, 5);

    ri_conn_lose(m_conn, end_sn, UCS_ERR_NO_MEMORY);
    EXPECT_FALSE(s1->done);
    ASSERT_TRUE(s2->done);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, s2->status);
    pump();
    rndv_memory to(CONTIG, LONG);
    recv_ptr r = recv(to, 5);
    pump();
    EXPECT_TRUE(r->done && s1->done);
    EXPECT_EQ(UCS_OK, s1->status);
}

/* What waits for room in the ring never comes, so it is lost, and what follows it. */
TEST_F(test_conn_lost_number, behind_what_waits_for_the_ring)
{
    with_rings();
    connect_planes();
    rndv_memory from(CONTIG, LONG), small(CONTIG, 500);
    std::vector<rndv_ptr> sends;
    uint32_t first;

    while (ucs_list_is_empty(&m_conn->pending)) {
        sends.push_back(send(small, 5));
    }
    first = m_conn->tx_sn;
    sends.push_back(send(from, 5));
    EXPECT_EQ((unsigned)RI_WIRE_RTS, sends.back()->req()->wire_type);
    lose();
    EXPECT_EQ(first, m_conn->end_sn);
    for (rndv_ptr &s : sends) {
        EXPECT_TRUE(s->done);
    }
    EXPECT_EQ(UCS_ERR_NO_MEMORY, sends.back()->status);
    pump();
    for (size_t i = 0; i + 2 < sends.size(); ++i) {
        EXPECT_TRUE(m_b->recv(5, ~0ul, 500)->done);
    }
    EXPECT_FALSE(is_stream_there());
}

/* The receiver takes what nobody has begun to copy alone. */
TEST_F(test_conn_lost_number, with_a_slot)
{
    m_writes = true;
    with_rings();
    connect_planes();
    size_t length = ri_config.coop_thresh;
    bytes content = pattern(1, length);
    rndv_memory from(CONTIG, length, content), to(CONTIG, length);
    rndv_ptr s = send(from, 5);

    ASSERT_NE(nullptr, ri_coop_send_of(s->req()));
    lose();
    ASSERT_FALSE(s->done);
    EXPECT_EQ(0u, m_a->worker()->num_coops);
    recv_ptr r = recv(to, 5);
    pump();
    check(r, to, content, 5);
    ASSERT_TRUE(s->done);
    EXPECT_EQ(UCS_OK, s->status);
    EXPECT_FALSE(is_stream_there());
}

/* A synchronous send is not read any more, and ends. */
TEST_F(test_conn_lost_number, synchronous_and_by_ucp)
{
    connect_planes();
    bytes content = pattern(1, LONG);
    rndv_memory from(CONTIG, LONG, content), to(CONTIG, LONG), small(CONTIG, 8);
    rndv_memory to2(CONTIG, 8);
    rndv_ptr s1 = send(small, 4, true), s2 = send(from, 5);

    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    lose();
    EXPECT_TRUE(s1->done);
    EXPECT_FALSE(s2->done);
    recv_ptr r1 = recv(to2, 4), r2 = recv(to, 5);
    pump();
    check(r2, to, content, 5);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, s1->status);
    EXPECT_EQ(UCS_OK, s2->status);
    EXPECT_TRUE(r1->done);
}

/* A close waits for them. */
TEST_F(test_conn_lost_number, close_waits)
{
    connect_planes();
    ucp_request_param_t param = {};
    bytes content             = pattern(1, LONG);
    rndv_memory from(CONTIG, LONG, content), to(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    lose();
    ucs_status_ptr_t close = ri_ep_close(m_conn, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(close));
    pump();
    EXPECT_FALSE(s->done);
    EXPECT_FALSE(m_ab->closed);
    recv_ptr r = recv(to, 5);
    pump();
    check(r, to, content, 5);
    EXPECT_EQ(UCS_OK, s->status);
    EXPECT_TRUE(m_ab->closed);
    ri_req_put(ri_req_of_handle(close));
}

/* They end when the conn ends for another reason. */
TEST_F(test_conn_lost_number, then_something_else)
{
    setting<double> interval(ri_gone_interval, 0);

    for (int what = 0; what < 4; ++what) {
        SCOPED_TRACE(what);
        stop();
        start();
        connect_planes();
        rndv_memory from(CONTIG, LONG);
        rndv_ptr s = send(from, 5);

        lose();
        ASSERT_FALSE(s->done);
        pump();
        switch (what) {
        case 0:
            ri_stream_break(stream(), "a test");
            pump();
            break;
        case 1:
            ri_conn_endpoint_failed(m_conn, UCS_ERR_CONNECTION_RESET);
            break;
        case 2:
            m_a_plane->gone = true;
            for (unsigned i = 0; i < 3; ++i) {
                ri_gone_check(m_a->worker());
            }
            break;
        default:
            ri_conn_destroy(m_conn, UCS_ERR_CONNECTION_RESET);
            break;
        }
        ASSERT_TRUE(s->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
        if (what < 3) {
            EXPECT_FALSE(ri_conn_goes_on(m_conn));
        }
        if (what == 1) {
            EXPECT_EQ(0u, m_ab->count(RI_WIRE_BYE));
        }
    }
}

class test_conn_lost_number_rdma : public rtr_net_test {
protected:
    void lose()
    {
        ++m_conn->tx_sn;
        ri_conn_lose(m_conn, m_conn->tx_sn, UCS_ERR_NO_MEMORY);
    }
};

TEST_F(test_conn_lost_number_rdma, earlier_is_read)
{
    send_ptr s = send();

    lose();
    EXPECT_FALSE(s->done);
    pump();
    EXPECT_FALSE(s->done);
    recv_ptr r = post();
    pump();
    check(r, s);
    check_sent(s);
}

/* A write by an RTR that fails after that is sent again, as its number is not the lost one. */
TEST_F(test_conn_lost_number_rdma, earlier_write_fails)
{
    for (size_t length : {LARGE, MEDIUM}) {
        SCOPED_TRACE(length);
        recv_ptr r           = post_seen(length);
        m_a_rdma->end_status = UCS_ERR_UNREACHABLE;
        send_ptr s           = send(length);

        EXPECT_EQ(1u, m_a_rdma->writes);
        lose();
        pump();
        m_a_rdma->end_status = UCS_OK;
        EXPECT_EQ(1u, m_conn->counters.tx_again);
        check(r, s);
        check_sent(s);
        restart();
    }
}

/* BYE comes after what is being written from the pool, whether that ends well or not. */
TEST_F(test_conn_lost_number_rdma, after_writes_from_the_pool)
{
    ri_config.pool_size = 1 << 20;
    for (bool fails : {false, true}) {
        SCOPED_TRACE(fails);
        restart();
        ri_config.hybrid_net = LARGE;
        recv_ptr r           = post_seen();
        m_a_rdma->holds      = true;
        send_ptr s           = send();
        check_sent(s);
        ASSERT_EQ(1u, ucs_list_length(&m_conn->lent));
        lose();
        EXPECT_EQ(0u, m_ab->count(RI_WIRE_BYE)) << "it is being written";
        m_a_rdma->end_status = fails ? UCS_ERR_UNREACHABLE : UCS_OK;
        m_a_rdma->holds      = false;
        m_a->progress();
        EXPECT_EQ(1u, m_ab->count(RI_WIRE_BYE));
        m_a_rdma->end_status = UCS_OK;
        pump();
        check(r, s);
        EXPECT_EQ(fails ? 1u : 0u, m_conn->counters.tx_again);
        housekeeping();
        pump();
        EXPECT_EQ(nullptr, stream());
        EXPECT_TRUE(ucs_list_is_empty(&m_conn->lent));
        ri_config.hybrid_net = 0;
    }
}

class test_conn_lost_number_channel : public channel_life_test {
protected:
    void run(bool fails)
    {
        open();
        ASSERT_NE(nullptr, out());
        m_a_rdma->end_status = fails ? UCS_ERR_UNREACHABLE : UCS_OK;
        send_ptr s1          = m_a->send(m_conn, pattern(1, 8), 5);
        send_ptr s2          = m_a->send(m_conn, pattern(2, LONG), 5);
        EXPECT_LT(0u, out()->under_way);
        ++m_conn->tx_sn;
        ri_conn_lose(m_conn, m_conn->tx_sn, UCS_ERR_NO_MEMORY);
        EXPECT_FALSE(s2->done);
        pump();
        m_a_rdma->end_status = UCS_OK;
        recv_ptr r1 = m_b->recv(5, ~0ul, 8), r2 = m_b->recv(5, ~0ul, LONG);
        pump();
        ASSERT_TRUE(r1->done && r2->done && s2->done);
        EXPECT_TRUE(r1->buffer == s1->data);
        EXPECT_TRUE(r2->buffer == s2->data);
        EXPECT_EQ(UCS_OK, s2->status);
    }
};

/* Records of a channel that are under way come, or are sent again. */
TEST_F(test_conn_lost_number_channel, earlier_by_a_channel)
{
    run(false);
}

TEST_F(test_conn_lost_number_channel, earlier_by_a_channel_that_fails)
{
    run(true);
}

} // namespace
