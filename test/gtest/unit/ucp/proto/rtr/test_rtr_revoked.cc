/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/rtr/rtr_revoked.c: offers that are withdrawn, as their receive is cancelled or
 * another sender has a message for it. (protocol-rndv.md section 4)
 */

#include "rtr_net_test.h"

namespace {

class test_rtr_revoked : public rtr_net_test {};

/*
 * Cancel
 */

TEST_F(test_rtr_revoked, cancel)
{
    recv_ptr r = post_seen();
    m_b->cancel(r);
    EXPECT_FALSE(r->done) << "the sender has to be asked";
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_REVOKE));
    deliver_all();
    EXPECT_EQ(0u, waiting());
    check_canceled(r);
    send_ptr s = send();
    EXPECT_EQ(0u, m_a_rdma->writes);
    r = post();
    pump();
    check(r, s);
}

/* REVOKE and what it is about cross. */
TEST_F(test_rtr_revoked, cancel_too_late)
{
    recv_ptr r = post_seen();
    send_ptr s = send();
    m_b->cancel(r);
    m_b->cancel(r);
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_REVOKE));
    deliver_all();
    EXPECT_EQ(RI_RTR_KEY_USED, rtr(r));
    m_b->cancel(r);
    EXPECT_FALSE(r->done);
    pump();
    check(r, s);
    check_rtrs(1, 1);

    r = post_seen();
    s = send();
    m_b->cancel(r);
    progress_both(5); /* told before the answer */
    check(r, s);
    pump();

    r = post_seen();
    s = send(8); /* in another form */
    m_b->cancel(r);
    deliver(m_ab, 0);
    check(r, s);
    uint64_t stale = m_b->counters().rx_stale;
    pump();
    EXPECT_EQ(stale + 1, m_b->counters().rx_stale) << "the answer";
}

/* REVOKE overtakes its RTR. */
TEST_F(test_rtr_revoked, revoke_first)
{
    recv_ptr r = post();
    m_b->cancel(r);
    ASSERT_EQ(2u, m_ba->sent.size());
    deliver(m_ba, 1);
    deliver(m_ab, 0);
    check_canceled(r);
    deliver_all();
    EXPECT_EQ(0u, waiting()) << "the RTR is void";
}

/* A receive that later ones count, though it has no RTR itself */
TEST_F(test_rtr_revoked, cancel_with_dependents)
{
    recv_ptr r1 = post(EAGER), r2 = post(), r3 = post();
    deliver_all();
    EXPECT_EQ(2u, waiting());
    m_b->cancel(r1);
    EXPECT_EQ(2u, m_ba->count(RI_WIRE_REVOKE));
    deliver(m_ba, 0);
    deliver_all();
    check_canceled(r1);
    EXPECT_FALSE(r2->done || r3->done);
    pump(); /* they are offered anew */
    EXPECT_EQ(2u, waiting());
    send_ptr s2 = send(), s3 = send();
    pump();
    check(r2, s2);
    check(r3, s3);
    EXPECT_EQ(2u, m_a_rdma->writes);

    /* One of them was used: so r1's message is on its way */
    r1          = post(EAGER);
    r2          = post_seen();
    send_ptr s1 = send(8);
    s2          = send();
    m_b->cancel(r1);
    deliver(m_ba, 0);
    deliver(m_ab, 1);
    EXPECT_EQ(RI_RTR_KEY_USED, rtr(r2));
    EXPECT_FALSE(r1->done);
    pump();
    check(r1, s1);
    check(r2, s2);
}

/* Nothing is offered while that is not decided. */
TEST_F(test_rtr_revoked, no_offer_while_canceling)
{
    recv_ptr r1 = post_seen();
    m_b->cancel(r1);
    recv_ptr r2 = post();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r2));
    m_b->progress();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r2));
    deliver_all();
    check_canceled(r1);
    m_b->progress();
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(r2));
    deliver_all();
    send_ptr s = send();
    pump();
    check(r2, s);
    EXPECT_EQ(1u, m_a_rdma->writes);
}

/* A cancel that cannot be asked about ends the way, and is decided at once. */
TEST_F(test_rtr_revoked, cancel_without_a_way_out)
{
    recv_ptr r     = post_seen();
    m_back->status = UCS_ERR_CONNECTION_RESET;
    m_b->cancel(r);
    check_canceled(r);
    EXPECT_EQ(RI_WAY_FAILED, stream()->peer->way.state);
    m_back->status = UCS_OK;
    pump();
}

/*
 * Other senders
 */

TEST_F(test_rtr_revoked, contested_and_revoked)
{
    second();
    recv_ptr r = post_seen();
    send_ptr s = send2(8), s3 = send2(8);
    while (!m_ab2->sent.empty()) {
        deliver(m_ab2, 0);
    }
    EXPECT_FALSE(r->done) << "it may be the first sender's";
    EXPECT_TRUE(stream2()->stalled);
    EXPECT_EQ(0u, m_b->worker()->match.num_unexpected);
    recv_ptr probe = m_b->recv(TAG + 1, ALL, 8); /* does not see them either */
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_REVOKE));
    pump();
    check(r, s);
    recv_ptr r3 = post();
    check(r3, s3);
    m_b->cancel(probe);
    EXPECT_EQ(0u, malformed());
}

TEST_F(test_rtr_revoked, contested_and_used)
{
    second();
    recv_ptr r  = post_seen();
    send_ptr s  = send();
    send_ptr s2 = send2(MEDIUM), s3 = send2(8);
    while (!m_ab2->sent.empty()) {
        deliver(m_ab2, 0);
    }
    EXPECT_TRUE(stream2()->stalled);
    recv_ptr r2 = post(), r3 = post();
    pump();
    check(r, s);
    check(r2, s2);
    check(r3, s3);
}

/* ... by messages of the process to itself */
TEST_F(test_rtr_revoked, contested_by_itself)
{
    endpoint *ep    = m_b->new_endpoint(m_b.get());
    ri_conn_t *self = m_b->connect(ep, RECEIVER);
    ASSERT_TRUE(self->flags & RI_CONN_SELF);
    for (size_t length : {(size_t)8, LARGE}) {
        for (bool used : {false, true}) {
            recv_ptr r = post_seen(), r2, r3;
            send_ptr s = used ? send() : nullptr;
            send_ptr o = m_b->send(self, pattern(++m_seed, length), TAG);
            send_ptr p = m_b->send(self, pattern(++m_seed, 8), TAG);
            EXPECT_FALSE(r->done);
            r2 = post();
            r3 = used ? post() : nullptr;
            pump();
            check(r, used ? s : o);
            check(r2, used ? o : p);
            if (used) {
                check(r3, p);
            }
            EXPECT_TRUE(o->done && p->done);
        }
    }
    /* given up while it waits */
    recv_ptr r = post_seen();
    send_ptr o = m_b->send(self, bytes(LARGE), TAG);
    ri_conn_fail(self, UCS_ERR_CANCELED);
    check_sent(o, UCS_ERR_CANCELED);
    deliver_all();
    m_b->cancel(r);
    pump();
    check_canceled(r);
}

} // namespace
