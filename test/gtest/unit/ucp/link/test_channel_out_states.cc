/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/link/channel_out.c: the states of the sender's end */

#include "unit/common/ri_cpp.h"
#include "unit/common/state_changes.h"

#include <gtest/gtest.h>

namespace {

/* Which changes ri_channel_state_t allows */
TEST(test_channel_out_states, states)
{
    const state_changes<ri_channel_state_t> legal = {
            {RI_CHANNEL_OPEN, RI_CHANNEL_STOPPING},
            {RI_CHANNEL_OPEN, RI_CHANNEL_AGAIN},
            {RI_CHANNEL_STOPPING, RI_CHANNEL_AGAIN},
            {RI_CHANNEL_AGAIN, RI_CHANNEL_AGAIN}};

    check_state_changes<RI_CHANNEL_STATE_LAST>(ri_channel_out_may_become, legal);
}

} // namespace
