/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/dt/layout.c: what is made of loops and lists. */

#include "unit/common/layouts.h"
#include "unit/fakes/fake_malloc.h"

namespace {

class test_layout : public layout_test {
protected:
    /* A run at a place. */
    static ri_layout_part_t run_at(int64_t disp, uint64_t size)
    {
        return {nullptr, disp, size};
    }

    ri_layout_part_t join(std::vector<ri_layout_part_t> parts)
    {
        return ri_layout_join(&m_builder, parts.data(), parts.size());
    }

    ri_layout_part_t repeat(ri_layout_part_t part, uint64_t count, int64_t stride)
    {
        return ri_layout_repeat(&m_builder, part, count, stride);
    }

    /* The bytes of a layout are what the builder promises of the part. */
    void expect_stats(ri_layout_t *layout, uint64_t runs, uint64_t least,
                      uint64_t greatest, int64_t lo, int64_t hi)
    {
        ASSERT_NE(nullptr, layout);
        EXPECT_EQ(runs, layout->stats.runs);
        EXPECT_EQ(least, layout->stats.run_min);
        EXPECT_EQ(greatest, layout->stats.run_max);
        EXPECT_EQ(lo, layout->stats.lo);
        EXPECT_EQ(hi, layout->stats.hi);
    }
};

TEST_F(test_layout, nothing)
{
    EXPECT_EQ(0u, repeat(ri_layout_run(0), 100, 8).size);
    EXPECT_EQ(0u, repeat(ri_layout_run(8), 0, 8).size);
    EXPECT_EQ(0u, join({}).size);
    EXPECT_EQ(0u, join({run_at(5, 0), run_at(9, 0)}).size);
    ri_layout_t *layout = end(ri_layout_run(0), 16);
    ASSERT_NE(nullptr, layout);
    EXPECT_EQ(0u, layout->size);
    EXPECT_EQ(16, layout->extent);
    EXPECT_EQ(0u, layout->stats.runs);
    ri_layout_put(layout);
}

TEST_F(test_layout, contiguous_is_one_run)
{
    ri_layout_part_t part = repeat(repeat(ri_layout_run(8), 10, 8), 3, 80);

    EXPECT_EQ(nullptr, part.node);
    EXPECT_EQ(240u, part.size);
    part = join({run_at(-4, 4), run_at(0, 8), run_at(8, 0), run_at(8, 1)});
    EXPECT_EQ(nullptr, part.node);
    EXPECT_EQ(-4, part.disp);
    EXPECT_EQ(13u, part.size);
    end_and_put(part, 13);
}

TEST_F(test_layout, one_repetition_is_none)
{
    EXPECT_EQ(nullptr, repeat(ri_layout_run(8), 1, 100).node);
    end_and_put(ri_layout_run(8), 8);
}

TEST_F(test_layout, loop)
{
    ri_layout_part_t part = repeat(ri_layout_run(8), 1000000000ul, 24);

    ASSERT_NE(nullptr, part.node);
    EXPECT_EQ(RI_LAYOUT_LOOP, part.node->kind);
    ri_layout_t *layout = end(part, 24);
    expect_stats(layout, 1000000000, 8, 8, 0, 24 * 999999999l + 8);
    ri_layout_put(layout);
}

TEST_F(test_layout, loop_backwards)
{
    ri_layout_t *layout = end(repeat(ri_layout_run(8), 4, -16), 0);

    expect_stats(layout, 4, 8, 8, -48, 8);
    ri_layout_put(layout);
}

TEST_F(test_layout, loops_that_go_on_are_one)
{
    ri_layout_part_t part = repeat(repeat(ri_layout_run(8), 10, 16), 5, 160);

    ASSERT_NE(nullptr, part.node);
    EXPECT_EQ(50u, part.node->count);
    EXPECT_EQ(nullptr, part.node->child);
    part = repeat(repeat(ri_layout_run(8), 10, 16), 5, 168);
    EXPECT_EQ(5u, part.node->count);
    ASSERT_NE(nullptr, part.node->child);
    EXPECT_EQ(10u, part.node->child->count);
    end_and_put(part, 0);
}

TEST_F(test_layout, regular_list_is_a_loop)
{
    ri_layout_part_t part = join({run_at(8, 4), run_at(0, 4), run_at(-8, 4)});

    ASSERT_NE(nullptr, part.node);
    EXPECT_EQ(RI_LAYOUT_LOOP, part.node->kind);
    EXPECT_EQ(-8, part.node->stride);
    EXPECT_EQ(8, part.disp);

    ri_layout_part_t loops[] = {repeat(ri_layout_run(2), 3, 4),
                                repeat(ri_layout_run(2), 3, 4)};
    loops[1].disp            = 100;
    part                     = ri_layout_join(&m_builder, loops, 2);
    EXPECT_EQ(RI_LAYOUT_LOOP, part.node->kind);
    EXPECT_EQ(100, part.node->stride);
    end_and_put(part, 0);
}

TEST_F(test_layout, lists)
{
    ri_layout_part_t part = join({run_at(0, 4), run_at(8, 4), run_at(20, 4)});
    EXPECT_EQ(RI_LAYOUT_BLOCKS, part.node->kind);

    part = join({run_at(0, 4), run_at(8, 5), run_at(20, 4)});
    EXPECT_EQ(RI_LAYOUT_RUNS, part.node->kind);

    ri_layout_part_t loop = repeat(ri_layout_run(2), 3, 4);
    loop.disp             = 30;
    part                  = join({part, loop}); /* the list becomes a part of it */
    ASSERT_EQ(RI_LAYOUT_LIST, part.node->kind);
    EXPECT_EQ(4u, part.node->count);
    ri_layout_t *layout = end(part, 40);
    expect_stats(layout, 6, 2, 5, 0, 40);
    ri_layout_put(layout);
}

TEST_F(test_layout, runs_of_spliced_lists_adjoin)
{
    ri_layout_part_t a = join({run_at(0, 4), run_at(10, 2)});
    ri_layout_part_t b = join({run_at(12, 3), run_at(20, 4)});

    a = join({a, b});
    EXPECT_EQ(3u, a.node->count);
    end_and_put(a, 0);
}

TEST_F(test_layout, too_long_a_list)
{
    std::vector<ri_layout_part_t> parts;

    for (size_t i = 0; i <= RI_LAYOUT_ENTRIES_MAX; ++i) {
        parts.push_back(run_at(3 * i * i, 2));
    }
    EXPECT_EQ(nullptr, end(join(parts), 0));
    parts.resize(parts.size() - 3);
    ri_layout_t *layout = end(join(parts), 0);
    EXPECT_NE(nullptr, layout);
    ri_layout_put(layout);
}

TEST_F(test_layout, too_much_memory)
{
    std::vector<ri_layout_part_t> parts;

    for (size_t i = 0; i < RI_LAYOUT_ENTRIES_MAX; ++i) {
        parts.push_back(run_at(3 * i * i, 1 + i % 2)); /* two words for each */
    }
    EXPECT_EQ(nullptr, end(join(parts), 0));
}

TEST_F(test_layout, too_deep)
{
    ri_layout_part_t part = ri_layout_run(1);

    for (unsigned i = 0; i < RI_LAYOUT_DEPTH_MAX; ++i) {
        part = repeat(part, 2, 2 + 5 * i);
    }
    EXPECT_FALSE(m_builder.failed);
    part = repeat(part, 2, 1000);
    EXPECT_EQ(nullptr, end(part, 0));
}

TEST_F(test_layout, overflows)
{
    EXPECT_EQ(nullptr, end(repeat(ri_layout_run(8), 1ul << 60, 16), 0));
    EXPECT_EQ(nullptr, end(repeat(ri_layout_run(1ul << 40), 1ul << 40, 0), 0));
    EXPECT_EQ(nullptr, end(repeat(ri_layout_run(8), 3, INT64_MAX), 0));
    EXPECT_EQ(nullptr, end(repeat(ri_layout_run(8), 3, INT64_MIN), 0));
    EXPECT_EQ(nullptr, end(repeat(ri_layout_run(8), 1ul << 63, 8), 0));
    EXPECT_EQ(nullptr, end(join({run_at(INT64_MAX - 3, 4), run_at(INT64_MIN, 4)}), 0));
    EXPECT_EQ(nullptr, end(run_at(INT64_MAX - 3, 8), 0));
    EXPECT_EQ(nullptr, end(ri_layout_run(1ul << 63), 0));
    ri_layout_part_t part = ri_layout_move(&m_builder, run_at(1, 1), INT64_MAX);
    EXPECT_EQ(nullptr, end(part, 0));
    EXPECT_FALSE(m_builder.failed); /* a new one has begun */
}

TEST_F(test_layout, references)
{
    ri_layout_t *layout = end(repeat(ri_layout_run(8), 3, 16), 48);

    EXPECT_EQ(layout, ri_layout_get(layout));
    ri_layout_put(layout);
    EXPECT_EQ(24u, layout->size);
    ri_layout_put(layout);
    ri_layout_put(nullptr);
}

/* More bytes than a number of 63 bits counts, in memory that overlaps. */
TEST_F(test_layout, too_many_bytes)
{
    const uint64_t half = uint64_t(1) << 62;

    EXPECT_EQ(nullptr, end(join({run_at(0, half), run_at(8, half), run_at(1, 5)}), 8));
}

/* Without memory there is no layout, and not a shorter one. */
TEST_F(test_layout, no_memory)
{
    ri_layout_t *layout = nullptr;
    int fails           = 0;

    for (; layout == nullptr; ++fails) {
        ASSERT_LT(fails, 100);
        fake::malloc_fails_after = fails;
        ri_layout_begin(&m_builder);
        ri_layout_part_t part    = repeat(ri_layout_run(8), 4, 24);
        layout                   = end(join({part, run_at(300, 5), run_at(100, 7)}), 400);
        fake::malloc_fails_after = -1;
    }
    EXPECT_GT(fails, 2);
    EXPECT_EQ(44u, layout->size);
    ri_layout_put(layout);
}

} // namespace
