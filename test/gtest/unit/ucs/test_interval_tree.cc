/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/interval_tree.[hc] */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <memory>
#include <vector>

namespace {

class test_interval_tree : public ::testing::Test {
protected:
    ri_interval_t *add(uintptr_t start, uintptr_t end)
    {
        m_all.push_back(std::make_unique<ri_interval_t>());
        m_all.back()->start = start;
        m_all.back()->end   = end;
        ri_interval_insert(&m_tree, m_all.back().get());
        return m_all.back().get();
    }

    void remove(size_t index)
    {
        ri_interval_remove(&m_tree, m_all[index].get());
        m_all.erase(m_all.begin() + index);
    }

    /* Height of what is below a node; fails if anything is not as it has to be */
    int check(const ri_interval_t *node, uintptr_t from, uintptr_t to, size_t *count)
    {
        if (node == nullptr) {
            return 0;
        }
        EXPECT_LE(from, node->start);
        EXPECT_GE(to, node->start);
        int left         = check(node->child[0], from, node->start, count);
        int right        = check(node->child[1], node->start, to, count);
        uintptr_t expect = node->end;

        for (const ri_interval_t *child : node->child) {
            expect = (child == nullptr) ? expect : std::max(expect, child->max_end);
        }
        EXPECT_EQ(expect, node->max_end);
        EXPECT_LE(std::abs(left - right), 1);
        EXPECT_EQ(1 + std::max(left, right), node->height);
        ++*count;
        return 1 + std::max(left, right);
    }

    void check()
    {
        size_t count = 0;

        check(m_tree.root, 0, UINTPTR_MAX, &count);
        EXPECT_EQ(m_all.size(), count);
    }

    /* What a find has to return: the first one, or one of the same start */
    void check_find(uintptr_t start_max, uintptr_t end_min,
                    ri_interval_accept_func_t accept)
    {
        const ri_interval_t *expect = nullptr;

        for (auto &interval : m_all) {
            if ((interval->start <= start_max) && (interval->end >= end_min) &&
                ((accept == nullptr) || accept(interval.get(), nullptr)) &&
                ((expect == nullptr) || (interval->start < expect->start))) {
                expect = interval.get();
            }
        }
        const ri_interval_t *found = ri_interval_find(&m_tree, start_max, end_min, accept,
                                                      nullptr);
        ASSERT_EQ(expect == nullptr, found == nullptr);
        if (expect != nullptr) {
            EXPECT_EQ(expect->start, found->start);
            EXPECT_GE(found->end, end_min);
        }
    }

    ri_interval_tree_t m_tree = {};
    std::vector<std::unique_ptr<ri_interval_t>> m_all;
};

TEST_F(test_interval_tree, empty)
{
    EXPECT_EQ(nullptr, ri_interval_covering(&m_tree, 0, 1, nullptr, nullptr));
    EXPECT_EQ(nullptr,
              ri_interval_overlapping(&m_tree, 0, UINTPTR_MAX, nullptr, nullptr));
}

TEST_F(test_interval_tree, edges)
{
    ri_interval_t *one = add(10, 20);
    struct {
        uintptr_t start, end;
        bool covers, overlaps;
    } cases[] = {
            {10, 20, true, true},   {11, 19, true, true},          {10, 11, true, true},
            {19, 20, true, true},   {9, 20, false, true},          {10, 21, false, true},
            {9, 21, false, true},   {9, 11, false, true},          {19, 21, false, true},
            {20, 21, false, false}, {9, 10, false, false},         {0, 1, false, false},
            {15, 15, true, false},  {0, UINTPTR_MAX, false, true}, {0, 10, false, false},
            {20, 30, false, false},
    };
    for (auto &c : cases) {
        EXPECT_EQ(c.covers ? one : nullptr,
                  ri_interval_covering(&m_tree, c.start, c.end, nullptr, nullptr))
                << c.start << "-" << c.end;
        EXPECT_EQ(c.overlaps ? one : nullptr,
                  ri_interval_overlapping(&m_tree, c.start, c.end, nullptr, nullptr))
                << c.start << "-" << c.end;
    }
}

TEST_F(test_interval_tree, ends_of_the_address_space)
{
    ri_interval_t *low  = add(0, 1);
    ri_interval_t *high = add(UINTPTR_MAX - 1, UINTPTR_MAX);

    EXPECT_EQ(low, ri_interval_covering(&m_tree, 0, 1, nullptr, nullptr));
    EXPECT_EQ(high, ri_interval_overlapping(&m_tree, UINTPTR_MAX - 1, UINTPTR_MAX,
                                            nullptr, nullptr));
    EXPECT_EQ(low, ri_interval_overlapping(&m_tree, 0, UINTPTR_MAX, nullptr, nullptr));
}

TEST_F(test_interval_tree, one_inside_the_other)
{
    ri_interval_t *outer = add(0, 100);
    ri_interval_t *inner = add(40, 50);

    EXPECT_EQ(outer, ri_interval_covering(&m_tree, 45, 46, nullptr, nullptr));
    EXPECT_EQ(inner,
              ri_interval_covering(
                      &m_tree, 45, 46,
                      [](const ri_interval_t *i, void *arg) -> int { return i != arg; },
                      outer));
    EXPECT_EQ(outer, ri_interval_overlapping(&m_tree, 60, 61, nullptr, nullptr));
}

TEST_F(test_interval_tree, same_interval_often)
{
    for (int i = 0; i < 100; ++i) {
        add(10, 20);
        check();
    }
    while (!m_all.empty()) {
        remove(m_all.size() / 2);
        check();
    }
    EXPECT_EQ(nullptr, m_tree.root);
}

TEST_F(test_interval_tree, in_order)
{
    for (uintptr_t i = 0; i < 1000; ++i) {
        add(i * 10, i * 10 + 10);
    }
    check();
    EXPECT_LE(m_tree.root->height, 15);
    for (int i = 0; i < 999; ++i) {
        remove(0);
    }
    check();
    EXPECT_EQ(1, m_tree.root->height);
}

TEST_F(test_interval_tree, random)
{
    for_seeds(60, [this](rng &random) {
        uintptr_t space = random.range(20, 2000), longest = random.range(1, 50);

        for (int i = 0; i < 400; ++i) {
            uintptr_t start = random.below(space);

            if (m_all.empty() || random.percent(i < 200 ? 70 : 30)) {
                add(start, start + random.range(1, longest));
            } else {
                remove(random.below(m_all.size()));
            }
            check();
            uintptr_t from = random.below(space + longest);
            uintptr_t to   = random.below(space + longest);
            check_find(from, to, nullptr);
            check_find(from, to, [](const ri_interval_t *interval, void *arg) -> int {
                return interval->end % 2;
            });
        }
        while (!m_all.empty()) {
            remove(0);
        }
    });
}

} // namespace
