/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/rtr/rtr_state.c: what a posted receive has promised to a sender */

#include "unit/common/ri_cpp.h"
#include "unit/common/state_changes.h"

extern "C" {
#include "ucp/proto/rtr/rtr_state.h"
}

#include <gtest/gtest.h>

namespace {

/* Which changes ri_rtr_state_t allows */
TEST(test_rtr_state, states)
{
    const state_changes<ri_rtr_state_t> legal = {{RI_RTR_NONE, RI_RTR_QUEUED},
                                                 {RI_RTR_QUEUED, RI_RTR_QUEUED},
                                                 {RI_RTR_QUEUED, RI_RTR_NONE},
                                                 /* With a grant */
                                                 {RI_RTR_NONE, RI_RTR_BY_GRANT},
                                                 {RI_RTR_QUEUED, RI_RTR_BY_GRANT},
                                                 {RI_RTR_BY_GRANT, RI_RTR_NONE},
                                                 {RI_RTR_BY_GRANT, RI_RTR_KEPT},
                                                 {RI_RTR_KEPT, RI_RTR_NONE},
                                                 /* With a target */
                                                 {RI_RTR_NONE, RI_RTR_BY_UD},
                                                 {RI_RTR_QUEUED, RI_RTR_BY_UD},
                                                 {RI_RTR_BY_UD, RI_RTR_NONE},
                                                 /* With a key */
                                                 {RI_RTR_NONE, RI_RTR_BY_KEY},
                                                 {RI_RTR_QUEUED, RI_RTR_BY_KEY},
                                                 {RI_RTR_BY_KEY, RI_RTR_KEY_USED},
                                                 {RI_RTR_BY_KEY, RI_RTR_WRITTEN},
                                                 {RI_RTR_BY_KEY, RI_RTR_NAMED},
                                                 {RI_RTR_BY_KEY, RI_RTR_NONE},
                                                 {RI_RTR_KEY_USED, RI_RTR_WRITTEN},
                                                 {RI_RTR_KEY_USED, RI_RTR_NAMED},
                                                 {RI_RTR_KEY_USED, RI_RTR_NONE},
                                                 {RI_RTR_WRITTEN, RI_RTR_NONE},
                                                 {RI_RTR_NAMED, RI_RTR_NONE}};

    check_state_changes<RI_RTR_STATE_LAST>(ri_rtr_state_may_become, legal);
}

} // namespace
