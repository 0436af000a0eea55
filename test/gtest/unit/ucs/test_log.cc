/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/log.[hc] */

#include "unit/common/ri_cpp.h"
#include "unit/common/setting.h"

#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace {

unsigned g_errors;

class test_log : public testing::Test {
protected:
    /* One message of each level */
    static std::string lines()
    {
        testing::internal::CaptureStderr();
        ri_error("number %d", 1);
        ri_warn("number %d", 2);
        ri_info("number %d", 3);
        ri_debug("number %d", 4);
        return testing::internal::GetCapturedStderr();
    }

    setting<void (*)()> m_on_error{ri_log_on_error, [] { ++g_errors; }};
};

TEST_F(test_log, up_to_the_level)
{
    for (ri_log_level_t level :
         {RI_LOG_LEVEL_ERROR, RI_LOG_LEVEL_WARN, RI_LOG_LEVEL_INFO, RI_LOG_LEVEL_DEBUG}) {
        ri_log_level     = level;
        std::string text = lines();

        EXPECT_EQ(level + 1, std::count(text.begin(), text.end(), '\n'));
        for (int number : {1, 2, 3, 4}) {
            bool said = text.find("number " + std::to_string(number) + "\n") !=
                        std::string::npos;
            EXPECT_EQ(number <= level + 1, said) << number;
        }
    }
}

TEST_F(test_log, says_who_and_how_bad)
{
    ri_log_level     = RI_LOG_LEVEL_WARN;
    std::string text = lines();

    EXPECT_NE(std::string::npos, text.find(":" + std::to_string(getpid()) + "]"));
    EXPECT_NE(std::string::npos, text.find(" ucxri ERROR number 1\n"));
    EXPECT_NE(std::string::npos, text.find(" ucxri WARN  number 2\n"));
}

TEST_F(test_log, arguments_are_left_alone_if_nothing_is_printed)
{
    int evaluated = 0;

    ri_log_level = RI_LOG_LEVEL_WARN;
    ri_info("%d", ++evaluated);
    ri_debug("%d", ++evaluated);
    EXPECT_EQ(0, evaluated);
}

/* One line of at most a kilobyte, however long the text is */
TEST_F(test_log, long_text_is_cut)
{
    std::string text(5000, 'x');

    ri_log_level = RI_LOG_LEVEL_WARN;
    testing::internal::CaptureStderr();
    ri_warn("%s", text.c_str());
    std::string line = testing::internal::GetCapturedStderr();
    EXPECT_EQ(1, std::count(line.begin(), line.end(), '\n'));
    EXPECT_EQ('\n', line.back());
    EXPECT_EQ(1023,
              std::count(line.begin(), line.end(), 'x') -
                      std::count(line.begin(), line.begin() + line.find("] ucxri"), 'x') -
                      1 /* of ucxri */);
}

TEST_F(test_log, errors_are_told)
{
    ri_log_level = RI_LOG_LEVEL_DEBUG;
    g_errors     = 0;
    lines();
    EXPECT_EQ(1u, g_errors);
}

} // namespace
