/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/device/filter.[hc] */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>
#include <string>

namespace {

TEST(test_device_filter, transports)
{
    EXPECT_TRUE(ri_ib_filter_transports(nullptr));
    for (const char *list :
         {"all", "ib", "rc", "rc_x", "rc_mlx5", "rc_verbs,ud_verbs:aux,self", "sm,ud",
          "tcp,dc_x", "\\rc_verbs", "shm,,rc", "^tcp", "^sm,tcp", "^ud:aux"}) {
        EXPECT_TRUE(ri_ib_filter_transports(list)) << list;
    }
    for (const char *list : {"", ",", "tcp", "posix,sysv,cma,self", "tcp,ud:aux", "^ib",
                             "^tcp,rc", "^all", "self,cuda_copy"}) {
        EXPECT_FALSE(ri_ib_filter_transports(list)) << list;
    }
    std::string longest(1000, 'r');
    EXPECT_FALSE(ri_ib_filter_transports(longest.c_str()));
    EXPECT_TRUE(ri_ib_filter_transports((longest + ",rc").c_str()));
}

TEST(test_device_filter, ports)
{
    EXPECT_TRUE(ri_ib_filter_port(nullptr, "mlx5_0", 1));
    for (const char *list : {"all", "mlx5_0", "mlx5_0:1", "eth0,mlx5_0:1", "mlx5_*",
                             "mlx5_[0-3]:1", "^mlx5_1", "^mlx5_0:2,eth0"}) {
        EXPECT_TRUE(ri_ib_filter_port(list, "mlx5_0", 1)) << list;
    }
    for (const char *list : {"", "eth0", "mlx5_0:2", "mlx5_00", "mlx5", "mlx5_0:11",
                             "^mlx5_0", "^eth0,mlx5_0:1", "^all", "mlx5_0:"}) {
        EXPECT_FALSE(ri_ib_filter_port(list, "mlx5_0", 1)) << list;
    }
    std::string longest(1000, 'm');
    EXPECT_FALSE(ri_ib_filter_port(longest.c_str(), "mlx5_0", 1));
}

} // namespace
