/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/gate.c: who is inside together, in which order users come in, and that nobody stays
 * outside. */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace {

enum {
    GIVE_UP = 7
};

/* A wait that is told how often it may be called. */
struct patience {
    int calls;
    std::function<void()> on_call;
};

int be_patient(void *arg)
{
    patience *p = static_cast<patience *>(arg);

    if (p->on_call) {
        p->on_call();
    }
    return (p->calls-- > 0) ? 0 : GIVE_UP;
}

class test_gate : public ::testing::Test {
protected:
    int enter(ri_gate_kind_t kind, int is_alone = 0, int calls = 0)
    {
        patience p = {calls, nullptr};

        return ri_gate_enter(&m_gate, kind, is_alone, be_patient, &p);
    }

    int join(ri_gate_kind_t kind, int calls = 0)
    {
        patience p = {calls, nullptr};

        return ri_gate_join(&m_gate, kind, be_patient, &p);
    }

    ri_gate_t m_gate{0};
};

TEST_F(test_gate, one_kind_is_inside_together)
{
    EXPECT_EQ(0, enter(RI_GATE_A));
    EXPECT_EQ(0, enter(RI_GATE_A));
    ri_gate_leave(&m_gate, RI_GATE_A);
    ri_gate_leave(&m_gate, RI_GATE_A);
    EXPECT_EQ(0, enter(RI_GATE_B));
    EXPECT_EQ(0, enter(RI_GATE_B));
}

/* One who looks at the gate now and then, and does not wait there. */
TEST_F(test_gate, a_ticket_is_tried_again)
{
    uint64_t first, second, third;

    EXPECT_TRUE(ri_gate_take(&m_gate, RI_GATE_B, 1, &first));
    EXPECT_FALSE(ri_gate_take(&m_gate, RI_GATE_A, 0, &second));
    EXPECT_FALSE(ri_gate_take(&m_gate, RI_GATE_B, 1, &third));
    EXPECT_FALSE(ri_gate_try(&m_gate, RI_GATE_A, 0, second));
    ri_gate_leave(&m_gate, RI_GATE_B);
    EXPECT_FALSE(ri_gate_try(&m_gate, RI_GATE_B, 1, third)); /* it is not its turn */
    EXPECT_TRUE(ri_gate_try(&m_gate, RI_GATE_A, 0, second));
    EXPECT_FALSE(ri_gate_try(&m_gate, RI_GATE_B, 1, third));
    ri_gate_leave(&m_gate, RI_GATE_A);
    EXPECT_TRUE(ri_gate_try(&m_gate, RI_GATE_B, 1, third));
}

TEST_F(test_gate, one_who_joins_is_looked_at_again)
{
    EXPECT_EQ(0, enter(RI_GATE_A));
    ri_gate_push(&m_gate, RI_GATE_B);
    EXPECT_FALSE(ri_gate_is_joined(&m_gate, RI_GATE_B));
    EXPECT_EQ(GIVE_UP, enter(RI_GATE_A, 0, 3)); /* it is let in by nobody */
    ri_gate_leave(&m_gate, RI_GATE_A);
    EXPECT_TRUE(ri_gate_is_joined(&m_gate, RI_GATE_B));
}

TEST_F(test_gate, kinds_keep_each_other_out)
{
    EXPECT_EQ(0, enter(RI_GATE_A));
    EXPECT_EQ(GIVE_UP, enter(RI_GATE_B, 0, 5));
}

TEST_F(test_gate, alone)
{
    EXPECT_EQ(0, enter(RI_GATE_B, 1));
    EXPECT_EQ(GIVE_UP, enter(RI_GATE_B, 1, 5));
    m_gate = 0;
    EXPECT_EQ(0, enter(RI_GATE_A));
    EXPECT_EQ(GIVE_UP, enter(RI_GATE_B, 1, 5));
    m_gate = 0;
    EXPECT_EQ(0, enter(RI_GATE_B, 1));
    EXPECT_EQ(GIVE_UP, enter(RI_GATE_A, 0, 5));
}

/* One of kind A comes while B waits for A: it does not overtake. */
TEST_F(test_gate, nobody_overtakes)
{
    bool is_tried = false;
    patience p    = {3, [&]() {
                      if (!is_tried) {
                          is_tried = true;
                          EXPECT_EQ(GIVE_UP, enter(RI_GATE_A));
                          ri_gate_leave(&m_gate, RI_GATE_A);
                      }
                  }};

    ASSERT_EQ(0, enter(RI_GATE_A));
    EXPECT_EQ(0, ri_gate_enter(&m_gate, RI_GATE_B, 0, be_patient, &p));
    EXPECT_TRUE(is_tried);
}

/* Who joins does not wait for who waits, and keeps the other kind out. */
TEST_F(test_gate, join)
{
    ASSERT_EQ(0, enter(RI_GATE_B));
    EXPECT_EQ(GIVE_UP, enter(RI_GATE_A)); /* its ticket stays in front */
    EXPECT_EQ(0, join(RI_GATE_B));
    ri_gate_leave(&m_gate, RI_GATE_B);
    ri_gate_leave(&m_gate, RI_GATE_B);

    m_gate = 0;
    ASSERT_EQ(0, enter(RI_GATE_A));
    patience p = {3, [&]() {
                      EXPECT_EQ(GIVE_UP,
                                enter(RI_GATE_A)); /* nobody of A comes in any more */
                      m_gate = uint64_t(1) << RI_GATE_B; /* and who was inside leaves */
                  }};
    EXPECT_EQ(0, ri_gate_join(&m_gate, RI_GATE_B, be_patient, &p));

    m_gate = 0;
    ASSERT_EQ(0, enter(RI_GATE_A));
    EXPECT_EQ(GIVE_UP, join(RI_GATE_B));
    EXPECT_EQ(0, enter(RI_GATE_A)); /* who has given up keeps nobody out */
}

/* Numbers of 16 bits wrap within their bits. */
TEST_F(test_gate, tickets_wrap)
{
    for (int i = 0; i < 70000; ++i) {
        ASSERT_EQ(0, enter((i % 3) ? RI_GATE_A : RI_GATE_B, (i % 3) == 0));
        ri_gate_leave(&m_gate, (i % 3) ? RI_GATE_A : RI_GATE_B);
    }
    EXPECT_EQ(0u, m_gate >> 32);
}

/* Threads that come and go, as they like: what they see inside is what may be there. */
TEST_F(test_gate, random_threads)
{
    std::atomic<int> a{0}, b{0};
    std::vector<std::thread> threads;

    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t]() {
            rng random(100 + t);
            patience p = {1 << 30, []() { std::this_thread::yield(); }};

            for (int i = 0; i < 3000; ++i) {
                if (random.below(2)) {
                    ASSERT_EQ(0, ri_gate_enter(&m_gate, RI_GATE_A, 0, be_patient, &p));
                    ++a;
                    EXPECT_EQ(0, b);
                    --a;
                    ri_gate_leave(&m_gate, RI_GATE_A);
                } else {
                    ASSERT_EQ(0, ri_gate_enter(&m_gate, RI_GATE_B, 1, be_patient, &p));
                    EXPECT_EQ(1, ++b);
                    EXPECT_EQ(0, a);
                    --b;
                    ri_gate_leave(&m_gate, RI_GATE_B);
                }
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(0u, m_gate >> 32);
}

} // namespace
