/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_perf_scale.c */

extern "C" {
#include "tools/ucxri_perf_scale.h"
}

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

std::vector<double> ticks(const perf_scale_t &scale)
{
    return std::vector<double>(scale.ticks, scale.ticks + scale.num_ticks);
}

void expect_ticks(const std::vector<double> &expected, const perf_scale_t &scale)
{
    ASSERT_EQ(expected.size(), ticks(scale).size());
    for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(expected[i], scale.ticks[i], 1e-9 * expected[i]);
    }
}

TEST(test_perf_scale, linear)
{
    perf_scale_t scale;

    perf_scale_linear(&scale, 1100, 6);
    expect_ticks({0, 200, 400, 600, 800, 1000, 1200}, scale);
    EXPECT_EQ(1200, scale.max);
    perf_scale_linear(&scale, 1, 5);
    expect_ticks({0, 0.2, 0.4, 0.6, 0.8, 1}, scale);
    perf_scale_linear(&scale, 0, 5);
    EXPECT_EQ(1, scale.max);
}

TEST(test_perf_scale, log10)
{
    perf_scale_t scale;

    perf_scale_log10(&scale, 0.18, 1.3);
    expect_ticks({0.1, 0.2, 0.5, 1, 2}, scale);
    perf_scale_log10(&scale, 0.2, 1e4);
    expect_ticks({0.1, 1, 10, 100, 1000, 10000}, scale);
    perf_scale_log10(&scale, 1, 10);
    expect_ticks({1, 2, 5, 10}, scale);
}

TEST(test_perf_scale, log10_includes_its_range)
{
    for (double min = 1e-7; min < 1e7; min *= 1.7) {
        for (double span = 1; span < 1e8; span *= 2.3) {
            perf_scale_t scale;

            perf_scale_log10(&scale, min, min * span);
            EXPECT_LE(scale.min, min * (1 + 1e-9));
            EXPECT_GE(scale.max, min * span * (1 - 1e-9));
            EXPECT_LT(scale.min, scale.max);
            EXPECT_LE(scale.num_ticks, 20);
        }
    }
}

TEST(test_perf_scale, sizes)
{
    const double sizes[] = {8, 4096, 64};
    perf_scale_t scale;

    perf_scale_sizes(&scale, sizes, 3, 20);
    EXPECT_EQ(8, scale.min);
    EXPECT_EQ(4096, scale.max);
    expect_ticks({8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}, scale);
}

TEST(test_perf_scale, sizes_that_are_there_have_ticks)
{
    const double few[]  = {8, 4096, 64};
    const double many[] = {8, 1024, 65536, 1048576};
    const double even[] = {8, 16};
    perf_scale_t scale;

    perf_scale_sizes(&scale, few, 3, 5);
    expect_ticks({16, 64, 256, 1024, 4096}, scale);
    perf_scale_sizes(&scale, many, 4, 9);
    expect_ticks({16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576}, scale);
    perf_scale_sizes(&scale, even, 2, 1);
    expect_ticks({8}, scale);
}

TEST(test_perf_scale, size_zero_has_a_place)
{
    const double sizes[] = {0, 8, 32};
    const double zero    = 0;
    perf_scale_t scale;

    perf_scale_sizes(&scale, sizes, 3, 20);
    EXPECT_EQ(4, scale.min);
    ASSERT_EQ((std::vector<double>{0, 8, 16, 32}), ticks(scale));
    scale.from = 100;
    scale.to   = 400;
    EXPECT_DOUBLE_EQ(100, perf_scale_position(&scale, 0));
    EXPECT_DOUBLE_EQ(200, perf_scale_position(&scale, 8));
    EXPECT_DOUBLE_EQ(400, perf_scale_position(&scale, 32));

    perf_scale_sizes(&scale, &zero, 1, 20);
    EXPECT_LT(scale.min, scale.max);
}

TEST(test_perf_scale, position)
{
    perf_scale_t scale;

    perf_scale_linear(&scale, 10, 5);
    scale.from = 300; /* upwards, as pictures count */
    scale.to   = 100;
    EXPECT_DOUBLE_EQ(300, perf_scale_position(&scale, 0));
    EXPECT_DOUBLE_EQ(200, perf_scale_position(&scale, 5));
    EXPECT_DOUBLE_EQ(100, perf_scale_position(&scale, 10));
    EXPECT_DOUBLE_EQ(100, perf_scale_position(&scale, 11));
    EXPECT_DOUBLE_EQ(300, perf_scale_position(&scale, -1));
}

TEST(test_perf_scale, format)
{
    char text[32];
    auto value = [&](double value) {
        perf_scale_format_value(text, sizeof(text), value);
        return std::string(text);
    };

    EXPECT_EQ("0.5", value(0.5));
    EXPECT_EQ("20000", value(20000));
    EXPECT_EQ("2M", value(2e6));
}

} // namespace
