/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* unlucky.c, as the library sends by it. */

#include "unit/common/rndv_test.h"

extern "C" int unlucky_kept, unlucky_sent, unlucky_answered;

namespace {

const size_t LENGTH = 13000;

class test_new_proto : public rndv_test {
protected:
    void SetUp() override
    {
        rndv_test::SetUp();
        stop();
        ri_config.pool_size = 1 << 20;
        start();
        connect_planes();
        unlucky_sent = unlucky_answered = 0;
    }

    void TearDown() override
    {
        rndv_test::TearDown();
        EXPECT_EQ(0, unlucky_kept);
    }

    rndv_ptr start_send(char first)
    {
        m_content    = pattern(1, LENGTH);
        m_content[0] = first;
        m_from.write(m_content);
        return send(m_from, 5);
    }

    bytes m_content;
    memory m_from{CONTIG, LENGTH}, m_to{CONTIG, LENGTH};
};

TEST_F(test_new_proto, sends)
{
    for (bool expected : {true, false}) {
        recv_ptr r = expected ? recv(m_to, 5) : nullptr;
        rndv_ptr s = start_send('a');

        EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS));
        EXPECT_FALSE(s->done);
        r = expected ? r : (pump(), recv(m_to, 5));
        pump();
        check(r, m_to, m_content, 5);
        ASSERT_TRUE(s->done);
        EXPECT_EQ(UCS_OK, s->status);
        EXPECT_EQ(0, unlucky_kept);
    }
    EXPECT_EQ(2u, m_b_plane->reads);
    EXPECT_EQ(2, unlucky_sent);
    EXPECT_EQ(2, unlucky_answered);
}

/* The receiver reads what the protocol keeps, and not the data of the send. */
TEST_F(test_new_proto, keeps_a_copy_until_it_is_answered)
{
    rndv_ptr s = start_send('a');

    pump();
    EXPECT_EQ(1, unlucky_kept);
    m_from.write(pattern(2, LENGTH));
    recv_ptr r = recv(m_to, 5);
    EXPECT_EQ(1, unlucky_kept);
    check(r, m_to, m_content, 5);
    pump();
    EXPECT_TRUE(s->done);
    EXPECT_EQ(0, unlucky_kept);
}

/* UCP moves what cannot be read, and the copy is not needed any more. */
TEST_F(test_new_proto, is_answered_if_it_cannot_be_read)
{
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    recv_ptr r             = recv(m_to, 5);
    rndv_ptr s             = start_send('a');

    pump();
    check(r, m_to, m_content, 5);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(1, unlucky_answered);
}

TEST_F(test_new_proto, keeps_nothing_if_its_conn_fails)
{
    rndv_ptr s = start_send('a');

    EXPECT_EQ(1, unlucky_kept);
    ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
    EXPECT_EQ(0, unlucky_kept);
    EXPECT_EQ(0, unlucky_answered);
}

TEST_F(test_new_proto, keeps_nothing_if_it_cannot_be_sent)
{
    m_ucx->send_mode = FAILS;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, start_send('a')->status);
    EXPECT_EQ(0, unlucky_kept);
    EXPECT_EQ(0, unlucky_sent);
}

TEST_F(test_new_proto, has_words_of_its_own)
{
    ri_select_param_t facts = {};

    facts.length       = LENGTH;
    facts.pool_free    = 1;
    ri_choice_t choice = ri_select(&facts);
    EXPECT_STREQ("unlucky", ri_select_why_name(choice.proto));
    EXPECT_STREQ("a copy of the sender, read there", ri_select_why_mover(choice));
    EXPECT_STREQ("13,000 is unlucky", ri_select_why(&facts, choice));
}

TEST_F(test_new_proto, another_one_is_chosen_if_it_lacks_something)
{
    recv_ptr r = recv(m_to, 5);
    rndv_ptr s = start_send('x');

    pump();
    check(r, m_to, m_content, 5);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(0, unlucky_sent);
    EXPECT_EQ(1u, m_conn->counters.tx_rndv);
}

} // namespace
