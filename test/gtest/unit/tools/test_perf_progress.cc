/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* What the progress benchmark times, by a clock that only the test moves.
 * (src/tools/ucxri_perf_progress.h) */

extern "C" {
#include "tools/ucxri_perf_progress.h"
}

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

/* Not one of them may be in what is timed but where it belongs, so all differ, and sums tell them
 * apart: a unit of computation takes 1, a start 100, a wait 10,000, a barrier a million. */
class side {
public:
    side()
    {
        m_ops.arg     = this;
        m_ops.barrier = [](void *arg) { self(arg).step('b', 1e6); };
        m_ops.compute = [](void *arg, unsigned units) {
            self(arg).step(static_cast<char>('0' + units), units);
        };
        m_ops.start  = [](void *arg) { self(arg).step('s', 100); };
        m_ops.wait   = [](void *arg) { self(arg).step('w', 10000); };
        m_ops.now    = [](void *arg) { return self(arg).m_now; };
        m_ops.slower = [](void *arg, double *times, long count) {
            for (long i = 0; i < count; ++i) {
                times[i] = std::max(times[i], self(arg).m_theirs);
            }
        };
    }

    perf_progress_result_t measure(std::vector<unsigned> comps, int rank, long count)
    {
        std::vector<double> times(count);

        m_did.clear();
        return perf_progress_measure(&m_ops, comps.data(), rank, times.data(), count);
    }

    double m_theirs = 0; /* what each iteration takes at the other side */
    std::string m_did;

private:
    static side &self(void *arg) { return *static_cast<side *>(arg); }

    void step(char what, double time)
    {
        m_did += what;
        m_now += time;
    }

    perf_progress_ops_t m_ops;
    double m_now = 7;
};

std::string repeat(const std::string &text, long count)
{
    std::string all;
    while (count-- > 0) {
        all += text;
    }
    return all;
}

/* The barrier is in none of the times. */
TEST(test_perf_progress, barrier)
{
    side side;
    perf_progress_result_t result = side.measure({0, 2, 0, 3, 4, 5}, 1, 4);

    EXPECT_DOUBLE_EQ(4 * (3 + 100 + 4 + 10000 + 5), result.time);
    EXPECT_DOUBLE_EQ(4 * (3 + 4 + 5), result.work);
    EXPECT_DOUBLE_EQ(result.work, result.ideal);
}

/* Each side does its own part, iterations that are not timed included, and the computation alone is
 * that: without a message. Each loop ends with both sides there. PERF_PROGRESS_SETTLE is the 5
 * behind each barrier. */
TEST(test_perf_progress, parts)
{
    side side;

    side.measure({0, 2, 0, 3, 4, 5}, 0, 2);
    EXPECT_EQ(repeat("b50s2w0", PERF_PROGRESS_WARM_UP + 2) + "b" + "b5020b5020" + "b",
              side.m_did);
    side.measure({0, 2, 0, 3, 4, 5}, 1, 1);
    EXPECT_EQ(repeat("b53s4w5", PERF_PROGRESS_WARM_UP + 1) + "b" + "b5345" + "b",
              side.m_did);
}

/* The side that takes longer counts, in each iteration. */
TEST(test_perf_progress, slower)
{
    side side;
    side.m_theirs                 = 11;
    perf_progress_result_t result = side.measure({1, 1, 1, 3, 4, 5}, 0, 2);

    EXPECT_DOUBLE_EQ(2 * (1 + 100 + 1 + 10000 + 1), result.time);
    EXPECT_DOUBLE_EQ(2 * 11, result.work);
    EXPECT_DOUBLE_EQ(2 * 11, result.ideal);
}

/* Where the receive is early, the ideal is not less than the message, without what could hide it. */
TEST(test_perf_progress, early_receive)
{
    side side;
    perf_progress_result_t result = side.measure({3, 2, 4, 2, 1, 5}, 1, 3);

    EXPECT_DOUBLE_EQ(3 * (2 + 100 + 1 + 10000 + 5), result.time);
    EXPECT_DOUBLE_EQ(3 * (2 + 1 + 5), result.work);
    EXPECT_DOUBLE_EQ(3 * (2 + 100 + 10000 + 5), result.ideal);
    EXPECT_EQ(repeat("b52s1w5", PERF_PROGRESS_WARM_UP + 3) + "b" + repeat("b5215", 3) +
                      "b" + repeat("b52s0w5", PERF_PROGRESS_WARM_UP + 3) + "b",
              side.m_did);
}

/* The receive is not early when both are posted at the same time. */
TEST(test_perf_progress, same_time)
{
    side side;
    perf_progress_result_t result = side.measure({3, 2, 4, 3, 1, 5}, 0, 1);

    EXPECT_DOUBLE_EQ(3 + 2 + 4, result.ideal);
}

} // namespace
