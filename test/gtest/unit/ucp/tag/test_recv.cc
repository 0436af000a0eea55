/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/tag/recv.c: a receive takes the first message that fits, or waits for it; probes, and
 * receives that are canceled or have to end at once. */

#include "unit/common/pair_test.h"

namespace {

class test_recv : public pair_test {
protected:
    static constexpr uint64_t ALL   = ~0ul;
    static constexpr uint64_t FIRST = 5, SECOND = 6;
    static constexpr size_t LENGTH = 8;

    void SetUp() override
    {
        pair_test::SetUp();
        meet(0, false);
    }

    void TearDown() override
    {
        stop();
        pair_test::TearDown();
    }

    /* A message that waits at the receiver. @return What it holds. */
    bytes send_message(uint64_t tag)
    {
        bytes data = pattern(tag, LENGTH);

        EXPECT_TRUE(m_a->send(m_conn, data, tag)->done);
        deliver();
        return data;
    }

    size_t num_posted() { return m_b->worker()->match.num_posted; }

    size_t num_waiting() { return m_b->worker()->match.num_unexpected; }

    /* A receive that has to end within the call. @return What the call returns. */
    ucs_status_ptr_t recv_at_once(bytes &buffer)
    {
        ucp_request_param_t param = {};

        param.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
        return ri_tag_recv(m_b->worker(), buffer.data(), buffer.size(), FIRST, ALL,
                           &param);
    }
};

/* Messages are taken in their order, and receives in theirs. */
TEST_F(test_recv, first_that_fits)
{
    bytes first = send_message(FIRST), second = send_message(SECOND);
    recv_ptr any = m_b->recv(0, 0, LENGTH), other = m_b->recv(0, 0, LENGTH);

    ASSERT_TRUE(any->done && other->done);
    EXPECT_EQ(first, any->buffer);
    EXPECT_EQ(FIRST, any->info.sender_tag);
    EXPECT_EQ(second, other->buffer);

    any   = m_b->recv(0, 0, LENGTH);
    other = m_b->recv(FIRST, ALL, LENGTH);
    first = send_message(FIRST);
    EXPECT_TRUE(any->done);
    EXPECT_FALSE(other->done);
    send_message(FIRST);
    EXPECT_TRUE(other->done);
}

TEST_F(test_recv, passes_over_what_does_not_fit)
{
    send_message(FIRST);
    bytes second = send_message(SECOND);
    recv_ptr r   = m_b->recv(SECOND, ALL, LENGTH);

    ASSERT_TRUE(r->done);
    EXPECT_EQ(second, r->buffer);
    EXPECT_EQ(1u, num_waiting());
    EXPECT_TRUE(m_b->recv(FIRST, ALL, LENGTH)->done);
}

TEST_F(test_recv, too_short)
{
    send_message(FIRST);
    recv_ptr r = m_b->recv(FIRST, ALL, LENGTH / 2);

    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
    r = m_b->recv(FIRST, ALL, LENGTH / 2);
    send_message(FIRST);
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
}

/* What is canceled takes no message any more; what is done stays as it is. */
TEST_F(test_recv, canceled)
{
    recv_ptr r = m_b->recv(FIRST, ALL, LENGTH), later = m_b->recv(FIRST, ALL, LENGTH);

    m_b->cancel(r);
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CANCELED, r->status);
    EXPECT_EQ(1u, num_posted());

    bytes data = send_message(FIRST);
    ASSERT_TRUE(later->done);
    EXPECT_EQ(data, later->buffer);
    m_b->cancel(later);
    EXPECT_EQ(UCS_OK, later->status);
}

TEST_F(test_recv, has_to_end_at_once)
{
    bytes buffer(LENGTH);

    EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE), recv_at_once(buffer));
    EXPECT_EQ(0u, num_posted()) << "it does not wait";
    bytes data = send_message(FIRST);
    EXPECT_EQ(nullptr, recv_at_once(buffer));
    EXPECT_EQ(data, buffer);
}

/* Without removal, the message is there for others; with it, for the one who has it. */
TEST_F(test_recv, probed)
{
    ucp_tag_recv_info_t info = {};

    EXPECT_EQ(nullptr, ri_tag_recv_probe(m_b->worker(), FIRST, ALL, 0, &info));
    bytes data    = send_message(FIRST);
    ri_msg_t *msg = ri_tag_recv_probe(m_b->worker(), FIRST, ALL, 0, &info);
    ASSERT_NE(nullptr, msg);
    EXPECT_EQ(FIRST, info.sender_tag);
    EXPECT_EQ(LENGTH, info.length);
    EXPECT_EQ(msg, ri_tag_recv_probe(m_b->worker(), FIRST, ALL, 1, &info));
    EXPECT_EQ(nullptr, ri_tag_recv_probe(m_b->worker(), FIRST, ALL, 0, &info));

    recv_ptr other = m_b->recv(FIRST, ALL, LENGTH);
    recv_ptr r     = m_b->msg_recv(msg, LENGTH);
    ASSERT_TRUE(r->done);
    EXPECT_EQ(data, r->buffer);
    EXPECT_FALSE(other->done);
    m_b->cancel(other);
}

} // namespace
