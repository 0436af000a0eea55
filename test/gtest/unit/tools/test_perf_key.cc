/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_perf_key.c */

extern "C" {
#include "tools/ucxri_perf_key.h"
}

#include <gtest/gtest.h>
#include <string>

namespace {

std::string letter(int number)
{
    char text[16];

    perf_key_letter(text, sizeof(text), number);
    return text;
}

TEST(test_perf_key, letters)
{
    EXPECT_EQ("A", letter(0));
    EXPECT_EQ("Z", letter(25));
    EXPECT_EQ("A2", letter(26));
    EXPECT_EQ("B3", letter(53));
}

TEST(test_perf_key, a_name_once)
{
    perf_key_t key = {};

    EXPECT_EQ(0, perf_key_add(&key, "0/0/60/10/0/0"));
    EXPECT_EQ(1, perf_key_add(&key, "0/0/60/20/0/0"));
    EXPECT_EQ(0, perf_key_add(&key, std::string("0/0/60/10/0/0").c_str()));
    EXPECT_EQ(2, key.count);
}

TEST(test_perf_key, size)
{
    perf_key_t none  = {};
    perf_key_t brief = {};
    perf_key_t both  = {};

    perf_key_add(&brief, "bcast");
    perf_key_add(&both, "bcast");
    perf_key_add(&both, "0/0/60/20/0/0");
    EXPECT_EQ(0, perf_key_height(&none));
    EXPECT_LT(perf_key_height(&brief), perf_key_height(&both));
    EXPECT_LT(perf_key_width(&brief), perf_key_width(&both));
}

} // namespace
