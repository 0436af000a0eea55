/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/settings/switch.c */

extern "C" {
#include "ucp/core/settings/switch.h"
}

#include <gtest/gtest.h>
#include <string>

namespace {

TEST(test_switch, unset)
{
    EXPECT_EQ(RI_SWITCH_UNSET, ri_switch_read(nullptr));
    EXPECT_FALSE(ri_switch_is_on(nullptr));
}

TEST(test_switch, on)
{
    for (const char *value : {"recv_init", "RECV_INIT", "Recv_Init"}) {
        EXPECT_EQ(RI_SWITCH_ON, ri_switch_read(value)) << value;
        EXPECT_TRUE(ri_switch_is_on(value)) << value;
    }
}

TEST(test_switch, misspelt)
{
    for (const char *value :
         {"recv-init", "recvinit", "recv_int", "RECV-INIT", "recv init", "recv_inti",
          "rcev_init", "rev_init", "recv_init2", "recv__init", " recv_init", "recv_nit",
          "recvi_nit", "recv_initiated", "receiver_init", "receiver-initiated",
          "recieve_init"}) {
        EXPECT_EQ(RI_SWITCH_MEANT, ri_switch_read(value)) << value;
        EXPECT_TRUE(ri_switch_is_on(value)) << value;
    }
}

/* All values that UCX 1.13 to 1.18 knows, and some that nobody does */
TEST(test_switch, other)
{
    for (const char *value :
         {"auto", "am", "get_zcopy", "put_zcopy", "get_ppln", "put_ppln", "rkey_ptr",
          "get_mtype", "put_mtype", "rtr", "rts", "", "bogus", "recv", "init",
          "send_init", "recv_initially_and_so_on_without_end"}) {
        EXPECT_EQ(RI_SWITCH_OTHER, ri_switch_read(value)) << value;
        EXPECT_FALSE(ri_switch_is_on(value)) << value;
    }
    EXPECT_EQ(RI_SWITCH_OTHER, ri_switch_read(std::string(100000, 'r').c_str()));
}

} // namespace
