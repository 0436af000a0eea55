/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/stock.[hc]: how functions are found. That the table is complete, and that it is UCX's and
 * not the library's own, is tested with the library preloaded (switch.test). */

#include "unit/common/ri_cpp.h"
#include "unit/common/setting.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

class test_stock : public testing::Test {
protected:
    setting<ri_stock_t> m_stock{ri_stock};
};

/* UCX may have been opened by the program alone, as an MPI's plugins are. In a child, as UCX
 * changes the process that it is loaded into. */
TEST_F(test_stock, symbols_of_a_private_ucx)
{
    int status  = -1;
    pid_t child = fork();

    if (child == 0) {
        bool loaded = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL) != nullptr;

        _exit(!loaded || (ri_stock_symbol("ucp_get_version") == nullptr) ||
              (ri_stock_symbol("ucs_status_string") == nullptr) ||
              (ri_stock_symbol("ucp_is_no_such_function") != nullptr));
    }
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
}

TEST_F(test_stock, versions)
{
    ri_stock.version_major = 1;
    ri_stock.version_minor = 13;
    EXPECT_TRUE(ri_stock_version_at_least(1, 13));
    EXPECT_TRUE(ri_stock_version_at_least(1, 12));
    EXPECT_TRUE(ri_stock_version_at_least(0, 99));
    EXPECT_FALSE(ri_stock_version_at_least(1, 14));
    EXPECT_FALSE(ri_stock_version_at_least(2, 0));
}

TEST_F(test_stock, status_without_libucs)
{
    ri_stock.ucs_status_string = nullptr;
    EXPECT_STREQ("(no libucs)", ri_stock_status_string(UCS_ERR_NO_MEMORY));
    ri_stock.ucs_status_string = [](ucs_status_t status) {
        return (status == UCS_ERR_NO_MEMORY) ? "none" : "other";
    };
    EXPECT_STREQ("none", ri_stock_status_string(UCS_ERR_NO_MEMORY));
}

} // namespace
