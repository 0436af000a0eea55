/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/worker_progress.c: what a call of progress does while messages come through rings: the
 * calls that find nothing, and those that find a message and nothing else. */

#include "unit/common/setting.h"
#include "unit/ucp/link/ring_life_test.h"

extern "C" {
#include "ucp/run/worker_progress.h"
}

namespace {

class test_worker_progress_rings : public ring_life_test {
protected:
    void SetUp() override
    {
        ring_life_test::SetUp();
        ri_config.progress_skip = 8;
        m_a                     = add_node();
        m_b                     = add_node();
        exchange(m_a, m_b, 50);
        ASSERT_NE(nullptr, conn(m_a, m_b)->ring);
        m_worker = m_b->worker();
        ASSERT_EQ(1u, m_worker->num_rings);
        take_one();
        ASSERT_GT(m_worker->ring_credit, 500u);
        ASSERT_FALSE(ri_worker_is_busy(m_worker));
        m_worker->stock_credit = 0;
    }

    uint64_t skipped() { return m_b->counters().stock_skipped; }

    /* A message that one call of progress takes. */
    void take_one()
    {
        recv_ptr recv = m_b->recv(1, ~0ul, 8);

        m_a->send(conn(m_a, m_b), bytes(8), 1);
        EXPECT_GT(ri_worker_progress(m_worker), 0u);
        ASSERT_TRUE(recv->done);
        m_b->release_done();
    }

    setting<uint64_t> m_slow_ticks{ri_worker_slow_ticks, UINT64_MAX};
    node *m_a;
    node *m_b;
    ri_worker_t *m_worker;
};

/* With messages of late, stock has its turn in each eighth call, whatever the call finds. */
TEST_F(test_worker_progress_rings, stock_has_its_turn)
{
    uint64_t before = skipped();

    for (int i = 0; i < 80; ++i) {
        ri_worker_progress(m_worker);
    }
    EXPECT_EQ(before + 70, skipped());
    for (int i = 0; i < 80; ++i) {
        take_one();
    }
    EXPECT_EQ(before + 140, skipped());

    /* UCX has something as well */
    m_worker->stock_credit = 1000;
    for (int i = 0; i < 80; ++i) {
        ri_worker_progress(m_worker);
    }
    EXPECT_EQ(before + 140, skipped());
}

/* A process that computes calls progress once in a while, one time or several times in a row: stock has
 * its turn each time. The clock that is read next sees the gap. */
TEST_F(test_worker_progress_rings, calls_that_come_seldom)
{
    for (int in_a_row : {1, 2, 3, 5}) {
        int with_stock = 0;

        for (int i = 0; i < 40; ++i) {
            uint64_t skipped_before = skipped();

            ri_worker_slow_ticks = 0;
            for (int call = 0; call < in_a_row; ++call) {
                uint64_t timed = m_worker->skipped_ticks;

                ri_worker_progress(m_worker);
                if (m_worker->skipped_ticks != timed) {
                    ri_worker_slow_ticks = UINT64_MAX;
                }
            }
            with_stock += (skipped() - skipped_before < (uint64_t)in_a_row);
        }
        EXPECT_GE(with_stock, 39) << in_a_row << " in a row";
        ri_worker_slow_ticks = UINT64_MAX;
        take_one();
    }
}

/* The first of several calls that find a message leaves stock to those that follow, and does not
 * count. The second one counts: a process that calls progress for messages only must not forget
 * stock. Nor is stock left alone where it has something, or where its time was not measured. */
TEST_F(test_worker_progress_rings, first_message_leaves_stock)
{
    m_worker->stock_timed = 1;
    for (int i = 0; i < 20; ++i) {
        m_worker->stock_skipped = 7; /* the next one that counts has stock's turn */
        ri_worker_progress(m_worker);
        EXPECT_EQ(0u, m_worker->stock_skipped);
        m_worker->stock_skipped = 7;

        uint64_t before = skipped();
        uint64_t timed  = m_worker->skipped_ticks;
        take_one();
        EXPECT_EQ(before + 1, skipped());
        EXPECT_EQ(7u, m_worker->stock_skipped);
        EXPECT_EQ(timed, m_worker->skipped_ticks);
        EXPECT_GT(m_worker->ring_credit, 500u);
        for (int more = 0; more < 3; ++more) {
            m_worker->stock_skipped = 7;
            take_one();
            EXPECT_EQ(0u, m_worker->stock_skipped);
        }
        EXPECT_EQ(before + 1, skipped());
    }

    for (bool has_credit : {true, false}) {
        ri_worker_progress(m_worker);
        m_worker->stock_skipped = 7;
        m_worker->stock_credit  = has_credit ? 10 : 0;
        m_worker->stock_timed   = has_credit;
        take_one();
        EXPECT_EQ(0u, m_worker->stock_skipped) << has_credit;
        EXPECT_TRUE(m_worker->stock_timed);
        m_worker->stock_credit = 0;
    }

    ri_config.progress_skip = 1; /* stock has its turn in each call */
    ri_worker_progress(m_worker);
    uint64_t before = skipped();
    take_one();
    EXPECT_EQ(before, skipped());
}

/* Messages are forgotten after many calls without one. */
TEST_F(test_worker_progress_rings, credit_ends)
{
    while (m_worker->ring_credit > 0) {
        ri_worker_progress(m_worker);
    }
    uint64_t before = skipped();

    for (int i = 0; i < 80; ++i) {
        ri_worker_progress(m_worker);
    }
    EXPECT_EQ(before, skipped());
    take_one();
    EXPECT_GT(m_worker->ring_credit, 500u);
}

/* Housekeeping comes when its time has come, in calls of either kind. */
TEST_F(test_worker_progress_rings, housekeeping_comes)
{
    for (bool with_messages : {false, true}) {
        m_worker->countdown = 5;
        for (int i = 1; i < 5; ++i) {
            with_messages ? take_one() : (void)ri_worker_progress(m_worker);
            EXPECT_EQ(5u - i, m_worker->countdown);
        }
        with_messages ? take_one() : (void)ri_worker_progress(m_worker);
        EXPECT_EQ(unsigned(RI_WORKER_HOUSEKEEPING), m_worker->countdown);
        EXPECT_TRUE(m_worker->stock_timed);
    }
}

/* What a message's callback leaves to be done is done in the same call. */
TEST_F(test_worker_progress_rings, what_comes_up_has_its_turn)
{
    recv_ptr recv = m_b->recv(1, ~0ul, 8, [this] { m_worker->attention = 1; });

    m_a->send(conn(m_a, m_b), bytes(8), 1);
    ri_worker_progress(m_worker);
    EXPECT_TRUE(recv->done);
    EXPECT_FALSE(m_worker->attention) << "it was looked at, and there was nothing";
    m_b->release_done();
}

} // namespace
