/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that offer a queue pair, and messages that are sent there at once.
 * (src/ucp/proto/rtr/rtr_ud.c, rtr_send_ud.c; docs/protocol-rndv.md section 8)
 */

#include "rtr_ud_test.h"

namespace {

class test_rtr_ud : public rtr_ud_test {};

TEST_F(test_rtr_ud, used)
{
    for (size_t length : {MEDIUM, LARGE}) {
        for (bool sync : {false, true}) {
            recv_ptr r = post_seen(length);
            send_ptr s = send(length, TAG, sync);

            EXPECT_EQ(1u, m_ab->sent.size());
            EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS));
            pump();
            check(r, s);
            check_sent(s);
            check_rtrs(1, 1);
        }
    }
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
    EXPECT_EQ(0u, m_b->counters().rx_stale + m_a->counters().rx_stale);
    EXPECT_LE(4u, m_a->counters().conns.tx_recv_rndv);
}

/* There is nothing but RTR, RTS and the data. */
TEST_F(test_rtr_ud, messages)
{
    recv_ptr r = post_seen();
    send_ptr s = send();

    EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS));
    deliver();
    EXPECT_FALSE(r->done);
    progress_both(3);
    EXPECT_TRUE(r->done && s->done);
    EXPECT_FALSE(is_any_sent());
    check(r, s);
}

/* The data may be there before the RTS has its turn: the receive is complete with that. */
TEST_F(test_rtr_ud, data_is_first)
{
    recv_ptr r1 = post(EAGER), r = post_seen();
    send_ptr s1 = send(EAGER), s = send();

    progress_both(5);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(RI_RTR_BY_UD, rtr(r));
    EXPECT_EQ(0u, m_b_ud->transfers()) << "its queue pair is home";
    EXPECT_FALSE(r->done || r1->done);
    ASSERT_EQ(1u, m_ab->count(RI_WIRE_RTS));
    pair_test::deliver(m_ab, m_ab->sent.size() - 1); /* before s1 */
    progress_both(2);
    EXPECT_FALSE(r->done);
    m_b->cancel(r);
    EXPECT_FALSE(r->done) << "it has its message";
    deliver();
    check(r1, s1);
    check(r, s);
    check_rtrs(1, 1);
}

TEST_F(test_rtr_ud, rts_is_first)
{
    recv_ptr r    = post_seen();
    m_a_ud->holds = m_a_ud->silent = true;
    send_ptr s                     = send();

    deliver();
    progress_both(3);
    EXPECT_EQ(RI_RTR_NONE, rtr(r));
    EXPECT_FALSE(r->done || s->done);
    m_b->cancel(r);
    EXPECT_FALSE(r->done);
    m_a_ud->holds = false;
    pump();
    check(r, s);
    check_sent(s);
    check_rtrs(1, 1);
}

/* A entry that is seldom used does not fall behind: to the sender its RTR would be an old one after
 * 2^31 others. */
TEST_F(test_rtr_ud, generations)
{
    recv_ptr r1 = post(), r2 = post(), r;
    uint32_t often = req(r1)->rtr.generation, seldom = req(r2)->rtr.generation;
    uint8_t entry = req(r2)->rtr.index;
    send_ptr s1, s2;

    deliver();
    s1 = send();
    s2 = send();
    pump();
    check(r1, s1);
    check(r2, s2);
    for (unsigned i = 1; i <= 10; ++i) {
        r = post_seen();
        EXPECT_EQ(often + i, req(r)->rtr.generation);
        s1 = send();
        pump();
        check(r, s1);
    }
    r1 = post();
    r2 = post();
    deliver();
    EXPECT_EQ(2u, m_conn->rtr.table->num_waiting);
    EXPECT_EQ(entry, req(r2)->rtr.index);
    EXPECT_EQ(seldom + 1, req(r2)->rtr.generation);
    s1 = send();
    s2 = send();
    pump();
    check(r1, s1);
    check(r2, s2);
}

/* Counted and any tag: the order is MPI's. */
TEST_F(test_rtr_ud, order)
{
    std::vector<recv_ptr> r;
    std::vector<send_ptr> s;

    for (size_t length : {LARGE, EAGER, LARGE, MEDIUM}) {
        r.push_back(post(length));
    }
    r.push_back(m_b->recv(0, 0, LARGE)); /* suspends what follows */
    r.push_back(post(LARGE));
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r[5]));
    deliver();
    for (size_t length : {LARGE, EAGER, LARGE, MEDIUM, LARGE, LARGE}) {
        s.push_back(send(length));
    }
    pump();
    for (unsigned i = 0; i < 6; ++i) {
        check(r[i], s[i]);
        check_sent(s[i]);
    }
}

/* Messages that do not use it */
TEST_F(test_rtr_ud, others)
{
    unsigned before = m_b_ud->forgotten;

    for (size_t length : {(size_t)0, EAGER, MEDIUM, LARGE - 1, LARGE + 1}) {
        recv_ptr r = post_seen();
        send_ptr s = send(length);

        pump();
        check(r, s);
        check_sent(s);
        check_rtrs(1, 0);
        check_idle();
        guess(stream());
    }
    EXPECT_EQ(5u, m_b_ud->forgotten - before) << "the sender will not use them any more";
}

/* An RTR that comes after its message, and one that never comes */
TEST_F(test_rtr_ud, late)
{
    for (bool lost : {false, true}) {
        recv_ptr r = post();
        send_ptr s = send();

        EXPECT_EQ(1u, m_ba->count(RI_WIRE_RTR_UD));
        if (lost) {
            m_ba->sent.clear();
        }
        pump();
        check(r, s);
        check_sent(s);
        check_rtrs(1, 0);
        EXPECT_EQ(0u, m_conn->rtr.table->num_waiting);
    }
}

/* A cancel is local. The sender finds out. */
TEST_F(test_rtr_ud, canceled)
{
    recv_ptr r = post_seen();

    m_b->cancel(r);
    check_canceled(r);
    EXPECT_EQ(0u, m_b_ud->num_active());
    send_ptr s = send(); /* uses it all the same */
    pump();
    EXPECT_FALSE(s->done);
    check_rtrs(1, 0);
    r = post();
    pump();
    check(r, s);
    check_sent(s);
    check_rtrs(0, 0);
}

/* It is withdrawn while the message is on its way, before and after it was heard of. */
TEST_F(test_rtr_ud, canceled_while_sent)
{
    for (bool heard : {false, true}) {
        recv_ptr r     = post_seen();
        m_a_ud->holds  = true;
        m_a_ud->silent = !heard;
        send_ptr s     = send();

        progress_both(3);
        m_b->cancel(r);
        EXPECT_EQ(!heard, r->done);
        m_a_ud->holds = false;
        if (heard) {
            pump();
        } else {
            check_canceled(r);
            EXPECT_TRUE(bytes(LARGE) == r->buffer);
            r = post();
            pump();
        }
        check(r, s);
        check_sent(s);
        pump();
        check_idle();
    }
}

/* The RTS is answered while the sender is still busy with what comes to nothing. */
TEST_F(test_rtr_ud, target_while_sent)
{
    for (bool answer_is_void : {false, true}) {
        recv_ptr r    = post_seen();
        m_a_ud->holds = m_a_ud->silent = true;
        send_ptr s                     = send();

        m_b->cancel(r);
        check_canceled(r);
        r = post();
        deliver();
        if (answer_is_void) {
            m_a_ud->send_status = UCS_ERR_NO_MEMORY;
        }
        deliver_all();
        m_a->progress();
        m_a_ud->holds = false;
        pump();
        m_a_ud->send_status = UCS_OK;
        check(r, s);
        check_sent(s);
        check_idle();
    }
    EXPECT_EQ(1u, m_b->counters().rndv_fallback);
}

/* Another sender's message takes the receive, or passes it by if it is promised. */
TEST_F(test_rtr_ud, contest)
{
    for (bool heard : {false, true}) {
        SCOPED_TRACE(heard);
        restart();
        second();
        recv_ptr r = post(), r2;
        ASSERT_EQ(RI_RTR_BY_UD, rtr(r));
        deliver();
        m_a_ud->holds  = true;
        m_a_ud->silent = !heard;
        send_ptr s     = send();
        progress_both(2);
        send_ptr s2 = send2(EAGER);
        while (!m_ab2->sent.empty()) {
            pair_test::deliver(m_ab2, 0);
        }
        EXPECT_EQ(!heard, r->done);
        r2            = post();
        m_a_ud->holds = false;
        pump();
        check(r, heard ? s : s2);
        check(r2, heard ? s2 : s);
        check_sent(s);
        check_sent(s2);
        ri_conn_destroy(m_conn2, UCS_ERR_CANCELED);
        m_ab2->sent.clear();
        m_conn2 = nullptr;
        pump();
    }
}

/* Queue pairs are for messages that are there. Who had to make way tries again, later. */
TEST_F(test_rtr_ud, pressure)
{
    std::vector<recv_ptr> r;
    std::vector<send_ptr> s;

    m_b_ud->qps = 2;
    for (unsigned i = 0; i < 64; ++i) {
        r.push_back(post());
    }
    EXPECT_EQ(2u, m_b_ud->num_active());
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r[2]));
    recv_ptr other = post(LARGE, TAG + 1); /* of a sender that nobody knows */
    send_ptr to_it = send(LARGE, TAG + 1);
    pump();
    check(other, to_it);
    EXPECT_EQ(1u, m_b_ud->withdrawn);
    EXPECT_EQ(1u, m_b->counters().rtr_withdrawn_ud);
    EXPECT_EQ(2u, m_b_ud->num_active()) << "its turn has come again";
    for (unsigned i = 0; i < 64; ++i) {
        s.push_back(send());
        if (i % 8 == 7) {
            pump();
        }
    }
    for (unsigned i = 0; i < 64; ++i) {
        check(r[i], s[i]);
        check_sent(s[i]);
    }
    EXPECT_LT(8u, m_b->counters().rtr_used);
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
}

TEST_F(test_rtr_ud, back_off)
{
    m_b_ud->qps       = 1;
    ri_rtr_ud_backoff = 0.02;
    recv_ptr r        = post_seen();
    recv_ptr other    = post(LARGE, TAG + 1);
    send_ptr to_it    = send(LARGE, TAG + 1);
    double start      = ri_clock_now();

    deliver_all();
    progress_both(3);
    deliver_all();
    progress_both(3);
    check(other, to_it);
    ASSERT_EQ(RI_RTR_QUEUED, rtr(r));
    while (rtr(r) == RI_RTR_QUEUED) {
        ASSERT_TRUE(ri_worker_has_work(m_b->worker()));
        m_b->progress();
        if (m_b->worker()->rtr.ud_after != 0) {
            EXPECT_EQ(0u, m_b->worker()->rtr.turns) << "nobody is tried in vain";
        }
        ASSERT_LT(ri_clock_now(), start + 60);
    }
    EXPECT_LE(start + 0.02, ri_clock_now());
    deliver();
    send_ptr s = send();
    pump();
    check(r, s);
    EXPECT_EQ(0u, m_b->worker()->rtr.ud_takes);
}

/* No queue pair is left for an offer: it waits, and holds nobody up. */
TEST_F(test_rtr_ud, none_is_free)
{
    m_b_ud->qps   = 1;
    m_a_ud->holds = true;
    recv_ptr r1   = post_seen();
    send_ptr s1   = send();
    pump();
    recv_ptr r2 = post();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r2));
    m_a_ud->holds = false;
    pump();
    EXPECT_EQ(RI_RTR_BY_UD, rtr(r2));
    send_ptr s2 = send();
    pump();
    check(r1, s1);
    check(r2, s2);
    check_rtrs(2, 2);
}

/* A message whose RTS has come keeps its queue pair. */
TEST_F(test_rtr_ud, claimed)
{
    m_b_ud->qps   = 1;
    recv_ptr r    = post_seen();
    m_a_ud->holds = m_a_ud->silent = true;
    send_ptr s                     = send();
    deliver();
    recv_ptr other = post(LARGE, TAG + 1);
    send_ptr to_it = send(LARGE, TAG + 1);
    pump();
    EXPECT_EQ(0u, m_b_ud->withdrawn);
    EXPECT_FALSE(r->done || other->done);
    m_a_ud->holds = false;
    pump();
    check(r, s);
    check(other, to_it);
}

} // namespace
