/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_perf_compare.c */

#include "unit/tools/perf_compare_samples.h"

#include <gtest/gtest.h>
#include <string>

namespace {

TEST(test_perf_compare, states_are_kept_apart)
{
    perf_compare_summary_t summary;
    samples s;

    s.of("latency", "us", 8)
            .add(STOCK, CORE_NEAR, {1, 3, 2})
            .add(STOCK, CORE_FAR, {10, 10});
    s.add(LIBRARY, CORE_NEAR, {1, 1, 1}).add(LIBRARY, CORE_FAR, {11, 11});
    ASSERT_EQ(1, perf_compare_summary(*s, s.line(0), PERF_STATE_NEAR, &summary));
    EXPECT_EQ(2, summary.sides[STOCK].median);
    EXPECT_EQ(1.5, summary.sides[STOCK].q1);
    EXPECT_EQ(2.5, summary.sides[STOCK].q3);
    EXPECT_EQ(3u, summary.counts[STOCK]);
    EXPECT_DOUBLE_EQ(0.5, summary.ratio);
    EXPECT_EQ(PERF_COMPARE_FASTER, summary.verdict);
    EXPECT_FALSE(summary.few);
    ASSERT_EQ(1, perf_compare_summary(*s, s.line(0), PERF_STATE_FAR, &summary));
    EXPECT_DOUBLE_EQ(1.1, summary.ratio);
    EXPECT_EQ(PERF_COMPARE_SLOWER, summary.verdict);
    EXPECT_FALSE(summary.overlap);
    EXPECT_EQ(0, perf_compare_summary(*s, s.line(0), PERF_STATE_UNKNOWN, &summary));
}

TEST(test_perf_compare, verdict)
{
    perf_compare_summary_t summary;
    const struct {
        double value;
        perf_compare_verdict_t verdict;
    } cases[] = {{97, PERF_COMPARE_FASTER},
                 {98.1, PERF_COMPARE_SAME},
                 {101.9, PERF_COMPARE_SAME},
                 {102.1, PERF_COMPARE_SLOWER}};

    for (const auto &c : cases) {
        samples s;
        s.of("latency", "us", 8).add(STOCK, CORE_NEAR, {100, 100});
        s.add(LIBRARY, CORE_NEAR, {c.value, c.value});
        ASSERT_EQ(1, perf_compare_summary(*s, s.line(0), PERF_STATE_NEAR, &summary));
        EXPECT_EQ(c.verdict, summary.verdict) << c.value;
    }
}

/* More is better: the ratio is the other way round */
TEST(test_perf_compare, rates)
{
    perf_compare_summary_t summary;
    samples s;

    s.of("bandwidth", "MB/s", 8).add(STOCK, CORE_NEAR, {100, 100});
    s.add(LIBRARY, CORE_NEAR, {200, 200});
    ASSERT_EQ(1, perf_compare_summary(*s, s.line(0), PERF_STATE_NEAR, &summary));
    EXPECT_DOUBLE_EQ(0.5, summary.ratio);
    EXPECT_EQ(PERF_COMPARE_FASTER, summary.verdict);
}

TEST(test_perf_compare, ranges_that_overlap)
{
    perf_compare_summary_t summary;
    samples s;

    s.of("latency", "us", 8).add(STOCK, CORE_NEAR, {10, 11, 14});
    s.add(LIBRARY, CORE_NEAR, {10, 12, 13});
    ASSERT_EQ(1, perf_compare_summary(*s, s.line(0), PERF_STATE_NEAR, &summary));
    EXPECT_EQ(PERF_COMPARE_SLOWER, summary.verdict);
    EXPECT_TRUE(summary.overlap);
}

TEST(test_perf_compare, outliers_count)
{
    perf_compare_summary_t summary;
    samples s;

    s.of("latency", "us", 8).add(STOCK, CORE_NEAR, {10, 10, 10, 10, 90});
    s.add(LIBRARY, CORE_NEAR, {10, 10, 10, 10, 10.5});
    ASSERT_EQ(1, perf_compare_summary(*s, s.line(0), PERF_STATE_NEAR, &summary));
    EXPECT_EQ(1, summary.num_outliers);
    EXPECT_EQ(5u, summary.counts[STOCK]);
}

TEST(test_perf_compare, few_have_no_verdict)
{
    int verdicts[PERF_COMPARE_VERDICTS];
    perf_compare_summary_t summary;
    samples s;

    s.of("latency", "us", 8).add(STOCK, CORE_NEAR, {2, 2}).add(LIBRARY, CORE_NEAR, {1});
    ASSERT_EQ(1, perf_compare_summary(*s, s.line(0), PERF_STATE_NEAR, &summary));
    EXPECT_TRUE(summary.few);
    EXPECT_EQ(0, perf_compare_verdicts(*s, PERF_STATE_NEAR, verdicts));
    s.add(LIBRARY, CORE_NEAR, {1});
    EXPECT_EQ(1, perf_compare_verdicts(*s, PERF_STATE_NEAR, verdicts));
    EXPECT_EQ(1, verdicts[PERF_COMPARE_FASTER]);
    EXPECT_EQ(0, verdicts[PERF_COMPARE_SLOWER]);
}

/* What is dropped is taken again */
TEST(test_perf_compare, dropped)
{
    perf_compare_summary_t summary;
    samples s;

    s.of("latency", "us", 8).add(STOCK, CORE_NEAR, {2, 2, 2});
    s.add(LIBRARY, CORE_NEAR, {1, 1}).add(LIBRARY, CORE_MOVED, {9});
    EXPECT_TRUE(perf_compare_lacks(*s, s.line(0), 3));
    s.add(LIBRARY, CORE_NEAR, {9}, 1);
    EXPECT_TRUE(perf_compare_lacks(*s, s.line(0), 3));
    EXPECT_EQ(2, (*s)->num_dropped);
    EXPECT_EQ(2u, s.line(0)->dropped[LIBRARY].count);
    s.add(LIBRARY, CORE_NEAR, {1});
    EXPECT_FALSE(perf_compare_lacks(*s, s.line(0), 3));
    perf_compare_conclude(*s);
    ASSERT_EQ(1, perf_compare_summary(*s, s.line(0), PERF_STATE_NEAR, &summary));
    EXPECT_EQ(1, summary.sides[LIBRARY].median);
    EXPECT_EQ(3u, summary.counts[LIBRARY]);
}

/* Enough samples, but not of both sides in one state */
TEST(test_perf_compare, no_state_in_common)
{
    samples s;

    s.of("latency", "us", 8).add(STOCK, CORE_NEAR, {2, 2}).add(LIBRARY, CORE_FAR, {1, 1});
    EXPECT_TRUE(perf_compare_lacks(*s, s.line(0), 2));
    s.add(STOCK, CORE_FAR, {2, 2});
    EXPECT_FALSE(perf_compare_lacks(*s, s.line(0), 2));
}

/* As of a program that cannot probe the cores */
TEST(test_perf_compare, no_probe_at_all)
{
    perf_compare_summary_t summary;
    samples s;

    s.of("coll_bcast:4", "us", 8).add(STOCK, 0, {2, 2}).add(LIBRARY, 0, {1, 1});
    EXPECT_FALSE(perf_compare_lacks(*s, s.line(0), 2));
    EXPECT_TRUE(perf_compare_lacks(*s, s.line(0), 3));
    perf_compare_conclude(*s);
    EXPECT_EQ(0, (*s)->num_dropped);
    ASSERT_EQ(1, perf_compare_summary(*s, s.line(0), PERF_STATE_UNKNOWN, &summary));
    EXPECT_DOUBLE_EQ(0.5, summary.ratio);
}

TEST(test_perf_compare, lines)
{
    samples s;

    s.of("progress", "us", 8, "1/2/3/4/5/6").add(STOCK, CORE_NEAR, {1});
    s.of("progress", "us", 16, "1/2/3/4/5/6").add(STOCK, CORE_NEAR, {1});
    s.of("progress", "us", 8, "1/2/3/4/5/7").add(STOCK, CORE_NEAR, {1});
    s.of("progress", "us", 8, "1/2/3/4/5/6").add(LIBRARY, CORE_NEAR, {1});
    EXPECT_EQ(3, (*s)->count);
    EXPECT_EQ(1u, s.line(0)->kept[PERF_STATE_NEAR][LIBRARY].count);
}

int read(samples &s, std::string text)
{
    FILE *file = fmemopen(&text[0], text.size(), "r");
    int added  = perf_compare_read(*s, PERF_COMPARE_LIBRARY, file);

    fclose(file);
    return added;
}

TEST(test_perf_compare, read_results)
{
    samples s;

    EXPECT_EQ(2, read(s, "VERSION 1\n"
                         "RESULT coll_bcast:4 8 1.2500 us 60.5\n"
                         "RESULT mpi_rate:4 8 3.5 Mmsg/s 0.0\n"
                         "RESULT torn 8 3.5\n"));
    ASSERT_EQ(2, (*s)->count);
    EXPECT_STREQ("coll_bcast:4", s.line(0)->bench);
    EXPECT_EQ(8u, s.line(0)->size);
    EXPECT_EQ(1.25, s.line(0)->kept[PERF_STATE_NEAR][PERF_COMPARE_LIBRARY].values[0]);
    EXPECT_TRUE(perf_compare_is_rate(s.line(1)));
    EXPECT_EQ(1u, s.line(1)->dropped[PERF_COMPARE_LIBRARY].count);
}

TEST(test_perf_compare, read_progress)
{
    samples s;

    EXPECT_EQ(1, read(s, "RESULT progress:0/0/60/10/0/0 8 100 us 60.5\n"
                         "RESULT ideal:0/0/60/10/0/0 8 90 us 60.5\n"
                         "RESULT work:0/0/60/10/0/0 8 80 us 60.5\n"));
}

TEST(test_perf_compare, read_nothing)
{
    samples s;

    EXPECT_EQ(0, read(s, "no result\n"));
}

} // namespace
