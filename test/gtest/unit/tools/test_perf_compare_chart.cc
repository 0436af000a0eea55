/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_perf_compare_chart.c */

#include "unit/tools/perf_compare_samples.h"

extern "C" {
#include "tools/ucxri_perf_compare_chart.h"
}

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <unistd.h>

namespace {

/* The chart as text; it stays where UCXRI_TEST_CHART says, to be looked at */
std::string drawn(const perf_compare_t *compare, const char *title)
{
    const char *keep = getenv("UCXRI_TEST_CHART");
    char path[]      = "/tmp/ucxri_test_perf_compare_chart.XXXXXX";
    int fd           = mkstemp(path);
    std::stringstream text;

    close(fd);
    perf_compare_chart_write(path, title, compare);
    text << std::ifstream(path).rdbuf();
    unlink(path);
    if (keep != nullptr) {
        std::ofstream(keep + std::string((title != nullptr) ? title : "own") + ".svg")
                << text.str();
    }
    return text.str();
}

int count(const std::string &text, const std::string &part)
{
    int found = 0;

    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) {
        ++found;
    }
    return found;
}

TEST(test_perf_compare_chart, sizes)
{
    std::string text;
    samples s;
    double stock = 0.2;

    for (uint64_t size = 8; size <= 1048576; size *= 8, stock *= 2.2) {
        double library = stock * ((size == 512) ? 1.2 : 0.6);
        s.of("latency", "us", size);
        s.add(STOCK, CORE_NEAR, {stock, stock * 1.1, stock * 0.9});
        s.add(STOCK, CORE_FAR, {stock * 3, stock * 3.1, stock * 2.9});
        s.add(LIBRARY, CORE_NEAR,
              {library, library * 1.1, library * 0.9, library, library, library * 4});
        s.add(LIBRARY, CORE_FAR, {library * 2, library * 2.2, library * 1.9});
    }
    s.add(STOCK, CORE_MOVED, {stock * 2});
    s.of("latency", "us", 64).add(LIBRARY, CORE_NEAR, {stock * 90}, 1);
    text = drawn(*s, "sizes");
    for (const char *label :
         {"stock UCX, near", "library, near", "stock UCX, far", "library, far",
          "ratio above 1.02", "sample far out, which counts",
          "dropped: the cores moved, or another program ran", "message size", ">ratio<",
          "one way, µs"}) {
        EXPECT_EQ(1, count(text, label)) << label;
    }
    EXPECT_EQ(0, count(text, "nan"));
    EXPECT_EQ(0, count(text, "inf"));
}

TEST(test_perf_compare_chart, configurations_in_words)
{
    std::string text;
    samples s;

    for (const char *config : {"0/0/60/10/0/0", "0/30/0/10/20/0"}) {
        for (uint64_t size : {65536, 1048576}) {
            s.of("progress", "us", size, config)
                    .add(STOCK, CORE_NEAR, {1500, 1520, 1490});
            s.add(LIBRARY, CORE_NEAR, {1100, 1110, 1120});
        }
    }
    text = drawn(*s, "configurations");
    EXPECT_EQ(1, count(text, "sender is ready at once, computes 60 units afterwards; "
                             "receiver is ready after 10 units</text>"));
    EXPECT_EQ(1, count(text,
                       "sender is ready at once, computes 30 units meanwhile; "
                       "receiver is ready after 10 units, computes 20 meanwhile</text>"));
    EXPECT_EQ(0, count(text, "dropped"));
    EXPECT_EQ(0, count(text, "0/0/60/10/0/0</text>"));
}

TEST(test_perf_compare_chart, other_programs)
{
    std::string text;
    samples s;

    for (const char *bench : {"coll_bcast:4", "coll_allreduce:4"}) {
        s.of(bench, "us", 8).add(STOCK, 0, {9, 8}).add(LIBRARY, 0, {7, 7});
        s.of(bench, "us", 65536).add(STOCK, 0, {90, 80}).add(LIBRARY, 0, {70, 70});
    }
    perf_compare_conclude(*s);
    text = drawn(*s, "programs");
    EXPECT_EQ(1, count(text, ">bcast, 4 ranks<"));
    EXPECT_EQ(1, count(text, ">one operation, µs<"));
    EXPECT_EQ(0, count(text, "coll_"));
    EXPECT_EQ(1, count(text, ">stock UCX<"));
}

TEST(test_perf_compare_chart, title_in_words)
{
    std::string text;
    samples one, mixed, foreign;

    one.of("coll_allreduce:2", "us", 8).add(STOCK, 0, {9, 8}).add(LIBRARY, 0, {7, 7});
    perf_compare_conclude(*one);
    EXPECT_EQ(1, count(drawn(*one, NULL), ">Allreduce, 2 ranks</text>"));

    mixed.of("mpi_latency", "us", 8).add(STOCK, 0, {9, 8}).add(LIBRARY, 0, {7, 7});
    mixed.of("coll_bcast:2", "us", 8).add(STOCK, 0, {9, 8}).add(LIBRARY, 0, {7, 7});
    perf_compare_conclude(*mixed);
    text = drawn(*mixed, NULL);
    EXPECT_EQ(1, count(text, ">µs<"));
    EXPECT_EQ(1, count(text, ">latency<"));

    foreign.of("mine:2_x", "rows", 8).add(STOCK, 0, {9, 8}).add(LIBRARY, 0, {7, 7});
    perf_compare_conclude(*foreign);
    text = drawn(*foreign, NULL);
    EXPECT_EQ(1, count(text, ">mine:2_x</text>"));
    EXPECT_EQ(1, count(text, ">rows<"));
}

TEST(test_perf_compare_chart, nothing_is_left)
{
    samples s;

    s.of("latency", "us", 8).add(STOCK, CORE_NEAR, {5}, 1);
    EXPECT_EQ(1, count(drawn(*s, "nothing"), "dropped: the cores moved"));
}

} // namespace
