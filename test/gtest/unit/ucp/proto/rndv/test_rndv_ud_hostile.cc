/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rendezvous by datagrams: messages that come too early, too late, twice, or from nobody.
 * (src/ucp/proto/rndv/rndv_ud.c; docs/protocol.md section 8) The tests run
 * src/ucp/proto/rndv/rndv_ud_recv.c, too.
 */

#include "rndv_ud_test.h"

namespace {

class test_rndv_ud_hostile : public send_rndv_ud_test {};

TEST_F(test_rndv_ud_hostile, repeated_target)
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

TEST_F(test_rndv_ud_hostile, target_of_an_earlier_way)
{
    connect();
    begin();
    until(m_ba, RI_WIRE_TARGET);
    ++m_conn->peer->way.number;
    pump();
    --m_conn->peer->way.number;
    check_all();
    EXPECT_EQ(1u, m_b->counters().rndv_fallback);
}

TEST_F(test_rndv_ud_hostile, hostile_targets)
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
        default: /* withdrawn at once */
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
TEST_F(test_rndv_ud_hostile, target_for_others)
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

TEST_F(test_rndv_ud_hostile, hostile_abandon)
{
    connect();
    start_send();
    uint32_t id     = recv_req()->id;
    uint32_t req_id = m_s->req()->id;

    for (uint32_t wrong : {0u, id + 1, ~0u}) {
        wire_msg msg(RI_WIRE_ABANDON, stream()->id, req_id + 1);
        msg.recv_id = (wrong == 0) ? id : wrong;
        msg.sn      = m_first - 1;
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
TEST_F(test_rndv_ud_hostile, abandon_and_data)
{
    connect();
    start_send();
    wire_msg msg(RI_WIRE_ABANDON, stream()->id, m_s->req()->id);
    msg.recv_id = recv_req()->id;
    m_b->deliver(msg);
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_NACK));
    m_b->deliver(msg); /* repeated */
    EXPECT_EQ(1u, stale(*m_b));
    EXPECT_EQ(0u, m_ba->count(RI_WIRE_FIN)) << "it is not there";
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
    EXPECT_TRUE(m_conn->flags & RI_CONN_WAY) << "the way may be as good as ever";
    pump();
    check_all();
}

TEST_F(test_rndv_ud_hostile, answers_while_it_is_sent)
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
TEST_F(test_rndv_ud_hostile, hostile_rts)
{
    connect();
    uint32_t sn = m_conn->tx_sn;

    for (uint16_t way : {0, 2, 0xffff, 1}) {
        memory to(CONTIG, LONG);
        recv_ptr r = recv(to, 5);
        bool has   = (way != 1); /* the way has that number, and fails */
        if (!has) {
            ri_way_fail(m_b->worker(), m_back->peer);
        }
        wire_msg msg(RI_WIRE_RTS, stream()->id, ++sn);
        bytes payload = rts_payload({{0, LONG}}, RI_WIRE_RTS_SENDS);

        msg.tag    = 5;
        msg.req_id = 0x7777;
        memcpy(&payload[6], &way, sizeof(way));
        m_b->deliver(msg, payload);
        ASSERT_EQ(1u, m_ba->count(RI_WIRE_NACK));
        ri_wire_msg_t nack = m_ba->take(RI_WIRE_NACK).parse();
        EXPECT_EQ(has ? 0 : RI_WIRE_NACK_WAY, nack.flags & RI_WIRE_NACK_WAY);
        wire_msg data(RI_WIRE_RNDV_DATA, stream()->id, nack.recv_id);
        m_b->deliver(data, pattern(way, LONG));
        check(r, to, pattern(way, LONG), 5);
    }
    m_b->progress(); /* what receives had offered, and withdrew */
    m_ba->sent.clear();
    check_idle();
    m_b->may_end_open = m_a->may_end_open = true;
}

} // namespace
