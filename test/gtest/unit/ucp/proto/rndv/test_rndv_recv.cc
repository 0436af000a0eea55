/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/rndv/rndv_recv.c: what it decides by */

#include "unit/common/ri_cpp.h"
#include "unit/common/state_changes.h"

#include <gtest/gtest.h>

namespace {

/* Which changes ri_recv_written_t allows */
TEST(test_rndv_recv, written)
{
    const state_changes<ri_recv_written_t> legal = {
            {RI_RECV_NOT_WRITTEN, RI_RECV_BY_CTS},
            {RI_RECV_NOT_WRITTEN, RI_RECV_BY_TARGET},
            {RI_RECV_BY_TARGET, RI_RECV_NOT_WRITTEN}};

    check_state_changes<RI_RECV_WRITTEN_LAST>(ri_rndv_recv_may_become, legal);
}

/* Memory that the sender may still write is not handed back, unless this process's end of the way
 * can be destroyed, or the sender is gone. */
TEST(test_rndv_recv, may_end)
{
    for (int written = 0; written < RI_RECV_WRITTEN_LAST; ++written) {
        for (int has_keys : {0, 1}) {
            for (int is_gone : {0, 1}) {
                bool stays = (written == RI_RECV_BY_CTS) && !has_keys && !is_gone;

                EXPECT_EQ(!stays, !!ri_rndv_recv_may_end((ri_recv_written_t)written,
                                                         has_keys, is_gone))
                        << written << has_keys << is_gone;
            }
        }
    }
}

} // namespace
