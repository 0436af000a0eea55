/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/ud/ud_base.h: the states of a receive */

#include "unit/common/ri_cpp.h"
#include "unit/common/state_changes.h"

#include <gtest/gtest.h>
#include <limits> /* verbs.h wants it in C++, and not as C */

extern "C" {
#include "uct/ib/ud/ud_base.h"
}

namespace {

/* Which changes ri_ud_recv_state_t allows */
TEST(test_ud_base, receive_states)
{
    const state_changes<ri_ud_recv_state_t> legal = {
            {RI_UD_RECV_NEW, RI_UD_RECV_ACTIVE},    {RI_UD_RECV_NEW, RI_UD_RECV_WAITING},
            {RI_UD_RECV_WAITING, RI_UD_RECV_READY}, {RI_UD_RECV_READY, RI_UD_RECV_ACTIVE},
            {RI_UD_RECV_WAITING, RI_UD_RECV_ENDED}, {RI_UD_RECV_READY, RI_UD_RECV_ENDED},
            {RI_UD_RECV_ACTIVE, RI_UD_RECV_ENDED}};

    check_state_changes<RI_UD_RECV_STATE_LAST>(ri_ud_recv_may_become, legal);
}

} // namespace
