/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/conn.c: the order of what happens to a conn */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

const uint32_t CLOSING = RI_CONN_CLOSING;
const uint32_t LEFT    = RI_CONN_LEFT;
const uint32_t LOST    = RI_CONN_LOST;
const uint32_t BYE     = RI_CONN_BYE;

/* All sets of the flags of RI_CONN_LIFE */
std::vector<uint32_t> lives()
{
    std::vector<uint32_t> all;

    for (unsigned i = 0; i < 16; ++i) {
        all.push_back(((i & 1) ? CLOSING : 0) | ((i & 2) ? LEFT : 0) |
                      ((i & 4) ? LOST : 0) | ((i & 8) ? BYE : 0));
    }
    return all;
}

/* A change that conn_types.h lists; "works": if the status is UCS_OK */
struct step {
    uint32_t set, clear;
    uint32_t without; /* flags of which none may be set before */
    uint32_t with;    /* flags that have to be set before */
    bool works;
};

const std::vector<step> STEPS = {{0, 0, 0, 0, false},
                                 {CLOSING, 0, CLOSING | LEFT, 0, false},
                                 {CLOSING | LEFT, 0, CLOSING | LEFT, 0, false},
                                 {LEFT, 0, LEFT, CLOSING, false},
                                 {LOST, 0, LOST, 0, true},
                                 {BYE, 0, BYE, 0, true},
                                 {BYE, 0, BYE, LOST, false},
                                 {0, LOST, 0, LOST, false}};

bool is_legal(uint32_t from, uint32_t to, bool works)
{
    for (const step &s : STEPS) {
        if ((((from | s.set) & ~s.clear) == to) && !(from & s.without) &&
            ((from & s.with) == s.with) && (works || !s.works)) {
            return true;
        }
    }
    return false;
}

TEST(test_conn, life)
{
    for (uint32_t from : lives()) {
        for (uint32_t to : lives()) {
            for (bool works : {false, true}) {
                EXPECT_EQ(is_legal(from, to, works),
                          !!ri_conn_may_become(from, to, works))
                        << std::hex << from << " -> " << to << " " << works;
            }
        }
    }
}

/* Other flags are left alone. */
TEST(test_conn, set_life)
{
    ri_conn_t conn = {};

    conn.flags = RI_CONN_USER | RI_CONN_LONG;
    ri_conn_set_life(&conn, conn.flags | CLOSING | RI_CONN_SELF);
    EXPECT_EQ(RI_CONN_USER | RI_CONN_LONG | CLOSING, conn.flags);
    ri_conn_set_life(&conn, CLOSING | LOST);
    EXPECT_EQ(RI_CONN_USER | RI_CONN_LONG | CLOSING | LOST, conn.flags);
    ri_conn_set_life(&conn, conn.flags & ~LOST);
    EXPECT_EQ(RI_CONN_USER | RI_CONN_LONG | CLOSING, conn.flags);
}

} // namespace
