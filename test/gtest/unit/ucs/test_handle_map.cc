/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/handle_map.[hc], against a std::map, and with readers beside a writer. */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <map>
#include <thread>
#include <vector>

namespace {

class test_handle_map : public ::testing::Test {
protected:
    void SetUp() override { ri_map_init(&m_map); }

    void TearDown() override { ri_map_cleanup(&m_map); }

    static void *value(uint64_t i) { return reinterpret_cast<void *>(i); }

    /* All that was ever allocated, in slots. */
    size_t slots()
    {
        size_t count = 0;

        for (ri_map_table_t *t = m_map.table; t != nullptr; t = t->older) {
            count += t->mask + 1;
        }
        return count;
    }

    ri_map_t m_map;
};

/* Slots that no key is hashed to would cost memory. */
TEST_F(test_handle_map, keys_may_be_in_all_slots)
{
    for (uint64_t i = 1; i < 200; ++i) {
        ASSERT_EQ(UCS_OK, ri_map_put(&m_map, i << 8, value(i)));
        const ri_map_table_t *table = m_map.table;
        ASSERT_EQ((size_t)1 << (64 - table->shift), table->mask + 1);
    }
}

TEST_F(test_handle_map, empty)
{
    EXPECT_EQ(nullptr, ri_map_get(&m_map, 5));
    EXPECT_EQ(nullptr, ri_map_remove(&m_map, 5));
}

TEST_F(test_handle_map, put_get_remove)
{
    EXPECT_EQ(UCS_OK, ri_map_put(&m_map, 5, value(50)));
    EXPECT_EQ(value(50), ri_map_get(&m_map, 5));
    EXPECT_EQ(UCS_OK, ri_map_put(&m_map, 5, value(51)));
    EXPECT_EQ(value(51), ri_map_get(&m_map, 5));
    EXPECT_EQ(nullptr, ri_map_get(&m_map, 6));
    EXPECT_EQ(value(51), ri_map_remove(&m_map, 5));
    EXPECT_EQ(nullptr, ri_map_get(&m_map, 5));
    EXPECT_EQ(nullptr, ri_map_remove(&m_map, 5));
}

/* Nothing can be there by a reserved key, and asking for its removal changes nothing: a table that
 * counts less than it has would grow for ever. */
TEST_F(test_handle_map, reserved_keys)
{
    for (uint64_t i = 2; i < 1000; ++i) {
        for (uint64_t key : {RI_MAP_KEY_FREE, RI_MAP_KEY_GRAVE}) {
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, ri_map_put(&m_map, key, value(i)));
            EXPECT_EQ(nullptr, ri_map_get(&m_map, key));
            EXPECT_EQ(nullptr, ri_map_remove(&m_map, key));
        }
        ASSERT_EQ(UCS_OK, ri_map_put(&m_map, i << 3, value(i)));
        ASSERT_EQ(value(i), ri_map_remove(&m_map, i << 3));
        ASSERT_LE(slots(), 128u) << i;
    }
    EXPECT_EQ(0u, m_map.live);
}

TEST_F(test_handle_map, grow)
{
    for (uint64_t i = 2; i < 10000; ++i) {
        ASSERT_EQ(UCS_OK, ri_map_put(&m_map, i << 4, value(i)));
    }
    for (uint64_t i = 2; i < 10000; ++i) {
        ASSERT_EQ(value(i), ri_map_get(&m_map, i << 4));
    }
    /* No more in outgrown tables than in the live one */
    EXPECT_LE(slots(), 2 * (((ri_map_table_t *)m_map.table)->mask + 1));
}

/* Handles come and go for the whole life of a job */
TEST_F(test_handle_map, churn_does_not_grow)
{
    for_seeds(3, [this](rng &random) {
        std::vector<uint64_t> keys;

        for (int i = 0; i < 200000; ++i) {
            if (keys.size() < 40) {
                keys.push_back((random.next() << 6) | 64);
                ri_map_put(&m_map, keys.back(), value(1));
            } else {
                size_t which = random.below(keys.size());

                ASSERT_EQ(value(1), ri_map_remove(&m_map, keys[which]));
                keys[which] = keys.back();
                keys.pop_back();
            }
        }
        for (uint64_t key : keys) {
            ri_map_remove(&m_map, key);
        }
    });
    EXPECT_LE(slots(), 4096u);
}

TEST_F(test_handle_map, random)
{
    for_seeds(500, [this](rng &random) {
        std::map<uint64_t, void *> model;
        unsigned bits = random.range(3, 10);

        for (int i = 0; i < 500; ++i) {
            uint64_t key = (random.below(1ul << bits) + 1) << 5;

            if (random.percent(50)) {
                void *v = value(random.next());

                ASSERT_EQ(UCS_OK, ri_map_put(&m_map, key, v));
                model[key] = v;
            } else {
                auto it = model.find(key);

                ASSERT_EQ((it == model.end()) ? nullptr : it->second,
                          ri_map_remove(&m_map, key));
                model.erase(key);
            }
            ASSERT_EQ(model.size(), m_map.live);
            key     = (random.below(1ul << bits) + 1) << 5;
            auto it = model.find(key);
            ASSERT_EQ((it == model.end()) ? nullptr : it->second,
                      ri_map_get(&m_map, key));
        }
        ri_map_cleanup(&m_map);
        ri_map_init(&m_map);
    });
}

/* A key that stays is found at any time, whatever happens to the others. */
TEST_F(test_handle_map, readers_beside_a_writer)
{
    std::atomic<bool> stop(false);
    std::atomic<unsigned> missed(0);
    std::vector<std::thread> readers;

    for (uint64_t key = 1; key <= 10; ++key) {
        ri_map_put(&m_map, key << 10, value(key));
    }
    for (int i = 0; i < 2; ++i) {
        readers.emplace_back([&]() {
            while (!stop) {
                for (uint64_t key = 1; key <= 10; ++key) {
                    missed += (ri_map_get(&m_map, key << 10) != value(key));
                }
            }
        });
    }
    rng random(1);
    for (uint64_t i = 0; i < 30000; ++i) {
        uint64_t key = (i << 5) | 16;

        ri_map_put(&m_map, key, value(i));
        if (i > 500) {
            ri_map_remove(&m_map, ((i - random.below(500)) << 5) | 16);
        }
    }
    stop = true;
    for (std::thread &reader : readers) {
        reader.join();
    }
    EXPECT_EQ(0u, missed);
}

} // namespace
