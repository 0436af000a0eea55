/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/win/window.h: the states of an access epoch */

#include "unit/common/state_changes.h"
#include "unit/win/win_cpp.h"

#if HAVE_WIN_MPICH

#include <gtest/gtest.h>

namespace {

/* Which changes ri_window_access_t allows */
TEST(test_window_states, access)
{
    const state_changes<ri_window_access_t> legal = {
            {RI_WINDOW_NONE, RI_WINDOW_NONE},       {RI_WINDOW_NONE, RI_WINDOW_FENCED},
            {RI_WINDOW_NONE, RI_WINDOW_START},      {RI_WINDOW_NONE, RI_WINDOW_LOCK_ALL},
            {RI_WINDOW_FENCED, RI_WINDOW_NONE},     {RI_WINDOW_FENCED, RI_WINDOW_FENCED},
            {RI_WINDOW_FENCED, RI_WINDOW_FENCE},    {RI_WINDOW_FENCED, RI_WINDOW_START},
            {RI_WINDOW_FENCED, RI_WINDOW_LOCK_ALL}, {RI_WINDOW_FENCE, RI_WINDOW_NONE},
            {RI_WINDOW_FENCE, RI_WINDOW_FENCED},    {RI_WINDOW_FENCE, RI_WINDOW_FENCE},
            {RI_WINDOW_START, RI_WINDOW_NONE},      {RI_WINDOW_LOCK_ALL, RI_WINDOW_NONE}};

    check_state_changes<RI_WINDOW_ACCESS_LAST>(ri_window_may_become, legal);
}

} // namespace

#endif
