/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/warn_once.c */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucs/warn_once.h"
}

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

class test_warn_once : public testing::Test {
protected:
    void SetUp() override
    {
        ri_log_level = RI_LOG_LEVEL_WARN;
        setenv("FLUX_JOB_ID", ("warn-" + std::to_string(getpid())).c_str(), 1);
    }

    void TearDown() override
    {
        unsetenv("FLUX_JOB_ID");
        ri_log_level = RI_LOG_LEVEL_WARN;
    }

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
    unsetenv("FLUX_JOB_ID");
    EXPECT_EQ(1u, lines([] { ri_warn_once("value 5"); }));
    EXPECT_TRUE(another_says("value 5"));
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
