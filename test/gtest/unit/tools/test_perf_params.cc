/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_perf_params.c */

extern "C" {
#include "tools/ucxri_perf_params.h"
}

#include <gtest/gtest.h>
#include <string>

namespace {

std::string caption(const char *config)
{
    char text[256];

    perf_params_format_caption(text, sizeof(text), config);
    return text;
}

TEST(test_perf_params, caption)
{
    EXPECT_EQ("sender is ready at once, computes 60 units afterwards; "
              "receiver is ready after 10 units",
              caption("0/0/60/10/0/0"));
    EXPECT_EQ("sender is ready at once, computes 20 units meanwhile; "
              "receiver is ready after 5 units, computes 5 meanwhile, 20 afterwards",
              caption("0/20/0/5/5/20"));
    EXPECT_EQ("sender is ready after 27 units; "
              "receiver is ready at once, computes 20 units meanwhile, 20 afterwards",
              caption("27/0/0/0/20/20"));
}

TEST(test_perf_params, caption_of_another_text)
{
    EXPECT_EQ("coll_bcast:4", caption("coll_bcast:4"));
    EXPECT_EQ("0/0/60/10/0", caption("0/0/60/10/0"));
    EXPECT_EQ("0/0/60/10/0/0/0", caption("0/0/60/10/0/0/0"));
}

TEST(test_perf_params, caption_is_cut)
{
    char text[16];

    perf_params_format_caption(text, sizeof(text), "0/0/60/10/0/0");
    EXPECT_STREQ("sender is ready", text);
}

} // namespace
