/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/link/control.c: when CONN_REQ is sent. UCX keeps back what follows it on its endpoint
 * until the peer has answered and this worker has made progress, so messages do not send it:
 * progress does, a while later, and only if it is still needed.
 */

#include "unit/common/control_test.h"

namespace {

class test_control_ask : public control_test {
protected:
    void send(unsigned count, size_t length, bool sync = false)
    {
        for (unsigned i = 0; i < count; ++i) {
            m_node->send(m_conn, pattern(++m_seed, length), 1, sync);
        }
    }

    /* Progress as long as the application must not sleep. @return Its calls */
    unsigned calls()
    {
        unsigned count = 0;

        while (ri_worker_has_work(worker())) {
            m_node->progress();
            if (++count == 1000) {
                ADD_FAILURE() << "progress finds no end";
                break;
            }
        }
        m_node->progress();
        EXPECT_EQ(0, worker()->attention);
        return count;
    }

    /* As if UCP had not got an answer yet. */
    void not_ready() { m_conn->flags &= ~RI_CONN_AM_READY; }

    unsigned m_seed = 0;
};

TEST_F(test_control_ask, a_few_messages_do_not)
{
    send(3, 8);
    EXPECT_EQ(0u, calls());
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_CONN_REQ));
}

/* One that need not ask after all may have to another time. */
TEST_F(test_control_ask, later_and_once_more)
{
    ri_control_ask_later(m_conn);
    conn_ack(m_conn, REMOTE_STREAM);
    m_conn->flags |= RI_CONN_AM_READY;
    calls();
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_CONN_REQ));
    not_ready();
    ri_control_ask_later(m_conn);
    calls();
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_CONN_REQ));
}

TEST_F(test_control_ask, nor_do_a_few_in_pieces)
{
    send(3, 500);
    EXPECT_EQ(3u, m_ep->count(RI_WIRE_FIRST));
    EXPECT_EQ(0u, calls());
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_CONN_REQ));
}

TEST_F(test_control_ask, progress_does_after_more)
{
    for (size_t length : {8, 500}) {
        m_ep   = m_node->new_endpoint(nullptr);
        m_conn = m_node->connect(m_ep, REMOTE);
        send(40, length);
        EXPECT_EQ(0u, m_ep->count(RI_WIRE_CONN_REQ)) << "what follows would wait";
        EXPECT_LT(16u, calls()) << "the peer has no time to tell by itself";
        EXPECT_EQ(1u, m_ep->count(RI_WIRE_CONN_REQ));
        EXPECT_TRUE(m_ep->take(RI_WIRE_CONN_REQ).reply);
        send(40, length);
        EXPECT_EQ(0u, calls());
        EXPECT_EQ(0u, m_ep->count(RI_WIRE_CONN_REQ));
    }
}

TEST_F(test_control_ask, the_peer_has_told)
{
    send(4, 8);
    EXPECT_TRUE(ri_worker_has_work(worker()));
    conn_ack(m_conn, REMOTE_STREAM);
    calls();
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_CONN_REQ));
    send(10, 8);
    EXPECT_EQ(0u, calls());

    /* That it has the library does not help UCX with long ones */
    send(1, 500);
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_CONN_REQ));
    EXPECT_LT(16u, calls());
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_CONN_REQ));
}

/* A ring takes all that is not long, and goes past UCX. */
TEST_F(test_control_ask, a_ring_has_come)
{
    send(4, 500);
    m_node->deliver(offer(m_conn));
    ASSERT_NE(nullptr, m_conn->ring);
    calls();
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_CONN_REQ));
}

TEST_F(test_control_ask, a_ring_comes_for_pieces)
{
    conn_ack(m_conn, REMOTE_STREAM);
    send(4, 500);
    EXPECT_TRUE(ri_worker_has_work(worker()));
    m_node->deliver(offer(m_conn));
    ASSERT_NE(nullptr, m_conn->ring);
    calls();
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_CONN_REQ));
}

/* What stock has to wait for as well */
TEST_F(test_control_ask, a_synchronous_message_does_at_once)
{
    send(1, 8, true);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_CONN_REQ));
    calls();
    conn_ack(m_conn, REMOTE_STREAM);
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
}

TEST_F(test_control_ask, it_is_asked_at_once_meanwhile)
{
    send(4, 500);
    EXPECT_TRUE(ri_worker_has_work(worker()));
    ri_control_ask(m_conn);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_CONN_REQ));
    EXPECT_FALSE(ri_worker_has_work(worker()));
    not_ready();
    send(4, 500);
    calls();
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_CONN_REQ));
}

TEST_F(test_control_ask, by_socket_address_at_once)
{
    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *conn = m_node->connect(ep, 0, RI_CONN_USER | RI_CONN_BY_SOCKADDR);

    m_node->send(conn, pattern(1, 500), 1);
    EXPECT_EQ(1u, ep->count(RI_WIRE_CONN_REQ));
    conn_ack(conn, REMOTE_STREAM);
}

/* Several conns at a time, some of which end or fail before. */
TEST_F(test_control_ask, some_end_before)
{
    std::vector<endpoint *> eps;
    std::vector<ri_conn_t *> conns;

    for (unsigned i = 0; i < 6; ++i) {
        eps.push_back(m_node->new_endpoint(nullptr));
        conns.push_back(m_node->connect(eps[i], STRANGER + i));
        for (unsigned sn = 1; sn <= 5; ++sn) {
            m_node->send(conns[i], pattern(sn, 500), sn);
        }
        m_node->progress();
    }
    ri_conn_destroy(conns[0], UCS_ERR_CANCELED);
    ri_conn_destroy(conns[3], UCS_ERR_CANCELED);
    ri_conn_fail(conns[5], UCS_ERR_CONNECTION_RESET);
    calls();
    for (unsigned i : {1, 2, 4}) {
        EXPECT_EQ(1u, eps[i]->count(RI_WIRE_CONN_REQ)) << i;
    }
    for (unsigned i : {0, 3, 5}) {
        EXPECT_EQ(0u, eps[i]->count(RI_WIRE_CONN_REQ)) << i;
    }
}

} // namespace
