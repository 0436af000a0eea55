/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Control messages to a conn that has no peer: one by a socket address, whose peer has not said yet
 * who it is, and one to the worker itself, to which nobody has anything to say.
 * (src/ucp/in/control_in.c, src/ucp/in/handlers.c)
 */

#include "unit/common/control_test.h"

#include <vector>

namespace {

class test_control_in_no_peer : public control_test {
protected:
    ri_conn_t *by_sockaddr()
    {
        return m_node->connect(m_node->new_endpoint(nullptr), 0,
                               RI_CONN_USER | RI_CONN_BY_SOCKADDR);
    }

    ri_conn_t *to_self()
    {
        return m_node->connect(m_node->new_endpoint(nullptr), worker()->self.uid);
    }

    /* Whatever a conn can be told, with numbers that mean something to some of it. The first thing
     * that it is told may give it a peer, so there is one conn for each. */
    template <typename F> void tell_all(F make)
    {
        for (int type = 0; type < RI_WIRE_TYPE_LAST; ++type) {
            if (ri_handlers[type].to_conn == nullptr) {
                continue;
            }
            ri_conn_t *conn = make();

            for (uint32_t value : {0u, 1u, conn->serial, conn->id}) {
                for (uint32_t number : {0u, 1u}) {
                    wire_msg msg((ri_wire_type_t)type, conn->id, value);

                    msg.uid       = STRANGER;
                    msg.way       = number;
                    msg.plane     = number;
                    msg.stream_id = REMOTE_STREAM;
                    msg.fd        = ~0u;
                    msg.recv_id   = value;
                    m_node->deliver(msg);
                    m_node->progress();
                }
            }
        }
    }
};

TEST_F(test_control_in_no_peer, rtr)
{
    m_node->deliver(wire_msg(RI_WIRE_RTR, by_sockaddr()->id, 1));
    EXPECT_EQ(1u, stale());
    m_node->deliver(wire_msg(RI_WIRE_RTR, to_self()->id, 1));
    EXPECT_EQ(2u, stale());
}

TEST_F(test_control_in_no_peer, anything)
{
    tell_all([&] { return by_sockaddr(); });
    EXPECT_LT(0u, stale());
}

TEST_F(test_control_in_no_peer, anything_to_self)
{
    std::vector<ri_conn_t *> conns;

    tell_all([&] {
        conns.push_back(to_self());
        return conns.back();
    });
    for (const ri_conn_t *conn : conns) {
        ASSERT_TRUE(conn->flags & RI_CONN_SELF);
        EXPECT_EQ(nullptr, conn->peer);
        EXPECT_EQ(nullptr, conn->ring);
        EXPECT_EQ(0u, conn->remote_id);
        EXPECT_EQ(UCS_OK, conn->status);
    }
    EXPECT_EQ(8 * conns.size(), stale() + malformed());
}

/* It may be there before CONN_ACK, and says as much */
TEST_F(test_control_in_no_peer, ring_offer_tells_who_the_peer_is)
{
    ri_conn_t *conn = by_sockaddr();
    wire_msg msg    = offer(conn);

    msg.uid = STRANGER;
    m_node->deliver(msg);
    ASSERT_NE(nullptr, conn->peer);
    EXPECT_EQ(STRANGER, conn->peer->uid);
    EXPECT_NE(nullptr, conn->ring);
}

TEST_F(test_control_in_no_peer, ring_offer_of_another_peer)
{
    wire_msg msg = offer(m_conn);

    msg.uid = STRANGER;
    m_node->deliver(msg);
    EXPECT_EQ(1u, malformed());
    EXPECT_EQ(nullptr, m_conn->ring);
    EXPECT_EQ(0u, m_conn->remote_id);
}

TEST_F(test_control_in_no_peer, ring_offer_of_nobody)
{
    ri_conn_t *conn = by_sockaddr();
    wire_msg msg    = offer(conn);

    for (uint64_t uid : {0ul, 1ul}) {
        msg.uid = uid;
        m_node->deliver(msg);
        EXPECT_EQ(nullptr, conn->peer);
        EXPECT_EQ(nullptr, conn->ring);
    }
    EXPECT_EQ(2u, malformed());
}

} // namespace
