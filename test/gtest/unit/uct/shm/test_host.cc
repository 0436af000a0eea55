/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/host.[hc]. */

#include "unit/common/ri_cpp.h"

#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
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

__attribute__((noinline)) void fill_stack(char with)
{
    volatile char stack[16384];

    for (volatile char &c : stack) {
        c = with;
    }
}

/* What was on the stack before does not matter. */
TEST(test_host, start_after_other_calls)
{
    uint64_t start = ri_host_process_start(getpid());

    EXPECT_NE(0u, start);
    for (char old : {')', '1', ' '}) {
        fill_stack(old);
        EXPECT_EQ(start, ri_host_process_start(getpid())) << old;
    }
}

/* What @a tell says, 8 bytes, in a child that has changed what it shares with others. */
uint64_t told_by_child(const std::function<bool()> &change,
                       const std::function<uint64_t()> &tell)
{
    uint64_t value = 0;
    int fds[2];

    if (pipe(fds) != 0) {
        return 0;
    }
    pid_t child = fork();
    if (child == 0) {
        value = change() ? tell() : 0;
        _exit(write(fds[1], &value, sizeof(value)) != sizeof(value));
    }
    close(fds[1]);
    if (read(fds[0], &value, sizeof(value)) != sizeof(value)) {
        value = 0;
    }
    close(fds[0]);
    waitpid(child, nullptr, 0);
    return value;
}

bool have_other_name()
{
    return (unshare(CLONE_NEWUTS) == 0) && (sethostname("another", 7) == 0);
}

/* Containers that share their processes, and machines that were made of one memory image */
TEST(test_host, id_with_another_name)
{
    uint64_t own   = ri_host_id();
    uint64_t other = told_by_child(have_other_name, ri_host_id);

    if (other == 0) {
        GTEST_SKIP() << "no namespace for host names";
    }
    EXPECT_NE(own, other);
    EXPECT_TRUE(ri_host_may_reach(own, other));
    EXPECT_TRUE(ri_host_may_reach(other, own));
}

TEST(test_host, id_may_reach)
{
    uint64_t own = ri_host_id();

    EXPECT_TRUE(ri_host_may_reach(own, own));
    EXPECT_FALSE(ri_host_may_reach(0, 0));
    EXPECT_FALSE(ri_host_may_reach(own, 0));
    EXPECT_FALSE(ri_host_may_reach(0, own));
    for (int bit = 0; bit < 40; ++bit) {
        EXPECT_FALSE(ri_host_may_reach(own, own ^ (1ul << bit))) << bit;
    }
    for (int bit = 40; bit < 64; ++bit) {
        EXPECT_TRUE(ri_host_may_reach(own, own ^ (1ul << bit))) << bit;
    }
}

TEST(test_host, id_in_another_pid_namespace)
{
    uint64_t own   = ri_host_id();
    uint64_t other = 0;

    /* A child of it is the first that is in it. */
    other = told_by_child([] { return unshare(CLONE_NEWPID) == 0; },
                          [] { return told_by_child([] { return true; }, ri_host_id); });
    if (other == 0) {
        GTEST_SKIP() << "no namespace for processes";
    }
    EXPECT_FALSE(ri_host_may_reach(own, other));
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

/* Whether a process is there */
TEST(test_host, look)
{
    ri_host_process_t process = ri_host_process_self();
    pid_t child               = fork();

    ASSERT_GE(child, 0);
    if (child == 0) {
        pause();
    }
    EXPECT_EQ(ri_host_id(), process.host);
    EXPECT_EQ((uint32_t)getpid(), process.pid);
    EXPECT_EQ(RI_HOST_RUNS, ri_host_process_look(&process));
    process.start ^= 1;
    EXPECT_EQ(RI_HOST_GONE, ri_host_process_look(&process));
    for (uint32_t pid : {0u, ~0u, 1u << 31}) {
        process.pid = pid;
        EXPECT_EQ(RI_HOST_GONE, ri_host_process_look(&process));
    }

    process.pid   = child;
    process.start = (uint32_t)ri_host_process_start(child);
    EXPECT_EQ(RI_HOST_RUNS, ri_host_process_look(&process));
    siginfo_t info;
    kill(child, SIGKILL);
    ASSERT_EQ(0, waitid(P_PID, child, &info, WEXITED | WNOWAIT));
    EXPECT_EQ(RI_HOST_GONE, ri_host_process_look(&process)) << "a zombie";
    waitpid(child, nullptr, 0);
    EXPECT_EQ(RI_HOST_GONE, ri_host_process_look(&process));
}

/* The first thread of a process is not all of it. */
TEST(test_host, look_at_a_process_whose_first_thread_has_ended)
{
    pid_t child = fork();

    ASSERT_GE(child, 0);
    if (child == 0) {
        std::thread([] { pause(); }).detach();
        syscall(SYS_exit, 0);
    }
    ri_host_process_t process = {ri_host_id(), (uint32_t)child,
                                 (uint32_t)ri_host_process_start(child)};
    char state                = 0;
    for (int i = 0; (i < 10000) && (state != 'Z'); ++i) {
        std::ifstream in("/proc/" + std::to_string(child) + "/stat");
        std::string line;
        std::getline(in, line);
        state = line.at(line.rfind(')') + 2);
        usleep(100);
    }
    EXPECT_EQ('Z', state);
    EXPECT_EQ(RI_HOST_RUNS, ri_host_process_look(&process));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(RI_HOST_GONE, ri_host_process_look(&process));
}

TEST(test_host, look_without_descriptors)
{
    ri_host_process_t process = ri_host_process_self();
    struct rlimit before, none;

    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
    none          = before;
    none.rlim_cur = 0;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
    ri_host_look_t look    = ri_host_process_look(&process);
    ri_host_process_t self = ri_host_process_self();
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
    EXPECT_EQ(RI_HOST_UNKNOWN, look);
    EXPECT_EQ(0u, self.host);
}

} // namespace
