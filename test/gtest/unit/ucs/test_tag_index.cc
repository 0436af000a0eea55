/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/tag_index.[hc], against a std::map of lists. */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <list>
#include <map>
#include <memory>
#include <vector>

namespace {

class test_tag_index : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(UCS_OK, ri_tag_index_init(&m_index)); }

    void TearDown() override
    {
        ri_tag_index_cleanup(&m_index);
        EXPECT_EQ(nullptr, m_index.buckets);
    }

    size_t buckets() const { return (size_t)1 << (64 - m_index.shift); }

    ri_tag_node_t *append(uint64_t key)
    {
        ri_tag_node_t *node = new ri_tag_node_t;

        /* What a node held before does not matter */
        memset((void *)node, 0xee, sizeof(*node));
        m_nodes.emplace_back(node);
        m_model[key].push_back(node);
        ri_tag_index_append(&m_index, node, key);
        return node;
    }

    void remove(uint64_t key, size_t which)
    {
        std::list<ri_tag_node_t *> &nodes = m_model[key];
        auto it                           = std::next(nodes.begin(), which);

        ri_tag_index_remove(&m_index, *it);
        memset((void *)*it, 0xdd, sizeof(**it)); /* nothing may point to it any more */
        nodes.erase(it);
        if (nodes.empty()) {
            m_model.erase(key);
        }
    }

    void check_key(uint64_t key)
    {
        auto it = m_model.find(key);

        ASSERT_EQ((it == m_model.end()) ? nullptr : it->second.front(),
                  ri_tag_index_find(&m_index, key))
                << "key " << key;
    }

    void check_all()
    {
        size_t count = 0;

        for (auto &entry : m_model) {
            ri_tag_node_t *node = ri_tag_index_find(&m_index, entry.first);

            for (ri_tag_node_t *expected : entry.second) {
                ASSERT_EQ(expected, node);
                ASSERT_EQ(node, node->next->prev);
                node = node->next;
            }
            ASSERT_EQ(entry.second.front(), node);
            count += entry.second.size();
        }
        EXPECT_EQ(m_model.size(), m_index.keys);
        EXPECT_EQ(count, m_index.count);
    }

    void reset()
    {
        ri_tag_index_cleanup(&m_index);
        m_nodes.clear();
        m_model.clear();
        ri_tag_index_init(&m_index);
    }

    ri_tag_index_t m_index;
    std::map<uint64_t, std::list<ri_tag_node_t *>> m_model;
    std::vector<std::unique_ptr<ri_tag_node_t>> m_nodes;
};

TEST_F(test_tag_index, init_is_empty)
{
    EXPECT_EQ(nullptr, ri_tag_index_find(&m_index, 0));
    EXPECT_EQ(nullptr, ri_tag_index_find(&m_index, ~0ul));
    EXPECT_EQ(0u, m_index.keys);
    EXPECT_EQ(0u, m_index.count);
}

TEST_F(test_tag_index, grow_keeps_all)
{
    size_t start = buckets();

    for (uint64_t key = 0; key < 10 * start; ++key) {
        append(key << 48);
        append(key << 48);
    }
    EXPECT_GE(buckets(), m_index.keys);
    check_all();
}

TEST_F(test_tag_index, grow_only_by_keys)
{
    size_t start = buckets();

    for (size_t i = 0; i < 10 * start; ++i) {
        append(42);
    }
    EXPECT_EQ(start, buckets());
    check_all();
}

TEST_F(test_tag_index, find_any_key_value)
{
    for (uint64_t key : {0ul, 1ul, ~0ul, 1ul << 63, 0x9e3779b97f4a7c15ul}) {
        append(key);
        check_key(key);
    }
    check_all();
}

TEST_F(test_tag_index, append_is_first_in_first_out)
{
    for (int i = 0; i < 10; ++i) {
        append(1);
        append(2);
    }
    while (!m_model.empty()) {
        check_all();
        remove(m_model.begin()->first, 0);
    }
    check_all();
}

TEST_F(test_tag_index, remove_at_each_place)
{
    for (size_t length = 1; length <= 5; ++length) {
        for (size_t which = 0; which < length; ++which) {
            for (size_t i = 0; i < length; ++i) {
                append(7);
            }
            remove(7, which);
            check_key(7);
            check_all();
            reset();
        }
    }
}

TEST_F(test_tag_index, remove_in_a_chain)
{
    std::vector<uint64_t> keys;

    /* Keys of one bucket, more than one of each */
    for (uint64_t key = 0; keys.size() < 5; ++key) {
        if (ri_tag_index_bucket(&m_index, key) == ri_tag_index_bucket(&m_index, 0)) {
            keys.push_back(key);
        }
    }
    for (size_t first = 0; first < keys.size(); ++first) {
        for (uint64_t key : keys) {
            append(key);
            append(key);
        }
        for (size_t i = 0; i < 2 * keys.size(); ++i) {
            remove(keys[(first + i) % keys.size()], 0);
            check_all();
        }
        ASSERT_TRUE(m_model.empty());
    }
}

TEST_F(test_tag_index, random)
{
    for_seeds(1000, [this](rng &random) {
        unsigned key_bits  = random.range(1, 10);
        unsigned key_shift = random.below(54);
        unsigned grow      = random.range(40, 80);

        for (unsigned i = 0; (i < 400) && !HasFatalFailure(); ++i) {
            uint64_t key = random.below(1ul << key_bits) << key_shift;

            if (random.percent(grow)) {
                append(key);
            } else if (m_model.count(key) != 0) {
                remove(key, random.below(m_model[key].size()));
            }
            check_key(key);
        }
        check_all();
        reset();
    });
}

} // namespace
