/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/rndv/rndv_recv.c: what it decides by */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>
#include <set>
#include <utility>

namespace {

/* Which changes ri_recv_written_t allows */
TEST(test_rndv_recv, written)
{
    const std::set<std::pair<ri_recv_written_t, ri_recv_written_t>> legal = {
            {RI_RECV_NOT_WRITTEN, RI_RECV_BY_CTS},
            {RI_RECV_NOT_WRITTEN, RI_RECV_BY_TARGET},
            {RI_RECV_BY_TARGET, RI_RECV_NOT_WRITTEN}};

    for (int from = 0; from < RI_RECV_WRITTEN_LAST; ++from) {
        for (int to = 0; to < RI_RECV_WRITTEN_LAST; ++to) {
            auto change = std::make_pair((ri_recv_written_t)from, (ri_recv_written_t)to);

            EXPECT_EQ(legal.count(change) > 0,
                      !!ri_rndv_recv_may_become(change.first, change.second))
                    << from << " -> " << to;
        }
    }
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
