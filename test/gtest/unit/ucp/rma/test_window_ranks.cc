/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/window_ranks.c: which ranks take windows of several hosts. */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>

namespace {

class test_window_ranks : public ::testing::Test {
protected:
    static constexpr uint32_t JOB = 77;

    test_window_ranks() { ri_window_ranks_tell({JOB, 3}); }

    ~test_window_ranks() override { ri_window_ranks_tell({0, 0}); }
};

TEST_F(test_window_ranks, nobody_has_seen_this_process)
{
    ri_window_ranks_note({JOB, 1}, 2);
    EXPECT_EQ(RI_WINDOW_RANK_UNUSED, ri_window_ranks_look(1));
    EXPECT_EQ(JOB, ri_window_ranks_use().job);
    EXPECT_EQ(RI_WINDOW_RANK_TAKES, ri_window_ranks_look(1));
}

TEST_F(test_window_ranks, takes_or_not)
{
    ri_window_ranks_use();
    EXPECT_EQ(RI_WINDOW_RANK_UNSEEN, ri_window_ranks_look(0));
    ri_window_ranks_note({JOB, 0}, 1);
    ri_window_ranks_note({0, 0}, 2);
    ri_window_ranks_note({JOB, 5000}, 5001);
    EXPECT_EQ(RI_WINDOW_RANK_TAKES, ri_window_ranks_look(0));
    EXPECT_EQ(RI_WINDOW_RANK_NOT, ri_window_ranks_look(1));
    EXPECT_EQ(RI_WINDOW_RANK_UNSEEN, ri_window_ranks_look(2));
    EXPECT_EQ(RI_WINDOW_RANK_TAKES, ri_window_ranks_look(5000));
    EXPECT_EQ(RI_WINDOW_RANK_UNSEEN, ri_window_ranks_look(0xffffffff));
}

/* Ranks of another job, of no number, and of one that no job has. */
TEST_F(test_window_ranks, of_no_use)
{
    ri_window_ranks_use();
    ri_window_ranks_note({JOB + 1, 0}, 1);
    ri_window_ranks_note({0, 0}, 0);
    ri_window_ranks_note({JOB, 0xffffffff}, 0);
    EXPECT_EQ(RI_WINDOW_RANK_UNSEEN, ri_window_ranks_look(0));
    EXPECT_EQ(RI_WINDOW_RANK_UNSEEN, ri_window_ranks_look(0xffffffff));
    ri_window_ranks_close();
    ri_window_ranks_note({JOB, 0}, 1);
    EXPECT_EQ(RI_WINDOW_RANK_UNSEEN, ri_window_ranks_look(0));
}

TEST_F(test_window_ranks, a_process_that_takes_none)
{
    ri_window_ranks_tell({0, 0});
    EXPECT_EQ(0u, ri_window_ranks_use().job);
    ri_window_ranks_note({0, 0}, 1);
    EXPECT_EQ(RI_WINDOW_RANK_UNUSED, ri_window_ranks_look(0));
}

} // namespace
