/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/random.[hc] */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "ucs/random.h"
}

namespace {

TEST(test_random, never_the_same)
{
    std::set<uint64_t> seen;

    for (int i = 0; i < 10000; ++i) {
        EXPECT_TRUE(seen.insert(ri_random()).second);
    }
}

TEST(test_random, every_bit_changes)
{
    uint64_t any = 0, all = ~0ul;

    for (int i = 0; i < 1000; ++i) {
        uint64_t value = ri_random();

        any |= value;
        all &= value;
    }
    EXPECT_EQ(~0ul, any);
    EXPECT_EQ(0ul, all);
}

/* What names a worker must not be named again by a child of its process. */
TEST(test_random, child_has_others)
{
    std::set<uint64_t> seen;
    uint64_t numbers[64];
    int fds[2], status;

    ASSERT_EQ(0, pipe(fds));
    pid_t child = fork();
    if (child == 0) {
        for (uint64_t &number : numbers) {
            number = ri_random();
        }
        _exit(write(fds[1], numbers, sizeof(numbers)) != sizeof(numbers));
    }
    ASSERT_GT(child, 0);
    for (int i = 0; i < 64; ++i) {
        seen.insert(ri_random());
    }
    EXPECT_EQ((ssize_t)sizeof(numbers), read(fds[0], numbers, sizeof(numbers)));
    for (uint64_t number : numbers) {
        EXPECT_EQ(0u, seen.count(number));
    }
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    close(fds[0]);
    close(fds[1]);
}

} // namespace
