/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/rndv/rndv_ud.c: where a message goes */

#include "unit/common/ri_cpp.h"
#include "unit/common/state_changes.h"

extern "C" {
#include "ucp/proto/rndv/rndv_ud.h"
}

#include <gtest/gtest.h>

namespace {

/* Which changes ri_send_target_t allows */
TEST(test_rndv_ud_target, states)
{
    const state_changes<ri_send_target_t> legal = {
            {RI_SEND_TARGET_NONE, RI_SEND_TARGET_WANTED},
            {RI_SEND_TARGET_WANTED, RI_SEND_TARGET_USED},
            {RI_SEND_TARGET_WANTED, RI_SEND_TARGET_ABANDONED},
            {RI_SEND_TARGET_USED, RI_SEND_TARGET_ABANDONED}};

    check_state_changes<RI_SEND_TARGET_LAST>(ri_rndv_ud_may_become, legal);
}

} // namespace
