/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cancel of receives with RTRs. (src/ucp/proto/rtr/rtr.c, protocol-rndv.md section 3)
 */

#include "rtr_test.h"

namespace {

class test_rtr_cancel : public rtr_test {};

TEST_F(test_rtr_cancel, cancel_not_used)
{
    for (bool seen : {true, false}) {
        recv_ptr r = seen ? post_seen() : post();
        cancel(r);
        m_a->progress();
        bytes before = r->buffer;
        send_ptr s   = send();
        EXPECT_EQ(0u, waiting());
        pump();
        EXPECT_EQ(before, r->buffer);
        recv_ptr r2 = post();
        pump();
        check(r2, s);
        check_rtrs(1, 0);
    }
    EXPECT_EQ(0u, m_a_plane->writes);
}

/* The grant is another receive's when the RTR arrives. */
TEST_F(test_rtr_cancel, cancel_and_the_grant_is_given_again)
{
    recv_ptr r = post();
    cancel(r);
    recv_ptr r2 = post(), r3 = post(); /* of one grant, the others */
    EXPECT_EQ(0u, req(r2)->rtr.index);
    m_a->progress();
    send_ptr s2 = send(), s3 = send();
    EXPECT_EQ(bytes(LARGE), r->buffer);
    pump();
    check(r2, s2);
    check(r3, s3);
    check_rtrs(3, 2);
}

TEST_F(test_rtr_cancel, cancel_counts_for_those_behind)
{
    for (unsigned which : {0, 1, 2}) {
        std::vector<recv_ptr> r = {post(), post(), post()};
        m_a->progress();
        EXPECT_EQ(3u, waiting());
        cancel(r[which]);
        r.erase(r.begin() + which);
        progress_both(5);
        for (const recv_ptr &left : r) {
            EXPECT_EQ(RI_RTR_BY_GRANT, rtr(left));
        }
        send_ptr s1 = send(), s2 = send(), s3 = send();
        pump();
        check(r[0], s1);
        check(r[1], s2);
        check_rtrs(3 + 2 - which, 2);
        recv_ptr last = post();
        pump();
        check(last, s3);
        check_rtrs(0, 0);
    }
}

TEST_F(test_rtr_cancel, cancel_queued)
{
    recv_ptr any = m_b->recv(0, 0, 8), r = post();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
    cancel(r);
    cancel(any);
    check_rtrs(0, 0);
}

TEST_F(test_rtr_cancel, cancel_written)
{
    recv_ptr r = post_seen();
    send_ptr s = send();

    cancel_in_vain(r);
    cancel_in_vain(r);
    m_b->progress();
    check(r, s);
    m_b->cancel(r);
    check_rtrs(1, 1);
}

TEST_F(test_rtr_cancel, cancel_in_the_middle_of_the_write)
{
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        recv_ptr r              = post_seen();
        m_a_plane->write_status = status;
        m_a_plane->on_write     = [&]() {
            EXPECT_EQ(RI_RING_GRANT_USED, state(r));
            cancel_in_vain(r);
        };
        send_ptr s              = send();
        m_a_plane->on_write     = nullptr;
        m_a_plane->write_status = UCS_OK;
        cancel_in_vain(r);
        pump();
        check(r, s);
        check_sent(s);
    }
}

TEST_F(test_rtr_cancel, cancel_of_one_that_a_used_one_depends_on)
{
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        recv_ptr small = post(EAGER), between = post(EAGER), large = post();
        m_a->progress();
        send_ptr s1 = send(8), s2 = send(8);
        m_a_plane->write_status = status;
        send_ptr s3             = send();
        m_a_plane->write_status = UCS_OK;
        EXPECT_EQ((status == UCS_OK) ? RI_RING_GRANT_WRITTEN : RI_RING_GRANT_FAILED,
                  state(large));
        cancel_in_vain(small);
        cancel_in_vain(between);
        cancel_in_vain(large);
        pump();
        check(small, s1);
        check(between, s2);
        check(large, s3);
        restart();
    }
}

/* Some of those behind can be withdrawn, one cannot. */
TEST_F(test_rtr_cancel, cancel_in_vain_and_rtrs_go_out_again)
{
    recv_ptr r1 = post(), r2 = post(), r3 = post();
    m_a->progress();
    send_ptr s1 = send(EAGER), s2 = send();
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r2));
    cancel_in_vain(r1);
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r1));
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r3));
    pump();
    check(r1, s1);
    check(r2, s2);
    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r3));
    send_ptr s3 = send();
    pump();
    check(r3, s3);
}

} // namespace
