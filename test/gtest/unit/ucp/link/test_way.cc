/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/link/way.c: the states of an end */

#include "unit/common/ri_cpp.h"
#include "unit/common/state_changes.h"

#include <gtest/gtest.h>

namespace {

/* Which changes ri_way_state_t allows */
TEST(test_way, states)
{
    const state_changes<ri_way_state_t> legal = {
            {RI_WAY_NONE, RI_WAY_NONE},          {RI_WAY_NONE, RI_WAY_FAILED},
            {RI_WAY_NONE, RI_WAY_PREPARED},      {RI_WAY_FAILED, RI_WAY_NONE},
            {RI_WAY_FAILED, RI_WAY_FAILED},      {RI_WAY_FAILED, RI_WAY_PREPARED},
            {RI_WAY_PREPARED, RI_WAY_CONNECTED}, {RI_WAY_PREPARED, RI_WAY_NONE},
            {RI_WAY_PREPARED, RI_WAY_FAILED},    {RI_WAY_CONNECTED, RI_WAY_NONE},
            {RI_WAY_CONNECTED, RI_WAY_FAILED}};

    check_state_changes<RI_WAY_STATE_LAST>(ri_way_may_become, legal);
}

} // namespace
