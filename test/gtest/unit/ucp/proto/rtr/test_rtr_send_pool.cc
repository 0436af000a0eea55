/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/rtr/rtr_send_pool.c: messages of medium length that are copied to the pool and
 * written from there into receives that were offered through a network. */

#include "rtr_net_test.h"

namespace {

class test_rtr_send_pool : public rtr_net_test {
protected:
    void SetUp() override
    {
        rtr_net_test::SetUp();
        ri_config.pool_size = 1 << 20;
        restart();
        ri_config.hybrid_net = LARGE;
    }

    /* A message that the sender forgets at once: what it writes into the buffer afterwards must
     * not be seen. */
    send_ptr send_and_reuse(size_t length = LARGE)
    {
        send_ptr s = send(length);

        check_sent(s);
        m_sent_data = s->data;
        s->data.assign(length, 0xee);
        return s;
    }

    void check_got(const recv_ptr &r)
    {
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_OK, r->status);
        EXPECT_EQ(m_sent_data.size(), r->info.length);
        EXPECT_TRUE(
                std::equal(m_sent_data.begin(), m_sent_data.end(), r->buffer.begin()));
    }

    size_t lent() { return ucs_list_length(&m_conn->lent); }

    bytes m_sent_data;
};

TEST_F(test_rtr_send_pool, complete_at_once)
{
    recv_ptr r      = post_seen();
    m_a_rdma->holds = true;
    send_and_reuse();
    EXPECT_FALSE(is_any_sent()) << "there is no other message";
    EXPECT_FALSE(r->done);
    EXPECT_EQ(1u, lent());
    m_a_rdma->holds = false;
    progress_both(3);
    check_got(r);
    EXPECT_EQ(0u, lent());
    EXPECT_EQ(0u, m_a->worker()->pool.used);
    EXPECT_EQ(LARGE, m_conn->counters.tx_written_bytes);
    EXPECT_EQ(1u, m_conn->counters.tx_recv_rndv);
    check_rtrs(1, 1);
}

/* Writes tell of themselves, from the pool or not: nothing goes with those that follow. */
TEST_F(test_rtr_send_pool, nothing_to_tell)
{
    std::vector<recv_ptr> r;
    std::vector<bytes> data;
    recv_ptr last;
    send_ptr s;

    for (unsigned i = 0; i < 6; ++i) {
        r.push_back(post_seen());
    }
    last            = post(8);
    m_a_rdma->holds = true;
    for (unsigned i = 0; i < 6; ++i) {
        ri_config.hybrid_net = (i == 2) ? 0 : LARGE;
        s                    = send();
        data.push_back(s->data);
        EXPECT_EQ(i != 2, s->done);
        EXPECT_FALSE(is_any_sent()) << i;
        EXPECT_EQ(i + 1, m_conn->rtr.untold->count);
    }
    s = send(8);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_USED)) << "this does";
    deliver();
    check(last, s);
    m_a_rdma->holds = false;
    pump();
    for (unsigned i = 0; i < 6; ++i) {
        ASSERT_TRUE(r[i]->done);
        EXPECT_TRUE(r[i]->buffer == data[i]);
    }
    EXPECT_EQ(0u, malformed());
}

/* Of any length, in parts that are told as one; and shorter than the receive, in one piece */
TEST_F(test_rtr_send_pool, lengths)
{
    for (size_t length : {8193ul, 16384ul, 16385ul, 20000ul, 81920ul, 81921ul, LARGE}) {
        SCOPED_TRACE(length);
        recv_ptr r = post_seen(length);
        send_and_reuse(length);
        pump();
        check_got(r);

        m_a_rdma->writes = 0;
        r                = post_seen(LARGE + 1);
        send_and_reuse(length);
        pump();
        check_got(r);
        EXPECT_EQ(1u, m_a_rdma->writes);
    }
    EXPECT_EQ(0u, malformed());
}

/* Sends that wait for their match, what is longer, and what finds no room in the pool */
TEST_F(test_rtr_send_pool, not_by_the_pool)
{
    recv_ptr r      = post_seen();
    m_a_rdma->holds = true;
    send_ptr s      = send(LARGE, TAG, true);
    EXPECT_FALSE(s->done);
    EXPECT_EQ(0u, lent());
    m_a_rdma->holds = false;
    pump();
    check(r, s);

    ri_config.hybrid_net = LARGE - 1;
    r                    = post_seen();
    m_a_rdma->holds      = true;
    s                    = send();
    EXPECT_FALSE(s->done);
    m_a_rdma->holds = false;
    pump();
    check(r, s);

    ri_config.hybrid_net      = LARGE;
    m_a->worker()->pool.limit = 0;
    r                         = post_seen();
    m_a_rdma->holds           = true;
    s                         = send();
    m_a->worker()->pool.limit = 1 << 20;
    EXPECT_FALSE(s->done);
    m_a_rdma->holds = false;
    pump();
    check(r, s);
    EXPECT_EQ(3u, m_b->counters().rtr_used - m_used);
}

/* Failures: the message comes once, from the pool, whether or not the write has arrived. */
TEST_F(test_rtr_send_pool, write_fails)
{
    /* No other way is made, however long this takes */
    setting<double> backoff(ri_way_backoff, 10);

    for (int what = 0; what < 3; ++what) {
        SCOPED_TRACE(what);
        restart();
        /* In one part, as the second one does not go by a way of which the first has failed */
        recv_ptr r1 = post_seen(LARGE + (what == 2)), r2 = post(8), r3 = post();
        deliver_all();
        m_a_rdma->start_status = (what == 0) ? UCS_ERR_UNREACHABLE : UCS_OK;
        m_a_rdma->end_status   = (what > 0) ? UCS_ERR_UNREACHABLE : UCS_OK;
        m_a_rdma->loses_end    = (what == 2);
        send_ptr s1            = send_and_reuse();
        bytes first            = m_sent_data;
        send_ptr s2            = send(8);
        send_ptr s3            = send();
        pump();
        m_sent_data = first;
        check_got(r1);
        check(r2, s2);
        check(r3, s3);
        EXPECT_GE(m_conn->counters.tx_again, 1u);
        EXPECT_EQ(RI_WAY_FAILED, m_conn->peer->way.state);
        EXPECT_EQ(RI_WAY_FAILED, stream()->peer->way.state);
        EXPECT_EQ(0u, malformed());
        m_a_rdma->start_status = m_a_rdma->end_status = UCS_OK;
        m_a_rdma->loses_end                           = false;
        housekeeping(); /* the buffers are given back */
        pump();
        EXPECT_EQ(0u, lent());
    }
}

/* What is being written stays as it is, whatever the peer says of its buffer. */
TEST_F(test_rtr_send_pool, hostile_answers)
{
    recv_ptr r      = post_seen();
    m_a_rdma->holds = true;
    send_and_reuse();
    ri_pool_buffer_t *buffer = ucs_list_head(&m_conn->lent, ri_pool_buffer_t, list);
    uint64_t stale           = m_a->counters().rx_stale;
    ri_wire_msg_t msg        = {};

    ri_pool_send_released(m_a->worker(), buffer->uid, &buffer->id, 1);
    msg.value = buffer->id;
    msg.flags = RI_WIRE_NACK_POOL;
    ri_pool_send_handle_nack(m_a->worker(), m_conn, &msg);
    EXPECT_EQ(stale + 2, m_a->counters().rx_stale);
    EXPECT_EQ(1u, lent());
    m_a_rdma->holds = false;
    progress_both(3);
    check_got(r);
}

/* A conn that fails, or goes, leaves the buffer to the write. */
TEST_F(test_rtr_send_pool, conn_ends)
{
    recv_ptr r      = post_seen();
    m_a_rdma->holds = true;
    send_and_reuse();
    EXPECT_TRUE(ri_pool_send_is_under_way(m_conn)) << "a close waits";
    ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
    EXPECT_EQ(1u, lent());
    EXPECT_NE(0u, m_a->worker()->pool.used);
    m_a_rdma->holds = false;
    progress_both(3);
    check_got(r);
    EXPECT_EQ(0u, m_a->worker()->pool.used);
    m_conn->status = UCS_OK;

    /* Nobody waits for a message of a conn that has failed. */
    r                    = post_seen();
    m_a_rdma->holds      = true;
    m_a_rdma->end_status = UCS_ERR_UNREACHABLE;
    send_and_reuse();
    ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
    m_a_rdma->holds = false;
    progress_both(3);
    EXPECT_EQ(0u, m_a->worker()->pool.used);
    m_a_rdma->end_status = UCS_OK;
    m_conn->status       = UCS_OK;
    ri_stream_break(stream(), "a test");
    m_b->cancel(r);
    pump();
    check_canceled(r);
}

TEST_F(test_rtr_send_pool, workers_end)
{
    for (int what = 0; what < 2; ++what) {
        SCOPED_TRACE(what);
        m_b->may_end_open = m_a->may_end_open = true;
        recv_ptr r                            = post_seen();
        m_a_rdma->holds                       = true;
        send_and_reuse();
        m_b->worker()->reqs.in_use -= !r->done; /* nobody completes a posted receive */
        (what ? m_a : m_b).reset();
        m_ab = m_ba = nullptr;
        m_a.reset();
        end();
        ri_config.hybrid_net = 0;
        start();
        ri_config.hybrid_net = LARGE;
    }
}

} // namespace
