/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/win/setting.[hc]: what is read when the library is loaded: so each case is a process of its own. */

#include "unit/win/win_cpp.h"

#if HAVE_WIN_MPICH

#include <gtest/gtest.h>
#include <map>
#include <string>

namespace {

typedef std::map<std::string, std::string> environment;

class test_setting : public ::testing::Test {
protected:
    void SetUp() override
    {
        ::testing::FLAGS_gtest_death_test_style = "threadsafe";
        clear();
    }

    void TearDown() override { clear(); }

    static void clear()
    {
        for (const char *name : {"UCXRI_WIN", "UCXRI_WIN_HOSTS", "UCXRI_LOG_LEVEL",
                                 "UCX_RNDV_SCHEME", "MPI_UCX_RNDV_SCHEME"}) {
            unsetenv(name);
        }
    }

    static void print()
    {
        static const char *const names[] = {"no", "off", "yes", "auto"};

        fprintf(stderr, "%s, hosts %d, level %d\n", names[ri_setting()],
                ri_setting_takes_hosts(), ri_log_level);
        ri_setting_warn();
        _exit(0);
    }

    /* @a expected: what a process prints that has these variables */
    static void expect(const environment &env, const std::string &expected)
    {
        clear();
        for (const auto &entry : env) {
            setenv(entry.first.c_str(), entry.second.c_str(), 1);
        }
        EXPECT_EXIT(print(), ::testing::ExitedWithCode(0), expected);
    }
};

TEST_F(test_setting, presets)
{
    expect({}, "^off, hosts 1, level 1\n$");
    expect({{"UCX_RNDV_SCHEME", "recv_init"}}, "^auto, hosts 1, ");
    expect({{"UCX_RNDV_SCHEME", "get_zcopy"}}, "^off, ");
}

/* The prefixed variable goes before the other one. */
TEST_F(test_setting, one_switch)
{
    expect({{"MPI_UCX_RNDV_SCHEME", "recv_init"}}, "^auto, ");
    expect({{"MPI_UCX_RNDV_SCHEME", "get_zcopy"}, {"UCX_RNDV_SCHEME", "recv_init"}},
           "^off, ");
}

TEST_F(test_setting, win)
{
    expect({{"UCXRI_WIN", "y"}}, "^yes, ");
    expect({{"UCXRI_WIN", "n"}, {"UCX_RNDV_SCHEME", "recv_init"}}, "^no, ");
    expect({{"UCXRI_WIN", "AUTO"}, {"UCX_RNDV_SCHEME", "recv_init"}}, "^auto, .*\n$");
}

TEST_F(test_setting, hosts)
{
    expect({{"UCXRI_WIN_HOSTS", "n"}}, ", hosts 0, ");
    expect({{"UCXRI_WIN_HOSTS", "y"}}, ", hosts 1, ");
    expect({{"UCXRI_WIN_HOSTS", "auto"}}, ", hosts 1, .*\n$");
}

/* As if they were not set; that is said later. */
TEST_F(test_setting, values_that_are_not_good)
{
    expect({{"UCXRI_WIN", "always"}, {"UCX_RNDV_SCHEME", "recv_init"}},
           "^auto, hosts 1, level 1\n[^\n]*UCXRI_WIN[^\n]*always[^\n]*\n$");
    expect({{"UCXRI_WIN_HOSTS", "2"}},
           "^off, hosts 1, level 1\n[^\n]*UCXRI_WIN_HOSTS[^\n]*\n$");
    expect({{"UCXRI_WIN", std::string(300, 'x')}},
           "^off, .*\n[^\n]*UCXRI_WIN[^\n]*xxx[^\n]*\n$");
}

TEST_F(test_setting, log_level)
{
    expect({{"UCXRI_LOG_LEVEL", "error"}}, "level 0\n");
    expect({{"UCXRI_LOG_LEVEL", "DEBUG"}}, "level 3\n");
    expect({{"UCXRI_LOG_LEVEL", "loud"}}, "level 1\n");
}

} // namespace

#endif
