/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/yes_no.c */

extern "C" {
#include "ucs/yes_no.h"
}

#include <gtest/gtest.h>

namespace {

TEST(test_yes_no, words)
{
    for (const char *word : {"y", "yes", "on", "1", "true", "Y", "Yes", "TRUE"}) {
        EXPECT_EQ(1, ri_yes_no(word)) << word;
    }
    for (const char *word : {"n", "no", "off", "0", "false", "N", "oFF"}) {
        EXPECT_EQ(0, ri_yes_no(word)) << word;
    }
}

TEST(test_yes_no, others)
{
    for (const char *word : {"", "2", "ye", "yess", "nope", " y", "y ", "01", "-1"}) {
        EXPECT_EQ(-1, ri_yes_no(word)) << "'" << word << "'";
    }
}

} // namespace
