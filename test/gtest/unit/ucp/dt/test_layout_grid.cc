/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/dt/layout_grid.c: layouts that are grids, against a list of the place of each byte; and ones
 * that are none. */

#include "common/share.h"
#include "unit/common/layouts.h"

extern "C" {
#include "ucp/dt/layout_grid.h"
}

namespace {

class test_layout_grid : public layout_test {
protected:
    void TearDown() override { ri_layout_put(m_layout); }

    void make(ri_layout_part_t part, int64_t extent)
    {
        ri_layout_put(m_layout);
        m_layout = end(part, extent);
        ASSERT_NE(nullptr, m_layout);
        ri_layout_begin(&m_builder);
    }

    bool is_grid(uint64_t count)
    {
        return ri_layout_grid(m_layout, count, &m_disp, &m_grid);
    }

    ri_layout_part_t repeat(ri_layout_part_t part, uint64_t count, int64_t stride)
    {
        return ri_layout_repeat(&m_builder, part, count, stride);
    }

    void expect(uint64_t run, const std::vector<std::pair<uint32_t, int64_t>> &loops)
    {
        EXPECT_EQ(run, (uint64_t)m_grid.run);
        for (size_t i = 0; i < RI_WIRE_GRID_LOOPS; ++i) {
            EXPECT_EQ((i < loops.size()) ? loops[i].first : 1u,
                      (uint32_t)m_grid.loop[i].count)
                    << i;
            EXPECT_EQ((i < loops.size()) ? loops[i].second : 0,
                      (int64_t)m_grid.loop[i].stride)
                    << i;
        }
    }

    ri_layout_t *m_layout = nullptr;
    ri_wire_grid_t m_grid;
    int64_t m_disp;
};

TEST_F(test_layout_grid, loops)
{
    make(ri_layout_run(32), 32);
    ASSERT_TRUE(is_grid(1));
    expect(32, {});
    ASSERT_TRUE(is_grid(5)); /* elements that adjoin */
    expect(160, {});

    make(repeat(ri_layout_run(32), 10, 64), 640);
    ASSERT_TRUE(is_grid(1));
    expect(32, {{10, 64}});
    ASSERT_TRUE(is_grid(3)); /* one stride through all elements */
    expect(32, {{30, 64}});

    make(repeat(repeat(ri_layout_run(32), 4, 100), 5, 1000), 8000);
    ASSERT_TRUE(is_grid(1));
    expect(32, {{4, 100}, {5, 1000}});
    ASSERT_TRUE(is_grid(2));
    expect(32, {{4, 100}, {5, 1000}, {2, 8000}});

    make(ri_layout_move(&m_builder, repeat(ri_layout_run(8), 4, -24), 72), 96);
    ASSERT_TRUE(is_grid(1));
    EXPECT_EQ(72, m_disp);
    expect(8, {{4, -24}});
}

TEST_F(test_layout_grid, what_is_none)
{
    make(ri_layout_run(0), 8);
    EXPECT_FALSE(is_grid(3)) << "no bytes";

    make(repeat(repeat(repeat(ri_layout_run(8), 2, 20), 3, 100), 4, 1000), 10000);
    EXPECT_TRUE(is_grid(1));
    EXPECT_FALSE(is_grid(2)) << "a loop too many";

    make(repeat(ri_layout_run(8), RI_GRID_RUNS_MAX + 1, 20), 1 << 24);
    EXPECT_FALSE(is_grid(1)) << "too many runs";

    ri_layout_part_t parts[] = {ri_layout_run(8),
                                ri_layout_move(&m_builder, ri_layout_run(9), 20)};
    make(ri_layout_join(&m_builder, parts, 2), 40);
    EXPECT_FALSE(is_grid(1)) << "a list";
}

/* Whatever is a grid says where each byte is. */
TEST_F(test_layout_grid, random)
{
    unsigned grids = 0;

    for (unsigned long seed = test_turn(); seed < 3000; seed += test_share()) {
        rng random(seed);
        modelled_part part = random_run(random);

        for (uint64_t depth = random.below(5); depth > 0; --depth) {
            part = random.percent(90) ? layout_test::repeat(random, part) :
                                        join(random, part);
        }
        int64_t extent = width(part) + random.below(2) * random.below(50);
        uint64_t count = random.range(1, 4);
        std::vector<int64_t> places;
        for (uint64_t i = 0; i < count; ++i) {
            for (int64_t place : part.places) {
                places.push_back(place + (int64_t)i * extent);
            }
        }
        make(part.part, extent);
        if (!is_grid(count)) {
            continue;
        }
        ++grids;

        const uint64_t address = 1ul << 40;
        uint64_t length        = places.size();
        std::vector<ri_segment_t> runs(ri_grid_runs(&m_grid));
        std::vector<int64_t> told;
        ASSERT_TRUE(ri_grid_is_valid(&m_grid, address, length)) << seed;
        ASSERT_EQ(runs.size(), ri_grid_segments(&m_grid, address, 0, &length, runs.data(),
                                                runs.size()));
        for (const ri_segment_t &run : runs) {
            for (uint64_t byte = 0; byte < run.length; ++byte) {
                told.push_back((int64_t)(run.address - address) + m_disp + byte);
            }
        }
        ASSERT_TRUE(places == told) << seed;
    }
    EXPECT_LT(300u / test_share(), grids);
}

} // namespace
