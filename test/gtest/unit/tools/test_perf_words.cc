/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* src/tools/ucxri_perf_words.c */
#include <gtest/gtest.h>

extern "C" {
#include "tools/ucxri_perf_words.h"
}

namespace {

std::string words(const char *name)
{
    char text[64];

    perf_words_name(text, sizeof(text), name);
    return text;
}

} // namespace

TEST(test_perf_words, names)
{
    EXPECT_EQ("allreduce, 2 ranks", words("coll_allreduce:2"));
    EXPECT_EQ("latency", words("mpi_latency"));
    EXPECT_EQ("latency, data written and read", words("mpi_latency_used"));
    EXPECT_EQ("message rate, 8 ranks", words("mpi_rate:8"));
    EXPECT_EQ("fetch and op", words("rma_fetch_and_op"));
    EXPECT_EQ("sender is ready at once; receiver is ready after 10 units",
              words("progress:0/0/0/10/0/0"));
    EXPECT_EQ("my_own:3", words("my_own:3"));
}

TEST(test_perf_words, a_short_text)
{
    char text[6];

    perf_words_name(text, sizeof(text), "coll_allreduce:2");
    EXPECT_STREQ("allre", text);
}

TEST(test_perf_words, axes)
{
    EXPECT_STREQ("one operation, µs", perf_words_axis("coll_bcast:4", "us"));
    EXPECT_STREQ("one iteration, µs", perf_words_axis("progress:0/0/60/10/0/0", "us"));
    EXPECT_STREQ("one way, µs", perf_words_axis("latency", "us"));
    EXPECT_STREQ("million messages/s", perf_words_axis("mpi_rate:4", "Mmsg/s"));
    EXPECT_STREQ("MB/s", perf_words_axis("mpi_bw", "MB/s"));
    EXPECT_STREQ("µs", perf_words_axis(NULL, "us"));
    EXPECT_STREQ("rows", perf_words_axis("mine", "rows"));
}
