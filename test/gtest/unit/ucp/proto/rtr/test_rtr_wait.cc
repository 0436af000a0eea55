/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that wait with their RTR: nothing is looked at before something has changed, and none is
 * forgotten when it has. (src/ucp/proto/rtr/rtr.c and rtr_state.c) The tests run
 * src/ucp/proto/rtr/rtr_deep.c and src/ucp/proto/rtr/rtr_queue.c, too.
 */

#include "rtr_wait_test.h"

namespace {

/* What has nothing to do with any RTR */

TEST_F(test_rtr_wait, other_messages_with_an_rtr_out)
{
    recv_ptr r = post_seen();

    for (size_t length : {(size_t)0, (size_t)8, EAGER, (size_t)5000}) {
        for (uint64_t mask : {ALL, LOW}) {
            recv_ptr one = m_b->recv(2, mask, length), two = m_b->recv(2, mask, length);

            message(2, length);
            message(2, length);
            EXPECT_TRUE(one->done && two->done);
            EXPECT_EQ(length, two->info.length);
        }
    }
    EXPECT_EQ(RI_RING_GRANT_OUT, state(r));
    send_ptr s = send();
    pump();
    check(r, s);
    check_rtrs(1, 1);
}

TEST_F(test_rtr_wait, other_messages_do_not_wake)
{
    recv_ptr any = m_b->recv(HIGH, HIGH, LARGE);
    std::vector<recv_ptr> r;

    expect(HIGH | TAG, ALL, stream());
    for (unsigned i = 0; i < 5; ++i) {
        r.push_back(wait(HIGH | TAG));
        EXPECT_TRUE(is_aside(r[i]));
    }
    for (size_t length : {(size_t)8, (size_t)5000, LARGE}) {
        for (uint64_t mask : {ALL, LOW}) { /* of the same class as the others, and not */
            recv_ptr one = m_b->recv(2, mask, length);

            message(2, length);
            EXPECT_TRUE(one->done);
            EXPECT_EQ(0, m_b->worker()->rtr.retry);
        }
    }
    for (const recv_ptr &one : r) {
        EXPECT_TRUE(is_aside(one));
    }
    message(HIGH);
    EXPECT_TRUE(any->done);
    expect_out(r);
    cancel_all(r);
}

/* Behind a receive of another mask */

TEST_F(test_rtr_wait, for_one_that_gets_a_message)
{
    const size_t lengths[] = {0, 8, EAGER, 5000, MEDIUM, LARGE, GIANT};

    for (size_t length : lengths) {
        for (size_t room : {(size_t)8, LARGE}) { /* truncated, or not */
            for (bool am : {false, true}) {
                recv_ptr any            = m_b->recv(0, 0, room);
                std::vector<recv_ptr> r = {wait(), wait(), wait()};

                progress();
                m_conn->flags |= am ? RI_CONN_BEHIND_RMA : 0;
                ri_conn_update_fast(m_conn);
                m_a->send(m_conn, bytes(length), 2);
                m_conn->flags &= ~RI_CONN_BEHIND_RMA;
                ri_conn_update_fast(m_conn);
                pump();
                EXPECT_TRUE(any->done);
                expect_out(r);
                cancel_all(r);
            }
        }
    }
}

/* ... whose turn comes with another one. */
TEST_F(test_rtr_wait, for_one_that_gets_an_early_message)
{
    recv_ptr first = m_b->recv(2, ALL, 8), any = m_b->recv(HIGH, HIGH, 8);

    expect(HIGH | TAG, ALL, stream());
    recv_ptr r = wait(HIGH | TAG);
    m_conn->flags |= RI_CONN_BEHIND_RMA;
    ri_conn_update_fast(m_conn);
    m_a->send(m_conn, bytes(8), 2);
    m_conn->flags &= ~RI_CONN_BEHIND_RMA;
    ri_conn_update_fast(m_conn);
    message(HIGH);
    EXPECT_FALSE(any->done);
    pump();
    EXPECT_TRUE(first->done && any->done);
    expect_out({r});
    cancel(r);
}

TEST_F(test_rtr_wait, for_one_that_is_cancelled)
{
    recv_ptr any            = m_b->recv(0, 0, LARGE);
    std::vector<recv_ptr> r = {wait(), wait()};

    cancel(any);
    expect_out(r);
    cancel_all(r);
}

/* One after the other, from either end */
TEST_F(test_rtr_wait, for_several)
{
    for (bool forward : {true, false}) {
        recv_ptr any[] = {m_b->recv(0, 0, 8), m_b->recv(0, 0, 8), m_b->recv(TAG, LOW, 8)};
        std::vector<recv_ptr> r = {wait(), wait()};

        for (unsigned i = 0; i < 3; ++i) {
            progress();
            for (const recv_ptr &one : r) {
                EXPECT_TRUE(is_aside(one));
            }
            cancel(any[forward ? i : 2 - i]);
        }
        expect_out(r);
        cancel_all(r);
    }
}

/* ... that waits itself */
TEST_F(test_rtr_wait, for_one_that_waits)
{
    expect(TAG, LOW, stream());
    recv_ptr any = m_b->recv(0, 0, 8), middle = m_b->recv(TAG, LOW, LARGE), r = wait();

    EXPECT_TRUE(is_aside(middle));
    cancel(any);
    progress();
    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(middle));
    EXPECT_TRUE(is_aside(r));
    cancel(middle);
    expect_out({r});
    cancel(r);

    any = m_b->recv(0, 0, 8), middle = m_b->recv(TAG, LOW, LARGE), r = wait();
    cancel(middle);
    progress();
    EXPECT_TRUE(is_aside(r));
    cancel(any);
    expect_out({r});
    cancel(r);
}

/* Those that wait leave before. */
TEST_F(test_rtr_wait, and_leaves)
{
    for (unsigned leave = 0; leave < 8; ++leave) {
        recv_ptr any            = m_b->recv(0, 0, 8);
        std::vector<recv_ptr> r = {wait(), wait(), wait()}, left;

        for (unsigned i = 0; i < 3; ++i) {
            if (leave & (1 << i)) {
                cancel(r[i]);
            } else {
                left.push_back(r[i]);
            }
        }
        EXPECT_EQ(left.empty(), req(any)->waiters == nullptr);
        recv_ptr late = wait();
        left.push_back(late);
        message(2);
        EXPECT_TRUE(any->done);
        expect_out(left);
        cancel_all(left);
    }
}

/* Masks that find no class */
TEST_F(test_rtr_wait, for_one_of_the_list)
{
    std::vector<recv_ptr> other;

    for (unsigned i = 0; i < RI_MATCH_CLASSES; ++i) {
        other.push_back(m_b->recv(0x100ul << (4 * i), 0xf00ul << (4 * i), 8));
    }
    for (bool matched : {false, true}) {
        recv_ptr any = m_b->recv(TAG, 1, 8), r = post();

        ASSERT_EQ(nullptr, req(any)->mask_class);
        EXPECT_TRUE(is_aside(r));
        cancel_all(other);
        other.clear();
        progress();
        EXPECT_TRUE(is_aside(r));
        if (matched) {
            message(TAG);
            EXPECT_TRUE(any->done);
        } else {
            cancel(any);
        }
        expect_out({r});
        cancel(r);
        for (unsigned i = 0; i < RI_MATCH_CLASSES; ++i) {
            other.push_back(m_b->recv(0x100ul << (4 * i), 0xf00ul << (4 * i), 8));
        }
        if (req(other.back())->mask_class == nullptr) {
            break; /* ALL has kept its class */
        }
    }
    cancel_all(other);
}

/* A class that is too large to be looked through: too many receives, or of too many tags */
TEST_F(test_rtr_wait, for_a_large_class)
{
    for (bool tags : {false, true}) {
        std::vector<recv_ptr> other;

        expect(HIGH, HIGH, stream());
        for (unsigned i = 0; i < 100; ++i) {
            other.push_back(post(8, 2 + (tags ? i : 0)));
        }
        recv_ptr r = m_b->recv(HIGH, HIGH, LARGE);
        EXPECT_TRUE(is_aside(r));
        unsigned left = 100;
        while ((rtr(r) == RI_RTR_QUEUED) && (left > 0)) {
            if (left % 2) {
                message(2 + (tags ? 100 - left : 0));
            } else {
                cancel(other[100 - left]);
            }
            EXPECT_TRUE(other[100 - left]->done);
            --left;
            progress(2);
        }
        EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
        EXPECT_EQ(tags ? 0u : 64u, left);
        for (; left > 0; --left) {
            cancel(other[100 - left]);
        }
        cancel(r);
    }
}

/* Beside one whose RTR is out to another sender */

TEST_F(test_rtr_wait, for_the_rtr_of_another_sender)
{
    for (unsigned end = 0; end < 5; ++end) {
        SCOPED_TRACE(end);
        restart();
        second();
        recv_ptr r1 = post_seen();
        guess(stream2());
        recv_ptr r2 = wait(), r3 = wait();
        EXPECT_TRUE(is_aside(r2) && is_aside(r3));
        send_ptr s;

        switch (end) {
        case 0: /* used */
            s = send();
            pump();
            check(r1, s);
            break;
        case 1:
            cancel(r1);
            break;
        case 2: /* the other one's message takes it */
            s = send2(8);
            pump();
            check(r1, s);
            break;
        case 3: /* promised: the other one's message goes to the next */
            s = send();
            send2(8);
            pump();
            check(r1, s);
            EXPECT_TRUE(r2->done);
            break;
        default: /* its stream ends */
            ri_stream_break(stream(), "a test");
            break;
        }
        guess(stream2());
        progress();
        if (!r2->done) {
            EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r2));
            if (end != 0) { /* by which it has been learnt who sends */
                EXPECT_EQ(stream2(), req(r2)->rtr.stream);
            }
        }
        if (end != 2) { /* a short message: they may have lost their credit */
            EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r3));
        }
        for (const recv_ptr &r : {r1, r2, r3}) {
            if (!r->done) {
                cancel(r);
            }
        }
        pump();
        check_idle();
        stop();
        start();
    }
}

/* Too many */

TEST_F(test_rtr_wait, for_fewer_ahead)
{
    for (bool matched : {true, false}) {
        std::vector<recv_ptr> r;

        for (unsigned i = 0; i < 70; ++i) {
            r.push_back(post(EAGER));
        }
        recv_ptr last = wait();
        EXPECT_TRUE(is_aside(last));
        for (unsigned i = 0; i < 7; ++i) {
            EXPECT_EQ(RI_RTR_QUEUED, rtr(last));
            if (matched) {
                message(TAG);
                EXPECT_TRUE(r[i]->done);
            } else {
                cancel(r[40 + i]); /* in the middle */
            }
            progress(2);
        }
        EXPECT_EQ(RI_RTR_BY_GRANT, rtr(last));
        for (const recv_ptr &one : r) {
            if (!one->done) {
                cancel(one);
            }
        }
        cancel(last);
    }
}

/* They do not keep others of the same sender from having their turn, and have it all. */
TEST_F(test_rtr_wait, for_fewer_ahead_and_others)
{
    std::vector<recv_ptr> shorts, deep;

    expect(TAG + 1, ALL, stream());
    for (unsigned i = 0; i < 64; ++i) {
        shorts.push_back(post(EAGER));
    }
    for (unsigned i = 0; i < 10; ++i) {
        deep.push_back(wait());
    }
    recv_ptr other = post(LARGE, TAG + 1);
    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(other));
    cancel(deep[4]); /* while it waits */
    deep.erase(deep.begin() + 4);
    for (unsigned i = 0; i < deep.size(); ++i) {
        cancel(shorts[(i % 2) ? i : 63 - i]);
        progress(2);
        for (unsigned j = 0; j < deep.size(); ++j) {
            EXPECT_EQ((j <= i) ? RI_RTR_BY_GRANT : RI_RTR_QUEUED, rtr(deep[j])) << i << j;
        }
    }
    EXPECT_EQ(nullptr, m_b->worker()->rtr.deep);
    for (const recv_ptr &one : shorts) {
        if (!one->done) {
            cancel(one);
        }
    }
    expect_out(deep);
    cancel_all(deep);
    cancel(other);
}

TEST_F(test_rtr_wait, for_a_grant)
{
    std::vector<recv_ptr> r;

    for (unsigned i = 0; i < RI_RING_GRANTS; ++i) {
        r.push_back(post());
    }
    recv_ptr last = wait(), behind = wait();
    progress();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(last));
    EXPECT_FALSE(is_aside(last));
    cancel(r[5]); /* the others are withdrawn, and are behind these two then */
    progress();
    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(last));
    cancel(behind);
    r.erase(r.begin() + 5);
    r.push_back(last);
    expect_out(r);
    m_a->progress();
    send_ptr s = send();
    pump();
    check(r[0], s);
    r.erase(r.begin());
    cancel_all(r);
}

/* ... which is free later than its receive leaves */
TEST_F(test_rtr_wait, for_a_grant_that_is_being_used)
{
    std::vector<recv_ptr> r = {post()};
    send_ptr s              = send();

    for (unsigned i = 1; i < RI_RING_GRANTS; ++i) {
        r.push_back(post());
    }
    recv_ptr last       = wait();
    m_a_plane->on_write = [&]() {
        progress();
        EXPECT_FALSE(req(r[0])->super.flags & RI_REQ_POSTED);
        EXPECT_EQ(RI_RTR_QUEUED, rtr(last));
        EXPECT_EQ(0, m_b->worker()->rtr.retry);
    };
    m_a->progress();
    m_a_plane->on_write = nullptr;
    EXPECT_FALSE(r[0]->done);
    m_b->progress();
    check(r[0], s);
    r.erase(r.begin());
    expect_out({last});
    cancel_all(r);
    cancel(last);
}

} // namespace
