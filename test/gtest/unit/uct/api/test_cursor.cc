/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/api/cursor.h: a place in a list of segments, some of which are empty. */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "uct/api/cursor.h"
}

#include <gtest/gtest.h>

namespace {

const ri_segment_t LIST[] = {{1000, 0}, {2000, 3}, {3000, 0}, {4000, 5}, {5000, 0}};

/* Steps of one byte: each address of the list, and then its end. */
TEST(test_cursor, byte_by_byte)
{
    const uint64_t addresses[] = {2000, 2001, 2002, 4000, 4001, 4002, 4003, 4004};
    const uint64_t rests[]     = {3, 2, 1, 5, 4, 3, 2, 1};
    ri_cursor_t cursor         = ri_cursor_at(LIST, 5, 0);

    for (size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(addresses[i], ri_cursor_address(&cursor)) << i;
        EXPECT_EQ(rests[i], ri_cursor_rest(&cursor)) << i;
        ri_cursor_advance(&cursor, 1);
    }
    EXPECT_EQ(0u, ri_cursor_rest(&cursor));
    ri_cursor_advance(&cursor, 1);
    EXPECT_EQ(0u, ri_cursor_rest(&cursor));
}

/* It begins anywhere, and long steps are the sum of short ones. */
TEST(test_cursor, any_step)
{
    for (uint64_t from = 0; from <= 9; ++from) {
        for (uint64_t step = 0; step <= 9; ++step) {
            ri_cursor_t cursor = ri_cursor_at(LIST, 5, from);
            ri_cursor_t there  = ri_cursor_at(LIST, 5, from + step);

            ri_cursor_advance(&cursor, step);
            EXPECT_EQ(there.segment, cursor.segment) << from << " " << step;
            EXPECT_EQ(there.offset, cursor.offset) << from << " " << step;
        }
    }
}

TEST(test_cursor, nothing)
{
    ri_cursor_t none  = ri_cursor_at(nullptr, 0, 0);
    ri_cursor_t empty = ri_cursor_at(LIST, 1, 0);

    EXPECT_EQ(0u, ri_cursor_rest(&none));
    EXPECT_EQ(0u, ri_cursor_rest(&empty));
}

} // namespace
