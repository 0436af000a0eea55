/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/copy.h; from and to blocks of exactly the size, for AddressSanitizer. */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <memory>

namespace {

TEST(test_copy, each_length)
{
    for (size_t length = 0; length <= 3 * RI_COPY_SHORT_MAX; ++length) {
        std::unique_ptr<uint8_t[]> src(new uint8_t[length]), dst(new uint8_t[length]);

        for (size_t i = 0; i < length; ++i) {
            src[i] = i + 1;
            dst[i] = 0;
        }
        ri_copy(dst.get(), src.get(), length);
        EXPECT_EQ(0, memcmp(dst.get(), src.get(), length)) << length;
    }
}

/* Past the caches: whole lines are written, and none behind them. */
TEST(test_copy, past_caches)
{
    const size_t LINE = RI_CACHE_LINE;
    alignas(64) uint8_t dst[5 * LINE];

    for (size_t length = 0; length <= 4 * LINE; ++length) {
        std::unique_ptr<uint8_t[]> src(new uint8_t[length]);
        size_t end = (length + LINE - 1) / LINE * LINE;

        for (size_t i = 0; i < length; ++i) {
            src[i] = i + length;
        }
        memset(dst, 0xee, sizeof(dst));
        ri_copy_past_caches(dst, src.get(), length);
        ri_copy_fence();
        EXPECT_EQ(0, memcmp(dst, src.get(), length)) << length;
        for (size_t i = end; i < sizeof(dst); ++i) {
            ASSERT_EQ(0xee, dst[i]) << length;
        }
    }
}

TEST(test_copy, nothing_from_nowhere)
{
    ri_copy(nullptr, nullptr, 0);
}

} // namespace
