/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/grant.h: a word that either side changes, and whoever comes first has it. */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>

namespace {

class test_grant : public ::testing::Test {
protected:
    void offer(uint32_t generation) { ri_grant_offer(&m_grant, generation); }

    ri_ring_grant_t m_grant = {};
};

/* Memory of zeros, as a new ring has it, has given nothing. */
TEST_F(test_grant, zeros)
{
    EXPECT_EQ(RI_RING_GRANT_FREE, (int)ri_grant_state(&m_grant, 0));
    EXPECT_FALSE(ri_grant_change(&m_grant, 0, RI_RING_GRANT_USED));
}

TEST_F(test_grant, first_has_it)
{
    offer(7);
    EXPECT_EQ(RI_RING_GRANT_OUT, (int)ri_grant_state(&m_grant, 7));
    EXPECT_TRUE(ri_grant_change(&m_grant, 7, RI_RING_GRANT_USED));
    EXPECT_FALSE(ri_grant_change(&m_grant, 7, RI_RING_GRANT_FREE));
    EXPECT_EQ(RI_RING_GRANT_USED, (int)ri_grant_state(&m_grant, 7));

    offer(8);
    EXPECT_TRUE(ri_grant_change(&m_grant, 8, RI_RING_GRANT_FREE));
    EXPECT_FALSE(ri_grant_change(&m_grant, 8, RI_RING_GRANT_SHARING));
    EXPECT_EQ(RI_RING_GRANT_FREE, (int)ri_grant_state(&m_grant, 8));
}

/* How it ends is what its receiver finds, and it can be offered again then. */
TEST_F(test_grant, ends)
{
    uint32_t generation = 1;

    for (uint32_t end :
         {RI_RING_GRANT_WRITTEN, RI_RING_GRANT_FAILED, RI_RING_GRANT_SLOT}) {
        offer(generation);
        EXPECT_TRUE(ri_grant_change(&m_grant, generation,
                                    (end == RI_RING_GRANT_SLOT) ? RI_RING_GRANT_SHARING :
                                                                  RI_RING_GRANT_USED));
        ri_grant_end(&m_grant, generation, end);
        EXPECT_EQ(end, ri_grant_state(&m_grant, generation));
        EXPECT_FALSE(ri_grant_change(&m_grant, generation, RI_RING_GRANT_FREE));
        ++generation;
    }
    ri_grant_free(&m_grant, generation - 1);
    EXPECT_EQ(ri_grant_word(generation - 1, RI_RING_GRANT_FREE), m_grant.word);
    offer(generation);
    EXPECT_EQ(RI_RING_GRANT_OUT, (int)ri_grant_state(&m_grant, generation));
}

/* What is late for an earlier generation changes nothing, and finds nothing. */
TEST_F(test_grant, generation)
{
    offer(UINT32_MAX);
    offer(0);
    EXPECT_EQ(RI_RING_GRANT_FREE, (int)ri_grant_state(&m_grant, UINT32_MAX));
    EXPECT_FALSE(ri_grant_change(&m_grant, UINT32_MAX, RI_RING_GRANT_USED));
    EXPECT_EQ(RI_RING_GRANT_OUT, (int)ri_grant_state(&m_grant, 0));
}

} // namespace
