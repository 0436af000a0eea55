/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/id_table.[hc] */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <map>
#include <set>
#include <vector>

namespace {

class test_id_table : public ::testing::Test {
protected:
    void TearDown() override { ri_id_table_cleanup(&m_table); }

    void init(unsigned index_bits, unsigned total_bits)
    {
        ri_id_table_init(&m_table, index_bits, total_bits);
    }

    ri_id_table_t m_table;
    int m_objects[2];
};

TEST_F(test_id_table, empty)
{
    init(20, 24);
    for (uint32_t id : {0u, 1u, 31u, 0xffffffu, ~0u}) {
        EXPECT_EQ(nullptr, ri_id_get(&m_table, id));
    }
}

TEST_F(test_id_table, zero_is_none)
{
    init(4, 8);
    for (int i = 0; i < 15; ++i) {
        EXPECT_NE(0u, ri_id_alloc(&m_table, m_objects));
    }
    EXPECT_EQ(nullptr, ri_id_get(&m_table, 0));
    EXPECT_EQ(0u, ri_id_alloc(&m_table, m_objects)) << "all are taken";
    EXPECT_EQ(nullptr, ri_id_get(&m_table, 0)) << "and nothing has the number of none";
}

TEST_F(test_id_table, full_and_free_again)
{
    init(4, 8);
    std::vector<uint32_t> ids;
    while (uint32_t id = ri_id_alloc(&m_table, m_objects)) {
        ids.push_back(id);
    }
    ri_id_free(&m_table, ids[7]);
    EXPECT_EQ(nullptr, ri_id_get(&m_table, ids[7]));
    uint32_t id = ri_id_alloc(&m_table, &m_objects[1]);
    EXPECT_NE(ids[7], id);
    EXPECT_EQ(ids[7] & 0xf, id & 0xf);
    EXPECT_EQ(&m_objects[1], ri_id_get(&m_table, id));
    EXPECT_EQ(nullptr, ri_id_get(&m_table, ids[7]));
}

TEST_F(test_id_table, generation_wraps)
{
    init(1, 3); /* one object, four generations */
    std::set<uint32_t> ids;
    for (int i = 0; i < 8; ++i) {
        uint32_t id = ri_id_alloc(&m_table, m_objects);

        ASSERT_NE(0u, id);
        EXPECT_EQ(0u, id >> 3);
        ids.insert(id);
        ri_id_free(&m_table, id);
    }
    EXPECT_EQ(4u, ids.size());
}

TEST_F(test_id_table, no_bits_left_over)
{
    init(24, 32); /* as the ids of requests: the shifts use all 32 bits */
    uint32_t id = 0;
    for (int i = 0; i < 300 * 31; ++i) {
        id = ri_id_alloc(&m_table, m_objects);
        ASSERT_EQ(m_objects, ri_id_get(&m_table, id));
        ri_id_free(&m_table, id);
        ASSERT_EQ(nullptr, ri_id_get(&m_table, id));
    }
}

TEST_F(test_id_table, first_in_first_out)
{
    init(20, 24);
    uint32_t first = ri_id_alloc(&m_table, m_objects);
    ri_id_free(&m_table, first);
    for (int i = 0; i < 30; ++i) {
        uint32_t id = ri_id_alloc(&m_table, m_objects);

        EXPECT_NE(first & 0xfffff, id & 0xfffff) << "re-used too early";
    }
}

TEST_F(test_id_table, random)
{
    for_seeds(300, [this](rng &random) {
        unsigned bits = random.range(3, 8);
        std::map<uint32_t, void *> model;
        std::vector<uint32_t> gone;

        init(bits, bits + random.range(1, 8));
        for (int i = 0; i < 1000; ++i) {
            if (random.percent(55)) {
                void *object = reinterpret_cast<void *>(random.next() | 1);
                uint32_t id  = ri_id_alloc(&m_table, object);

                ASSERT_EQ(model.size() == (1u << bits) - 1, id == 0);
                if (id != 0) {
                    ASSERT_TRUE(model.emplace(id, object).second);
                }
            } else if (!model.empty()) {
                auto it = std::next(model.begin(), random.below(model.size()));

                ri_id_free(&m_table, it->first);
                gone.push_back(it->first);
                model.erase(it);
            }
            for (auto &entry : model) {
                ASSERT_EQ(entry.second, ri_id_get(&m_table, entry.first));
            }
            if (!gone.empty() && (model.count(gone.back()) == 0)) {
                ASSERT_EQ(nullptr, ri_id_get(&m_table, gone.back()));
            }
        }
        ri_id_table_cleanup(&m_table);
    });
    init(4, 8);
}

} // namespace
