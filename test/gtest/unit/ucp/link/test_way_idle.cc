/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ways through a network that nobody uses. (src/ucp/link/way_idle.c) The tests run
 * src/ucp/link/way_use.h, too.
 */

#include <cmath>

#include "way_test.h"

extern "C" {
#include "ucp/link/way.h"
}

namespace {

class test_way_idle : public way_test {
protected:
    void SetUp() override
    {
        way_test::SetUp();
        ri_config.ib_idle = 1000;
        connect_both();
    }

    void connect_both()
    {
        connect();
        recv_ptr r = m_a->recv(1, ~0ul, LONG);
        send_ptr s = m_b->send(m_back, bytes(LONG), 1);
        pump();
        ASSERT_TRUE(r->done && s->done);
        ASSERT_TRUE(m_back->flags & RI_CONN_WAY);
    }

    /* Time goes by, more than the limit. */
    void wait(node &n)
    {
        for (ri_peer_t *peer : {&n == m_a.get() ? a_peer() : b_peer()}) {
            peer->way.used = 0;
            peer->way.idle_since -= 2000;
        }
        ri_way_idle_check(n.worker());
    }

    bool has_way() { return (m_a_rdma->ends() == 1) && (m_b_rdma->ends() == 1); }

    bool has_none() { return (m_a_rdma->ends() == 0) && (m_b_rdma->ends() == 0); }

    void leave(node &to, uint32_t id, uint32_t way)
    {
        plane_msg(to, RI_WIRE_PLANE_REQ, id, RI_WIRE_PLANE_LEAVE, way, 0, 0);
    }

    void left(ri_conn_t *conn, bool agreed, uint16_t asked)
    {
        plane_msg(*m_a, RI_WIRE_PLANE_ACK, conn->id,
                  RI_WIRE_PLANE_LEAVE | (agreed ? RI_WIRE_PLANE_REACHED : 0), 1, asked,
                  0);
    }
};

TEST_F(test_way_idle, closed_and_made_again)
{
    for (uint64_t i = 1; i < 4; ++i) {
        node &n = (i % 2) ? *m_a : *m_b;

        exchange(i);
        ASSERT_TRUE(has_way());
        wait(n);
        EXPECT_TRUE(has_way()) << "not before the other side agrees";
        pump();
        EXPECT_TRUE(has_none());
        EXPECT_FALSE(is_connected());
        exchange(10 + i);
        EXPECT_TRUE(is_connected());
        EXPECT_EQ(i, m_a->counters().reconnects);
        EXPECT_EQ(i, m_b->counters().qp_closed);
    }
    EXPECT_EQ(0u, m_a->counters().qp_failed + m_b->counters().qp_failed);
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
    EXPECT_EQ(0u, stale(*m_a) + stale(*m_b));
    check_idle();
}

/* What a message has no use for is zero. */
TEST_F(test_way_idle, asks_whether_it_may_leave)
{
    exchange(1);
    wait(*m_a);

    packet asks       = m_ab->take(RI_WIRE_PLANE_REQ);
    ri_wire_msg_t msg = asks.parse();

    EXPECT_EQ((uint32_t)RI_WIRE_PLANE_LEAVE, msg.value);
    EXPECT_EQ(0u, msg.asked);
    m_b->deliver(asks.header, asks.data);
    pump();
    EXPECT_TRUE(has_none());
}

TEST_F(test_way_idle, stays_while_it_is_used)
{
    ri_way_idle_check(m_a->worker()); /* it was */
    for (uint64_t i = 0; i < 3; ++i) {
        a_peer()->way.idle_since -= 2000;
        exchange(i);
        ri_way_idle_check(m_a->worker());
        pump();
        ASSERT_TRUE(has_way());
    }
    ri_config.ib_idle = 0;
    wait(*m_a);
    ri_config.ib_idle = INFINITY;
    wait(*m_a);
    pump();
    EXPECT_TRUE(has_way()) << "never";
}

/* What goes by it, or is to go, on either side */
TEST_F(test_way_idle, busy)
{
    enum {
        READING,
        WRITING,
        RTS_IS_UNEXPECTED,
        POOL_IS_UNEXPECTED
    };
    for (int what : {READING, WRITING, RTS_IS_UNEXPECTED, POOL_IS_UNEXPECTED}) {
        for (bool sender : {true, false}) {
            SCOPED_TRACE(what);
            ri_config.scheme     = (what == WRITING) ? RI_SENDER_SCHEME_PUT :
                                                       RI_SENDER_SCHEME_GET;
            ri_config.hybrid_net = (what == POOL_IS_UNEXPECTED) ? 65536 : 0;
            restart();
            connect_both();
            size_t length = (what == POOL_IS_UNEXPECTED) ? MEDIUM : LONG;
            bytes content = pattern(what, length);
            memory to(CONTIG, length);
            recv_ptr r;

            m_a_rdma->holds = m_b_rdma->holds = true;
            if ((what == READING) || (what == WRITING)) {
                r = recv(to, 5);
            }
            send_ptr s = m_a->send(m_conn, content, 5);
            pump();
            wait(sender ? *m_a : *m_b);
            pump();
            EXPECT_TRUE(has_way());
            if (!r) {
                r = recv(to, 5);
            }
            m_a_rdma->holds = m_b_rdma->holds = false;
            calm_down();
            check(r, to, content, 5);
            EXPECT_EQ(0u, m_b->counters().rndv_fallback);
            exchange(6);
            EXPECT_TRUE(is_connected());
            EXPECT_EQ(1u, m_a->counters().qp_created);
        }
    }
}

TEST_F(test_way_idle, both_want_to_leave)
{
    wait(*m_a);
    wait(*m_b);
    pump();
    EXPECT_TRUE(has_none());
    exchange(1);
    exchange(2);
    EXPECT_TRUE(is_connected());
    EXPECT_TRUE(has_way());
}

/* The sender sends while it waits for the answer. */
TEST_F(test_way_idle, nothing_new_goes_by_it)
{
    bytes content = pattern(1, LONG);
    memory from(CONTIG, LONG, content), to(CONTIG, LONG);

    wait(*m_a);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_PLANE_REQ));
    recv_ptr r = recv(to, 5);
    rndv_ptr s = send(from, 5);
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_RTS));
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_BULK));
    pump();
    check(r, to, content, 5);
    EXPECT_TRUE(has_none());
    exchange(1);
    EXPECT_TRUE(is_connected());
}

/* The other side uses it while it is asked. */
TEST_F(test_way_idle, other_side_says_no)
{
    exchange(1);
    bytes content = pattern(2, LONG);
    wait(*m_b); /* it has not sent yet */
    memory from(CONTIG, LONG, content), to(CONTIG, LONG);
    rndv_ptr s = send(from, 5);
    pump();
    EXPECT_TRUE(has_way());
    EXPECT_FALSE(b_peer()->way.leaving);
    recv_ptr r = recv(to, 5);
    pump();
    check(r, to, content, 5);
    EXPECT_TRUE(has_way());
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
}

/* A conn that goes takes the answer with it. */
TEST_F(test_way_idle, no_answer)
{
    wait(*m_a);
    m_ab->sent.clear();
    exchange(1);
    EXPECT_TRUE(has_way());
    wait(*m_a);
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_PLANE_REQ)) << "one question at a time";
    a_peer()->way.asked -= 2000;
    wait(*m_a);
    pump();
    EXPECT_TRUE(has_none());
}

/* ... also if nothing is ever closed for being idle */
TEST_F(test_way_idle, no_answer_without_limit)
{
    wait(*m_a);
    m_ab->sent.clear();
    ri_config.ib_idle = 0;
    uint64_t before   = m_conn->counters.tx_bulk;
    exchange(1);
    EXPECT_EQ(before + 1, m_conn->counters.tx_bulk) << "it may have been given up";
    a_peer()->way.asked -= 2000;
    ri_way_idle_check(m_a->worker());
    exchange(2);
    EXPECT_EQ(before + 1, m_conn->counters.tx_bulk);
    EXPECT_TRUE(has_way());
}

/* The application has closed its endpoint, and the peer may be gone. */
TEST_F(test_way_idle, endpoint_is_closed)
{
    ri_peer_t *peer           = a_peer();
    ucp_request_param_t param = {};

    exchange(1);
    EXPECT_EQ(nullptr, ri_ep_close(m_conn, &param));
    m_ab->sent.clear();
    peer->way.used       = 0;
    peer->way.idle_since = ri_clock_now() - 500;
    ri_way_idle_check(m_a->worker());
    EXPECT_EQ(1u, m_a_rdma->ends()) << "the other side may use it";
    peer->way.idle_since = ri_clock_now() - 1500;
    ri_way_idle_check(m_a->worker());
    EXPECT_EQ(0u, m_a_rdma->ends());
    EXPECT_TRUE(m_ab->sent.empty());
    m_conn = m_a->connect(m_ab = m_a->new_endpoint(m_b.get()), RECEIVER);
}

/* UCX may have freed an endpoint of its own with the peer: it is not for questions. */
TEST_F(test_way_idle, endpoint_of_ucx)
{
    exchange(1);
    m_back->flags &= ~RI_CONN_USER;
    b_peer()->way.used       = 0;
    b_peer()->way.idle_since = ri_clock_now() - 1500;
    ri_way_idle_check(m_b->worker());
    EXPECT_TRUE(m_ba->sent.empty());
    EXPECT_TRUE(has_way()) << "the other side can ask";
    b_peer()->way.idle_since = ri_clock_now() - 2500;
    ri_way_idle_check(m_b->worker());
    EXPECT_TRUE(m_ba->sent.empty());
    EXPECT_EQ(0u, m_b_rdma->ends()) << "it has not";
    exchange(2);
    exchange(3);
    exchange(4);
    EXPECT_TRUE(is_connected());
    m_back->flags |= RI_CONN_USER;
}

/* Who cannot be asked keeps its way while it may be in use, though another peer needs one. */
TEST_F(test_way_idle, room_at_the_cost_of_who_cannot_be_asked)
{
    exchange(1);
    m_back->flags &= ~RI_CONN_USER;
    for (bool used : {true, false}) {
        b_peer()->way.used       = used;
        b_peer()->way.idle_since = ri_clock_now() - (used ? 2500 : 1500);
        ri_way_idle_make_room(m_b->worker());
        EXPECT_TRUE(has_way());
    }
    b_peer()->way.idle_since = ri_clock_now() - 2500;
    ri_config.ib_idle        = 0;
    ri_way_idle_make_room(m_b->worker());
    EXPECT_TRUE(has_way()) << "it may be idle for ever";
    ri_config.ib_idle = 1000;
    ri_way_idle_make_room(m_b->worker());
    EXPECT_TRUE(m_ba->sent.empty());
    EXPECT_EQ(0u, m_b_rdma->ends());
    exchange(2);
    exchange(3);
    exchange(4);
    EXPECT_TRUE(is_connected());

    b_peer()->way.used      = 0;
    b_peer()->gone.is_ended = 1;
    ri_way_idle_make_room(m_b->worker());
    EXPECT_EQ(0u, m_b_rdma->ends()) << "nobody is there to use it";
    b_peer()->gone.is_ended = 0;
    exchange(5);
    exchange(6);
    exchange(7);
    EXPECT_TRUE(is_connected());
    m_back->flags |= RI_CONN_USER;
}

/* Who has refused is not the next one that is asked. */
TEST_F(test_way_idle, refused)
{
    ri_peer_t other = *a_peer();

    ucs_list_add_tail(&m_a->worker()->net.ways, &other.way.link);
    wait(*m_a);
    ASSERT_TRUE(a_peer()->way.leaving);
    left(m_conn, false, 1);
    EXPECT_FALSE(a_peer()->way.leaving);
    EXPECT_EQ(&other.way.link, m_a->worker()->net.ways.next);
    ucs_list_del(&other.way.link);
    m_ab->sent.clear();
}

TEST_F(test_way_idle, hostile_messages)
{
    /* of other ways, and when there is something to be done */
    for (uint32_t way : {0u, 2u, 0x80000001u, 0xffffffffu}) {
        leave(*m_b, stream()->id, way);
        EXPECT_EQ((uint32_t)RI_WIRE_PLANE_LEAVE,
                  m_ba->take(RI_WIRE_PLANE_ACK).parse().value);
    }
    EXPECT_TRUE(has_way());

    /* not asked */
    left(m_conn, true, 1);
    left(m_conn, false, 1);
    EXPECT_EQ(2u, stale(*m_a));
    EXPECT_TRUE(has_way());

    /* of another one, and repeated */
    wait(*m_a);
    left(m_conn, true, 0);
    left(m_conn, true, 2);
    EXPECT_EQ(4u, stale(*m_a));
    EXPECT_TRUE(has_way());
    left(m_conn, false, 1);
    left(m_conn, true, 1);
    EXPECT_EQ(5u, stale(*m_a));
    EXPECT_TRUE(has_way());
    m_ab->sent.clear();

    /* repeated question */
    leave(*m_b, stream()->id, 1);
    leave(*m_b, stream()->id, 1);
    EXPECT_EQ(2u, m_ba->count(RI_WIRE_PLANE_ACK));
    EXPECT_EQ(0u, m_b_rdma->ends());
    m_ba->sent.clear();
    for (uint64_t i = 0; i < 4; ++i) {
        exchange(i);
    }
    EXPECT_TRUE(is_connected()) << "that side has found out";
    check_idle();
}

/* The number of ways is limited. */
TEST_F(test_way_idle, limit)
{
    ri_config.rc_max_peers = 1;
    m_back->peer->way.used = 0;
    auto third             = std::make_unique<node>(0x3333);
    auto third_rdma        = std::make_unique<rdma>(*third);
    endpoint *to_third     = m_a->new_endpoint(third.get());
    endpoint *from_third   = third->new_endpoint(m_a.get());
    ri_conn_t *conn        = m_a->connect(to_third, 0x3333);
    ri_conn_t *back        = third->connect(from_third, SENDER);

    EXPECT_NE(nullptr, back);
    auto all = [&] {
        for (bool any = true; any;) {
            any = false;
            for (endpoint *ep : {to_third, from_third}) {
                while (!ep->sent.empty()) {
                    deliver(ep, 0);
                    any = true;
                }
            }
            third->progress();
            pump();
            any |= !to_third->sent.empty() || !from_third->sent.empty();
        }
    };
    for (uint64_t i = 0; i < 4; ++i) {
        recv_ptr r = third->recv(1, ~0ul, LONG);
        send_ptr s = m_a->send(conn, pattern(i, LONG), 1);

        all();
        ASSERT_TRUE(r->done && s->done);
        EXPECT_TRUE(r->buffer == pattern(i, LONG));
        EXPECT_GE(1u, m_a_rdma->ends());
    }
    EXPECT_TRUE(conn->flags & RI_CONN_WAY);
    EXPECT_EQ(1u, third_rdma->ends());
    EXPECT_EQ(0u, m_b_rdma->ends()) << "the one that was there longer";
    EXPECT_EQ(0u, m_a->counters().qp_failed);
    ri_config.rc_max_peers = 256;
    third->may_end_open    = true;
    m_a->may_end_open      = true;
    third.reset();
}

} // namespace
