/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/time_text.c */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucs/time_text.h"
}

#include <gtest/gtest.h>

#include <string>

namespace {

const uint64_t S = 1000000;

std::string written(uint64_t us)
{
    char buffer[32];

    ri_time_text(us, buffer, sizeof(buffer));
    return buffer;
}

TEST(test_time_text, three_digits)
{
    EXPECT_EQ("0 s", written(0));
    EXPECT_EQ("999 us", written(999));
    EXPECT_EQ("1.00 ms", written(1000));
    EXPECT_EQ("1.24 ms", written(1235));
    EXPECT_EQ("9.99 ms", written(9994));
    EXPECT_EQ("10.0 ms", written(9995));
    EXPECT_EQ("100 ms", written(99950));
    EXPECT_EQ("999 ms", written(999499));
    EXPECT_EQ("1.00 s", written(999500));
    EXPECT_EQ("12.3 s", written(12345678));
    EXPECT_EQ("59.9 s", written(59949999));
}

TEST(test_time_text, two_units)
{
    EXPECT_EQ("1 min", written(59950000));
    EXPECT_EQ("1 min 1 s", written(61 * S));
    EXPECT_EQ("59 min 59 s", written(3599 * S));
    EXPECT_EQ("1 h", written(3599 * S + S / 2));
    EXPECT_EQ("1 h 1 min", written(3630 * S));
    EXPECT_EQ("8 h 32 min", written(30720 * S));
    EXPECT_EQ("1 d", written(86399 * S));
    EXPECT_EQ("2 d 3 h", written(51 * 3600 * S));
    EXPECT_EQ("213503982 d 8 h", written(UINT64_MAX));
}

TEST(test_time_text, is_cut_off)
{
    char buffer[5];

    ri_time_text(30720 * S, buffer, sizeof(buffer));
    EXPECT_STREQ("8 h ", buffer);
}

} // namespace
