/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/hash.h: processes compare hashes, so they are the same in every build. */

extern "C" {
#include "ucs/hash.h"
}

#include <gtest/gtest.h>

namespace {

TEST(test_hash, known_values)
{
    EXPECT_EQ(RI_HASH_START, ri_hash_text(""));
    EXPECT_EQ(UINT64_C(0xaf63dc4c8601ec8c), ri_hash_text("a"));
    EXPECT_EQ(UINT64_C(0x85944171f73967e8), ri_hash_text("foobar"));
}

/* Bytes may come in pieces; each of them counts, and so does their order. */
TEST(test_hash, pieces)
{
    const char bytes[] = {1, 0, -1, 'x'};

    EXPECT_EQ(ri_hash(RI_HASH_START, bytes, 4),
              ri_hash(ri_hash(RI_HASH_START, bytes, 1), bytes + 1, 3));
    EXPECT_EQ(RI_HASH_START, ri_hash(RI_HASH_START, bytes, 0));
    EXPECT_NE(ri_hash(RI_HASH_START, bytes, 1), ri_hash(RI_HASH_START, bytes, 2));
    EXPECT_NE(ri_hash_text("ab"), ri_hash_text("ba"));
}

} // namespace
