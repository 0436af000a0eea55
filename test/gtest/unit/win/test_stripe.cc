/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/win/stripe.[hc]: locks of accumulates. A wait for one is the test's. */

#include "unit/common/rng.h"
#include "unit/common/setting.h"
#include "unit/win/win_cpp.h"

#if HAVE_WIN_MPICH

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

const size_t STRIPE = RI_WINDOW_STRIPE_SIZE;
const size_t ALL    = RI_WINDOW_STRIPES * STRIPE;

std::function<int(ri_window_wait_t *)> waited; /* @return As ri_window_wait() */

} // namespace

int ri_window_wait(void *arg)
{
    return waited(static_cast<ri_window_wait_t *>(arg));
}

namespace {

class test_stripe : public ::testing::Test {
protected:
    test_stripe()
    {
        m_window.rank = 5;
        waited        = [](ri_window_wait_t *) {
            ADD_FAILURE() << "nobody has it";
            return MPI_ERR_OTHER;
        };
    }

    ~test_stripe() override { waited = nullptr; }

    /* The rank that has a lock, or -1 */
    int holder(unsigned stripe) const
    {
        return (int)m_control->stripes[stripe].value.load() - 1;
    }

    void give(unsigned stripe, int rank) { m_control->stripes[stripe].value = rank + 1; }

    /* Those of this rank, as bits */
    ri_stripes_t own() const
    {
        ri_stripes_t stripes = 0;

        for (unsigned i = 0; i < RI_WINDOW_STRIPES; ++i) {
            stripes |= ri_stripes_t(holder(i) == m_window.rank) << i;
        }
        return stripes;
    }

    void lock(ri_stripes_t stripes)
    {
        ri_stripes_lock(&m_window, m_control.get(), stripes);
    }

    bool trylock(ri_stripes_t stripes)
    {
        return ri_stripes_trylock(m_window.rank, m_control.get(), stripes) != 0;
    }

    ri_window_t m_window = {};
    const std::unique_ptr<ri_window_control_t> m_control{new ri_window_control_t()};
};

/* Of which bytes */

TEST_F(test_stripe, of_bytes)
{
    EXPECT_EQ(1u, ri_stripes_between(0, 0));
    EXPECT_EQ(1u, ri_stripes_between(0, STRIPE - 1));
    EXPECT_EQ(3u, ri_stripes_between(STRIPE - 1, STRIPE));
    EXPECT_EQ(2u, ri_stripes_between(STRIPE, 2 * STRIPE - 1));
    EXPECT_EQ(1ul << 63, ri_stripes_between(ALL - 1, ALL - 1));
    EXPECT_EQ((1ul << 63) | 1, ri_stripes_between(ALL - 1, ALL))
            << "from the last to the first";
    EXPECT_EQ(~0ul, ri_stripes_between(0, ALL - 1));
    EXPECT_EQ(~1ul, ri_stripes_between(STRIPE, ALL - 1));
    EXPECT_EQ(~0ul, ri_stripes_between(1, ALL)) << "both ends are in the first";
    EXPECT_EQ(~0ul, ri_stripes_between(7, 100 * ALL));
    EXPECT_EQ(~0ul, ri_stripes_between(0, SIZE_MAX));
}

TEST_F(test_stripe, of_addresses)
{
    char memory[1];
    ri_window_part_t part = {};

    part.base = memory;
    EXPECT_EQ(1u, ri_stripes_of(&part, (uintptr_t)memory, 1));
    EXPECT_EQ(1u, ri_stripes_of(&part, (uintptr_t)memory, STRIPE));
    EXPECT_EQ(3u, ri_stripes_of(&part, (uintptr_t)memory, STRIPE + 1));
    EXPECT_EQ(6u, ri_stripes_of(&part, (uintptr_t)memory + STRIPE + 9, STRIPE));
}

/* Each byte has one, and no others are taken. */
TEST_F(test_stripe, of_random_bytes)
{
    for_seeds(500, [](rng &random) {
        size_t first = random.below(3 * ALL);
        size_t last  = first + random.below(random.percent(50) ? 5 * STRIPE : ALL + 9);
        ri_stripes_t expected = 0;

        for (size_t at = first; at <= last; ++at) {
            expected |= 1ul << (at / STRIPE % RI_WINDOW_STRIPES);
        }
        ASSERT_EQ(expected, ri_stripes_between(first, last)) << first << " to " << last;
    });
}

/* Taken, and given back */

TEST_F(test_stripe, locks)
{
    const ri_stripes_t stripes = 0x8000100000000005;

    lock(stripes);
    EXPECT_EQ(stripes, own());
    lock(2);
    EXPECT_EQ(stripes | 2, own());
    ri_stripes_unlock(m_control.get(), stripes);
    EXPECT_EQ(2u, own());
    ri_stripes_unlock(m_control.get(), 2);
    lock(~0ul);
    EXPECT_EQ(~0ul, own());
    ri_stripes_unlock(m_control.get(), ~0ul);
    EXPECT_EQ(0u, own());
}

TEST_F(test_stripe, all_or_none_is_taken)
{
    give(40, 3);
    EXPECT_FALSE(trylock((1ul << 40) | (1ul << 63) | 7));
    EXPECT_EQ(0u, own());
    EXPECT_EQ(3, holder(40));
    EXPECT_TRUE(trylock((1ul << 63) | 7));
    EXPECT_EQ((1ul << 63) | 7, own());
    EXPECT_FALSE(trylock(8 | 4)) << "also its own";
    EXPECT_EQ((1ul << 63) | 7, own());
    EXPECT_TRUE(trylock(0));
}

TEST_F(test_stripe, those_of_others_are_not_given_back)
{
    give(1, 3);
    lock(5);
    ri_stripes_unlock_of(m_window.rank, m_control.get(), ~0ul);
    EXPECT_EQ(0u, own());
    EXPECT_EQ(3, holder(1));
    ri_stripes_unlock_of(3, m_control.get(), 1);
    EXPECT_EQ(3, holder(1));
    ri_stripes_unlock_of(3, m_control.get(), 3);
    EXPECT_EQ(-1, holder(1));
}

/* Others have it */

TEST_F(test_stripe, waits_for_the_holder)
{
    std::vector<int> only;

    give(2, 0);
    give(9, 3);
    waited = [&](ri_window_wait_t *wait) {
        EXPECT_EQ(&m_window, wait->window);
        only.push_back(wait->only);
        if (only.size() == 2) {
            give(2, 7);
        } else if (only.size() == 3) {
            give(2, -1);
        } else if (only.size() == 5) {
            give(9, -1);
        }
        return MPI_SUCCESS;
    };
    lock((1 << 1) | (1 << 2) | (1 << 9));
    EXPECT_EQ((std::vector<int>{1, 1, 8, 4, 4}), only) << "rank + 1 of who has it then";
    EXPECT_EQ(ri_stripes_t((1 << 1) | (1 << 2) | (1 << 9)), own());
}

/* Its holder has died: it is taken over, and that is said. */
TEST_F(test_stripe, of_a_rank_that_has_died)
{
    int looks = 0;

    give(3, 11);
    waited = [&](ri_window_wait_t *) {
        return (++looks < 3) ? MPI_SUCCESS : MPI_ERR_OTHER;
    };
    ::testing::internal::CaptureStderr();
    lock(8);
    EXPECT_NE(std::string::npos, ::testing::internal::GetCapturedStderr().find(
                                         "rank 11 of a window has died"));
    EXPECT_EQ(3, looks);
    EXPECT_EQ(8u, own());
}

/* Another one took it over first, and lives. */
TEST_F(test_stripe, taken_over_by_another_one)
{
    int looks = 0;

    give(3, 11);
    waited = [&](ri_window_wait_t *wait) {
        switch (++looks) {
        case 1:
            EXPECT_EQ(12, wait->only);
            give(3, 12);
            return MPI_ERR_OTHER;
        default:
            EXPECT_EQ(13, wait->only);
            give(3, -1);
            return MPI_SUCCESS;
        }
    };
    ::testing::internal::CaptureStderr();
    lock(8);
    EXPECT_EQ("", ::testing::internal::GetCapturedStderr());
    EXPECT_EQ(2, looks);
    EXPECT_EQ(8u, own());
}

/* Threads that stand for ranks: each counter is of the stripes that guard it. */
TEST_F(test_stripe, ranks_at_the_same_time)
{
    const unsigned RANKS = 4, TIMES = 2000;
    uint64_t counters[RI_WINDOW_STRIPES] = {}, expected[RI_WINDOW_STRIPES] = {};
    std::vector<std::thread> threads;
    std::mutex mutex;

    waited = [](ri_window_wait_t *) {
        std::this_thread::yield();
        return MPI_SUCCESS;
    };
    for (unsigned rank = 0; rank < RANKS; ++rank) {
        threads.emplace_back([&, rank] {
            ri_window_t window = {};
            rng random(rank);
            uint64_t times[RI_WINDOW_STRIPES] = {};

            window.rank = rank;
            for (unsigned i = 0; i < TIMES; ++i) {
                ri_stripes_t stripes = random.next() & random.next() & random.next();

                if (random.percent(70)) {
                    ri_stripes_lock(&window, m_control.get(), stripes);
                } else if (!ri_stripes_trylock(rank, m_control.get(), stripes)) {
                    continue;
                }
                for (unsigned j = 0; j < RI_WINDOW_STRIPES; ++j) {
                    if ((stripes >> j) & 1) { /* others have the others */
                        ++counters[j];
                        ++times[j];
                    }
                }
                random.percent(50) ? ri_stripes_unlock(m_control.get(), stripes) :
                                     ri_stripes_unlock_of(rank, m_control.get(), stripes);
            }
            std::lock_guard<std::mutex> guard(mutex);
            for (unsigned j = 0; j < RI_WINDOW_STRIPES; ++j) {
                expected[j] += times[j];
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(0, memcmp(expected, counters, sizeof(counters)));
    for (unsigned j = 0; j < RI_WINDOW_STRIPES; ++j) {
        EXPECT_EQ(-1, holder(j));
    }
}

} // namespace

#endif
