/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/link/way.c: the states of an end */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>
#include <set>
#include <utility>

namespace {

/* Which changes ri_way_state_t allows */
TEST(test_way, states)
{
    const std::set<std::pair<ri_way_state_t, ri_way_state_t>> legal = {
            {RI_WAY_NONE, RI_WAY_NONE},          {RI_WAY_NONE, RI_WAY_FAILED},
            {RI_WAY_NONE, RI_WAY_PREPARED},      {RI_WAY_FAILED, RI_WAY_NONE},
            {RI_WAY_FAILED, RI_WAY_FAILED},      {RI_WAY_FAILED, RI_WAY_PREPARED},
            {RI_WAY_PREPARED, RI_WAY_CONNECTED}, {RI_WAY_PREPARED, RI_WAY_NONE},
            {RI_WAY_PREPARED, RI_WAY_FAILED},    {RI_WAY_CONNECTED, RI_WAY_NONE},
            {RI_WAY_CONNECTED, RI_WAY_FAILED}};

    for (int from = 0; from < RI_WAY_STATE_LAST; ++from) {
        for (int to = 0; to < RI_WAY_STATE_LAST; ++to) {
            auto change = std::make_pair((ri_way_state_t)from, (ri_way_state_t)to);

            EXPECT_EQ(legal.count(change) > 0,
                      !!ri_way_may_become(change.first, change.second))
                    << from << " -> " << to;
        }
    }
}

} // namespace
