/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_perf_compare_print.c */

#include "unit/tools/perf_compare_samples.h"

extern "C" {
#include "tools/ucxri_perf_compare_print.h"
}

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace {

std::string printed(const perf_compare_t *compare)
{
    const int cpus[2] = {0, 1};
    char *text        = nullptr;
    size_t length     = 0;
    FILE *file        = open_memstream(&text, &length);

    perf_compare_print(file, compare, cpus);
    fclose(file);
    std::string result(text, length);
    free(text);
    return result;
}

bool has(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

void fill(samples &s)
{
    s.of("latency", "us", 8)
            .add(STOCK, CORE_NEAR, {2, 2})
            .add(LIBRARY, CORE_NEAR, {1, 1});
    s.of("latency", "us", 64)
            .add(STOCK, CORE_NEAR, {2, 2})
            .add(LIBRARY, CORE_NEAR, {2, 2});
    s.of("latency", "us", 1024).add(STOCK, CORE_NEAR, {2, 2});
    s.add(LIBRARY, CORE_NEAR, {3, 3}).add(LIBRARY, CORE_MOVED, {7});
}

TEST(test_perf_compare_print, verdict_in_words)
{
    char text[128];
    samples s;

    EXPECT_EQ(0, perf_compare_print_verdict(*s, PERF_STATE_NEAR, text, sizeof(text)));
    fill(s);
    EXPECT_EQ(1, perf_compare_print_verdict(*s, PERF_STATE_NEAR, text, sizeof(text)));
    EXPECT_STREQ("the library is faster in 1 of 3 sizes, equal in 1, slower in 1", text);
    s.of("rate", "Mmsg/s", 8)
            .add(STOCK, CORE_NEAR, {2, 2})
            .add(LIBRARY, CORE_NEAR, {4, 4});
    EXPECT_EQ(1, perf_compare_print_verdict(*s, PERF_STATE_NEAR, text, sizeof(text)));
    EXPECT_STREQ("the library is faster in 2 of 4 lines, equal in 1, slower in 1", text);
}

TEST(test_perf_compare_print, tables)
{
    samples s;
    std::string text;

    fill(s);
    s.of("latency", "us", 8).add(STOCK, CORE_FAR, {5});
    text = printed(*s);
    EXPECT_TRUE(has(text, "cores 0 and 1")) << text;
    EXPECT_TRUE(has(text, "near: a cache line takes less than 130 ns")) << text;
    EXPECT_TRUE(has(text, "far: a cache line takes at least 130 ns")) << text;
    EXPECT_TRUE(has(text, "1.500      2+2  slower\n")) << text;
    EXPECT_TRUE(has(text, "0.500      2+2\n")) << text;
    EXPECT_TRUE(has(text, "far: too few samples of both sides for a verdict\n")) << text;
    EXPECT_TRUE(has(text, "1 samples were dropped")) << text;
    EXPECT_FALSE(has(text, "not known")) << text;
}

TEST(test_perf_compare_print, nothing_is_left)
{
    samples s;

    s.of("latency", "us", 8).add(STOCK, CORE_NEAR, {5}, 1);
    EXPECT_TRUE(has(printed(*s), "No sample was undisturbed"));
}

TEST(test_perf_compare_print, csv)
{
    char path[] = "/tmp/ucxri_test_perf_compare.XXXXXX";
    char line[256];
    samples s;
    int fd = mkstemp(path);
    FILE *file;

    ASSERT_GE(fd, 0);
    fill(s);
    s.of("latency", "us", 8).add(STOCK, CORE_FAR, {5});
    perf_compare_print_csv(path, *s);
    file = fdopen(fd, "r");
    ASSERT_NE(nullptr, fgets(line, sizeof(line), file));
    ASSERT_NE(nullptr, fgets(line, sizeof(line), file));
    EXPECT_STREQ("near,latency,8,,us,2,2,2,2,1,1,1,2,0.5000,faster\n", line);
    ASSERT_NE(nullptr, fgets(line, sizeof(line), file));
    ASSERT_NE(nullptr, fgets(line, sizeof(line), file));
    EXPECT_STREQ("near,latency,1024,,us,2,2,2,2,3,3,3,2,1.5000,slower\n", line);
    ASSERT_NE(nullptr, fgets(line, sizeof(line), file));
    EXPECT_STREQ("far,latency,8,,us,5,5,5,1,,,,0,,\n", line);
    fclose(file);
    unlink(path);
}

TEST(test_perf_compare_print, long_times)
{
    samples s;
    std::string text;

    s.of("progress", "us", 8)
            .add(STOCK, CORE_NEAR, {24601.4, 24601.4})
            .add(LIBRARY, CORE_NEAR, {9999.6, 9999.6});
    s.of("progress", "us", 64)
            .add(STOCK, CORE_MOVED, {27140.2})
            .add(LIBRARY, CORE_MOVED, {0.12345});
    text = printed(*s);
    EXPECT_TRUE(has(text, " 24601 24601-24601 ")) << text;
    EXPECT_TRUE(has(text, " 10000 10000-10000 ")) << text;
    EXPECT_TRUE(has(text, "     27140    0.1235")) << text;
    EXPECT_FALSE(has(text, "e+04")) << text;
}

} // namespace
