/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/slot.h: who copies which part. */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace {

class test_slot : public ::testing::Test {
protected:
    /* What a side gets; checks that nobody else has it */
    uint32_t claim(uint32_t total, ri_slot_side_t side, bool rest = false)
    {
        ri_slot_part_t part;

        EXPECT_EQ(UCS_OK, ri_slot_claim(&m_slot, total, side,
                                        rest ? RI_SLOT_REST : RI_SLOT_SHARE, &part));
        EXPECT_LE(part.first + part.count, total);
        m_owner.resize(total);
        for (uint32_t i = part.first; i < part.first + part.count; ++i) {
            EXPECT_FALSE(m_owner[i]) << "unit " << i;
            m_owner[i] = true;
        }
        return part.count;
    }

    void clear()
    {
        ri_slot_init(&m_slot, 1, 0);
        m_owner.clear();
    }

    ri_ring_slot_t m_slot = {};
    std::vector<bool> m_owner;
};

TEST_F(test_slot, all_is_claimed_once)
{
    for_seeds(200, [&](rng &random) {
        uint32_t total = random.range(1, 5000);
        uint32_t sum   = 0;

        clear();
        while (sum < total) {
            uint32_t left = total - sum;
            uint32_t got  = claim(total,
                                 random.percent(50) ? RI_SLOT_FRONT : RI_SLOT_BACK);

            ASSERT_GE(got, std::min(left, RI_SLOT_CLAIM_MIN));
            ASSERT_LE(got, RI_SLOT_CLAIM_MAX);
            ASSERT_LE(got, std::max(left / 2, RI_SLOT_CLAIM_MIN));
            ri_slot_add_done(&m_slot, got);
            sum += got;
        }
        ASSERT_EQ(total, sum);
        ASSERT_EQ(0u, claim(total, RI_SLOT_FRONT));
        ASSERT_EQ(0u, claim(total, RI_SLOT_BACK, true));
    });
}

/* Halves, in one call each, as long as they are short enough for that. */
TEST_F(test_slot, two_that_begin_together_take_halves)
{
    for (uint32_t total : {1u, 8u, 33u, 100u, 2 * RI_SLOT_CLAIM_MAX}) {
        for (ri_slot_side_t first : {RI_SLOT_FRONT, RI_SLOT_BACK}) {
            ri_slot_side_t second = (first == RI_SLOT_FRONT) ? RI_SLOT_BACK :
                                                               RI_SLOT_FRONT;

            clear();
            uint32_t got = claim(total, first);
            EXPECT_EQ(std::min(total, std::max(total / 2, RI_SLOT_CLAIM_MIN)), got);
            EXPECT_LE(total - got - claim(total, second), 1u);
        }
    }
}

TEST_F(test_slot, who_comes_later_leaves_something)
{
    clear();
    ri_slot_add_done(&m_slot, claim(100, RI_SLOT_FRONT));
    EXPECT_EQ(25u, claim(100, RI_SLOT_BACK)) << "the first one has copied its half";

    clear();
    claim(1000, RI_SLOT_FRONT);
    EXPECT_EQ(RI_SLOT_CLAIM_MAX, claim(1000, RI_SLOT_BACK)) << "long: in parts";

    clear();
    claim(100, RI_SLOT_BACK);
    claim(100, RI_SLOT_BACK);
    claim(100, RI_SLOT_FRONT);
    EXPECT_EQ(0u, claim(100, RI_SLOT_FRONT));
}

TEST_F(test_slot, the_rest)
{
    clear();
    uint32_t got = claim(1000, RI_SLOT_BACK) + claim(1000, RI_SLOT_FRONT);
    EXPECT_EQ(1000u, got + claim(1000, RI_SLOT_FRONT, true));
    EXPECT_EQ(0u, claim(1000, RI_SLOT_BACK));
}

TEST_F(test_slot, both_sides_at_once)
{
    const uint32_t total = 100000;
    std::vector<std::atomic<int>> owner(total);

    clear();
    auto side = [&](ri_slot_side_t which) {
        ri_slot_part_t part;

        while ((ri_slot_claim(&m_slot, total, which, RI_SLOT_SHARE, &part) == UCS_OK) &&
               (part.count > 0)) {
            for (uint32_t i = 0; i < part.count; ++i) {
                ++owner[part.first + i];
            }
            ri_slot_add_done(&m_slot, part.count);
        }
    };
    std::thread other(side, RI_SLOT_BACK);
    side(RI_SLOT_FRONT);
    other.join();
    EXPECT_EQ(total, ri_slot_done(&m_slot));
    for (uint32_t i = 0; i < total; ++i) {
        ASSERT_EQ(1, owner[i]) << i;
    }
}

/* Nothing is left of the message that had it before. */
TEST_F(test_slot, used_again)
{
    ri_slot_init(&m_slot, 7, 0x1000);
    EXPECT_EQ(0x1000u, m_slot.address);
    ri_slot_add_done(&m_slot, claim(100, RI_SLOT_FRONT));
    ri_slot_fail(&m_slot, RI_RING_SLOT_FAILED | RI_RING_SLOT_ABANDONED);
    ri_slot_release(&m_slot);
    EXPECT_FALSE(ri_slot_is_busy(&m_slot));

    clear();
    EXPECT_TRUE(ri_slot_is_busy(&m_slot));
    EXPECT_EQ(0u, ri_slot_failed(&m_slot));
    EXPECT_EQ(0u, ri_slot_done(&m_slot));
    EXPECT_EQ(0u, m_slot.claimed);
    EXPECT_EQ(0u, m_slot.address);
    EXPECT_EQ(1u, m_slot.id);
}

TEST_F(test_slot, withdrawn)
{
    clear();
    EXPECT_TRUE(ri_slot_withdraw(&m_slot));
    EXPECT_TRUE(ri_slot_is_withdrawn(&m_slot));
    EXPECT_EQ(0u, claim(100, RI_SLOT_FRONT));
    EXPECT_EQ(0u, claim(100, RI_SLOT_BACK, true));
    EXPECT_FALSE(ri_slot_withdraw(&m_slot));

    clear();
    EXPECT_NE(0u, claim(100, RI_SLOT_FRONT));
    EXPECT_FALSE(ri_slot_withdraw(&m_slot));
    EXPECT_FALSE(ri_slot_is_withdrawn(&m_slot));
}

TEST_F(test_slot, what_cannot_be_true)
{
    const uint64_t all = 0xffffffff;

    for (uint64_t claimed :
         {101ul, all, 101ul << 32, all << 32, (50ul << 32) | 51, (all << 32) | 1,
          (100ul << 32) | 1, RI_RING_SLOT_WITHDRAWN | 1, ~0ul}) {
        for (ri_slot_side_t side : {RI_SLOT_FRONT, RI_SLOT_BACK}) {
            ri_slot_part_t part = {7, 7};

            m_slot.claimed = claimed;
            EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                      ri_slot_claim(&m_slot, 100, side, RI_SLOT_SHARE, &part));
            EXPECT_EQ(0u, part.count) << std::hex << claimed;
            EXPECT_EQ(claimed, m_slot.claimed) << "it is left as it is";
        }
    }
}

TEST_F(test_slot, lengths_of_parts)
{
    for (size_t length : {1ul, 4095ul, 4096ul, 4097ul, 262144ul, 1000001ul}) {
        uint32_t total = ri_slot_units(length);
        size_t sum     = 0;

        for (uint32_t i = 0; i < total; ++i) {
            ri_slot_part_t part = {i, 1};

            ASSERT_EQ(sum, ri_slot_offset(&part));
            sum += ri_slot_length(&part, length);
        }
        EXPECT_EQ(length, sum);
    }
    EXPECT_EQ(1u << 30, ri_slot_units(RI_SLOT_LENGTH_MAX));
}

} // namespace
