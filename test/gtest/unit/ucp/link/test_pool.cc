/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/link/pool.c */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"
#include "unit/common/state_changes.h"
#include "unit/fakes/fake_malloc.h"

#include <gtest/gtest.h>
#include <map>
#include <set>
#include <vector>

namespace {

const size_t KB = 1024;

class test_pool : public ::testing::Test {
protected:
    void SetUp() override { ri_pool_init(&m_pool, 256 * KB); }

    void TearDown() override
    {
        for (ri_pool_buffer_t *buffer : m_taken) {
            ri_pool_put(&m_pool, buffer);
        }
        EXPECT_EQ(0u, m_pool.used);
        ri_pool_cleanup(&m_pool);
        EXPECT_EQ(0u, m_pool.allocated);
    }

    ri_pool_buffer_t *get(size_t length)
    {
        bool has                 = ri_pool_has(&m_pool, length);
        ri_pool_buffer_t *buffer = ri_pool_get(&m_pool, length);

        EXPECT_EQ(has, buffer != nullptr);
        EXPECT_LE(m_pool.allocated, m_pool.limit);
        EXPECT_LE(m_pool.used, m_pool.allocated);
        if (buffer != nullptr) {
            EXPECT_NE(0u, buffer->id);
            EXPECT_EQ(buffer, ri_id_get(&m_pool.ids, buffer->id));
            EXPECT_EQ(0u, (uintptr_t)buffer->data % 4096);
            memset(buffer->data, 0x5a, length);
            EXPECT_TRUE(m_taken.insert(buffer).second);
        }
        return buffer;
    }

    void put(ri_pool_buffer_t *buffer)
    {
        uint32_t id = buffer->id;

        m_taken.erase(buffer);
        ri_pool_put(&m_pool, buffer);
        EXPECT_EQ(nullptr, ri_id_get(&m_pool.ids, id));
    }

    ri_pool_t m_pool;
    std::set<ri_pool_buffer_t *> m_taken;
};

TEST_F(test_pool, sizes)
{
    const std::map<size_t, size_t> classes = {{0, 4 * KB},
                                              {1, 4 * KB},
                                              {4096, 4 * KB},
                                              {4097, 8 * KB},
                                              {16 * KB + 1, 32 * KB},
                                              {256 * KB, 256 * KB}};

    for (auto [length, size] : classes) {
        ri_pool_buffer_t *buffer = get(length);
        ASSERT_NE(nullptr, buffer);
        EXPECT_EQ(size, m_pool.used);
        put(buffer);
    }
    EXPECT_EQ(nullptr, get(256 * KB + 1));
    EXPECT_EQ(nullptr, get(~0ul));
}

TEST_F(test_pool, nothing_is_allocated_before_it_is_needed)
{
    EXPECT_EQ(0u, m_pool.allocated);
    EXPECT_TRUE(ri_pool_has(&m_pool, 1));
    EXPECT_EQ(0u, m_pool.allocated);
    get(10000);
    EXPECT_EQ(16 * KB, m_pool.allocated);
}

TEST_F(test_pool, is_bounded)
{
    unsigned count = 0;

    while (get(10000) != nullptr) {
        ++count;
        EXPECT_EQ(count > 12, ri_pool_is_low(&m_pool)) << count;
    }
    EXPECT_EQ(16u, count);
    EXPECT_EQ(nullptr, get(1));
    put(*m_taken.begin());
    EXPECT_NE(nullptr, get(10000));
}

TEST_F(test_pool, memory_is_used_again)
{
    ri_pool_buffer_t *buffer = get(10000);
    uint8_t *data            = buffer->data;
    uint32_t id              = buffer->id;

    put(buffer);
    buffer = get(16384);
    EXPECT_EQ(data, buffer->data);
    EXPECT_NE(id, buffer->id);
    EXPECT_EQ(16 * KB, m_pool.allocated);
}

/* What is free in one size must not be missing in another one for ever. */
TEST_F(test_pool, other_sizes_make_room)
{
    for (size_t length : {10000, 5000, 200000, 65536, 1, 250000}) {
        std::vector<ri_pool_buffer_t *> taken;

        while (ri_pool_has(&m_pool, length)) {
            taken.push_back(get(length));
        }
        EXPECT_EQ(256 * KB / ri_pool_class_size(ri_pool_class(length)), taken.size());
        for (ri_pool_buffer_t *buffer : taken) {
            put(buffer);
        }
    }
}

TEST_F(test_pool, an_id_is_forgotten_before_the_buffer_is_put_back)
{
    ri_pool_buffer_t *buffer = get(10000);
    uint32_t id              = buffer->id;

    ri_pool_forget(&m_pool, buffer);
    EXPECT_EQ(nullptr, ri_id_get(&m_pool.ids, id));
    EXPECT_EQ(16 * KB, m_pool.used);
    ri_pool_forget(&m_pool, buffer);
}

TEST_F(test_pool, without_memory_at_all)
{
    ri_pool_cleanup(&m_pool);
    ri_pool_init(&m_pool, 0);
    EXPECT_EQ(nullptr, get(1));
    EXPECT_EQ(nullptr, get(0));
    ri_pool_cleanup(&m_pool);
    ri_pool_init(&m_pool, 4095);
    EXPECT_EQ(nullptr, get(1));
}

/* The system may refuse the buffer, or its memory. */
TEST_F(test_pool, system_without_memory)
{
    fake::malloc_fails_after = 0;
    EXPECT_EQ(nullptr, ri_pool_get(&m_pool, 10000));
    EXPECT_EQ(-1, fake::malloc_fails_after) << "it was asked";
    fake::malloc_fails_after  = -1;
    fake::aligned_alloc_fails = true;
    EXPECT_EQ(nullptr, ri_pool_get(&m_pool, 10000));
    fake::aligned_alloc_fails = false;
    EXPECT_EQ(0u, m_pool.allocated);
    EXPECT_NE(nullptr, get(10000));
}

/* What a peer may still read outlives the pool. */
TEST_F(test_pool, what_is_lent_stays)
{
    ri_pool_buffer_t *buffer = get(10000);
    uint8_t *data            = buffer->data;

    m_taken.clear();
    ucs_list_add_tail(&m_pool.lent, &buffer->list);
    ri_pool_cleanup(&m_pool);
    for (unsigned i = 0; i < 10000; ++i) {
        ASSERT_EQ(0x5a, data[i]);
    }
    SetUp();
}

TEST_F(test_pool, random)
{
    for_seeds(50, [this](rng &random) {
        for (unsigned i = 0; i < 500; ++i) {
            if (random.percent(55)) {
                get(random.below(60000));
            } else if (!m_taken.empty()) {
                auto it = m_taken.begin();
                std::advance(it, random.below(m_taken.size()));
                put(*it);
            }
        }
    });
}

/* Which changes ri_pool_state_t allows */
TEST_F(test_pool, states)
{
    const state_changes<ri_pool_state_t> legal = {
            {RI_POOL_FREE, RI_POOL_LENT},       {RI_POOL_LENT, RI_POOL_FREE},
            {RI_POOL_LENT, RI_POOL_WRITING},    {RI_POOL_LENT, RI_POOL_IN_STOCK},
            {RI_POOL_WRITING, RI_POOL_FREE},    {RI_POOL_WRITING, RI_POOL_LENT},
            {RI_POOL_IN_STOCK, RI_POOL_FREE},   {RI_POOL_IN_STOCK, RI_POOL_UNSENT},
            {RI_POOL_UNSENT, RI_POOL_IN_STOCK}, {RI_POOL_UNSENT, RI_POOL_FREE}};

    check_state_changes<RI_POOL_STATE_LAST>(ri_pool_may_become, legal);
}

TEST_F(test_pool, state_of_a_buffer)
{
    ri_pool_buffer_t *buffer = get(KB);

    ASSERT_NE(nullptr, buffer);
    EXPECT_EQ(RI_POOL_LENT, buffer->state);
    ri_pool_set_state(buffer, RI_POOL_WRITING);
    ri_pool_set_state(buffer, RI_POOL_LENT);
    ri_pool_forget(&m_pool, buffer);
    ri_pool_set_state(buffer, RI_POOL_IN_STOCK);
    put(buffer);
    EXPECT_EQ(RI_POOL_FREE, buffer->state);
    EXPECT_EQ(buffer, get(KB));
    EXPECT_EQ(RI_POOL_LENT, buffer->state);
}

} // namespace
