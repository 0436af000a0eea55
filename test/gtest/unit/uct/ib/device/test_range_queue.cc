/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/device/range_queue.[hc] */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace {

typedef std::multiset<std::pair<uintptr_t, uintptr_t>> ranges;

class test_range_queue : public ::testing::Test {
protected:
    /* What is taken out; what it says goes to m_lost */
    ranges drain()
    {
        ranges result;

        m_lost = ri_range_queue_drain(
                &m_queue,
                [](uintptr_t start, uintptr_t end, void *arg) {
                    static_cast<ranges *>(arg)->emplace(start, end);
                },
                &result);
        return result;
    }

    ri_range_queue_t m_queue = {};
    bool m_lost              = false;
};

TEST_F(test_range_queue, push_and_drain)
{
    EXPECT_EQ(ranges(), drain());
    ri_range_queue_push(&m_queue, 1, 2);
    ri_range_queue_push(&m_queue, 5, 9);
    ri_range_queue_push(&m_queue, 1, 2);
    EXPECT_EQ((ranges{{1, 2}, {1, 2}, {5, 9}}), drain());
    EXPECT_EQ(ranges(), drain());
    EXPECT_FALSE(m_lost);
}

TEST_F(test_range_queue, full)
{
    for (int round = 0; round < 3; ++round) {
        for (uintptr_t i = 0; i < RI_RANGE_QUEUE_SIZE; ++i) {
            ri_range_queue_push(&m_queue, i, i + 1);
        }
        EXPECT_EQ(size_t(RI_RANGE_QUEUE_SIZE), drain().size());
        EXPECT_FALSE(m_lost);
    }
}

TEST_F(test_range_queue, overflow)
{
    for (uintptr_t i = 0; i <= RI_RANGE_QUEUE_SIZE; ++i) {
        ri_range_queue_push(&m_queue, i, i + 1);
    }
    EXPECT_EQ(1u, drain().count({0, UINTPTR_MAX}));
    EXPECT_TRUE(m_lost);
    EXPECT_EQ(ranges(), drain());

    ri_range_queue_push(&m_queue, 7, 8);
    EXPECT_EQ((ranges{{7, 8}}), drain()) << "it goes on as before";
    EXPECT_FALSE(m_lost);
}

/* A push inside of a drain, as from a signal handler, is there at the next one at last */
TEST_F(test_range_queue, push_inside_of_drain)
{
    struct context {
        ri_range_queue_t *queue;
        ranges seen;
    } context = {&m_queue, {}};

    ri_range_queue_push(&m_queue, 1, 2);
    for (int i = 0; i < 2; ++i) {
        ri_range_queue_drain(
                &m_queue,
                [](uintptr_t start, uintptr_t end, void *arg) {
                    auto c = static_cast<struct context *>(arg);

                    if (start == 1) {
                        ri_range_queue_push(c->queue, 3, 4);
                    }
                    c->seen.emplace(start, end);
                },
                &context);
    }
    EXPECT_EQ((ranges{{1, 2}, {3, 4}}), context.seen);
}

/* Each thread leaves a range and then looks whether a drain after that has had it */
TEST_F(test_range_queue, threads)
{
    static constexpr uintptr_t threads = 4, count = 20000;
    std::vector<std::thread> all;
    std::unique_ptr<std::atomic<bool>[]> seen(new std::atomic<bool>[threads * count]());
    pthread_mutex_t lock    = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<int> missed = {}, wrong = {};

    for (uintptr_t t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            struct context {
                std::atomic<bool> *seen;
                std::atomic<int> *wrong;
                bool everything;
            } context = {seen.get(), &wrong, false};

            for (uintptr_t i = t * count; i < (t + 1) * count; ++i) {
                auto func = [](uintptr_t start, uintptr_t end, void *arg) {
                    auto c = static_cast<struct context *>(arg);

                    if (end == UINTPTR_MAX) {
                        c->everything = true;
                    } else if ((start >= threads * count) || (end != start + 1) ||
                               c->seen[start].exchange(true)) {
                        ++*c->wrong;
                    }
                };
                ri_range_queue_push(&m_queue, i, i + 1);
                pthread_mutex_lock(&lock);
                ri_range_queue_drain(&m_queue, func, &context);
                missed += !seen[i];
                pthread_mutex_unlock(&lock);
            }
            EXPECT_FALSE(context.everything) << "there are fewer threads than places";
        });
    }
    for (auto &thread : all) {
        thread.join();
    }
    EXPECT_EQ(0, missed);
    EXPECT_EQ(0, wrong);
}

} // namespace
