/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The sender offers, the receiver posts its memory and says where, the sender sends it there as
 * datagrams. (src/ucp/proto/send_rndv_ud.c; docs/protocol.md section 8)
 */

#include "fake_ud.h"
#include "rndv_test.h"

namespace {

class test_send_rndv_ud : public rndv_test {
protected:
    void SetUp() override
    {
        m_has_planes = false;
        rndv_test::SetUp();
        m_backoff         = ri_planes_backoff;
        ri_planes_backoff = 0;
        with_ud();
    }

    void TearDown() override
    {
        stop_ud();
        ri_planes_backoff = m_backoff;
        rndv_test::TearDown();
    }

    void with_ud()
    {
        m_a_ud = std::make_unique<ud>(*m_a);
        m_b_ud = std::make_unique<ud>(*m_b);
    }

    void stop_ud()
    {
        m_r.reset();
        m_s.reset();
        stop();
        m_a_ud.reset();
        m_b_ud.reset();
    }

    void restart()
    {
        stop_ud();
        start();
        with_ud();
    }

    /* One long message by UCP makes the sender ask. */
    void connect()
    {
        memory from(CONTIG, LONG), to(CONTIG, LONG);
        recv_ptr r = recv(to, 1);
        rndv_ptr s = send(from, 1);

        pump();
        ASSERT_TRUE(r->done && s->done);
        ASSERT_TRUE(m_conn->flags & RI_CONN_RDMA);
        ASSERT_EQ(RI_WIRE_PLANE_UD, m_conn->peer->rdma_kind);
        check_idle();
    }

    void check_idle()
    {
        for (ud *u : {m_a_ud.get(), m_b_ud.get()}) {
            EXPECT_EQ(0u, u->keys());
            EXPECT_EQ(0u, u->transfers());
        }
        EXPECT_EQ(0u, m_a->worker()->num_reads);
        EXPECT_EQ(0u, m_b->worker()->num_reads);
    }

    void check_sent()
    {
        ASSERT_TRUE(m_s->done);
        EXPECT_EQ(UCS_OK, m_s->status);
    }

    void begin()
    {
        m_content = pattern(7, LONG);
        m_from    = std::make_unique<memory>(CONTIG, LONG, m_content);
        m_to      = std::make_unique<memory>(CONTIG, LONG);
        m_r       = recv(*m_to, 5);
        m_s       = send(*m_from, 5);
    }

    void check_all()
    {
        check(m_r, *m_to, m_content, 5);
        check_sent();
        check_idle();
    }

    /* A message that is being sent, until m_a_ud->holds is false */
    void start_send()
    {
        m_a_ud->holds = true;
        begin();
        pump();
        ASSERT_EQ(1u, m_a_ud->transfers());
        ASSERT_EQ(1u, m_b_ud->transfers());
        ASSERT_FALSE(m_r->done);
        ASSERT_FALSE(m_s->done);
    }

    void let_go()
    {
        m_a_ud->holds = false;
        progress_both(10);
    }

    /* Up to a message, which was not handed over. */
    void until(endpoint *ep, ri_wire_type_t type)
    {
        for (unsigned i = 0; (i < 1000) && (ep->count(type) == 0); ++i) {
            endpoint *next = !m_ab->sent.empty() ? m_ab : m_ba;

            if (!next->sent.empty()) {
                deliver(next, 0);
            } else {
                progress_both(1);
            }
        }
        ASSERT_EQ(1u, ep->count(type));
    }

    /* The next message comes, whatever way it goes. */
    void exchange()
    {
        begin();
        pump();
        check_all();
    }

    ri_recv_req_t *recv_req()
    {
        return reinterpret_cast<ri_recv_req_t *>(ri_req_of_handle(m_r->handle));
    }

    double m_backoff;
    std::unique_ptr<ud> m_a_ud, m_b_ud;
    bytes m_content;
    std::unique_ptr<memory> m_from, m_to;
    recv_ptr m_r;
    rndv_ptr m_s;
};

TEST_F(test_send_rndv_ud, shapes)
{
    connect();
    for (shape_t out : {CONTIG, IOV_1, IOV_16, IOV_EMPTY}) {
        for (shape_t in : {CONTIG, IOV_1, IOV_16, IOV_EMPTY, IOV_17, PACKED}) {
            for (unsigned i = 0; i < 4; ++i) {
                SCOPED_TRACE(std::to_string(out) + " " + std::to_string(in));
                bool expected = i & 1, sync = i & 2;
                bytes content = pattern(out * 8 + in, LONG);
                memory from(out, LONG, content), to(in, LONG + 100 * (i & 1));
                recv_ptr r = expected ? recv(to, 5) : nullptr;
                rndv_ptr s = send(from, 5, sync);

                EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS));
                if (!expected) {
                    pump();
                    EXPECT_FALSE(s->done);
                    r = recv(to, 5);
                }
                pump();
                check(r, to, content, 5);
                EXPECT_TRUE(s->done);
                EXPECT_EQ(UCS_OK, s->status);
                check_idle();
            }
        }
    }
    EXPECT_EQ(4u * 6 * 4, m_a->counters().conns.tx_ud);
    EXPECT_EQ(4u * 6 * 4 * LONG, m_a->counters().conns.tx_written_bytes);
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
    EXPECT_EQ(0u, stale(*m_a) + stale(*m_b));
    expect_numbers_add_up();
}

TEST_F(test_send_rndv_ud, too_short_a_receive)
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
TEST_F(test_send_rndv_ud, more_than_queue_pairs)
{
    connect();
    std::vector<std::unique_ptr<memory>> from, to;
    std::vector<recv_ptr> r;
    std::vector<rndv_ptr> s;

    m_b_ud->qps   = 2;
    m_a_ud->holds = true;
    for (unsigned i = 0; i < 20; ++i) {
        from.push_back(std::make_unique<memory>(CONTIG, LONG, pattern(i, LONG)));
        to.push_back(std::make_unique<memory>(CONTIG, LONG));
        s.push_back(send(*from[i], i));
        r.push_back(recv(*to[i], i));
    }
    pump();
    EXPECT_EQ(2u, m_a_ud->transfers());
    EXPECT_EQ(20u, m_b_ud->transfers());
    EXPECT_TRUE(ri_worker_has_work(m_a->worker())) << "or the worker would sleep";
    EXPECT_TRUE(ri_rndv_is_under_way(m_conn)) << "a close has to wait";
    m_a_ud->holds = false;
    for (unsigned i = 0; i < 40; ++i) {
        pump();
    }
    for (unsigned i = 0; i < 20; ++i) {
        check(r[i], *to[i], pattern(i, LONG), i);
        EXPECT_TRUE(s[i]->done);
    }
    EXPECT_FALSE(ri_rndv_is_under_way(m_conn));
    check_idle();
}

/* What cannot be sent comes by UCP. */
TEST_F(test_send_rndv_ud, failures)
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
            ri_planes_rdma_failed(m_b->worker(), m_back->peer);
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
        EXPECT_TRUE(m_conn->flags & RI_CONN_RDMA);
        EXPECT_LE(3u, m_a->counters().conns.tx_ud) << "it is tried again";
    }
}

TEST_F(test_send_rndv_ud, sender_cannot_register)
{
    connect();
    memory from(IOV_16, LONG, pattern(1, LONG)), to(CONTIG, LONG);

    m_a_ud->reg_status = UCS_ERR_NO_MEMORY;
    m_a_ud->good_regs  = 5;
    recv_ptr r         = recv(to, 5);
    rndv_ptr s         = send(from, 5);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_BULK));
    pump();
    check(r, to, pattern(1, LONG), 5);
    check_idle();
}

/* Ends, while something is being sent */

TEST_F(test_send_rndv_ud, endpoint_of_the_sender_fails)
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

TEST_F(test_send_rndv_ud, endpoint_of_the_receiver_fails)
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

TEST_F(test_send_rndv_ud, stream_breaks)
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

TEST_F(test_send_rndv_ud, ways_fail)
{
    for (bool sender : {true, false}) {
        SCOPED_TRACE(sender);
        restart();
        connect();
        start_send();
        ri_planes_rdma_failed((sender ? m_a : m_b)->worker(),
                              (sender ? m_conn : m_back)->peer);
        m_a_ud->holds = sender; /* it need not notice by itself */
        pump();
        check_all();
        EXPECT_EQ(1u, m_b->counters().rndv_fallback);
        m_a_ud->holds = false;
        exchange();
        exchange();
        exchange();
        EXPECT_EQ(m_conn->peer->rdma_way, m_back->peer->rdma_way);
        EXPECT_TRUE(m_conn->flags & RI_CONN_RDMA);
    }
}

TEST_F(test_send_rndv_ud, workers_end)
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
TEST_F(test_send_rndv_ud, bye_ends_the_receive)
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

/* Messages that come too early, too late, twice, or from nobody */

TEST_F(test_send_rndv_ud, repeated_target)
{
    connect();
    begin();
    until(m_ba, RI_WIRE_TARGET);
    auto target = m_ba->sent.back();

    m_a_ud->holds = true;
    m_ba->sent.push_back(target);
    pump();
    EXPECT_EQ(1u, m_a_ud->transfers());
    EXPECT_EQ(1u, stale(*m_a));
    m_a_ud->holds = false;
    pump();
    check_all();
    m_ba->sent.push_back(target);
    pump();
    EXPECT_EQ(2u, stale(*m_a));

    /* the request of another message may have that id */
    begin();
    until(m_ba, RI_WIRE_TARGET);
    m_ba->sent.push_front(target);
    pump();
    check_all();
    EXPECT_EQ(3u, stale(*m_a));
}

TEST_F(test_send_rndv_ud, target_of_an_earlier_way)
{
    connect();
    begin();
    until(m_ba, RI_WIRE_TARGET);
    ++m_conn->peer->rdma_way;
    pump();
    --m_conn->peer->rdma_way;
    check_all();
    EXPECT_EQ(1u, m_b->counters().rndv_fallback);
}

TEST_F(test_send_rndv_ud, hostile_targets)
{
    connect();
    for (unsigned i = 0; i < 6; ++i) {
        SCOPED_TRACE(i);
        begin();
        until(m_ba, RI_WIRE_TARGET);
        ri_wire_msg_t good = m_ba->take(RI_WIRE_TARGET).parse();
        wire_msg bad(RI_WIRE_TARGET, m_conn->id, good.value);

        bad.recv_id = good.recv_id;
        bad.sn      = good.sn;
        bad.way     = good.way;
        bad.target  = bytes(good.target, good.target + sizeof(good.target));
        switch (i) {
        case 0: /* of no request, or another message */
            for (uint32_t id : {0u, good.value + 1, ~0u}) {
                bad.value = id;
                m_a->deliver(bad);
            }
            bad.value = good.value;
            ++bad.sn;
            m_a->deliver(bad);
            EXPECT_EQ(4u, stale(*m_a));
            --bad.sn;
            m_a->deliver(bad); /* the good one */
            break;
        case 1:
            bad.target = bytes(sizeof(good.target));
            m_a->deliver(bad);
            break;
        case 2: /* for a message of another length */
            ++bad.target[24];
            m_a->deliver(bad);
            break;
        case 3:
            bad.flags = RI_WIRE_TARGET_VOID;
            m_a->deliver(bad);
            break;
        case 4:
            ++bad.way;
            m_a->deliver(bad);
            break;
        default: /* taken back at once */
            m_a_ud->holds = true;
            m_a->deliver(bad);
            bad.flags = RI_WIRE_TARGET_VOID;
            m_a->deliver(bad);
            m_a->deliver(bad);
            m_a->progress();
            m_a_ud->holds = false;
            break;
        }
        pump();
        check_all();
        EXPECT_EQ(i, m_b->counters().rndv_fallback);
    }
}

/* TARGET for messages that go another way */
TEST_F(test_send_rndv_ud, target_for_others)
{
    connect();
    bytes content = pattern(3, 100);
    send_ptr s    = m_a->send(m_conn, content, 9, true);
    wire_msg msg(RI_WIRE_TARGET, m_conn->id, 0);

    msg.value = reinterpret_cast<ri_send_req_t *>(ri_req_of_handle(s->handle))->id;
    msg.sn    = m_conn->tx_sn;
    m_a->deliver(msg);
    EXPECT_EQ(1u, stale(*m_a));
    recv_ptr r = m_b->recv(9, ~0ul, 100);
    pump();
    EXPECT_TRUE(r->done && s->done);
}

TEST_F(test_send_rndv_ud, hostile_abandon)
{
    connect();
    start_send();
    uint32_t id     = recv_req()->id;
    uint32_t req_id = m_s->req()->id;

    for (uint32_t wrong : {0u, id + 1, ~0u}) {
        wire_msg msg(RI_WIRE_ABANDON, stream()->id, req_id + 1);
        msg.recv_id = (wrong == 0) ? id : wrong;
        m_b->deliver(msg);
    }
    EXPECT_EQ(3u, m_ba->count(RI_WIRE_FIN)) << "nothing of that kind waits";
    m_ba->sent.clear();
    m_b->deliver(wire_msg(RI_WIRE_ABANDON, stream()->id + 1, req_id));
    m_b->deliver(wire_msg(RI_WIRE_WRITTEN, stream()->id, id));
    EXPECT_EQ(2u, stale(*m_b));
    EXPECT_FALSE(m_r->done);
    let_go();
    pump();
    check_all();
}

/* The sender says that it has given up, and has not. */
TEST_F(test_send_rndv_ud, abandon_and_data)
{
    connect();
    start_send();
    wire_msg msg(RI_WIRE_ABANDON, stream()->id, m_s->req()->id);
    msg.recv_id = recv_req()->id;
    m_b->deliver(msg);
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_NACK));
    m_b->deliver(msg); /* repeated */
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_FIN));
    m_ba->sent.clear();
    let_go(); /* the receiver's end is gone */
    EXPECT_TRUE(bytes(LONG) == m_to->read());
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_ABANDON));
    m_ab->sent.clear();
    wire_msg nack(RI_WIRE_NACK, m_conn->id, m_s->req()->id);
    nack.recv_id = recv_req()->id;
    m_a->deliver(nack);
    m_a->deliver(nack); /* repeated */
    EXPECT_EQ(1u, stale(*m_a));
    EXPECT_TRUE(m_conn->flags & RI_CONN_RDMA) << "the way may be as good as ever";
    pump();
    check_all();
}

TEST_F(test_send_rndv_ud, answers_while_it_is_sent)
{
    connect();
    start_send();
    uint32_t id = m_s->req()->id;

    m_a->deliver(wire_msg(RI_WIRE_FIN, m_conn->id, id));
    m_a->deliver(wire_msg(RI_WIRE_NACK, m_conn->id, id));
    m_a->deliver(wire_msg(RI_WIRE_CTS, m_conn->id, id));
    EXPECT_EQ(3u, stale(*m_a));
    EXPECT_FALSE(m_s->done);
    let_go();
    pump();
    check_all();
}

/* An RTS of that kind where this side has no such way, or another one */
TEST_F(test_send_rndv_ud, hostile_rts)
{
    connect();
    uint32_t sn = m_conn->tx_sn;

    for (uint16_t way : {0, 2, 0xffff}) {
        memory to(CONTIG, LONG);
        recv_ptr r = recv(to, 5);
        wire_msg msg(RI_WIRE_RTS, stream()->id, ++sn);
        bytes payload = rts_payload({{0, LONG}}, RI_WIRE_RTS_SENDS);

        msg.tag    = 5;
        msg.req_id = 0x7777;
        memcpy(&payload[6], &way, sizeof(way));
        m_b->deliver(msg, payload);
        ASSERT_EQ(1u, m_ba->count(RI_WIRE_NACK));
        wire_msg data(RI_WIRE_RNDV_DATA, stream()->id,
                      m_ba->take(RI_WIRE_NACK).parse().recv_id);
        m_b->deliver(data, pattern(way, LONG));
        check(r, to, pattern(way, LONG), 5);
    }
    check_idle();
    m_b->may_end_open = m_a->may_end_open = true;
}

/* Everything at once, in any order, with failures of all kinds. */
TEST_F(test_send_rndv_ud, random)
{
    for (unsigned seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        rng random(seed);
        std::vector<random_message> messages(40);
        size_t sent = 0, posted = 0;

        restart();
        connect();
        m_back->flags |= RI_CONN_AM_READY; /* see rndv_test.h */
        m_b_ud->qps      = 1 + random.below(4);
        m_ucx->random    = &random;
        m_ucx->send_mode = m_ucx->fetch_mode = RANDOM;
        for (random_message &m : messages) {
            size_t length = random.percent(70) ? 20000 + random.below(50000) :
                                                 random.below(9000);

            m.content = pattern(random.next(), length);
            m.from    = std::make_unique<memory>(random.percent(50) ? CONTIG : IOV_16,
                                              length, m.content);
            m.to = std::make_unique<memory>(random.percent(50) ? CONTIG : PACKED, length);
        }
        while ((sent < messages.size()) || (posted < messages.size())) {
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
                    ri_planes_rdma_failed(n.worker(), (&n == m_a.get()) ? m_conn->peer :
                                                                          m_back->peer);
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
        m_a_ud->holds       = false;
        m_a_ud->delivers    = true;
        m_a_ud->sent_status = m_b_ud->recv_status = UCS_OK;
        m_ucx->send_mode = m_ucx->fetch_mode = AT_ONCE;
        m_ucx->random                        = nullptr;
        for (unsigned i = 0; i < 100; ++i) {
            pump();
        }
        for (size_t i = 0; i < messages.size(); ++i) {
            SCOPED_TRACE("message " + std::to_string(i));
            check(messages[i].recv, *messages[i].to, messages[i].content, 5);
            ASSERT_TRUE(messages[i].send->done);
            EXPECT_EQ(UCS_OK, messages[i].send->status);
        }
        check_idle();
        if (HasFailure()) {
            return;
        }
    }
}

} // namespace
