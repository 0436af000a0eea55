/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/host.[hc]. */

#include "ri_cpp.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

TEST(test_host, id)
{
    EXPECT_NE(0u, ri_host_id());
    EXPECT_EQ(ri_host_id(), ri_host_id());
}

TEST(test_host, id_of_another_user)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    uint64_t own = ri_host_id();
    pid_t child  = fork();

    ASSERT_GE(child, 0);
    if (child == 0) {
        bool good = (seteuid(65534) == 0) && (ri_host_id() != 0) && (ri_host_id() != own);

        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
}

TEST(test_host, process_start)
{
    uint64_t start = ri_host_process_start(getpid());

    EXPECT_NE(0u, start);
    EXPECT_EQ(start, ri_host_process_start(getpid()));
    EXPECT_LE(ri_host_process_start(getppid()), start);
}

TEST(test_host, process_start_of_none)
{
    EXPECT_EQ(0u, ri_host_process_start(0));
    EXPECT_EQ(0u, ri_host_process_start(UINT32_MAX));

    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    EXPECT_EQ(0u, ri_host_process_start(child));
}

TEST(test_host, process_start_with_any_name)
{
    char name[16] = {};

    ASSERT_EQ(0, prctl(PR_GET_NAME, name));
    uint64_t start = ri_host_process_start(getpid());
    for (const char *odd :
         {"a) R 1 2 3 (b", "", "))))", "\n 1 2 (", "(((((((((((((((("}) {
        prctl(PR_SET_NAME, odd);
        EXPECT_EQ(start, ri_host_process_start(getpid())) << odd;
    }
    prctl(PR_SET_NAME, name);
}

} // namespace
