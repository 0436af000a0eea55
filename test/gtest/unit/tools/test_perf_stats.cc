/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_perf_stats.c */

extern "C" {
#include "tools/ucxri_perf_stats.h"
}

#include <gtest/gtest.h>
#include <vector>

namespace {

perf_quartiles_t quartiles(std::vector<double> values)
{
    return perf_quartiles(values.data(), values.size());
}

TEST(test_perf_stats, quartiles_of_few)
{
    perf_quartiles_t one = quartiles({7});
    EXPECT_EQ(7, one.q1);
    EXPECT_EQ(7, one.median);
    EXPECT_EQ(7, one.q3);

    perf_quartiles_t two = quartiles({4, 2});
    EXPECT_DOUBLE_EQ(2.5, two.q1);
    EXPECT_DOUBLE_EQ(3, two.median);
    EXPECT_DOUBLE_EQ(3.5, two.q3);
}

TEST(test_perf_stats, quartiles_sort)
{
    perf_quartiles_t odd = quartiles({5, 1, 4, 2, 3});
    EXPECT_DOUBLE_EQ(2, odd.q1);
    EXPECT_DOUBLE_EQ(3, odd.median);
    EXPECT_DOUBLE_EQ(4, odd.q3);

    perf_quartiles_t outlier = quartiles({1e9, 1, 1, 1, 1, 1, 1, 1});
    EXPECT_EQ(1, outlier.q1);
    EXPECT_EQ(1, outlier.median);
    EXPECT_EQ(1, outlier.q3);
}

TEST(test_perf_stats, keep)
{
    const unsigned char dropped[] = {1, 0, 1, 0, 0};
    std::vector<double> values    = {1, 2, 3, 4, 5};

    EXPECT_EQ(3u, perf_keep(values.data(), dropped, 5, 3));
    values.resize(3);
    EXPECT_EQ((std::vector<double>{2, 4, 5}), values);
}

TEST(test_perf_stats, keep_all_if_too_few_remain)
{
    const unsigned char dropped[] = {1, 0, 1, 0, 0};
    std::vector<double> values    = {1, 2, 3, 4, 5};

    EXPECT_EQ(5u, perf_keep(values.data(), dropped, 5, 4));
    EXPECT_EQ((std::vector<double>{1, 2, 3, 4, 5}), values);
}

TEST(test_perf_stats, outliers)
{
    const perf_quartiles_t wide  = {10, 12, 14};
    const perf_quartiles_t tight = {10, 10, 10};

    EXPECT_FALSE(perf_is_outlier(&wide, 26));
    EXPECT_TRUE(perf_is_outlier(&wide, 26.1));
    EXPECT_FALSE(perf_is_outlier(&wide, -2));
    EXPECT_TRUE(perf_is_outlier(&wide, -2.1));
    EXPECT_FALSE(perf_is_outlier(&tight, 11));
    EXPECT_TRUE(perf_is_outlier(&tight, 11.1));
}

} // namespace
