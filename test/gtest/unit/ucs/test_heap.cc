/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/heap.h */

#include "common/sanitized.h"
#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>
#include <malloc.h>

extern "C" {
#include "ucs/heap.h"
}

namespace {

TEST(test_heap, steps)
{
    EXPECT_EQ(32u, ri_heap_block(0));
    EXPECT_EQ(32u, ri_heap_block(24));
    EXPECT_EQ(48u, ri_heap_block(25));
    EXPECT_EQ(48u, ri_heap_block(40));
    EXPECT_EQ(64u, ri_heap_block(41));
}

/* A block is what is usable of it and the word in front of that. A rest that is too small for a
 * block of its own stays with it. */
TEST(test_heap, as_the_heap_does)
{
#if !defined(__GLIBC__) || RI_TEST_SANITIZED
    GTEST_SKIP() << "another malloc";
#endif
    for (size_t size = 0; size < 5000; ++size) {
        void *block = malloc(size);
        size_t took = malloc_usable_size(block) + sizeof(size_t);

        EXPECT_LE(ri_heap_block(size), took);
        EXPECT_GE(ri_heap_block(size) + 2 * sizeof(size_t), took);
        free(block);
    }
}

} // namespace
