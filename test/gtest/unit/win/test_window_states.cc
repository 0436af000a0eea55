/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/win/window.h: the states of access and exposure epochs */

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

/* Which changes ri_window_exposure_t allows */
TEST(test_window_states, exposure)
{
    const state_changes<ri_window_exposure_t> legal = {
            {RI_WINDOW_NOT_EXPOSED, RI_WINDOW_EXPOSED},
            {RI_WINDOW_EXPOSED, RI_WINDOW_NOT_EXPOSED}};

    check_state_changes<RI_WINDOW_EXPOSURE_LAST>(ri_window_exposure_may_become, legal);
}

#ifndef NDEBUG
/* A change that is not legal ends the process in a debug build. */
TEST(test_window_states, illegal)
{
    ri_window_t window = {};

    window.access = RI_WINDOW_START;
    EXPECT_DEATH(ri_window_set_access(&window, RI_WINDOW_FENCE), "ri_window_may_become");
    EXPECT_DEATH(ri_window_set_exposure(&window, RI_WINDOW_NOT_EXPOSED),
                 "ri_window_exposure_may_become");
    ri_window_set_exposure(&window, RI_WINDOW_EXPOSED);
    EXPECT_DEATH(ri_window_set_exposure(&window, RI_WINDOW_EXPOSED),
                 "ri_window_exposure_may_become");
}
#endif

} // namespace

#endif
