/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Waiting for what a peer writes. (src/ucp/link/quiesce.c) */

#include "unit/common/pair_test.h"
#include "unit/fakes/quiesce_clock.h"

namespace {

class test_quiesce : public pair_test {
protected:
    void SetUp() override
    {
        pair_test::SetUp();
        meet();
        m_peer = m_back->peer;
        ::testing::internal::CaptureStderr();
    }

    void TearDown() override
    {
        log(); /* if it was not looked at */
        stop();
        pair_test::TearDown();
    }

    /* A peer that writes during the next @a left looks. */
    struct writing {
        unsigned long left;
        unsigned long looks;
    };

    static int is_writing(void *arg)
    {
        writing *w = static_cast<writing *>(arg);

        ++w->looks;
        return (w->left > 0) && (w->left-- > 0);
    }

    /* @return How often it was looked at. */
    unsigned long quiesce(unsigned long left, bool ends = true)
    {
        writing w = {left, 0};

        EXPECT_EQ(ends, !!ri_quiesce(m_peer, is_writing, &w));
        return w.looks;
    }

    /* @return How many complaints there were. */
    size_t log()
    {
        const std::string text = "does not go on";
        size_t count           = 0;

        if (m_logged) {
            return 0;
        }
        m_logged        = true;
        std::string all = ::testing::internal::GetCapturedStderr();
        for (size_t at = 0; (at = all.find(text, at)) != std::string::npos; ++at) {
            ++count;
        }
        return count;
    }

    static constexpr unsigned long FOR_EVER = ~0ul;

    quiesce_clock m_clock;
    ri_peer_t *m_peer;
    bool m_logged = false;
};

TEST_F(test_quiesce, ends)
{
    EXPECT_EQ(1u, quiesce(0)) << "nothing is written";
    EXPECT_EQ(2u, quiesce(1));
    EXPECT_EQ(10001u, quiesce(10000));
    EXPECT_EQ(0u, log());
}

TEST_F(test_quiesce, gone)
{
    m_peer->gone.is_ended = 1;
    EXPECT_EQ(101u, quiesce(100)) << "it may have ended by the next look";
    quiesce(FOR_EVER, false);
    EXPECT_EQ(0u, log());
}

/* It was stopped. What it seems to write besides is not waited for, but for a moment. */
TEST_F(test_quiesce, stopped)
{
    ri_quiesce_timeout = 0.01;
    EXPECT_LT(1u, quiesce(FOR_EVER, false));
    ri_quiesce_timeout = 1e9;
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_EQ(1025u, quiesce(FOR_EVER, false));
        EXPECT_EQ(101u, quiesce(100)) << "it goes on";
        ri_quiesce_timeout = 0.01;
        quiesce(FOR_EVER, false);
        ri_quiesce_timeout = 1e9;
    }
    EXPECT_EQ(6u, log());
}

/* Others have the processor, and it takes long until this process gets it again. All that ends
 * then has one time-out all the same, and who has ended is not waited for. */
TEST_F(test_quiesce, stopped_on_a_machine_with_other_work)
{
    m_clock.step       = 0.005;
    ri_quiesce_timeout = 10;
    double start       = m_clock.now;
    quiesce(FOR_EVER, false);
    EXPECT_LE(10, m_clock.now - start);
    EXPECT_GT(10.1, m_clock.now - start);
    for (unsigned i = 0; i < 2 * RI_RING_SLOTS; ++i) {
        quiesce(FOR_EVER, false);
    }
    EXPECT_GT(15, m_clock.now - start);
    EXPECT_EQ(2u, quiesce(1)) << "it goes on";
    EXPECT_EQ(1u, log());
}

TEST_F(test_quiesce, gone_on_a_machine_with_other_work)
{
    m_clock.step          = 0.005;
    m_peer->gone.is_ended = 1;
    double start          = m_clock.now;
    quiesce(FOR_EVER, false);
    EXPECT_GT(0.1, m_clock.now - start);
    EXPECT_EQ(0u, log());
}

/* Each peer for itself. */
TEST_F(test_quiesce, another_one_was_stopped)
{
    ri_quiesce_timeout = 0.01;
    quiesce(FOR_EVER, false);
    ri_quiesce_timeout = 1e9;
    m_peer             = m_conn->peer;
    EXPECT_EQ(10001u, quiesce(10000));
}

/* Later it may have gone on. */
TEST_F(test_quiesce, again_later)
{
    ri_quiesce_timeout = 0.01;
    quiesce(FOR_EVER, false);
    m_peer->given_up -= 10;
    ri_quiesce_timeout = 5;
    EXPECT_EQ(10001u, quiesce(10000));
    EXPECT_EQ(10001u, quiesce(10000));
    ri_quiesce_timeout = 0.01;
    quiesce(FOR_EVER, false);
    EXPECT_EQ(2u, log());
}

} // namespace
