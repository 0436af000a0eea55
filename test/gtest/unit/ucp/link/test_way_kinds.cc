/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ways through a network of either kind: which one is made for which peer.
 * (src/ucp/link/way_open.c; docs/protocol.md section 7)
 */

#include "unit/fakes/fake_ud.h"
#include "way_test.h"

extern "C" {
#include "ucp/run/peer_memory.h"
}

namespace {

class test_way_kinds : public way_test {
protected:
    void SetUp() override
    {
        way_test::SetUp();
        m_a_ud = std::make_unique<ud>(*m_a);
        m_b_ud = std::make_unique<ud>(*m_b);
    }

    void TearDown() override
    {
        ri_config.rc_max_peers = 256;
        stop_net();
        m_a_ud.reset();
        m_b_ud.reset();
        way_test::TearDown();
    }

    /* What the peer costs, with the end of its way */
    size_t peer_bytes()
    {
        return (a_peer() == nullptr) ? 0 :
                                       rdma::PEER_MEMORY + ri_peer_memory_now(a_peer());
    }

    /* Of the way that there is, on both sides; 0: there is none */
    unsigned kind()
    {
        EXPECT_EQ(m_a_rdma->ends(), m_b_rdma->ends());
        EXPECT_EQ(m_a_ud->ends(), m_b_ud->ends());
        EXPECT_GE(1u, m_a_rdma->ends() + m_a_ud->ends());
        EXPECT_EQ(m_a_ud->ends(), m_a->counters().ud_peers);
        EXPECT_EQ(m_a_ud->ends() * peer_bytes(), m_a->counters().ud_peers_bytes);
        EXPECT_EQ(m_a_rdma->ends() * peer_bytes(), m_a->counters().rc_peers_bytes);
        return (m_a_rdma->ends() != 0) ? RI_WIRE_PLANE_RC :
               (m_a_ud->ends() != 0)   ? RI_WIRE_PLANE_UD :
                                         0;
    }

    void exchange_all(uint64_t count = 3)
    {
        for (uint64_t i = 0; i < count; ++i) {
            exchange(i);
        }
    }

    std::unique_ptr<ud> m_a_ud, m_b_ud;
};

TEST_F(test_way_kinds, connections_while_there_is_room)
{
    exchange_all();
    EXPECT_EQ(RI_WIRE_PLANE_RC, kind());
    EXPECT_EQ(0u, m_a->counters().conns.tx_ud);
    EXPECT_EQ(2u, m_a->counters().conns.tx_rndv);
}

TEST_F(test_way_kinds, no_room_here)
{
    ri_config.rc_max_peers = 0;
    exchange_all();
    EXPECT_EQ(RI_WIRE_PLANE_UD, kind());
    EXPECT_EQ(2u, m_a->counters().conns.tx_ud);
    EXPECT_EQ(0u, m_a->counters().qp_created);
    EXPECT_EQ(1u, m_a->counters().ud_peers_max);
}

TEST_F(test_way_kinds, no_room_there)
{
    m_b->worker()->net.num_ways = 256;
    exchange_all();
    a_peer()->way.retry = 0; /* time goes by */
    exchange_all();
    m_b->worker()->net.num_ways = 0;
    EXPECT_EQ(RI_WIRE_PLANE_UD, kind());
    EXPECT_LE(1u, m_a->counters().conns.tx_ud);
    EXPECT_EQ(0u, m_a->counters().planes_failed + m_a->counters().qp_failed);
}

/* The peer has no datagrams: it has to wait for a connection. */
TEST_F(test_way_kinds, peer_has_connections_only)
{
    ri_plane_t *of_b       = m_b->worker()->net.ud;
    ri_config.rc_max_peers = 0;
    m_b->worker()->net.ud  = nullptr;
    exchange_all();
    EXPECT_EQ(0u, kind());
    EXPECT_EQ(0u, m_a->counters().conns.tx_ud);
    ri_config.rc_max_peers = 256;
    a_peer()->way.retry    = 0;
    exchange_all(6);
    m_b->worker()->net.ud = of_b;
    EXPECT_EQ(RI_WIRE_PLANE_RC, kind());
}

TEST_F(test_way_kinds, peer_has_nothing)
{
    ri_plane_t *ud_of_b = m_b->worker()->net.ud, *rc_of_b = m_b->worker()->net.rc;

    m_b->worker()->net.ud = nullptr;
    m_b->worker()->net.rc = nullptr;
    exchange_all(8);
    EXPECT_EQ(0u, kind());
    EXPECT_EQ(8u, m_a->counters().conns.tx_bulk);
    EXPECT_EQ(1u, m_a->counters().qp_created) << "one try";
    EXPECT_EQ(1u, m_a->counters().ud_peers_max) << "of each kind";
    m_b->worker()->net.ud = ud_of_b;
    m_b->worker()->net.rc = rc_of_b;
}

/* Both sides ask for a first way at once, each for another kind: one of them yields. */
TEST_F(test_way_kinds, both_ask_at_once)
{
    for (unsigned order = 0; order < 8; ++order) {
        SCOPED_TRACE(order);
        stop_net();
        m_a_ud.reset();
        m_b_ud.reset();
        start();
        with_net();
        m_a_ud = std::make_unique<ud>(*m_a);
        m_b_ud = std::make_unique<ud>(*m_b);

        memory from(CONTIG, 100), to(CONTIG, 100);
        recv_ptr r  = recv(to, 1);
        recv_ptr r2 = m_a->recv(1, ~0ul, 100);
        rndv_ptr s  = send(from, 1, true);
        send_ptr s2 = m_b->send(m_back, bytes(100), 1, true);
        pump();
        ASSERT_TRUE(r->done && r2->done);

        ri_planes_ask(m_conn);
        ri_config.rc_max_peers = 0; /* only for the other side */
        ri_planes_ask(m_back);
        ri_config.rc_max_peers = 256;
        ASSERT_EQ(1u, m_ab->count(RI_WIRE_PLANE_REQ));
        ASSERT_EQ(1u, m_ba->count(RI_WIRE_PLANE_REQ));
        for (unsigned i = 0; i < 4; ++i) {
            endpoint *ep = (order & (1u << (i % 3))) ? m_ab : m_ba;
            if (!ep->sent.empty()) {
                deliver(ep, 0);
            }
        }
        pump();
        exchange_all();
        EXPECT_NE(0u, kind());
        EXPECT_EQ(a_peer()->way.number, b_peer()->way.number);
        EXPECT_TRUE(is_connected());
        uint64_t before = m_a->counters().conns.tx_bulk;
        exchange_all();
        EXPECT_EQ(before, m_a->counters().conns.tx_bulk);
        ri_planes_ask(m_back);
        pump();
        EXPECT_TRUE(m_back->flags & RI_CONN_WAY);
    }
}

TEST_F(test_way_kinds, hostile)
{
    exchange_all();
    ASSERT_EQ(RI_WIRE_PLANE_RC, kind());
    uint32_t good = 0;
    memcpy(&good, b_peer()->way.address, sizeof(good));

    /* the present way, of the other kind */
    wire_msg msg(RI_WIRE_PLANE_REQ, stream()->id, 0);
    wire_msg::append(msg.address, good);
    msg.plane          = RI_WIRE_PLANE_UD;
    msg.address_length = sizeof(good);
    msg.way            = 1;
    m_b->deliver(msg);
    EXPECT_EQ(0u, m_ba->take(RI_WIRE_PLANE_ACK).parse().value);
    wire_msg ack(RI_WIRE_PLANE_ACK, m_conn->id, 0);
    ack.plane = RI_WIRE_PLANE_UD;
    ack.way = ack.asked = 1;
    m_a->deliver(ack);
    EXPECT_EQ(1u, stale(*m_a));
    EXPECT_EQ(RI_WIRE_PLANE_RC, kind());
    exchange_all();

    /* of kinds that do not exist */
    for (uint8_t plane : {0, 5, 255}) {
        msg.plane = plane;
        msg.way   = 2;
        m_b->deliver(msg);
        EXPECT_EQ(0u, m_ba->take(RI_WIRE_PLANE_ACK).parse().value);
    }
    EXPECT_EQ(RI_WIRE_PLANE_RC, kind());
}

/* An RTS with keys of a way by connections, when there is one by datagrams */
TEST_F(test_way_kinds, another_kind_meanwhile)
{
    ri_config.hybrid_thresh = 0;
    exchange_all();
    bytes content = pattern(5, LONG);
    memory from(CONTIG, LONG, content), to(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    pump();
    ri_way_fail_and_tell(m_b->worker(), b_peer());
    ri_way_fail_and_tell(m_a->worker(), a_peer());
    ri_config.rc_max_peers = 0;
    exchange_all();
    ASSERT_EQ(RI_WIRE_PLANE_UD, kind());
    recv_ptr r = recv(to, 5);
    pump();
    check(r, to, content, 5);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(UCS_OK, s->status);

    /* and the other way round */
    memory from2(CONTIG, LONG, content), to2(CONTIG, LONG);
    rndv_ptr s2 = send(from2, 6);
    pump();
    EXPECT_FALSE(s2->done);
    ri_way_fail_and_tell(m_b->worker(), b_peer());
    ri_way_fail_and_tell(m_a->worker(), a_peer());
    ri_config.rc_max_peers = 256;
    exchange_all();
    ASSERT_EQ(RI_WIRE_PLANE_RC, kind());
    r = recv(to2, 6);
    pump();
    check(r, to2, content, 6);
    EXPECT_TRUE(s2->done);
    check_idle();
}

TEST_F(test_way_kinds, idle_datagrams)
{
    ri_config.rc_max_peers = 0;
    exchange_all();
    ASSERT_EQ(RI_WIRE_PLANE_UD, kind());
    ri_config.ib_idle        = 1000;
    a_peer()->way.used       = 0;
    a_peer()->way.idle_since = ri_clock_now() - 2000;
    ri_way_idle_check(m_a->worker());
    pump();
    EXPECT_EQ(0u, kind());
    ri_config.rc_max_peers = 256;
    exchange_all();
    EXPECT_EQ(RI_WIRE_PLANE_RC, kind()) << "there is room now";
}

} // namespace
