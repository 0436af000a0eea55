/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/process.[hc] */

#include "unit/common/ri_cpp.h"

#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "ucs/process.h"
}

namespace {

/* @return Whether that holds in a child. */
bool in_child(const std::function<bool()> &holds)
{
    int status  = -1;
    pid_t child = fork();

    if (child == 0) {
        _exit(holds() ? 0 : 1);
    }
    return (waitpid(child, &status, 0) == child) && (status == 0);
}

TEST(test_process, children_are_others)
{
    unsigned own = ri_process_generation;

    ASSERT_NE(0u, own) << "forks are noticed";
    EXPECT_TRUE(in_child([own] { return ri_process_generation == own + 1; }));
    EXPECT_EQ(own, ri_process_generation) << "the parent is the one that it was";
    EXPECT_TRUE(in_child([own] {
        return in_child([own] { return ri_process_generation == own + 2; });
    })) << "a child of a child";
}

} // namespace
