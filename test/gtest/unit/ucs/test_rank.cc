/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/rank.c */

extern "C" {
#include "ucs/rank.h"
}

#include <cstdlib>
#include <gtest/gtest.h>

namespace {

const char *const VARIABLES[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                 "SLURM_PROCID"};

class test_rank : public testing::Test {
protected:
    void SetUp() override
    {
        for (const char *name : VARIABLES) {
            unsetenv(name);
        }
    }

    void TearDown() override { SetUp(); }
};

TEST_F(test_rank, none)
{
    EXPECT_EQ(nullptr, ri_rank_text());
    EXPECT_TRUE(ri_rank_is_first());
}

TEST_F(test_rank, each_launcher)
{
    for (const char *name : VARIABLES) {
        setenv(name, "12", 1);
        EXPECT_STREQ("12", ri_rank_text()) << name;
        EXPECT_FALSE(ri_rank_is_first()) << name;
        setenv(name, "0", 1);
        EXPECT_STREQ("0", ri_rank_text()) << name;
        EXPECT_TRUE(ri_rank_is_first()) << name;
        unsetenv(name);
    }
}

/* A Slurm job may run another launcher, whose rank counts. */
TEST_F(test_rank, slurm_comes_last)
{
    setenv("SLURM_PROCID", "0", 1);
    setenv("PMI_RANK", "3", 1);
    EXPECT_STREQ("3", ri_rank_text());
}

TEST_F(test_rank, what_is_no_number_is_no_rank)
{
    for (const char *text : {"", "-1", "x", "1 ", "0x1", "12345678901"}) {
        setenv("PMI_RANK", text, 1);
        EXPECT_EQ(nullptr, ri_rank_text()) << text;
    }
    setenv("SLURM_PROCID", "5", 1);
    EXPECT_STREQ("5", ri_rank_text());
}

TEST_F(test_rank, host_has_no_domain)
{
    char host[64] = "", cut[2] = "";

    ri_rank_host(host, sizeof(host));
    EXPECT_STRNE("", host);
    EXPECT_EQ(nullptr, strchr(host, '.'));
    ri_rank_host(cut, sizeof(cut));
    EXPECT_EQ(host[0], cut[0]);
    EXPECT_EQ('\0', cut[1]);
}

} // namespace
