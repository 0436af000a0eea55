/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* unlucky.c, as the library sends by it. */

#include "unit/fakes/fake_ucx.h"

using namespace fake;

extern "C" int unlucky_kept;

namespace {

const size_t LENGTH = 13000;

class test_new_proto : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        ri_config.pool_size = 1 << 20;
        m_receiver          = std::make_unique<node>(0x1111);
        m_sender            = std::make_unique<node>(0x2222);
        m_ep                = m_sender->new_endpoint(m_receiver.get());
        m_conn              = m_sender->connect(m_ep, 0x1111);
    }

    void TearDown() override
    {
        m_sender.reset();
        m_receiver.reset();
        EXPECT_EQ(0, unlucky_kept);
        ri_test::TearDown();
    }

    send_ptr start(char first) { return m_sender->send(m_conn, bytes(LENGTH, first), 1); }

    /* Hand what was sent to the receiver. */
    void arrives(char first)
    {
        recv_ptr recv = m_receiver->recv(1, ~0ul, LENGTH);

        for (const packet &p : m_ep->sent) {
            if (p.type() != RI_WIRE_CONN_REQ) {
                m_receiver->deliver(p.header, p.data);
            }
        }
        m_ep->sent.clear();
        ASSERT_TRUE(recv->done);
        EXPECT_EQ(bytes(LENGTH, first), recv->buffer);
    }

    /* Messages by the new protocol. */
    uint64_t count() { return m_conn->counters.tx_eager_am; }

    std::unique_ptr<node> m_receiver, m_sender;
    endpoint *m_ep;
    ri_conn_t *m_conn;
};

TEST_F(test_new_proto, sends)
{
    EXPECT_TRUE(start('a')->done);
    EXPECT_EQ(0, unlucky_kept);
    arrives('a');
    EXPECT_EQ(1u, count());
}

TEST_F(test_new_proto, keeps_what_it_needs_until_the_end)
{
    send_ptr send;

    m_ucx->send_mode = LATER;
    send             = start('a');
    EXPECT_EQ(1, unlucky_kept);
    while (m_ucx->complete()) {}
    EXPECT_TRUE(send->done);
    EXPECT_EQ(0, unlucky_kept);
    arrives('a');
}

TEST_F(test_new_proto, keeps_nothing_if_it_cannot_be_sent)
{
    m_ucx->send_mode = FAILS;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, start('a')->status);
    EXPECT_EQ(0, unlucky_kept);
    EXPECT_EQ(0u, count());
}

TEST_F(test_new_proto, another_one_is_chosen_if_it_lacks_something)
{
    EXPECT_TRUE(start('x')->done);
    arrives('x');
    EXPECT_EQ(0u, count());
    EXPECT_EQ(1u, m_conn->counters.tx_bulk);
}

} // namespace
