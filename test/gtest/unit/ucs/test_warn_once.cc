/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/warn_once.c */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucs/warn_once.h"
}

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

class test_warn_once : public testing::Test {
protected:
    void SetUp() override
    {
        ri_log_level = RI_LOG_LEVEL_WARN;
        for (const char *name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID",
                                 "PMIX_NAMESPACE", "PMI_RANK", "PMIX_RANK"}) {
            unsetenv(name); /* of a launcher that has started this program */
        }
        /* Numbers of processes may be the same in other namespaces of this host */
        setenv("FLUX_JOB_ID",
               ("warn-" + std::to_string(std::random_device()()) + "-" +
                std::to_string(++m_tests))
                       .c_str(),
               1);
    }

    void TearDown() override
    {
        unsetenv("FLUX_JOB_ID");
        ri_log_level = RI_LOG_LEVEL_WARN;
    }

    static int m_tests;

    /* @return How many lines of warnings came. */
    static size_t lines(const std::function<void()> &say)
    {
        testing::internal::CaptureStderr();
        say();
        std::string text = testing::internal::GetCapturedStderr();
        return std::count(text.begin(), text.end(), '\n');
    }

    /* Another rank, which ends behind that. @return Whether it has printed a line. */
    static bool another_says(const char *text, const char *job = nullptr)
    {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            if (job != nullptr) {
                setenv("FLUX_JOB_ID", job, 1);
            }
            _exit(lines([&] { ri_warn_once("%s", text); }));
        }
        waitpid(pid, &status, 0);
        EXPECT_TRUE(WIFEXITED(status));
        return WEXITSTATUS(status) == 1;
    }
};

int test_warn_once::m_tests;

TEST_F(test_warn_once, one_rank_says_what_all_have_to_say)
{
    EXPECT_EQ(1u, lines([] { ri_warn_once("value %d", 1); }));
    EXPECT_FALSE(another_says("value 1"));
    EXPECT_FALSE(another_says("value 1"));
    EXPECT_EQ(0u, lines([] { ri_warn_once("value %d", 1); }));
}

TEST_F(test_warn_once, a_rank_says_what_is_its_own)
{
    EXPECT_EQ(1u, lines([] { ri_warn_once("value 2"); }));
    EXPECT_TRUE(another_says("value 3"));
    EXPECT_EQ(1u, lines([] { ri_warn_once("value 3"); })); /* the other one has ended */
}

TEST_F(test_warn_once, other_jobs_say_it_too)
{
    EXPECT_EQ(1u, lines([] { ri_warn_once("value 4"); }));
    EXPECT_TRUE(another_says("value 4", "another"));
}

TEST_F(test_warn_once, processes_of_no_job_say_it_each)
{
    std::string text = "value 5." +
                       std::to_string(m_tests); /* also where this is repeated */

    unsetenv("FLUX_JOB_ID");
    EXPECT_EQ(1u, lines([&] { ri_warn_once("%s", text.c_str()); }));
    EXPECT_TRUE(another_says(text.c_str()));
}

TEST_F(test_warn_once, ranks_of_a_job_without_a_name_have_a_parent)
{
    unsetenv("FLUX_JOB_ID");
    setenv("PMI_RANK", "1", 1);
    pid_t pid = fork();
    if (pid == 0) {
        bool first  = another_says("value 7"); /* its socket is closed by now */
        pid_t child = fork();
        if (child == 0) {
            ri_warn_once("value 7");
            _exit(another_says("value 7")); /* it has another parent */
        }
        int status;
        waitpid(child, &status, 0);
        _exit(first && WIFEXITED(status) && (WEXITSTATUS(status) == 1));
    }
    int status;
    waitpid(pid, &status, 0);
    unsetenv("PMI_RANK");
    EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 1));
}

/* Who prints no warnings leaves them to others. */
TEST_F(test_warn_once, a_silent_rank_is_no_speaker)
{
    ri_log_level = RI_LOG_LEVEL_ERROR;
    EXPECT_EQ(0u, lines([] { ri_warn_once("value 8"); }));
    ri_log_level = RI_LOG_LEVEL_WARN;
    EXPECT_TRUE(another_says("value 8"));
}

/* A program without a standard input still has none. */
TEST_F(test_warn_once, closed_streams_stay_closed)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        close(STDIN_FILENO);
        ri_warn_once("value 9");
        _exit(fcntl(STDIN_FILENO, F_GETFD) == -1);
    }
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 1));
}

TEST_F(test_warn_once, the_others_say_it_at_level_info)
{
    ri_log_level = RI_LOG_LEVEL_INFO;
    EXPECT_EQ(1u, lines([] { ri_warn_once("value 6"); }));
    EXPECT_TRUE(another_says("value 6"));
}

/* Two libraries in one process read the same variable. */
TEST_F(test_warn_once, a_value_is_rejected_once)
{
    auto reject = [] { ri_warn_value("UCXRI_WIN", "yse", "y, n or auto", "auto"); };

    EXPECT_EQ(1u, lines(reject));
    EXPECT_EQ(0u, lines(reject));
}

} // namespace
