/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/tag/send.c: how the steps of a send begin and end, whatever its protocol is. */

#include "unit/common/pair_test.h"

namespace {

class test_send : public pair_test {
protected:
    static constexpr uint64_t TAG   = 5;
    static constexpr size_t SHORT   = 8;
    static constexpr size_t LENGTHY = 1 << 20;

    void SetUp() override
    {
        pair_test::SetUp();
        meet(0, false);
        ucx::get()->rndv_thresh = 1 << 30; /* long messages end at once */
    }

    void TearDown() override
    {
        stop();
        pair_test::TearDown();
    }

    ucs_status_ptr_t send_at_once(const bytes &data, bool sync)
    {
        ucp_request_param_t param = {};

        param.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
        return ri_tag_send(m_conn, data.data(), data.size(), TAG, &param, sync);
    }
};

/* The type of the message says whether it is short, and whether an answer is wanted. */
TEST_F(test_send, type_by_length_and_answer)
{
    m_a->may_end_open = true;
    m_a->send(m_conn, bytes(SHORT), TAG);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_EAGER));
    m_a->send(m_conn, bytes(SHORT), TAG, true);
    ASSERT_EQ(1u, m_ab->count(RI_WIRE_EAGER_SYNC));
    EXPECT_NE(0u, m_ab->take(RI_WIRE_EAGER_SYNC).parse().req_id);
    m_a->send(m_conn, bytes(LENGTHY), TAG);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_BULK));
}

TEST_F(test_send, synchronous_ends_when_it_is_matched)
{
    send_ptr s = m_a->send(m_conn, pattern(1, SHORT), TAG, true);

    deliver();
    EXPECT_FALSE(s->done);
    recv_ptr r = m_b->recv(TAG, ~0ul, SHORT);
    EXPECT_TRUE(r->done);
    EXPECT_FALSE(s->done) << "the answer is on its way";
    deliver();
    ASSERT_TRUE(s->done);
    EXPECT_EQ(UCS_OK, s->status);
}

/* UCX refuses a message: its number is for the next one, and the receiver misses none. */
TEST_F(test_send, number_of_a_refused_message)
{
    for (size_t length : {SHORT, LENGTHY}) {
        SCOPED_TRACE(length);
        uint32_t sn  = m_conn->tx_sn;
        uint64_t tag = m_conn->tx_tag;
        bytes data   = pattern(length, length);

        ucx::get()->send_mode = FAILS;
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, m_a->send(m_conn, data, TAG)->status);
        EXPECT_EQ(sn, m_conn->tx_sn);
        EXPECT_EQ(tag, m_conn->tx_tag);
        EXPECT_EQ(UCS_OK, m_conn->status);

        ucx::get()->send_mode = AT_ONCE;
        EXPECT_EQ(UCS_OK, m_a->send(m_conn, data, TAG)->status);
        EXPECT_EQ(sn + 1, m_conn->tx_sn);
        deliver();
        recv_ptr r = m_b->recv(TAG, ~0ul, length);
        ASSERT_TRUE(r->done);
        EXPECT_EQ(data, r->buffer);
    }
}

/* A conn that has lost a number takes no message any more, of any length. */
TEST_F(test_send, on_a_conn_that_has_failed)
{
    ri_conn_lose(m_conn, m_conn->tx_sn + 1, UCS_ERR_NO_MEMORY);
    m_ab->sent.clear();
    for (size_t length : {SHORT, LENGTHY}) {
        EXPECT_EQ(UCS_ERR_NO_MEMORY, m_a->send(m_conn, bytes(length), TAG)->status);
    }
    EXPECT_TRUE(m_ab->sent.empty());
}

/* A send that has to end within its call does, or takes nothing. */
TEST_F(test_send, has_to_end_at_once)
{
    bytes data  = pattern(1, SHORT);
    uint32_t sn = m_conn->tx_sn;

    EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE), send_at_once(data, true));
    EXPECT_EQ(sn, m_conn->tx_sn);
    EXPECT_TRUE(m_ab->sent.empty());
    recv_ptr r = m_b->recv(TAG, ~0ul, SHORT);
    EXPECT_TRUE(m_a->send(m_conn, data, TAG)->done);
    deliver();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(data, r->buffer) << "nothing is missing before it";
}

} // namespace
