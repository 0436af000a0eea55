/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/size_text.c */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucs/size_text.h"
}

#include <gtest/gtest.h>

#include <string>

namespace {

std::string text(uint64_t size)
{
    char buffer[24];

    ri_size_text(size, buffer, sizeof(buffer));
    return buffer;
}

TEST(test_size_text, is_exact)
{
    EXPECT_EQ("0 B", text(0));
    EXPECT_EQ("1023 B", text(1023));
    EXPECT_EQ("1 KB", text(1024));
    EXPECT_EQ("1025 B", text(1025));
    EXPECT_EQ("8 KB", text(8192));
    EXPECT_EQ("2049 KB", text(2049 << 10));
    EXPECT_EQ("1 MB", text(1 << 20));
    EXPECT_EQ("4 GB", text(4ul << 30));
    EXPECT_EQ("1048576 TB", text(1ul << 60));
    EXPECT_EQ("18446744073709551615 B", text(~0ul));
}

TEST(test_size_text, is_cut_off)
{
    char buffer[5];

    ri_size_text(1048575, buffer, sizeof(buffer));
    EXPECT_STREQ("1048", buffer);
}

} // namespace
