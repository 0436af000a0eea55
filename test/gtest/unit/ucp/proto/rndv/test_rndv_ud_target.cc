/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/rndv/rndv_ud.c: where a message goes */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucp/proto/rndv/rndv_ud.h"
}

#include <gtest/gtest.h>
#include <set>
#include <utility>

namespace {

/* Which changes ri_send_target_t allows */
TEST(test_rndv_ud_target, states)
{
    const std::set<std::pair<ri_send_target_t, ri_send_target_t>> legal = {
            {RI_SEND_TARGET_NONE, RI_SEND_TARGET_WANTED},
            {RI_SEND_TARGET_WANTED, RI_SEND_TARGET_USED},
            {RI_SEND_TARGET_WANTED, RI_SEND_TARGET_ABANDONED},
            {RI_SEND_TARGET_USED, RI_SEND_TARGET_ABANDONED}};

    for (int from = 0; from < RI_SEND_TARGET_LAST; ++from) {
        for (int to = 0; to < RI_SEND_TARGET_LAST; ++to) {
            auto change = std::make_pair((ri_send_target_t)from, (ri_send_target_t)to);

            EXPECT_EQ(legal.count(change) > 0,
                      !!ri_rndv_ud_may_become(change.first, change.second))
                    << from << " -> " << to;
        }
    }
}

} // namespace
