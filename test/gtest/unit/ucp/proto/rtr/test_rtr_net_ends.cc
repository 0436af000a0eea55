/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that are offered through a network: writes and ways that fail, ends, and what a peer
 * should not say. (protocol-rndv.md sections 4.4 and 4.5) The tests run
 * src/ucp/proto/rtr/promises.c, src/ucp/proto/rtr/rtr_notified.c and
 * src/ucp/proto/rtr/rtr_withdraw.c, too.
 */

#include "rtr_net_test.h"

extern "C" {
#include "ucp/proto/rtr/rtr_send_untold.h"
#include "ucp/proto/rtr/rtr_lost.h"
#include "ucp/proto/rtr/rtr_state.h"
}

namespace {

class test_rtr_net_ends : public rtr_net_ends_test {};

/* A message whose write fails comes once, in its turn, and its buffer is not touched after it
 * was handed back. */
TEST_F(test_rtr_net_ends, write_fails)
{
    for (int what = 0; what < FAILURES; ++what) {
        SCOPED_TRACE(what);
        restart();
        recv_ptr r1 = post_seen(), r2 = post(8), r3 = post();
        deliver_all();
        fail_writes(what);
        send_ptr s1 = send(), s2 = send(8), s3 = send();
        pump();
        check(r1, s1);
        check(r2, s2);
        check(r3, s3);
        check_sent(s1);
        check_sent(s3);
        EXPECT_GE(m_conn->counters.tx_again, 1u);
        EXPECT_EQ(RI_WAY_FAILED, m_conn->peer->way.state);
        EXPECT_EQ(RI_WAY_FAILED, stream()->peer->way.state);
        EXPECT_EQ(0u, malformed());
        fail_writes(-1);
        m_a_rdma->end_status = UCS_OK;

        /* Later ones find another way */
        r1 = post();
        EXPECT_EQ(RI_RTR_NONE, rtr(r1));
        s1 = send();
        pump();
        check(r1, s1);
    }
}

/* The message comes again when its first coming waits for its turn. */
TEST_F(test_rtr_net_ends, again_while_early)
{
    recv_ptr r1 = post(EAGER), r2 = post();
    deliver_all();
    fail_writes(AT_END_TOLD);
    send_ptr s1 = send(8), s2 = send();
    progress_both(3);
    EXPECT_EQ(RI_RTR_WRITTEN, rtr(r2));
    ASSERT_EQ(3u, m_ab->sent.size()) << "and that the way is gone";
    deliver(m_ab, 1);
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_FIN));
    pump();
    check(r1, s1);
    check(r2, s2);
    check_sent(s2);
    EXPECT_EQ(0u, malformed());
}

/* A receive that cannot be cancelled gets its message in another way. */
TEST_F(test_rtr_net_ends, promised_and_failed)
{
    second();
    recv_ptr r = post_seen(), r2;
    fail_writes(AT_END);
    send_ptr s = send();
    m_b->cancel(r);
    deliver(m_ba, 0);
    deliver(m_ab, 0);
    ASSERT_EQ(RI_RTR_KEY_USED, rtr(r));
    progress_both(3);
    send_ptr o = send2(8);
    deliver(m_ab2, 0);
    EXPECT_FALSE(r->done) << "still promised";
    pump();
    check(r, s);
    r2 = post();
    check(r2, o);
}

/* The receiver's end fails by itself: what was offered is not any more. */
TEST_F(test_rtr_net_ends, way_of_the_receiver_fails)
{
    recv_ptr r  = post_seen();
    recv_ptr r2 = post_seen();
    m_b->cancel(r); /* the answer does not come */
    m_ba->sent.clear();
    m_ab->sent.clear();
    m_b_rdma->kill();
    ++m_b->worker()->net.rc->failures;
    m_b->progress();
    check_canceled(r);
    EXPECT_LT(rtr(r2), RI_RTR_BY_GRANT);
    m_a_rdma->end_status = UCS_ERR_UNREACHABLE;
    send_ptr s           = send();
    pump();
    check(r2, s);
}

/* ... after it has brought a notification that nobody has looked at yet: nothing is lost. */
TEST_F(test_rtr_net_ends, way_is_lost_with_a_notification_not_taken)
{
    recv_ptr r = post_seen();
    send_ptr s = send();
    m_a->progress();
    check_sent(s);
    m_b->worker()->net.rc->ops->progress(m_b->worker()->net.rc);
    EXPECT_FALSE(r->done);
    m_b_rdma->loses_news = true;
    ri_way_fail_and_tell(m_b->worker(), stream()->peer);
    m_b_rdma->loses_news = false;
    m_b->progress();
    check(r, s);
    EXPECT_FALSE(stream()->broken);
    EXPECT_EQ(0u, malformed());
    pump();
}

/* ... and one that was not told is lost with it. */
TEST_F(test_rtr_net_ends, way_is_lost_with_a_notification)
{
    recv_ptr r = post_seen();
    send_ptr s = send();
    m_a->progress();
    check_sent(s);
    m_b_rdma->loses_news = true;
    ri_way_fail_and_tell(m_b->worker(), stream()->peer);
    m_b_rdma->loses_news = false;
    m_b->progress();
    EXPECT_TRUE(stream()->broken) << "nobody sends it again";
    m_b->cancel(r);
    pump();
    EXPECT_TRUE(r->done);
}

/* A close waits for a write; a conn that fails lets its memory go when the write has ended. */
TEST_F(test_rtr_net_ends, conn_fails)
{
    recv_ptr r      = post_seen();
    m_a_rdma->holds = true;
    send_ptr s      = send();
    EXPECT_TRUE(ri_rndv_is_under_way(m_conn));
    ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
    EXPECT_FALSE(s->done) << "the network still reads it";
    EXPECT_EQ(1u, m_a_rdma->keys());
    m_a_rdma->holds = false;
    progress_both(3);
    ASSERT_TRUE(s->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
    check(r, s);
    m_conn->status = UCS_OK;
}

/* The sender of a stream that breaks writes nothing afterwards. */
TEST_F(test_rtr_net_ends, stream_breaks)
{
    recv_ptr r1 = post_seen(), r2 = post_seen();
    m_a_rdma->holds = true;
    send_ptr s      = send();
    m_b->cancel(r2);
    ri_stream_break(stream(), "a test");
    EXPECT_EQ(RI_WAY_FAILED, stream()->peer->way.state);
    check_canceled(r2);
    EXPECT_EQ(RI_RTR_NONE, rtr(r1));
    m_b->cancel(r1);
    check_canceled(r1);
    m_a_rdma->holds = false;
    pump();
    EXPECT_TRUE(s->done);
    EXPECT_NE(UCS_OK, s->status);
    EXPECT_FALSE(r1->buffer == s->data);
}

TEST_F(test_rtr_net_ends, workers_end)
{
    for (int what = 0; what < 4; ++what) {
        SCOPED_TRACE(what);
        m_b->may_end_open = m_a->may_end_open = true;
        recv_ptr r                            = post_seen();
        m_a_rdma->holds                       = (what & 1);
        send_ptr s                            = (what < 3) ? send() : nullptr;
        m_b->worker()->reqs.in_use -= !r->done; /* nobody completes a posted receive */
        ((what & 2) ? m_a : m_b).reset();
        m_ab = m_ba = nullptr;
        m_a.reset();
        EXPECT_TRUE((s == nullptr) || s->done);
        end();
        start();
    }
}

/* RTRs: past, repeated, future, for another way, and malformed */
TEST_F(test_rtr_net_ends, hostile_rtr)
{
    ri_worker_counters_t c       = m_a->counters();
    const ri_wire_rtr_msg_t good = rtr_of(m_conn->tx_sn, 10);
    ri_wire_rtr_msg_t msg;

    for (size_t length : {8ul, 59ul, 61ul}) {
        bytes raw(length);
        raw[0] = RI_WIRE_RTR;
        raw[1] = m_conn->id;
        m_a->deliver(raw, {});
    }
    (msg = good).entry = 32;
    deliver_rtr(msg, m_conn->id, sizeof(msg));
    (msg = good).length = 0;
    deliver_rtr(msg, m_conn->id, sizeof(msg));
    msg.length = ~0ul;
    deliver_rtr(msg, m_conn->id, sizeof(msg));
    EXPECT_EQ(c.rx_malformed + 6, m_a->counters().rx_malformed);

    ++(msg = good).way;
    deliver_rtr(msg, m_conn->id, sizeof(msg));
    deliver_rtr(good, m_conn->id + 1, sizeof(msg));
    EXPECT_EQ(c.rx_stale + 2, m_a->counters().rx_stale);
    EXPECT_EQ(0u, waiting());
    deliver_rtr(good, m_conn->id, sizeof(msg));
    EXPECT_EQ(1u, waiting());
    deliver_rtr(good, m_conn->id, sizeof(msg)); /* repeated */
    (msg = good).generation = 9;                /* an older one */
    deliver_rtr(msg, m_conn->id, sizeof(msg));
    EXPECT_EQ(c.rx_stale + 4, m_a->counters().rx_stale);
    EXPECT_EQ(1u, waiting());
    (msg = good).generation = 11; /* a newer one in the same entry */
    deliver_rtr(msg, m_conn->id, sizeof(msg));
    EXPECT_EQ(1u, waiting());
    msg.generation = 12;
    msg.seen       = m_conn->tx_sn + 5; /* what was never sent */
    deliver_rtr(msg, m_conn->id, sizeof(msg));
    msg.generation = 13;
    msg.seen       = m_conn->tx_sn - 1000;
    deliver_rtr(msg, m_conn->id, sizeof(msg));
    EXPECT_EQ(0u, waiting());

    /* A key that is wrong fails the way, and not the message. */
    msg     = rtr_of(m_conn->tx_sn, 14);
    msg.key = 4711;
    deliver_rtr(msg, m_conn->id, sizeof(msg));
    EXPECT_EQ(1u, waiting());
    m_a_rdma->end_status = UCS_ERR_INVALID_ADDR;
    send_ptr s           = send();
    pump();
    recv_ptr r = post();
    pump();
    check(r, s);
}

TEST_F(test_rtr_net_ends, hostile_revoke)
{
    uint64_t stale = m_a->counters().rx_stale, bad = m_a->counters().rx_malformed;

    deliver_revoke(m_conn->id, 1, 32, stream()->id, RECEIVER); /* entry */
    deliver_revoke(m_conn->id, 1, 3, 0, RECEIVER);             /* no stream */
    EXPECT_EQ(bad + 2, m_a->counters().rx_malformed);
    deliver_revoke(m_conn->id, 1, 3, stream()->id, 0x9999); /* nobody */
    deliver_revoke(m_conn->id, 1, 3, stream()->id, 0);
    EXPECT_EQ(stale + 2, m_a->counters().rx_stale);
    EXPECT_TRUE(m_ab->sent.empty());

    deliver_rtr(rtr_of(m_conn->tx_sn, 10), m_conn->id, 60);
    for (uint32_t generation : {9u, 10u, 10u, 11u}) {
        deliver_revoke(m_conn->id, generation, 3, stream()->id, RECEIVER);
        ASSERT_EQ(1u, m_ab->count(RI_WIRE_REVOKED));
        ri_wire_msg_t answer = m_ab->take(RI_WIRE_REVOKED).parse();
        EXPECT_EQ(generation, answer.generation);
        EXPECT_EQ(0u, answer.flags);
        EXPECT_EQ((generation == 9) ? 1u : 0u, waiting());
    }
    /* a conn that is not there (any more) */
    deliver_revoke(0x700123, 10, 3, stream()->id, RECEIVER);
    EXPECT_EQ(0u, m_ab->take(RI_WIRE_REVOKED).parse().flags);
}

/* What a conn has used is known when it is closed, too: the receiver may be told of the data only
 * after the answer. */
TEST_F(test_rtr_net_ends, revoke_of_a_closed_conn)
{
    const ucp_request_param_t none = {};

    second();
    guess(stream2());
    recv_ptr r1 = post_seen(), r2 = post_seen(LARGE);
    m_b_rdma->holds_news = true;
    send_ptr s           = send2();
    progress_both(3);
    check_sent(s);
    EXPECT_FALSE(r1->done);
    guess(stream(), TAG + 3); /* this is no matter of the other conn's */
    recv_ptr r3 = post(LARGE, TAG + 3);
    deliver();
    m_a_rdma->holds = true;
    send_ptr s3     = send(LARGE, TAG + 3);
    ASSERT_EQ(1u, m_conn->peer->way.num_transfers);
    EXPECT_FALSE(UCS_PTR_IS_PTR(ri_ep_close(m_conn2, &none)));

    m_b->cancel(r2);
    m_b->cancel(r1);
    deliver_all();
    check_canceled(r2);
    EXPECT_FALSE(r1->done);
    EXPECT_EQ(RI_RTR_KEY_USED, rtr(r1));
    m_b_rdma->holds_news = m_a_rdma->holds = false;
    pump();
    check(r1, s);
    check(r3, s3);
    EXPECT_EQ(0u, malformed());
}

/* A sender that does not answer: it is made sure that it does not write, and then decided. */
TEST_F(test_rtr_net_ends, no_answer)
{
    for (bool used : {false, true}) {
        SCOPED_TRACE(used);
        restart();
        recv_ptr r1 = post_seen(), r2 = post_seen();
        send_ptr s;

        m_a_rdma->holds = true;
        if (used) {
            s = send();
        }
        m_b->cancel(r1);
        for (int i = 0; i < 10; ++i) {
            m_b->progress();
        }
        EXPECT_FALSE(r1->done) << "it has time";
        {
            setting<double> patience(ri_rtr_lost_patience, 0);
            m_b->progress();
        }
        check_canceled(r1);
        EXPECT_FALSE(r2->done);
        EXPECT_EQ(RI_WAY_FAILED, stream()->peer->way.state);
        EXPECT_EQ(0u, m_b->worker()->rtr.num_revoking);
        m_a_rdma->end_status = used ? UCS_ERR_UNREACHABLE : UCS_OK;
        m_a_rdma->holds      = false;
        if (!used) {
            s = send();
        }
        pump();
        m_a_rdma->end_status = UCS_OK;
        check(r2, s);
    }
    EXPECT_EQ(0u, malformed());
}

/* What a sender says once counts, also if there is no way at the time. */
TEST_F(test_rtr_net_ends, told_without_a_way)
{
    setting<double> backoff(ri_way_backoff, 0);
    wire_msg msg(RI_WIRE_PLANE_REQ, stream()->id, RI_WIRE_PLANE_WRITES);

    stream()->way.any = 0;
    ri_way_fail_and_tell(m_b->worker(), stream()->peer);
    msg.plane = RI_WIRE_PLANE_RC;
    msg.way   = m_conn->peer->way.number;
    m_b->deliver(msg);
    for (unsigned i = 0; i < 4; ++i) {
        recv_ptr r = post();
        send_ptr s = send();
        pump();
        check(r, s);
    }
    recv_ptr r = post();
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(r));
    pump();
    send_ptr s = send();
    pump();
    check(r, s);
}

TEST_F(test_rtr_net_ends, hostile_revoked)
{
    uint64_t stale = m_b->counters().rx_stale, bad = malformed();
    ri_wire_rtr_msg_t msg;
    recv_ptr r = post();
    packet p   = m_ba->sent.front();

    memcpy(&msg, p.data.data(), sizeof(msg));
    uint32_t id = stream()->id;
    deliver_revoked(id, msg.generation, 32, 0);
    EXPECT_EQ(bad + 1, malformed());
    deliver_revoked(id, msg.generation, msg.entry, 0); /* nobody asked */
    deliver_revoked(id, msg.generation, msg.entry, 1);
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(r));
    m_b->cancel(r);
    deliver_revoked(id + 1, msg.generation, msg.entry, 0);
    deliver_revoked(id, msg.generation - 1, msg.entry, 0);
    deliver_revoked(id, msg.generation + 1, msg.entry, 0);
    deliver_revoked(id, msg.generation, msg.entry ^ 1, 0);
    EXPECT_EQ(stale + 6, m_b->counters().rx_stale);
    EXPECT_FALSE(r->done);
    deliver_revoked(id, msg.generation, msg.entry, 0);
    check_canceled(r);
    deliver_revoked(id, msg.generation, msg.entry, 0);
    EXPECT_EQ(stale + 7, m_b->counters().rx_stale);
    pump();
}

/* An answer by another stream of the same peer is none. */
TEST_F(test_rtr_net_ends, revoked_by_another_stream)
{
    second();
    uint64_t stale = m_b->counters().rx_stale;
    ri_wire_rtr_msg_t msg;
    recv_ptr r = post();
    packet p   = m_ba->sent.front();

    memcpy(&msg, p.data.data(), sizeof(msg));
    m_b->cancel(r);
    for (uint16_t flags : {0, 1}) {
        deliver_revoked(stream2()->id, msg.generation, msg.entry, flags);
        EXPECT_FALSE(r->done);
        EXPECT_EQ(RI_RTR_BY_KEY, rtr(r));
    }
    EXPECT_EQ(stale + 2, m_b->counters().rx_stale);
    pump();
    check_canceled(r);
}

/* Notifications of nothing: dropped */
TEST_F(test_rtr_net_ends, stray_notifications)
{
    uint64_t bad = malformed();

    m_b_rdma->notify(0, LARGE);
    m_b_rdma->notify(~0u, LARGE);
    /* Now: one of them might name the RTR, once it is there, as its number is random. */
    m_b->worker()->countdown = 1;
    progress_both(1);
    EXPECT_EQ(bad + 2, malformed());
    recv_ptr r    = post();
    uint32_t good = immediate(r, m_conn->tx_sn + 1);
    m_b_rdma->notify(good ^ (1u << RI_WIRE_IMM_ENTRY_SHIFT), LARGE);
    m_b_rdma->notify(good ^ (1u << RI_WIRE_IMM_GEN_SHIFT), LARGE);
    progress_both(3);
    EXPECT_EQ(bad + 4, malformed());
    EXPECT_FALSE(r->done);
    m_b_rdma->notify(good, LARGE);
    m_b_rdma->notify(good, LARGE); /* twice */
    progress_both(3);
    EXPECT_TRUE(r->done);
    EXPECT_EQ(bad + 5, malformed());
    m_ba->sent.clear();
    ++m_conn->tx_sn;
    ri_rtr_table_reset(m_conn->rtr.table, m_conn->tx_sn);
}

/* Of a number that was matched, or longer than the receive: the stream ends. */
TEST_F(test_rtr_net_ends, wrong_notifications)
{
    for (int what = 0; what < 3; ++what) {
        SCOPED_TRACE(what);
        restart();
        recv_ptr r    = post();
        uint32_t good = immediate(r, m_conn->tx_sn + 1);
        deliver_all();
        switch (what) {
        case 0:
            m_b_rdma->notify(good - 1, LARGE);
            break;
        case 1:
            m_b_rdma->notify(good | RI_WIRE_IMM_SHORT, LARGE + 1);
            break;
        default:
            m_b_rdma->notify(good | RI_WIRE_IMM_SHORT, 0);
            break;
        }
        progress_both(3);
        EXPECT_TRUE(stream()->broken);
        EXPECT_FALSE(r->done) << "it may be another sender's";
        m_b->cancel(r);
        check_canceled(r);
        pump();
    }
}

/* A message in another form for a receive that is used, as its sender said */
TEST_F(test_rtr_net_ends, another_form)
{
    recv_ptr r      = post_seen();
    m_a_rdma->holds = true;
    send_ptr s      = send();
    m_b->cancel(r);
    deliver_all();
    ASSERT_EQ(RI_RTR_KEY_USED, rtr(r));
    wire_msg msg(RI_WIRE_EAGER, stream()->id, m_conn->tx_sn);
    msg.tag = TAG;
    m_b->deliver(msg, bytes(8));
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_IO_ERROR, r->status);
    EXPECT_EQ(RI_WAY_FAILED, stream()->peer->way.state) << "and nothing is written now";
    m_a_rdma->holds = false;
    pump();
    EXPECT_TRUE(s->done);
}

/* PLACED by active message has no business here. */
TEST_F(test_rtr_net_ends, placed)
{
    recv_ptr r = post_seen();
    wire_msg msg(RI_WIRE_PLACED, stream()->id, m_conn->tx_sn + 1);
    bytes payload;

    msg.tag    = TAG;
    msg.req_id = req(r)->id;
    wire_msg::append(payload, ri_wire_placed_t{LARGE});
    m_b->deliver(msg, payload);
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_IO_ERROR, r->status);
    EXPECT_TRUE(stream()->broken);
    pump();
}

/* One in the middle has ended, and is not told: numbers that do not follow each other are told
 * apart. */
TEST_F(test_rtr_net_ends, numbers_to_tell_with_a_gap)
{
    std::vector<recv_ptr> r;
    std::vector<send_ptr> s;
    uint32_t sn = m_conn->tx_sn;

    for (unsigned i = 0; i < 4; ++i) {
        r.push_back(post_seen());
    }
    m_a_rdma->holds = true;
    for (unsigned i = 0; i < 4; ++i) {
        s.push_back(send());
    }
    ri_rtr_send_untold_remove(m_conn, sn + 2);
    send_ptr after = send(8, TAG + 1);
    ASSERT_EQ(2u, m_ab->count(RI_WIRE_USED));
    EXPECT_EQ(sn + 1, m_ab->sent[0].parse().value);
    EXPECT_EQ(sn + 3, m_ab->sent[1].parse().value);
    deliver();
    EXPECT_EQ(RI_RTR_NAMED, rtr(r[0]));
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(r[1]));
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(r[2])) << "it is not its turn";
    m_a_rdma->holds = false;
    pump();
    for (unsigned i = 0; i < 4; ++i) {
        check(r[i], s[i]);
    }
    check(post(8, TAG + 1), after);
    EXPECT_EQ(0u, malformed());
}

/* A contest, and only the RTR of the last receive that may count the one that is contested */
TEST_F(test_rtr_net_ends, contested_and_the_last_one_behind_is_revoked)
{
    second();
    count_from_now();
    std::vector<recv_ptr> r;
    for (unsigned i = 0; i + 1 < RI_RTR_DEPTH; ++i) {
        r.push_back(post(EAGER)); /* no RTRs */
    }
    recv_ptr last = post_seen();
    EXPECT_EQ((unsigned)RI_RTR_DEPTH - 1, m_conn->rtr.table->waiting[0].ahead);
    send_ptr s2 = send2(8);
    while (!m_ab2->sent.empty()) {
        deliver(m_ab2, 0);
    }
    EXPECT_FALSE(r[0]->done) << "the last one counts it";
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_REVOKE));
    pump();
    check(r[0], s2);
    EXPECT_EQ(1u, waiting());
    for (unsigned i = 1; i < r.size(); ++i) {
        send(8);
    }
    send_ptr s = send();
    pump();
    check(last, s);
    check_rtrs(2, 1);
}

} // namespace
