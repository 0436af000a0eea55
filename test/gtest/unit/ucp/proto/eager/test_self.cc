/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/eager/self.c: messages to the own worker. */

#include "unit/fakes/fake_malloc.h"
#include "unit/fakes/fake_ucx.h"

using namespace fake;

namespace {

class test_self : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        m_node = std::make_unique<node>(0x1111);
        m_ep   = m_node->new_endpoint(nullptr);
        m_conn = m_node->connect(m_ep, 0x1111);
        ASSERT_TRUE(m_conn->flags & RI_CONN_SELF);
    }

    void TearDown() override
    {
        EXPECT_EQ(0u, m_ucx->num_sends) << "something went to a transport";
        m_node.reset();
        ri_test::TearDown();
    }

    void check(const recv_ptr &recv, const send_ptr &send)
    {
        ASSERT_TRUE(recv->done);
        EXPECT_EQ(UCS_OK, recv->status);
        EXPECT_EQ(send->data.size(), recv->info.length);
        EXPECT_EQ(send->data, recv->buffer);
        ASSERT_TRUE(send->done);
        EXPECT_EQ(UCS_OK, send->status);
    }

    std::unique_ptr<node> m_node;
    endpoint *m_ep;
    ri_conn_t *m_conn;
};

TEST_F(test_self, expected)
{
    for (size_t length : {0, 8, 8192, 8193, 100000}) {
        for (bool sync : {false, true}) {
            recv_ptr recv = m_node->recv(1, ~0ul, length);

            check(recv, m_node->send(m_conn, pattern(length, length), 1, sync));
        }
    }
    EXPECT_EQ(10u, m_node->counters().conns.tx_self);
    EXPECT_EQ(2u * (8 + 8192 + 8193 + 100000), m_node->counters().conns.tx_bytes);
}

/* A message that cannot be kept is not said to be sent. */
TEST_F(test_self, no_memory)
{
    unsigned failed = 0;

    for (size_t length : {8192, 100000}) {
        for (int calls = 0; calls < 3; ++calls) {
            fake::malloc_fails_after = calls;
            send_ptr send            = m_node->send(m_conn, pattern(1, length), 1);
            fake::malloc_fails_after = -1;

            if (send->done && (send->status != UCS_OK)) {
                EXPECT_EQ(UCS_ERR_NO_MEMORY, send->status);
                ++failed;
                continue;
            }
            check(m_node->recv(1, ~0ul, length), send);
        }
    }
    EXPECT_LT(1u, failed);
}

TEST_F(test_self, unexpected)
{
    for (size_t length : {0, 8, 8192, 8193, 100000}) {
        for (bool sync : {false, true}) {
            send_ptr send = m_node->send(m_conn, pattern(length, length), 1, sync);

            EXPECT_EQ(!sync && (length <= 8192), send->done) << length;
            EXPECT_EQ(send->done ? length : 0, m_node->counters().held_bytes);
            check(m_node->recv(1, ~0ul, length), send);
            EXPECT_EQ(0u, m_node->counters().held_bytes);
        }
    }
}

TEST_F(test_self, truncated)
{
    for (bool expected : {true, false}) {
        for (size_t length : {100, 100000}) {
            recv_ptr recv = expected ? m_node->recv(1, ~0ul, 10) : nullptr;
            send_ptr send = m_node->send(m_conn, pattern(1, length), 1);

            recv = expected ? recv : m_node->recv(1, ~0ul, 10);
            EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, recv->status);
            EXPECT_EQ(length, recv->info.length);
            EXPECT_TRUE(send->done);
            EXPECT_EQ(UCS_OK, send->status);
        }
    }
}

TEST_F(test_self, probe_and_remove)
{
    ucp_tag_recv_info_t info;
    send_ptr send = m_node->send(m_conn, pattern(1, 100000), 1);
    ri_msg_t *msg = ri_tag_recv_probe(m_node->worker(), 1, ~0ul, 1, &info);

    ASSERT_NE(nullptr, msg);
    EXPECT_EQ(100000u, info.length);
    EXPECT_FALSE(send->done);
    check(m_node->msg_recv(msg, 100000), send);
}

TEST_F(test_self, order)
{
    send_ptr first  = m_node->send(m_conn, pattern(1, 100000), 1);
    send_ptr second = m_node->send(m_conn, pattern(2, 8), 1);
    send_ptr third  = m_node->send(m_conn, pattern(3, 100000), 1, true);

    check(m_node->recv(1, ~0ul, 100000), first);
    check(m_node->recv(1, ~0ul, 8), second);
    check(m_node->recv(1, ~0ul, 100000), third);
}

/* A send that still waits ends when its endpoint goes, and with it the message: the
 * application may re-use the buffer. */
TEST_F(test_self, endpoint_goes_before_the_receive)
{
    for (bool failed : {true, false}) {
        endpoint *ep    = m_node->new_endpoint(nullptr);
        ri_conn_t *conn = m_node->connect(ep, 0x1111);
        send_ptr large  = m_node->send(conn, pattern(1, 100000), 1);
        send_ptr sync   = m_node->send(conn, pattern(2, 8), 1, true);

        if (failed) {
            ri_conn_fail(conn, UCS_ERR_CANCELED);
        }
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
        EXPECT_EQ(UCS_ERR_CANCELED, large->status);
        EXPECT_EQ(UCS_ERR_CANCELED, sync->status);
        m_node->release_done();
        large.reset();
        sync.reset();

        recv_ptr recv = m_node->recv(1, ~0ul, 100000);
        EXPECT_FALSE(recv->done);
        if (!recv->done) {
            m_node->cancel(recv);
        }
        EXPECT_EQ(0u, m_node->worker()->match.num_unexpected);
    }
}

} // namespace
