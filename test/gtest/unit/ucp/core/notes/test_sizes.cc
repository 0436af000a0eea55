/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/notes/sizes.h */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucp/core/notes/sizes.h"
}

#include <gtest/gtest.h>
#include <memory>

namespace {

TEST(test_sizes, classes)
{
    const struct {
        uint64_t length;
        unsigned size_class;
    } cases[] = {{0, 0},
                 {1, 1},
                 {2, 2},
                 {3, 3},
                 {4, 3},
                 {5, 4},
                 {8, 4},
                 {9, 5},
                 {8192, 14},
                 {8193, 15},
                 {1u << 20, 21},
                 {1ul << 34, 35},
                 {(1ul << 34) + 1, 35},
                 {~0ul, 35}};

    for (auto &c : cases) {
        EXPECT_EQ(c.size_class, ri_sizes_class(c.length)) << c.length;
    }
}

/* The bound is the largest length of its class */
TEST(test_sizes, bounds)
{
    for (unsigned i = 0; i < RI_SIZES_CLASSES; ++i) {
        EXPECT_EQ(i, ri_sizes_class(ri_sizes_bound(i)));
        if (i + 1 < RI_SIZES_CLASSES) {
            EXPECT_EQ(i + 1, ri_sizes_class(ri_sizes_bound(i) + 1));
        }
    }
}

TEST(test_sizes, note)
{
    auto sizes = std::make_unique<ri_sizes_t>();

    ri_sizes_note(nullptr, RI_SIZES_OF(tx_self), 8); /* nobody wants to know */
    ri_sizes_note(sizes.get(), RI_SIZES_OF(tx_self), 8);
    ri_sizes_note(sizes.get(), RI_SIZES_OF(tx_self), 7);
    ri_sizes_note(sizes.get(), RI_SIZES_OF(rma_stock), 9); /* the last counter */
    EXPECT_EQ(2u, sizes->messages[RI_SIZES_OF(tx_self) / sizeof(uint64_t)][4]);
    EXPECT_EQ(1u, sizes->messages[sizeof(ri_conn_counters_t) / sizeof(uint64_t) - 1][5]);
}

} // namespace
