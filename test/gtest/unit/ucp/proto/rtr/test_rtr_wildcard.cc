/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives with RTRs, ahead of and behind others of any tag. (src/ucp/proto/rtr/rtr.c,
 * protocol-rndv.md section 3)
 */

#include "rtr_test.h"

namespace {

class test_rtr_wildcard : public rtr_test {};

TEST_F(test_rtr_wildcard, wildcard_ahead_suspends)
{
    for (size_t length : {EAGER, MEDIUM, LARGE}) {
        recv_ptr any = m_b->recv(0, 0, LARGE), r = post();

        EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
        m_b->progress();
        EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
        send_ptr s1 = send(length), s2 = send();
        pump();
        check(any, s1);
        check(r, s2);
        restart();
    }
}

TEST_F(test_rtr_wildcard, wildcard_ahead_gets_its_message)
{
    for (size_t length : {EAGER, LARGE}) {
        recv_ptr any = m_b->recv(0, 0, LARGE), r = post();
        progress_both(); /* nothing is left to do */
        EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
        send_ptr s1 = m_a->send(m_conn, pattern(1, length), 2);
        progress_both(3);
        check(any, s1);
        EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
        m_a->progress();
        send_ptr s2 = send();
        EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r));
        pump();
        check(r, s2);
        restart();
    }
}

TEST_F(test_rtr_wildcard, wildcard_ahead_is_cancelled)
{
    recv_ptr any = m_b->recv(0, 0, LARGE), r = post();

    progress_both();
    cancel(any);
    progress_both(3);
    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
    cancel(r);
}

TEST_F(test_rtr_wildcard, many_wait_for_one_wildcard)
{
    std::vector<recv_ptr> r;
    recv_ptr any = m_b->recv(0, 0, 8);

    for (unsigned i = 0; i < 20; ++i) {
        r.push_back(post());
    }
    progress_both();
    check_rtrs(0, 0);
    send_ptr s0 = m_a->send(m_conn, bytes(8), 2);
    progress_both(10);
    check(any, s0);
    check_rtrs(20, 0);
    for (unsigned i = 0; i < 20; ++i) {
        send_ptr s = send();
        pump();
        check(r[i], s);
    }
}

TEST_F(test_rtr_wildcard, wildcard_behind)
{
    recv_ptr r = post(), any = m_b->recv(0, 0, LARGE);
    m_a->progress();
    send_ptr s1 = send(), s2 = send();
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r));
    pump();
    check(r, s1);
    check(any, s2);
}

} // namespace
