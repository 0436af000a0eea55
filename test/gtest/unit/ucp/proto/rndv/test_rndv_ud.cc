/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The sender offers, the receiver posts its memory and says where, the sender sends it there as
 * datagrams. (src/ucp/proto/rndv/rndv_ud.c; docs/protocol.md section 8) The tests run
 * src/ucp/core/recv_req.c, src/ucp/link/recv_memory.c, src/ucp/proto/rndv/rndv_ud_recv.c,
 * src/ucp/proto/rndv/ud_ends.c and src/ucp/proto/rndv/ud_run.c, too.
 */

#include "rndv_ud_test.h"

namespace {

class test_rndv_ud : public send_rndv_ud_test {
protected:
    /* Messages of any length, from memory of any shape to memory of any shape. */
    std::vector<random_message> random_messages(rng &random)
    {
        std::vector<random_message> messages(40);

        for (random_message &m : messages) {
            size_t length = random.percent(70) ? 20000 + random.below(50000) :
                                                 random.below(9000);

            m.content = pattern(random.next(), length);
            m.from    = std::make_unique<memory>(random.percent(50) ? CONTIG : IOV_16,
                                              length, m.content);
            m.to = std::make_unique<memory>(random.percent(50) ? CONTIG : PACKED, length);
        }
        return messages;
    }

    /* One step of many at random: sends or posts the next one, fails, goes on. */
    void random_step(rng &random, std::vector<random_message> &messages, size_t &sent,
                     size_t &posted)
    {
        m_a_ud->holds       = random.percent(30);
        m_a_ud->delivers    = random.percent(80);
        m_a_ud->sent_status = random.percent(90) ? UCS_OK :
                              random.percent(50) ? UCS_ERR_UNREACHABLE :
                                                   UCS_ERR_CANCELED;
        m_b_ud->recv_status = random.percent(90) ? UCS_OK : UCS_ERR_NO_MEMORY;
        switch (random.below(8)) {
        case 0:
            if (sent < messages.size()) {
                random_message &m = messages[sent++];
                m.send            = send(*m.from, 5, random.percent(20));
            }
            break;
        case 1:
            if (posted < messages.size()) {
                random_message &m = messages[posted++];
                m.recv            = recv(*m.to, 5);
            }
            break;
        case 2:
            if (random.percent(20)) {
                node &n = random.percent(50) ? *m_a : *m_b;
                ri_way_fail_and_tell(n.worker(),
                                     (&n == m_a.get()) ? m_conn->peer : m_back->peer);
            }
            break;
        case 3:
            m_ucx->complete_nth(random.below(4));
            break;
        case 4:
            progress_both(1 + random.below(3));
            break;
        default: /* arrives, perhaps too early */
            for (endpoint *ep : {m_ab, m_ba}) {
                if (!ep->sent.empty()) {
                    deliver(ep, random.below(std::min<size_t>(ep->sent.size(), 4)));
                }
            }
            break;
        }
    }
};

TEST_F(test_rndv_ud, shapes)
{
    connect();
    exchange_shapes([](shape_t) {});
    EXPECT_EQ(4u * 6 * 4, m_a->counters().conns.tx_ud);
    EXPECT_EQ(4u * 6 * 4 * LONG, m_a->counters().conns.tx_written_bytes);
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
    EXPECT_EQ(0u, stale(*m_a) + stale(*m_b));
    expect_numbers_add_up();
}

TEST_F(test_rndv_ud, too_short_a_receive)
{
    connect();
    memory from(CONTIG, LONG, pattern(1, LONG)), to(CONTIG, LONG - 1);
    recv_ptr r = recv(to, 5);
    rndv_ptr s = send(from, 5);

    pump();
    ASSERT_TRUE(r->done && s->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
    EXPECT_EQ(UCS_OK, s->status);
    EXPECT_TRUE(bytes(LONG - 1) == to.read());
    check_idle();
}

/* No queue pair: they wait for one, and all come. */
TEST_F(test_rndv_ud, more_than_queue_pairs)
{
    connect();
    m_b_ud->qps                         = 2;
    m_a_ud->holds                       = true;
    std::vector<random_message> several = send_several(20);
    post_several(several);
    pump();
    EXPECT_EQ(2u, m_a_ud->transfers());
    EXPECT_EQ(20u, m_b_ud->transfers());
    EXPECT_TRUE(ri_worker_has_work(m_a->worker())) << "or the worker would sleep";
    EXPECT_TRUE(ri_rndv_is_under_way(m_conn)) << "a close has to wait";
    m_a_ud->holds = false;
    for (unsigned i = 0; i < 40; ++i) {
        pump();
    }
    check_several(several);
    EXPECT_FALSE(ri_rndv_is_under_way(m_conn));
}

/* What cannot be sent comes by UCP. */
TEST_F(test_rndv_ud, failures)
{
    enum {
        REG,      /* the receiver cannot register its memory */
        RECV,     /* ... has no queue pair at all */
        SEND,     /* the sender cannot begin */
        NOT_SENT, /* nothing arrives */
        NOT_TOLD, /* it has arrived, and the sender does not know */
        CANCELED, /* the sender is told that the receiver has given up */
        NO_WAY    /* the receiver's end of the way is gone */
    };
    for (int what : {REG, RECV, SEND, NOT_SENT, NOT_TOLD, CANCELED, NO_WAY}) {
        SCOPED_TRACE(what);
        restart();
        connect();
        m_b_ud->reg_status  = (what == REG) ? UCS_ERR_NO_MEMORY : UCS_OK;
        m_b_ud->recv_status = (what == RECV) ? UCS_ERR_NO_MEMORY : UCS_OK;
        m_a_ud->send_status = (what == SEND) ? UCS_ERR_NO_MEMORY : UCS_OK;
        m_a_ud->delivers    = (what != NOT_SENT) && (what != CANCELED);
        m_a_ud->sent_status = (what == NOT_TOLD) ? UCS_ERR_UNREACHABLE :
                              (what == CANCELED) ? UCS_ERR_CANCELED :
                                                   UCS_OK;
        if (what == NO_WAY) {
            ri_way_fail_and_tell(m_b->worker(), m_back->peer);
        }
        exchange();
        EXPECT_EQ((what == NOT_TOLD) ? 0u : 1u, m_b->counters().rndv_fallback);
        EXPECT_EQ(1u, m_a->counters().conns.tx_ud);

        m_b_ud->reg_status  = UCS_OK;
        m_b_ud->recv_status = m_a_ud->send_status = m_a_ud->sent_status = UCS_OK;
        m_a_ud->delivers                                                = true;
        for (unsigned i = 0; i < 3; ++i) {
            exchange();
        }
        EXPECT_TRUE(m_conn->flags & RI_CONN_WAY);
        EXPECT_LE(3u, m_a->counters().conns.tx_ud) << "it is tried again";
    }
}

/* The receiver has tried again and again: the way is none, and is given up on both sides. One that
 * fails for a reason of its own leaves it. */
TEST_F(test_rndv_ud, no_end_of_losses)
{
    for (ucs_status_t status : {UCS_ERR_UNREACHABLE, UCS_ERR_INVALID_ADDR}) {
        bool is_lost = status == UCS_ERR_UNREACHABLE;

        restart();
        connect();
        m_a_ud->delivers    = false;
        m_b_ud->lost_status = status;
        exchange();
        EXPECT_EQ(is_lost ? 0u : 1u, m_b_ud->ends());
        EXPECT_EQ(is_lost ? 1u : 0u, m_b->counters().planes_failed);
        /* The sender was told. So it asks for another way, and sends by UCP until that is there. */
        exchange();
        EXPECT_EQ(is_lost ? 1u : 2u, m_b->counters().rndv_fallback);
    }
}

TEST_F(test_rndv_ud, sender_cannot_register)
{
    connect();
    check_unregistered(5);
}

/* Ends, while something is being sent */

TEST_F(test_rndv_ud, endpoint_of_the_sender_fails)
{
    connect();
    start_send();
    ri_conn_endpoint_failed(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_FALSE(m_r->done);
    m_a->progress();
    ASSERT_TRUE(m_s->done) << "the plane was told to let go";
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, m_s->status);
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_ABANDON));

    ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
    ASSERT_TRUE(m_r->done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, m_r->status);
    progress_both(2);
    check_idle();
}

TEST_F(test_rndv_ud, endpoint_of_the_receiver_fails)
{
    connect();
    start_send();
    ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
    ASSERT_TRUE(m_r->done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, m_r->status);
    bytes before = m_to->read();
    let_go();
    EXPECT_TRUE(before == m_to->read()) << "nobody writes there any more";
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_ABANDON));
    m_a->deliver(wire_msg(RI_WIRE_FIN, m_conn->id, m_s->req()->id));
    check_sent();
    m_ab->sent.clear();
    check_idle();
}

TEST_F(test_rndv_ud, stream_breaks)
{
    connect();
    start_send();
    ri_stream_break(stream(), "a test");
    ASSERT_TRUE(m_r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_r->status);
    pump();
    ASSERT_TRUE(m_s->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_s->status);
    EXPECT_TRUE(bytes(LONG) == m_to->read());
    check_idle();
}

TEST_F(test_rndv_ud, ways_fail)
{
    for (bool sender : {true, false}) {
        SCOPED_TRACE(sender);
        restart();
        connect();
        start_send();
        ri_way_fail_and_tell((sender ? m_a : m_b)->worker(),
                             (sender ? m_conn : m_back)->peer);
        m_a_ud->holds = sender; /* it need not notice by itself */
        pump();
        check_all();
        EXPECT_EQ(1u, m_b->counters().rndv_fallback);
        m_a_ud->holds = false;
        exchange();
        exchange();
        exchange();
        EXPECT_EQ(m_conn->peer->way.number, m_back->peer->way.number);
        EXPECT_TRUE(m_conn->flags & RI_CONN_WAY);
    }
}

TEST_F(test_rndv_ud, workers_end)
{
    for (bool sender : {true, false}) {
        SCOPED_TRACE(sender);
        restart();
        connect();
        m_a_ud->holds = true;
        m_to          = std::make_unique<memory>(CONTIG, LONG);
        m_r           = recv(*m_to, 5);
        send_ptr s    = m_a->send(m_conn, pattern(7, LONG), 5);
        pump();
        ASSERT_EQ(1u, m_a_ud->transfers());
        ASSERT_EQ(1u, m_b_ud->transfers());
        (sender ? m_a : m_b)->may_end_open = true;
        (sender ? m_a : m_b).reset();
        EXPECT_EQ(sender, s->done);
        EXPECT_EQ(!sender, m_r->done);
        ri_conn_endpoint_failed(sender ? m_back : m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
        (sender ? m_b : m_a)->progress();
        ASSERT_TRUE(s->done && m_r->done);
        EXPECT_NE(UCS_OK, s->status);
        EXPECT_NE(UCS_OK, m_r->status);
        (sender ? m_ba : m_ab)->sent.clear();
        (sender ? m_b : m_a)->may_end_open = true;
    }
}

/* The conn has lost a number: BYE says that nothing more comes by it. */
TEST_F(test_rndv_ud, bye_ends_the_receive)
{
    connect();
    start_send();
    m_b->deliver(wire_msg(RI_WIRE_BYE, stream()->id, m_conn->tx_sn));
    ASSERT_TRUE(m_r->done);
    EXPECT_NE(UCS_OK, m_r->status);
    ri_conn_endpoint_failed(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
    progress_both(3);
    EXPECT_TRUE(m_s->done);
    m_ab->sent.clear();
    check_idle();
}

/* The plane cannot tell the sender: whoever closes reminds it, waits, and says it by UCP. */
TEST_F(test_rndv_ud, close_when_the_sender_does_not_know)
{
    ucp_request_param_t param = {};

    connect();
    m_a_ud->acks      = false;
    m_b_ud->reminders = 3;
    begin();
    pump();
    ASSERT_TRUE(m_r->done);
    ASSERT_FALSE(m_s->done);
    EXPECT_EQ(1u, m_b_ud->unheard_numbers.size());
    EXPECT_EQ(0u, m_b_ud->reminded);

    ucs_status_ptr_t close = ri_ep_close(m_back, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(close));
    EXPECT_EQ(1u, m_b_ud->reminded);
    m_b->progress();
    m_b->progress();
    EXPECT_EQ(3u, m_b_ud->reminded);
    EXPECT_EQ(0u, m_ba->count(RI_WIRE_TARGET));
    m_b->progress();
    ASSERT_EQ(1u, m_ba->count(RI_WIRE_TARGET));
    m_back = nullptr;

    /* Of another way or message, and twice */
    ri_wire_msg_t good = m_ba->take(RI_WIRE_TARGET).parse();
    wire_msg msg(RI_WIRE_TARGET, m_conn->id, 0);
    msg.flags  = RI_WIRE_TARGET_RECEIVED;
    msg.way    = good.way + 1;
    msg.target = bytes(good.target, good.target + sizeof(good.target));
    m_a->deliver(msg);
    EXPECT_EQ(1u, stale(*m_a));
    --msg.way;
    ++msg.target[8];
    m_a->deliver(msg);
    m_a->progress();
    EXPECT_FALSE(m_s->done);
    --msg.target[8];
    m_a->deliver(msg);
    m_a->deliver(msg);
    m_a->progress();
    check_all();
    EXPECT_EQ(1u, stale(*m_a));
    ucp_request_free(close);
}

/* Each of several messages is told. */
TEST_F(test_rndv_ud, close_when_the_sender_does_not_know_several)
{
    const unsigned count      = 3;
    ucp_request_param_t param = {};

    connect();
    m_a_ud->acks                        = false;
    std::vector<random_message> several = send_several(count);
    post_several(several);
    pump();
    EXPECT_EQ(count, m_b_ud->unheard_numbers.size());
    check_received(several);
    for (const random_message &m : several) {
        EXPECT_FALSE(m.send->done);
    }

    EXPECT_EQ(nullptr, ri_ep_close(m_back, &param));
    m_back = nullptr;
    EXPECT_EQ(count, m_ba->count(RI_WIRE_TARGET));
    pump();
    check_several(several);
    EXPECT_EQ(0u, stale(*m_a));
}

/* Everything at once, in any order, with failures of all kinds. */
TEST_F(test_rndv_ud, random)
{
    for (unsigned seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        rng random(seed);
        size_t sent = 0, posted = 0;

        restart();
        connect();
        m_back->flags |= RI_CONN_AM_READY; /* see rndv_test.h */
        m_b_ud->qps      = 1 + random.below(4);
        m_ucx->random    = &random;
        m_ucx->send_mode = m_ucx->fetch_mode = RANDOM;
        std::vector<random_message> messages = random_messages(random);
        while ((sent < messages.size()) || (posted < messages.size())) {
            random_step(random, messages, sent, posted);
        }
        m_a_ud->holds       = false;
        m_a_ud->delivers    = true;
        m_a_ud->sent_status = m_b_ud->recv_status = UCS_OK;
        m_ucx->send_mode = m_ucx->fetch_mode = AT_ONCE;
        m_ucx->random                        = nullptr;
        for (unsigned i = 0; i < 100; ++i) {
            pump();
        }
        check_messages(messages);
        check_idle();
        if (HasFailure()) {
            return;
        }
    }
}

} // namespace
