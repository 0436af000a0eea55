/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/link/planes.c: who is asked, when, and what becomes of answers. The test plays the peer.
 * The tests run src/ucp/core/peer.c and src/ucp/core/recv_req.c, too.
 */

#include "unit/common/control_test.h"
#include "unit/common/pair_test.h"

#include <unistd.h>

namespace {

const size_t ABOVE_EAGER = 20000; /* EAGER_THRESH */

class test_planes : public node_test {
protected:
    void SetUp() override
    {
        node_test::SetUp();
        m_ucx->rndv_thresh = 1 << 20; /* what goes by UCP ends at once */
        m_plane            = std::make_unique<plane>(*m_node);
    }

    void TearDown() override
    {
        m_node.reset();
        m_plane.reset();
        node_test::TearDown();
    }

    void send_long(ri_conn_t *conn) { m_node->send(conn, bytes(ABOVE_EAGER), 1); }

    void conn_ack(ri_conn_t *conn)
    {
        wire_msg msg(RI_WIRE_CONN_ACK, conn->id, REMOTE_STREAM);

        msg.uid = REMOTE;
        m_node->deliver(msg);
    }

    void plane_ack(ri_conn_t *conn, uint32_t value)
    {
        m_node->deliver(wire_msg(RI_WIRE_PLANE_ACK, conn->id, value));
    }

    ri_stream_t *stream(uint64_t uid = REMOTE) { return stream_of(uid, REMOTE_CONN); }

    wire_msg plane_req(ri_stream_t *stream, const bytes &address = bytes(8, 5))
    {
        wire_msg msg(RI_WIRE_PLANE_REQ, stream->id, 0);

        msg.address        = address;
        msg.address_length = address.size();
        return msg;
    }

    std::unique_ptr<plane> m_plane;
};

TEST_F(test_planes, asked_once_for_each_conn)
{
    conn_ack(m_conn);
    m_node->send(m_conn, bytes(100), 1);
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_PLANE_REQ));
    send_long(m_conn);
    send_long(m_conn);
    ASSERT_EQ(1u, m_ep->count(RI_WIRE_PLANE_REQ));

    ri_wire_msg_t msg = m_ep->take(RI_WIRE_PLANE_REQ).parse();
    EXPECT_EQ(REMOTE_STREAM, msg.id);
    EXPECT_EQ(RI_WIRE_PLANE_CMA, msg.plane);
    EXPECT_EQ(sizeof(plane::ADDRESS), msg.plane_address_length);
    EXPECT_EQ(0, memcmp(plane::ADDRESS, msg.plane_address, sizeof(plane::ADDRESS)));

    plane_ack(m_conn, 0);
    send_long(m_conn);
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_PLANE_REQ)); /* no is no */

    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *conn = m_node->connect(ep, REMOTE);
    conn_ack(conn);
    send_long(conn);
    EXPECT_EQ(1u, ep->count(RI_WIRE_PLANE_REQ));
}

TEST_F(test_planes, asked_when_the_peer_is_known)
{
    send_long(m_conn);
    send_long(m_conn);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_CONN_REQ));
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_PLANE_REQ));
    conn_ack(m_conn);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_PLANE_REQ));
    conn_ack(m_conn);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_PLANE_REQ));
}

/* In mode PEER it is not used, so nothing is said that could reach a peer that has gone. */
TEST_F(test_planes, not_asked)
{
    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *peer = m_node->connect(ep, REMOTE, RI_CONN_USER | RI_CONN_PEER_MODE);

    send_long(peer);
    EXPECT_EQ(0u, ep->count(RI_WIRE_CONN_REQ));
    conn_ack(peer);
    send_long(peer);
    EXPECT_EQ(0u, ep->count(RI_WIRE_PLANE_REQ));

    node without(0x4444);
    ep              = without.new_endpoint(nullptr);
    ri_conn_t *conn = without.connect(ep, REMOTE);
    without.send(conn, bytes(ABOVE_EAGER), 1);
    EXPECT_EQ(0u, ep->count(RI_WIRE_CONN_REQ));
}

TEST_F(test_planes, req)
{
    for (unsigned i = 1; i <= 3; ++i) { /* repeated: the way is made once */
        m_node->deliver(plane_req(stream()));
        ri_wire_msg_t ack = m_ep->take(RI_WIRE_PLANE_ACK).parse();
        EXPECT_EQ(REMOTE_CONN, ack.id);
        EXPECT_EQ((uint32_t)RI_WIRE_PLANE_REACHED, ack.value);
        EXPECT_EQ(1u, m_plane->connects);
        EXPECT_EQ(bytes(8, 5), m_plane->last_address);
    }
    ASSERT_NE(nullptr, stream()->peer->local.ep);

    /* Another address of the same worker is not looked at */
    m_node->deliver(plane_req(stream(), bytes(8, 6)));
    EXPECT_EQ(1u, m_plane->connects);
    EXPECT_EQ(bytes(8, 5), m_plane->last_address);
}

TEST_F(test_planes, req_that_is_refused)
{
    wire_msg long_address = plane_req(stream());
    wire_msg other_plane  = plane_req(stream());

    m_plane->connect_status = UCS_ERR_UNREACHABLE;
    m_node->deliver(plane_req(stream()));
    EXPECT_EQ(0u, m_ep->take(RI_WIRE_PLANE_ACK).parse().value);
    EXPECT_EQ(1u, m_plane->refusals);

    m_plane->connect_status     = UCS_OK;
    long_address.address_length = RI_PLANE_ADDRESS_MAX + 1;
    m_node->deliver(long_address);
    EXPECT_EQ(0u, m_ep->take(RI_WIRE_PLANE_ACK).parse().value);
    other_plane.plane = 77;
    m_node->deliver(other_plane);
    EXPECT_EQ(0u, m_ep->take(RI_WIRE_PLANE_ACK).parse().value);
    EXPECT_EQ(0u, m_plane->connects);
    EXPECT_EQ(nullptr, stream()->peer->local.ep);
    EXPECT_EQ(3u, m_node->counters().planes_refused);

    /* What failed may be asked once more */
    m_node->deliver(plane_req(stream()));
    EXPECT_EQ(1u, m_ep->take(RI_WIRE_PLANE_ACK).parse().value);
}

TEST_F(test_planes, req_without_a_plane_here)
{
    node without(0x4444);
    endpoint *ep = without.new_endpoint(nullptr);

    without.connect(ep, REMOTE);
    ri_wire_hello_t hello = wire_msg(RI_WIRE_EAGER, 0, 0).hello(REMOTE, 5).greeting;
    without.deliver(plane_req(ri_stream_get(without.worker(), &hello)));
    ri_wire_msg_t ack = ep->take(RI_WIRE_PLANE_ACK).parse();
    EXPECT_EQ(0u, ack.value);
    EXPECT_EQ(0u, ack.plane_address_length);
}

TEST_F(test_planes, req_without_a_way_out)
{
    ri_stream_t *other = stream(0x3333);

    m_node->deliver(plane_req(other));
    EXPECT_TRUE(m_ep->sent.empty());
    EXPECT_TRUE(ucs_list_is_empty(&other->peer->owed));
}

TEST_F(test_planes, req_to_nobody)
{
    wire_msg msg(RI_WIRE_PLANE_REQ, 77, 0);

    m_node->deliver(msg);
    EXPECT_EQ(1u, stale());
    EXPECT_TRUE(m_ep->sent.empty());
}

TEST_F(test_planes, ack)
{
    plane_ack(m_conn, RI_WIRE_PLANE_REACHED); /* nobody asked */
    EXPECT_EQ(1u, stale());
    EXPECT_FALSE(m_conn->flags & RI_CONN_PLANE_READ);

    conn_ack(m_conn);
    send_long(m_conn);
    plane_ack(m_conn, 0);
    EXPECT_FALSE(m_conn->flags & RI_CONN_PLANE_READ);
    EXPECT_EQ(1u, m_node->counters().planes_refused);
    plane_ack(m_conn, RI_WIRE_PLANE_REACHED);
    plane_ack(m_conn, RI_WIRE_PLANE_REACHED);
    EXPECT_TRUE(m_conn->flags & RI_CONN_PLANE_READ);
    EXPECT_EQ(1u, stale());

    m_node->deliver(wire_msg(RI_WIRE_PLANE_ACK, m_conn->id ^ (1u << 20), 1));
    EXPECT_EQ(2u, stale());
}

TEST_F(test_planes, failed_once)
{
    m_node->deliver(plane_req(stream()));
    ri_local_fail(worker(), stream()->peer);
    ri_local_fail(worker(), stream()->peer);
    EXPECT_EQ(nullptr, stream()->peer->local.ep);
    EXPECT_EQ(1u, m_node->counters().planes_failed);
    EXPECT_EQ(0u, m_plane->disconnects) << "it still tells whether the process exists";
    EXPECT_FALSE(ri_local_is_gone(stream()->peer));
    m_plane->gone = true;
    EXPECT_TRUE(ri_local_is_gone(stream()->peer));

    m_node->deliver(plane_req(stream())); /* another conn of the peer asks */
    EXPECT_EQ(2u, m_plane->connects);
    EXPECT_EQ(1u, m_plane->disconnects);
}

TEST_F(test_planes, failed_as_the_process_is_gone)
{
    m_node->deliver(plane_req(stream()));
    m_plane->gone = true;
    ri_local_fail(worker(), stream()->peer);
    EXPECT_EQ(1u, m_plane->disconnects);
    EXPECT_TRUE(ri_local_is_gone(stream()->peer));
}

TEST_F(test_planes, ends_with_the_peer)
{
    ri_stream_t *other = stream(0x3333);

    m_node->deliver(plane_req(other));
    EXPECT_EQ(1u, m_plane->connects);
    m_node->deliver(wire_msg(RI_WIRE_BYE, other->id, 0));
    EXPECT_EQ(1u, m_plane->disconnects);
}

/* What is known before there are long messages, and of processes that cannot be reached. */
class test_planes_early : public pair_test {
protected:
    void TearDown() override
    {
        stop();
        pair_test::TearDown();
    }

    void pump()
    {
        do {
            deliver();
            progress_both(10);
        } while (m_ucx->complete() || is_any_sent());
    }

    void talk()
    {
        pair_test::talk(m_conn, 1, [this] { pump(); });
    }

    /* What the workers say of their process; it is the same one. */
    void have_processes()
    {
        m_a->worker()->self.process = m_b->worker()->self.process =
                ri_host_process_self();
    }

    /* What was sent to m_b, but for messages */
    std::vector<ri_wire_msg_t> requests()
    {
        std::vector<ri_wire_msg_t> result;

        while (m_ab->count(RI_WIRE_PLANE_REQ) > 0) {
            result.push_back(m_ab->take(RI_WIRE_PLANE_REQ).parse());
        }
        return result;
    }

    static ri_peer_t *peer(ri_conn_t *conn) { return conn->peer; }
};

TEST_F(test_planes_early, found_with_the_ring)
{
    meet();
    talk();
    ASSERT_NE(nullptr, m_conn->ring);
    for (ri_conn_t *conn : {m_conn, m_back}) {
        EXPECT_TRUE(conn->flags & RI_CONN_PLANE_READ);
        EXPECT_TRUE(conn->flags & RI_CONN_PLANE_WRITE);
        EXPECT_NE(nullptr, peer(conn)->local.ep);
        EXPECT_EQ(nullptr, conn->rtr.table)
                << "of no use to short messages, and not for nothing";
    }
    EXPECT_EQ(1u, m_a_plane->connects);
    EXPECT_EQ(1u, m_b_plane->connects);
    EXPECT_FALSE(ri_stream_find(m_b->worker(), SENDER, m_conn->id)->plane.any);

    /* The first long message goes by the plane, and says that RTRs are welcome, once. */
    for (unsigned i = 0; i < 2; ++i) {
        recv_ptr r = m_b->recv(2, ~0ul, ABOVE_EAGER);
        send_ptr s = m_a->send(m_conn, bytes(ABOVE_EAGER), 2);
        EXPECT_EQ(1u - i, m_ab->count(RI_WIRE_PLANE_REQ));
        pump();
        EXPECT_TRUE(r->done && s->done);
        EXPECT_NE(nullptr, m_conn->rtr.table);
        EXPECT_TRUE(ri_stream_find(m_b->worker(), SENDER, m_conn->id)->plane.any);
    }
    EXPECT_EQ(0u, m_a->counters().conns.tx_bulk);
    EXPECT_EQ(nullptr, m_back->rtr.table);
}

/* A pair without a ring has nothing to find. */
TEST_F(test_planes_early, not_asked_without_a_ring)
{
    ri_config.ring_peers = 0;
    meet();
    have_processes();
    talk();
    ASSERT_EQ(nullptr, m_conn->ring);
    EXPECT_EQ(nullptr, peer(m_conn)->local.ep);
    EXPECT_FALSE(m_conn->flags & RI_CONN_PLANE_ASKED);
    EXPECT_EQ(0u, peer(m_conn)->local.process.host);
}

/* Both sides ask before either has got the other's question. */
TEST_F(test_planes_early, both_ask_at_once)
{
    meet();
    m_a->worker()->rings.max = m_b->worker()->rings.max = 0;
    talk();
    ri_planes_find(m_conn);
    ri_planes_find(m_back);
    ASSERT_EQ(1u, m_ab->count(RI_WIRE_PLANE_REQ));
    ASSERT_EQ(1u, m_ba->count(RI_WIRE_PLANE_REQ));
    pump();
    for (ri_conn_t *conn : {m_conn, m_back}) {
        EXPECT_TRUE(conn->flags & RI_CONN_PLANE_READ);
        EXPECT_TRUE(conn->flags & RI_CONN_PLANE_WRITE);
        EXPECT_NE(nullptr, peer(conn)->local.ep);
        ri_planes_find(conn);
    }
    EXPECT_FALSE(is_any_sent()) << "once";
    EXPECT_EQ(1u, m_a_plane->connects);
    EXPECT_EQ(1u, m_b_plane->connects);
    EXPECT_EQ(0u, m_a->counters().rx_stale + m_b->counters().rx_stale);
}

/* Without direct copies it is known who the peer is. */
TEST_F(test_planes_early, process)
{
    meet(0, false);
    have_processes();
    talk();
    ASSERT_NE(nullptr, m_conn->ring);
    for (ri_conn_t *conn : {m_conn, m_back}) {
        EXPECT_EQ(nullptr, peer(conn)->local.ep);
        EXPECT_EQ((uint32_t)getpid(), peer(conn)->local.process.pid);
        EXPECT_FALSE(ri_local_is_gone(peer(conn)));
        EXPECT_FALSE(conn->flags & (RI_CONN_PLANE_READ | RI_CONN_PLANE_WRITE));
        peer(conn)->local.process.start ^= 1;
        EXPECT_TRUE(ri_local_is_gone(peer(conn))) << "another process has its number";
        peer(conn)->local.process.start ^= 1;
    }
    EXPECT_EQ(0u, m_a->counters().planes_refused + m_b->counters().planes_refused);
}

/* What a peer says of itself may be wrong, or too short. */
TEST_F(test_planes_early, process_that_is_none)
{
    const ri_host_process_t own = ri_host_process_self();
    std::vector<ri_host_process_t> bad(5, own);
    wire_msg msg(RI_WIRE_PLANE_REQ, 0, 0);

    bad[0].host ^= 2;
    bad[1].host = 0;
    bad[2].pid  = 1u << 31;
    bad[3].pid  = 0;
    bad[4].pid  = ~0u;
    meet(0, false);
    have_processes();
    talk();
    ri_stream_t *stream = ri_stream_find(m_b->worker(), SENDER, m_conn->id);
    msg.id              = stream->id;
    msg.plane           = RI_WIRE_PLANE_PROCESS;
    auto ask            = [&](const ri_host_process_t &process, size_t length) {
        msg.address.assign((const uint8_t *)&process, (const uint8_t *)(&process + 1));
        msg.address_length               = length;
        stream->peer->local.process.host = 0;
        m_b->deliver(msg);
        return m_ba->take(RI_WIRE_PLANE_ACK).parse();
    };
    for (const ri_host_process_t &process : bad) {
        EXPECT_EQ(0u, ask(process, sizeof(process)).value);
        EXPECT_EQ(0u, stream->peer->local.process.host);
        EXPECT_FALSE(ri_local_is_gone(stream->peer));
    }
    /* One that has ended meanwhile is remembered: it is waited for in vain. But not of a host with
     * another name, where it runs. */
    ri_host_process_t ended = own;
    ended.start ^= 1;
    ended.host ^= 1ul << 63;
    EXPECT_EQ(0u, ask(ended, sizeof(ended)).value);
    EXPECT_FALSE(ri_local_is_gone(stream->peer));
    EXPECT_EQ(0u, stream->peer->local.process.host);
    ended.host = own.host;
    EXPECT_EQ(0u, ask(ended, sizeof(ended)).value);
    EXPECT_TRUE(ri_local_is_gone(stream->peer));
    EXPECT_EQ(0u, ask(own, sizeof(own) - 1).value);
    EXPECT_EQ(0u, ask(own, 0).value);
    EXPECT_EQ(0u, ask(own, 255).value);
    EXPECT_EQ(0u, stream->peer->local.process.host);
    ri_wire_msg_t ack = ask(own, sizeof(own));
    EXPECT_EQ(1u, ack.value);
    EXPECT_EQ(RI_WIRE_PLANE_PROCESS, ack.plane);
    EXPECT_EQ(0, memcmp(&own, ack.plane_address, sizeof(own)));

    /* A peer that cannot be reached says who it is, too. */
    msg.plane = RI_WIRE_PLANE_CMA;
    EXPECT_EQ(0u, ask(own, sizeof(own)).value);
    EXPECT_EQ(own.host, stream->peer->local.process.host);
}

/* Answers to what was not asked. */
TEST_F(test_planes_early, process_ack)
{
    const ri_host_process_t own = ri_host_process_self();
    wire_msg msg(RI_WIRE_PLANE_ACK, 0, RI_WIRE_PLANE_REACHED);

    meet(0, false);
    have_processes();
    m_a->worker()->rings.max = m_b->worker()->rings.max = 0;
    talk();
    msg.id    = m_conn->id;
    msg.plane = RI_WIRE_PLANE_PROCESS;
    msg.address.assign((const uint8_t *)&own, (const uint8_t *)(&own + 1));
    msg.address_length = sizeof(own);
    m_a->deliver(msg);
    EXPECT_EQ(1u, m_a->counters().rx_stale);
    EXPECT_EQ(0u, peer(m_conn)->local.process.host);
    ri_planes_find(m_conn);
    EXPECT_EQ(1u, requests().size());
    msg.plane = RI_WIRE_PLANE_CMA;
    m_a->deliver(msg);
    EXPECT_EQ(2u, m_a->counters().rx_stale);
    EXPECT_FALSE(m_conn->flags & RI_CONN_PLANE_READ);
    msg.plane = RI_WIRE_PLANE_PROCESS;
    for (unsigned i = 0; i < 2; ++i) { /* repeated */
        m_a->deliver(msg);
        EXPECT_EQ(own.pid, peer(m_conn)->local.process.pid);
    }
    EXPECT_EQ(2u, m_a->counters().rx_stale);
    EXPECT_FALSE(m_conn->flags & (RI_CONN_PLANE_READ | RI_CONN_PLANE_WRITE));
}

} // namespace
