/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/misspelt.c */

extern "C" {
#include "ucs/misspelt.h"
}

#include <gtest/gtest.h>
#include <string>

namespace {

TEST(test_misspelt, letters)
{
    EXPECT_EQ(0, ri_misspelt_letters("", ""));
    EXPECT_EQ(0, ri_misspelt_letters("EAGER_THRESH", "EAGER_THRESH"));
    EXPECT_EQ(1, ri_misspelt_letters("EAGER_TRESH", "EAGER_THRESH"));   /* missing */
    EXPECT_EQ(1, ri_misspelt_letters("EAGERR_THRESH", "EAGER_THRESH")); /* too many */
    EXPECT_EQ(1, ri_misspelt_letters("EAGER_THRASH", "EAGER_THRESH"));  /* wrong */
    EXPECT_EQ(1, ri_misspelt_letters("EAGER_TRHESH", "EAGER_THRESH"));  /* swapped */
    EXPECT_EQ(2, ri_misspelt_letters("EGER_TRHESH", "EAGER_THRESH"));
    EXPECT_EQ(3, ri_misspelt_letters("", "abc"));
}

TEST(test_misspelt, too_long)
{
    std::string most(RI_MISSPELT_MAX, 'a');
    std::string more(RI_MISSPELT_MAX + 1, 'a');

    EXPECT_EQ(0, ri_misspelt_letters(most.c_str(), most.c_str()));
    EXPECT_EQ(RI_MISSPELT_MAX, ri_misspelt_letters(more.c_str(), more.c_str()));
    EXPECT_EQ(RI_MISSPELT_MAX, ri_misspelt_letters("a", more.c_str()));
}

} // namespace
