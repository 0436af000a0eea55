/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ways through a network that fail and are made again. (src/ucp/link/way_open.c)
 */

#include "way_test.h"

namespace {


/* As in way_open.c */
const unsigned TRIES = 8;

class test_way_open : public way_test {
protected:
    /* One step of many at random: sends or posts the next one, fails, holds back, goes on. */
    void random_step(rng &random, std::vector<random_message> &messages, size_t &sent,
                     size_t &posted)
    {
        switch (random.below(8)) {
        case 0:
        case 1:
            if (sent < messages.size()) {
                random_message &m = messages[sent];
                size_t length     = random.percent(50) ? LONG : MEDIUM;

                m.content = pattern(sent++, length);
                m.from    = std::make_unique<memory>(CONTIG, length, m.content);
                m.send    = send(*m.from, 5, random.percent(20));
            }
            break;
        case 2:
        case 3:
            if (posted < messages.size()) {
                random_message &m = messages[posted++];
                m.to = std::make_unique<memory>(random.percent(70) ? CONTIG : IOV_16,
                                                LONG);
                m.recv = recv(*m.to, 5);
            }
            break;
        case 4:
            if (random.percent(15)) {
                (random.percent(50) ? m_a_rdma : m_b_rdma)->kill();
            }
            break;
        case 5:
            (random.percent(50) ? m_a_rdma : m_b_rdma)->holds = random.percent(50);
            break;
        case 6:
            progress_both(1 + random.below(3));
            m_ucx->complete();
            break;
        default:
            for (endpoint *ep : {m_ab, m_ba}) {
                if (!ep->sent.empty()) {
                    deliver(ep, random.below(std::min<size_t>(ep->sent.size(), 3)));
                }
            }
            break;
        }
    }
};

TEST_F(test_way_open, made_again)
{
    for (ri_sender_scheme_t scheme : {RI_SENDER_SCHEME_GET, RI_SENDER_SCHEME_PUT}) {
        for (bool sender : {false, true}) {
            SCOPED_TRACE(std::to_string(scheme) + (sender ? " sender" : " receiver"));
            ri_config.scheme = scheme;
            restart();
            connect();
            exchange(1);
            (sender ? m_a_rdma : m_b_rdma)->kill();
            exchange(2);
            EXPECT_EQ(1u, m_b->counters().rndv_fallback);
            EXPECT_FALSE(is_connected());
            EXPECT_EQ(0u, m_a_rdma->ends());
            EXPECT_EQ(0u, m_b_rdma->ends());
            exchange(3); /* asks */
            EXPECT_TRUE(is_connected());
            unsigned before = m_a_rdma->writes + m_b_rdma->reads;
            exchange(4);
            EXPECT_EQ(before + 1, m_a_rdma->writes + m_b_rdma->reads);
            for (node *n : {m_a.get(), m_b.get()}) {
                EXPECT_EQ(2u, n->counters().qp_created);
                EXPECT_EQ(1u, n->counters().reconnects);
                EXPECT_EQ(1u, n->counters().qp_failed);
                EXPECT_EQ(1u, n->counters().qp_closed);
            }
            EXPECT_EQ(2u, a_peer()->way.number);
            EXPECT_EQ(2u, b_peer()->way.number);
            check_idle();
        }
    }
}

/* In the other direction, too, by the same way */
TEST_F(test_way_open, made_again_by_the_other_side)
{
    connect();
    m_a_rdma->kill();
    exchange(1);
    ASSERT_FALSE(is_connected());
    for (int i = 0; i < 2; ++i) {
        recv_ptr r = m_a->recv(1, ~0ul, LONG);
        send_ptr s = m_b->send(m_back, pattern(i, LONG), 1);

        pump();
        ASSERT_TRUE(r->done && s->done);
        EXPECT_TRUE(r->buffer == pattern(i, LONG));
        EXPECT_EQ((unsigned)i, m_a_rdma->reads);
    }
    exchange(3);
    EXPECT_TRUE(is_connected());
    EXPECT_EQ(2u, a_peer()->way.number);
    exchange(4);
    EXPECT_EQ(1u, m_a->counters().reconnects);
    check_idle();
}

TEST_F(test_way_open, both_ask_again_at_once)
{
    connect();
    ri_way_fail_and_tell(m_a->worker(), a_peer());
    ri_way_fail_and_tell(m_b->worker(), b_peer());
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    recv_ptr r  = recv(to, 1);
    recv_ptr r2 = m_a->recv(1, ~0ul, LONG);
    rndv_ptr s  = send(from, 1);
    send_ptr s2 = m_b->send(m_back, bytes(LONG), 1);
    pump();
    ASSERT_TRUE(r->done && r2->done && s->done && s2->done);
    EXPECT_TRUE(is_connected());
    EXPECT_TRUE(m_back->flags & RI_CONN_WAY);
    EXPECT_EQ(1u, m_a_rdma->ends());
    EXPECT_EQ(1u, m_b_rdma->ends());
    EXPECT_EQ(2u, a_peer()->way.number);
    EXPECT_EQ(2u, b_peer()->way.number);
}

/* What goes by a way that the other side has given up comes by UCP. */
TEST_F(test_way_open, replaced_under_way)
{
    connect();
    start_read();
    ri_way_fail_and_tell(m_a->worker(), a_peer());
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    recv_ptr r = recv(to, 6);
    rndv_ptr s = send(from, 6); /* by UCP; and it asks */
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_PLANE_REQ));
    pump();
    EXPECT_EQ(0u, m_b_rdma->under_way()) << "nobody is there any more";
    check(m_r, *m_to, m_content, 5);
    check_sent(m_s);
    ASSERT_TRUE(r->done && s->done);
    EXPECT_TRUE(is_connected()) << "what failed was the way before it";
    m_b_rdma->holds = false;
    exchange(7);
    EXPECT_EQ(1u, m_b->counters().rndv_fallback);
    check_idle();
}

TEST_F(test_way_open, waits_between_tries)
{
    connect();
    ri_way_backoff = 1000;
    m_b_rdma->kill();
    exchange(1);
    for (uint64_t i = 2; i < 5; ++i) {
        exchange(i);
        EXPECT_FALSE(is_connected());
    }
    EXPECT_EQ(1u, m_a->counters().qp_created);
    a_peer()->way.retry = 0; /* time goes by */
    exchange(5);
    EXPECT_TRUE(is_connected());
    EXPECT_EQ(2u, m_a->counters().qp_created);
}

/* Not for ever */
TEST_F(test_way_open, fails_always)
{
    connect();
    for (uint64_t i = 0; i < 6 * TRIES; ++i) {
        m_b_rdma->kill();
        exchange(i);
    }
    EXPECT_FALSE(is_connected());
    EXPECT_EQ(TRIES, m_a->counters().qp_created);
    EXPECT_EQ(TRIES, m_a->counters().qp_failed);
    EXPECT_EQ(0u, m_a_rdma->ends() + m_b_rdma->ends());
    check_idle();
}

TEST_F(test_way_open, works_now_and_then)
{
    connect();
    for (uint64_t i = 0; i < 3 * TRIES; ++i) {
        exchange(1);
        m_b_rdma->kill();
        exchange(2);
        exchange(3);
        ASSERT_TRUE(is_connected()) << i;
    }
    EXPECT_EQ(3 * TRIES + 1, m_a->counters().qp_created);
    check_idle();
}

/* A side that has forgotten the peer begins at 1 again. */
TEST_F(test_way_open, numbers_differ)
{
    for (uint32_t other : {5u, 0x7fffffffu, 0x80000002u, 0xffffffffu}) {
        restart();
        exchange(0);
        ri_way_fail_and_tell(m_a->worker(), a_peer());
        ri_way_fail_and_tell(m_b->worker(), b_peer());
        b_peer()->way.number = other;
        for (uint64_t i = 1; (i < TRIES) && !is_connected(); ++i) {
            exchange(i);
        }
        EXPECT_TRUE(is_connected()) << other;
        EXPECT_EQ(a_peer()->way.number, b_peer()->way.number);
        EXPECT_NE(0u, a_peer()->way.number);
    }
}

TEST_F(test_way_open, hostile_requests)
{
    connect();
    uint32_t good = 0;
    memcpy(&good, b_peer()->way.address, sizeof(good));

    /* of no way, earlier ones, and the present one with another end */
    for (uint32_t way : {0u, 0x80000001u, 0x90000000u, 0xffffffffu, 1u}) {
        ri_wire_msg_t ack = ask(way, good + 7);

        EXPECT_EQ(0u, ack.value);
        EXPECT_EQ(1u, ack.way);
        EXPECT_EQ((uint16_t)way, ack.asked);
        EXPECT_EQ(RI_WAY_CONNECTED, b_peer()->way.state);
    }
    EXPECT_EQ(1u, ask(1, good).value) << "repeated";
    EXPECT_EQ(1u, m_b_rdma->connects);
    m_ba->sent.clear();
    exchange(1);
    EXPECT_EQ(1u, m_b_rdma->reads);

    /* Always another one */
    uint32_t way = 1;
    for (unsigned i = 0; i < 3 * TRIES; ++i) {
        ask(way += 1000, good + i);
    }
    EXPECT_EQ(TRIES, m_b->counters().qp_created - 1);
    m_ba->sent.clear();
    m_ab->sent.clear();
    for (uint64_t i = 0; i < 4; ++i) {
        exchange(i);
    }
}

TEST_F(test_way_open, hostile_answers)
{
    connect();
    uint32_t good = 0;
    memcpy(&good, a_peer()->way.address, sizeof(good));

    /* about another way, or with another end */
    for (uint32_t value : {0u, 1u}) {
        for (uint16_t asked : {0, 2, 0xffff}) {
            plane_msg(*m_a, RI_WIRE_PLANE_ACK, m_conn->id, value, 1, asked, good);
        }
    }
    EXPECT_EQ(6u, stale(*m_a));
    EXPECT_TRUE(is_connected());
    plane_msg(*m_a, RI_WIRE_PLANE_ACK, m_conn->id, 1, 2, 1, good);
    plane_msg(*m_a, RI_WIRE_PLANE_ACK, m_conn->id, 1, 1, 1, good + 7);
    EXPECT_TRUE(is_connected());
    EXPECT_EQ(1u, m_a_rdma->connects);

    /* not asked */
    plane_msg(*m_b, RI_WIRE_PLANE_ACK, m_back->id, 1, 1, 1, good);
    plane_msg(*m_b, RI_WIRE_PLANE_ACK, m_back->id, 0, 1, 1, good);
    EXPECT_EQ(2u, stale(*m_b));
    EXPECT_EQ(RI_WAY_CONNECTED, b_peer()->way.state);

    /* refused when all was well: another one is made */
    plane_msg(*m_a, RI_WIRE_PLANE_ACK, m_conn->id, 0, 1, 1, good);
    EXPECT_FALSE(is_connected());
    plane_msg(*m_a, RI_WIRE_PLANE_ACK, m_conn->id, 0, 1, 1, good);
    EXPECT_EQ(7u, stale(*m_a)) << "repeated";
    exchange(1);
    EXPECT_TRUE(is_connected());

    /* It says that it has no such plane. */
    plane_msg(*m_a, RI_WIRE_PLANE_ACK, m_conn->id, 0, 0, 2, good);
    exchange(2);
    EXPECT_FALSE(is_connected());
    EXPECT_EQ(2u, m_a->counters().qp_created);
}

/* An answer to what went by an earlier way says nothing of the present one. */
TEST_F(test_way_open, late_nack)
{
    connect();
    start_read();
    ri_send_req_t *req = reinterpret_cast<ri_send_req_t *>(ri_req_of_handle(m_s->handle));
    uint32_t id        = req->id;

    ri_way_fail_and_tell(m_b->worker(), b_peer());
    ri_way_fail_and_tell(m_a->worker(), a_peer());
    m_b->progress();
    ASSERT_EQ(1u, m_ba->count(RI_WIRE_NACK));
    auto nack = m_ba->sent.back();
    m_ba->sent.pop_back();
    m_b_rdma->holds = false;
    exchange(6);
    ASSERT_TRUE(is_connected());
    m_ba->sent.push_back(nack);
    m_ba->sent.push_back(nack);
    pump();
    check(m_r, *m_to, m_content, 5);
    check_sent(m_s);
    EXPECT_TRUE(is_connected());
    EXPECT_NE(0u, id);
    EXPECT_EQ(2u, stale(*m_a)) << "the second, and that way 1 was gone";
    check_idle();
}

/* Who gives its end up tells the other side, which does so at once: nothing has to fail. */
TEST_F(test_way_open, end_is_told)
{
    for (bool by_receiver : {false, true}) {
        SCOPED_TRACE(by_receiver);
        restart();
        connect();
        uint64_t before = stale(*m_a) + stale(*m_b);
        ri_way_fail_and_tell(by_receiver ? m_b->worker() : m_a->worker(),
                             by_receiver ? b_peer() : a_peer());
        pump();
        EXPECT_EQ(nullptr, a_peer()->way.ep);
        EXPECT_EQ(nullptr, b_peer()->way.ep);
        EXPECT_EQ(before, stale(*m_a) + stale(*m_b)) << "it is not told back";
        exchange(6);
        EXPECT_TRUE(is_connected());
    }
}

/* ... before it has asked for another way, or not at all. */
TEST_F(test_way_open, end_is_not_told_late)
{
    connect();
    ri_way_fail_and_tell(m_a->worker(), a_peer());
    m_conn->flags &= ~(uint32_t)RI_CONN_WAY_ASKED;
    ri_way_open_ask(m_conn);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_PLANE_REQ));
    m_a->progress();
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_PLANE_REQ));
    pump();
    EXPECT_TRUE(is_connected());
}

/* That an end is gone, of a way of the past, the present, once more, and to come; to a stream, and
 * to a conn. */
TEST_F(test_way_open, hostile_gone)
{
    for (ri_wire_type_t type : {RI_WIRE_PLANE_REQ, RI_WIRE_PLANE_ACK}) {
        restart();
        connect();
        node &n         = (type == RI_WIRE_PLANE_REQ) ? *m_b : *m_a;
        ri_peer_t *peer = (type == RI_WIRE_PLANE_REQ) ? b_peer() : a_peer();
        uint32_t id     = (type == RI_WIRE_PLANE_REQ) ?
                                  ri_stream_find(m_b->worker(), SENDER, m_conn->id)->id :
                                  m_conn->id;
        wire_msg gone(type, id, RI_WIRE_PLANE_GONE);
        uint64_t before = stale(n);

        for (int i = 0; i < 4; ++i) {
            gone.plane = (i == 3) ? RI_WIRE_PLANE_UD : RI_WIRE_PLANE_RC;
            gone.way   = (i == 0) ? 0 :
                         (i == 1) ? peer->way.number - 1 :
                         (i == 2) ? peer->way.number + 1 :
                                    peer->way.number;
            n.deliver(gone);
            EXPECT_EQ(before + i + 1, stale(n)) << i;
            EXPECT_NE(nullptr, peer->way.ep) << i;
        }
        gone.plane = RI_WIRE_PLANE_RC;
        gone.way   = peer->way.number;
        for (int i = 0; i < 2; ++i) {
            n.deliver(gone);
            EXPECT_EQ(before + 4, stale(n));
            EXPECT_EQ(nullptr, peer->way.ep);
        }
        for (int i = 0; i < 3; ++i) {
            exchange(6);
        }
        EXPECT_TRUE(is_connected());
    }
}

/* One message that cannot be read is no fault of the way. */
TEST_F(test_way_open, nack_for_other_reasons)
{
    connect();
    m_b_rdma->reg_status = UCS_ERR_NO_MEMORY;
    exchange(1);
    EXPECT_FALSE(is_connected());
    EXPECT_EQ(1u, m_a_rdma->ends());
    EXPECT_EQ(0u, m_a->counters().qp_failed);
    m_b_rdma->reg_status = UCS_OK;
}

/* Everything at once: none is lost, none comes twice. */
TEST_F(test_way_open, random)
{
    rng random(5);
    uint64_t again = 0, failed = 0, moved = 0;

    for (int round = 0; round < 30; ++round) {
        ri_config.scheme     = random.percent(50) ? RI_SENDER_SCHEME_PUT :
                                                    RI_SENDER_SCHEME_GET;
        ri_config.hybrid_net = random.percent(50) ? 65536 : 0;
        restart();
        m_back->flags |= RI_CONN_AM_READY;
        std::vector<random_message> messages(60);
        size_t sent = 0, posted = 0;

        while ((sent < messages.size()) || (posted < messages.size())) {
            random_step(random, messages, sent, posted);
        }
        m_a_rdma->holds = m_b_rdma->holds = false;
        pump();
        for (int i = 0; i < 300; ++i) {
            m_b->progress();
        }
        pump();
        check_messages(messages);
        EXPECT_EQ(0u, m_a->counters().pool_bytes);
        EXPECT_EQ(0u, m_b_rdma->keys());
        again += m_a->counters().reconnects;
        failed += m_a->counters().qp_failed;
        moved += m_a_rdma->writes + m_b_rdma->reads;
        messages.clear();
    }
    EXPECT_LT(10u, again);
    EXPECT_LT(10u, failed);
    EXPECT_LT(50u, moved);
}

} // namespace
