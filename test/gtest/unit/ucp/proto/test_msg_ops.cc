/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/msg_ops.c: what holds for the table of each kind of messages. What is done with
 * them is tested by kind. (core/types/msg_kind.h) */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucp/proto/msg_ops.h"
}

#include <gtest/gtest.h>

namespace {

const ri_msg_kind_t KINDS[] = {RI_MSG_COPY,   RI_MSG_AM_DATA, RI_MSG_AM_RNDV, RI_MSG_RTS,
                               RI_MSG_PLACED, RI_MSG_USED,    RI_MSG_SELF};

TEST(test_msg_ops, each_kind_can_start)
{
    for (ri_msg_kind_t kind : KINDS) {
        ASSERT_NE(nullptr, ri_msg_ops[kind]) << kind;
        EXPECT_NE(nullptr, ri_msg_ops[kind]->start) << kind;
    }
}

/* The data is in one place. */
TEST(test_msg_ops, one_place)
{
    for (ri_msg_kind_t kind : KINDS) {
        const ri_msg_ops_t *ops = ri_msg_ops[kind];

        EXPECT_LE(ops->is_held + ops->is_elsewhere + ops->is_placed, 1) << kind;
        EXPECT_FALSE(ops->is_placed && ops->has_desc) << kind;
        EXPECT_EQ(kind == RI_MSG_SELF,
                  !ops->is_held && !ops->is_elsewhere && !ops->is_placed)
                << kind;
    }
}

/* A sender that waits is told, whatever becomes of its message. */
TEST(test_msg_ops, who_waits_is_told)
{
    for (ri_msg_kind_t kind : KINDS) {
        const ri_msg_ops_t *ops = ri_msg_ops[kind];

        EXPECT_EQ(ops->keep != nullptr, ops->done != nullptr) << kind;
        EXPECT_EQ((ops->keep != nullptr) || ops->answers, ops->discard != nullptr)
                << kind;
        EXPECT_FALSE((ops->keep != nullptr) && ops->has_desc) << kind;
    }
}

} // namespace
