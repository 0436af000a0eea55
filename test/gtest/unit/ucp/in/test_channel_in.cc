/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Records of channels through a network: of each kind, found by sends, and hostile.
 * (src/ucp/in/channel_in.c)
 */

#include "unit/common/channel_record.h"
#include "unit/ucp/proto/rtr/rtr_net_test.h"

namespace {

class test_channel_in : public rtr_net_test {
protected:
    void SetUp() override
    {
        rtr_net_test::SetUp();
        ri_config.hybrid_net = 0;
        with_channels(true);
        open_both();
    }

    void TearDown() override
    {
        m_a_rdma->end_status = UCS_OK;
        rtr_net_test::TearDown();
    }

    bool is_open()
    {
        return (m_conn->channel != nullptr) && (m_back->channel != nullptr);
    }

    void exchange(node &from, ri_conn_t *conn, node &to)
    {
        recv_ptr r = to.recv(TAG + 9, ALL, 8);

        from.send(conn, bytes(8), TAG + 9);
        pump();
        EXPECT_TRUE(r->done);
    }

    void open_both()
    {
        for (int i = 0; (i < 20) && !is_open(); ++i) {
            exchange(*m_a, m_conn, *m_b);
            exchange(*m_b, m_back, *m_a);
        }
        ASSERT_TRUE(is_open());
    }

    /* Of the way back, which RTRs take */
    ri_stream_t *back() { return ri_stream_find(m_a->worker(), RECEIVER, m_back->id); }

    uint64_t looked() { return back()->counters.rx_looked; }

    /* What B has written is in A's memory; A does not know. */
    void let_arrive()
    {
        for (int i = 0; i < 5; ++i) {
            m_b->progress();
        }
    }

    /* A record in A's memory as B would write it, with anything in it */
    void forge(uint8_t type, uint32_t value, uint32_t extra, const bytes &payload)
    {
        uint32_t length = payload.size();

        channel_record{type, value, extra, 0, payload, length}.put(m_back->channel,
                                                                   back()->channel);
    }

    setting<double> m_backoff{ri_way_backoff, 0};
};

/* An RTR that came while the application computed is used by the next send, without progress. */
TEST_F(test_channel_in, rtr_is_found)
{
    for (int i = 0; i < 100; ++i) {
        SCOPED_TRACE(i);
        uint64_t before = looked(), control = m_back->counters.tx_channel;
        recv_ptr r = post();
        ASSERT_EQ(RI_RTR_BY_KEY, rtr(r));
        EXPECT_EQ(control + 1, m_back->counters.tx_channel);
        EXPECT_EQ(0u, m_ba->count(RI_WIRE_RTR));
        let_arrive();
        EXPECT_EQ(0u, waiting());
        send_ptr s = send();
        EXPECT_EQ(before + 1, looked());
        EXPECT_EQ(1u, m_a_rdma->under_way());
        pump();
        check(r, s);
        check_sent(s);
    }
    check_rtrs(100, 100);
    EXPECT_EQ(0u, m_a->counters().rx_stale);
}

/* What is in front of it stays for progress, and it is not taken again. */
TEST_F(test_channel_in, rtr_behind_others)
{
    recv_ptr other = m_a->recv(TAG + 5, ALL, 100);
    m_b->send(m_back, pattern(3, 100), TAG + 5);
    recv_ptr r1 = post(), r2 = post();
    let_arrive();
    send_ptr s1 = send();
    EXPECT_EQ(2u, looked());
    EXPECT_FALSE(other->done);
    EXPECT_EQ(1u, waiting());
    m_a->progress();
    EXPECT_TRUE(other->done);
    EXPECT_EQ(0u, m_a->counters().rx_stale);
    send_ptr s2 = send();
    EXPECT_EQ(2u, looked()) << "found without a look";
    pump();
    check(r1, s1);
    check(r2, s2);
    check_rtrs(2, 2);
}

/* Only long messages without an RTR look, and never within progress. */
TEST_F(test_channel_in, who_looks)
{
    recv_ptr small = m_b->recv(TAG + 6, ALL, 8);
    recv_ptr r     = post();
    let_arrive();
    m_a->send(m_conn, bytes(8), TAG + 6);
    EXPECT_EQ(0u, looked());
    m_a->worker()->progressing = 1;
    recv_ptr r2                = post(LARGE, TAG + 3);
    send_ptr s2                = send(LARGE, TAG + 3);
    EXPECT_EQ(0u, looked());
    m_a->worker()->progressing = 0;
    send_ptr s                 = send();
    EXPECT_EQ(1u, looked());
    pump();
    check(r, s);
    check(r2, s2);
}

/* An RTR that is revoked behind it in the channel is void, whoever has seen it. */
TEST_F(test_channel_in, found_and_revoked)
{
    recv_ptr r = post();
    let_arrive();
    m_b->cancel(r);
    let_arrive();
    send_ptr s = send(); /* before the REVOKE was read */
    EXPECT_EQ(1u, looked());
    pump();
    check(r, s);
    r = post();
    let_arrive();
    m_b->cancel(r);
    let_arrive();
    m_a->progress();
    pump();
    check_canceled(r);
}

/* By the end of the way RTRs are void: they do not come again, as all others do. */
TEST_F(test_channel_in, way_ends)
{
    m_b_rdma->holds = true;
    recv_ptr r = post(), other = m_a->recv(TAG + 5, ALL, 8);
    send_ptr sent  = m_b->send(m_back, bytes(8), TAG + 5, true);
    uint64_t again = m_back->counters.tx_again;
    ri_way_fail_and_tell(m_b->worker(), m_back->peer);
    EXPECT_EQ(RI_RTR_NONE, rtr(r));
    m_b_rdma->holds = false;
    m_b->progress();
    EXPECT_EQ(again + 1, m_back->counters.tx_again);
    send_ptr s = send();
    pump();
    check(r, s);
    EXPECT_TRUE(other->done && sent->done);
    EXPECT_EQ(nullptr, back()->channel);
}

/* A look leaves what is malformed to progress, which breaks the stream. */
TEST_F(test_channel_in, hostile)
{
    struct {
        uint8_t type;
        uint32_t extra;
        size_t length;
    } records[] = {{RI_WIRE_RTR, 0x1000001, 52},
                   {RI_WIRE_RTR, 0, 52},
                   {RI_WIRE_RTR, 1, 51},
                   {RI_WIRE_RTR, 1, 53},
                   {RI_WIRE_RTR, 1, 52}, /* of no length */
                   {RI_WIRE_FIN, 1, 1},
                   {RI_WIRE_FIN, 0, 0},
                   {RI_WIRE_USED, 1, 52},
                   {RI_WIRE_RELEASE, 1, 32},
                   {RI_WIRE_REVOKE, 1, 200},
                   {RI_WIRE_CONN_REQ, 1, 0},
                   {RI_WIRE_RTS, 1, 8},
                   {RI_WIRE_POOL, 1, 400},
                   {RI_WIRE_PLACED, 1, 8},
                   {RI_WIRE_BULK, 1, 8},
                   {RI_WIRE_RNDV_DATA, 1, 8},
                   {RI_WIRE_CHANNEL_AGAIN, 1, 8},
                   {RI_WIRE_FIN | RI_WIRE_FLAG_HELLO, 1, 32}};

    for (const auto &one : records) {
        SCOPED_TRACE((int)one.type);
        uint64_t malformed = m_a->counters().rx_malformed;
        forge(one.type, 0, one.extra, bytes(one.length));
        ri_channel_in_take_rtrs(back());
        EXPECT_EQ(malformed, m_a->counters().rx_malformed);
        m_a->progress();
        EXPECT_EQ(malformed + 1, m_a->counters().rx_malformed);
        EXPECT_TRUE(back()->broken);
        pump();
        end();
        start();
        open_both();
    }
}

/* Well-formed ones that fit nothing are stale, as by active message. */
TEST_F(test_channel_in, stale)
{
    for (uint8_t type : {RI_WIRE_FIN, RI_WIRE_SYNC_ACK, RI_WIRE_WRITTEN}) {
        uint64_t stale = m_a->counters().rx_stale;
        forge(type, 0x77, (type == RI_WIRE_WRITTEN) ? back()->id : m_conn->id, bytes());
        m_a->progress();
        EXPECT_EQ(stale + 1, m_a->counters().rx_stale) << (int)type;
        m_back->channel->tx.pos += 1;
        m_back->channel->tx.acked += 1;
    }
    EXPECT_EQ(0u, m_a->counters().rx_malformed);
    recv_ptr r = post();
    send_ptr s = send();
    pump();
    check(r, s);
}

} // namespace
