/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lists of memory that are too short or whose lengths overflow, and random parts of random lists:
 * what is described and copied is compared with the addresses of all bytes. No device is needed.
 * Memory outside of a part is not looked at after a copy. A list for which there is no memory is
 * not tried. (src/uct/ib/ud/ud_memory.[hc])
 */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <gtest/gtest.h>
#include <limits> /* verbs.h wants it in C++, and not as C */
#include <vector>

extern "C" {
#include "uct/ib/ud/ud_memory.h"
}

#if HAVE_VERBS

namespace {

TEST(test_ud_memory, too_short)
{
    ri_segment_t list[] = {{0x1000, 10}, {0x2000, 0}, {0x3000, 10}};
    uint32_t keys[]     = {1, 2, 3};
    ri_ud_memory_t memory;

    EXPECT_EQ(UCS_ERR_INVALID_PARAM, ri_ud_memory_init(&memory, list, keys, 3, 21));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, ri_ud_memory_init(&memory, list, keys, 1, 11));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, ri_ud_memory_init(&memory, list, keys, 0, 1));
    EXPECT_EQ(UCS_OK, ri_ud_memory_init(&memory, list, keys, 3, 20));
    EXPECT_EQ(2u, memory.count);
    ri_ud_memory_cleanup(&memory);
}

TEST(test_ud_memory, lengths_overflow)
{
    ri_segment_t list[] = {{0x1000, 10}, {0x2000, UINT64_MAX}, {0x3000, UINT64_MAX}};
    uint32_t keys[]     = {1, 2, 3};
    ri_ud_memory_t memory;

    EXPECT_EQ(UCS_OK, ri_ud_memory_init(&memory, list, keys, 3, 100));
    EXPECT_EQ(2u, memory.count);
    EXPECT_EQ(100u, memory.segments[1].end);
    ri_ud_memory_cleanup(&memory);
}

/* Any part of any list is described, and copied, as it is. */
TEST(test_ud_memory, parts)
{
    for_seeds(300, [](rng &random) {
        std::vector<uint8_t> data(3000);
        std::vector<uint8_t *> bytes; /* of the message, in order */
        std::vector<ri_segment_t> list;
        std::vector<uint32_t> keys;
        ri_ud_memory_t memory;

        for (unsigned at = 0, count = random.range(1, 20); count > 0; --count) {
            unsigned length = random.percent(20) ? 0 : random.below(100);

            at += random.below(20);
            list.push_back({(uintptr_t)&data[at], length});
            keys.push_back(random.next());
            for (; length > 0; --length) {
                bytes.push_back(&data[at++]);
            }
        }
        if (bytes.empty()) {
            return;
        }
        ASSERT_EQ(UCS_OK, ri_ud_memory_init(&memory, list.data(), keys.data(),
                                            list.size(), bytes.size()));
        for (int i = 0; i < 50; ++i) {
            size_t offset = random.below(bytes.size());
            size_t length = random.range(1, bytes.size() - offset);
            std::vector<uint8_t> in(length), out(length);
            struct ibv_sge sges[20];
            unsigned count = ri_ud_memory_sges(&memory, offset, length, sges, 20);

            ASSERT_GT(count, 0u);
            ASSERT_EQ(0u, (count == 1) ? 0u :
                                         ri_ud_memory_sges(&memory, offset, length, sges,
                                                           count - 1));
            size_t pos = 0;
            for (unsigned s = 0; s < count; ++s) {
                for (uint32_t b = 0; b < sges[s].length; ++b) {
                    ASSERT_EQ((uintptr_t)bytes[offset + pos++], sges[s].addr + b);
                }
            }
            ASSERT_EQ(length, pos);
            for (uint8_t &byte : in) {
                byte = random.next();
            }
            ri_ud_memory_put(&memory, offset, in.data(), length);
            ri_ud_memory_get(&memory, offset, out.data(), length);
            ASSERT_EQ(in, out);
            ASSERT_EQ(in[length - 1], *bytes[offset + length - 1]);
        }
        ri_ud_memory_cleanup(&memory);
    });
}

} // namespace

#endif
