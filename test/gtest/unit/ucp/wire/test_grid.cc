/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/wire/grid.c: runs of random grids, against a list of the place of each byte; and grids that
 * nobody should send. */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

const uint64_t ADDRESS = 1ul << 40;

ri_wire_grid_t grid_of(uint64_t run,
                       const std::vector<std::pair<uint32_t, int64_t>> &loops)
{
    ri_wire_grid_t grid = ri_grid_run(run);

    for (size_t i = 0; i < loops.size(); ++i) {
        grid.loop[i].count  = loops[i].first;
        grid.loop[i].stride = loops[i].second;
    }
    return grid;
}

/* The address of each byte, in order */
std::vector<uint64_t> places(const ri_wire_grid_t &grid)
{
    std::vector<uint64_t> all;

    for (uint32_t k = 0; k < grid.loop[2].count; ++k) {
        for (uint32_t j = 0; j < grid.loop[1].count; ++j) {
            for (uint32_t i = 0; i < grid.loop[0].count; ++i) {
                for (uint64_t byte = 0; byte < grid.run; ++byte) {
                    all.push_back(ADDRESS + byte + i * grid.loop[0].stride +
                                  j * grid.loop[1].stride + k * grid.loop[2].stride);
                }
            }
        }
    }
    return all;
}

ri_wire_grid_t random_grid(rng &random)
{
    ri_wire_grid_t grid = ri_grid_run(random.range(1, 9));

    for (unsigned i = 0; i < RI_WIRE_GRID_LOOPS; ++i) {
        grid.loop[i].count  = random.range(1, 5);
        grid.loop[i].stride = (int64_t)random.below(400) - 200;
    }
    return grid;
}

TEST(test_grid, runs_of_any_range)
{
    rng random(7);

    for (int round = 0; round < 2000; ++round) {
        ri_wire_grid_t grid       = random_grid(random);
        std::vector<uint64_t> all = places(grid);
        uint64_t offset           = random.below(all.size());
        uint64_t asked            = random.range(1, all.size() - offset);
        uint64_t length           = asked;
        size_t max                = random.range(1, 20);
        ri_segment_t segments[20];
        std::vector<uint64_t> told;

        ASSERT_TRUE(ri_grid_is_valid(&grid, ADDRESS, all.size()));
        ASSERT_EQ(all.size(), ri_grid_runs(&grid) * grid.run);
        size_t count = ri_grid_segments(&grid, ADDRESS, offset, &length, segments, max);
        ASSERT_LE(count, max);
        ASSERT_TRUE((length == asked) || (count == max));
        for (size_t i = 0; i < count; ++i) {
            for (uint64_t byte = 0; byte < segments[i].length; ++byte) {
                told.push_back(segments[i].address + byte);
            }
        }
        ASSERT_TRUE(std::vector<uint64_t>(all.begin() + offset,
                                          all.begin() + offset + length) == told);
    }
}

TEST(test_grid, hull_has_all_and_no_more)
{
    rng random(8);

    for (int round = 0; round < 500; ++round) {
        ri_wire_grid_t grid       = random_grid(random);
        std::vector<uint64_t> all = places(grid);
        int64_t lo, hi;

        ri_grid_hull(&grid, &lo, &hi);
        EXPECT_EQ(*std::min_element(all.begin(), all.end()), ADDRESS + lo);
        EXPECT_EQ(*std::max_element(all.begin(), all.end()) + 1, ADDRESS + hi);
    }
}

TEST(test_grid, what_makes_no_sense)
{
    const int64_t far = 1l << 46;
    struct {
        ri_wire_grid_t grid;
        uint64_t address, length;
    } cases[] = {{grid_of(0, {}), ADDRESS, 0},
                 {grid_of(0, {{4, 8}}), ADDRESS, 0},
                 {grid_of(8, {{4, 8}}), ADDRESS, 31},
                 {grid_of(8, {{4, 8}}), ADDRESS, 33},
                 {grid_of(8, {{0, 8}}), ADDRESS, 0},
                 {grid_of(8, {{4, 8}, {0, 8}}), ADDRESS, 0},
                 {grid_of(1, {{RI_GRID_RUNS_MAX + 1, 8}}), ADDRESS, RI_GRID_RUNS_MAX + 1},
                 {grid_of(1, {{1u << 9, 8}, {1u << 8, 8}}), ADDRESS, 1u << 17},
                 /* a product that begins again at 0 */
                 {grid_of(8, {{1u << 31, 8}, {2, 8}}), ADDRESS, 0},
                 {grid_of(1ul << 60, {{16, 8}}), ADDRESS, 0},
                 {grid_of(1ul << 62, {{2, 8}}), ADDRESS, 1ul << 63},
                 {grid_of(8, {{2, far + 1}}), ADDRESS, 16},
                 {grid_of(8, {{2, -far - 1}}), ADDRESS, 16},
                 {grid_of(8, {{2, INT64_MIN}}), ADDRESS, 16},
                 /* below 0, and beyond all there is */
                 {grid_of(8, {{3, -16}}), 31, 24},
                 {grid_of(8, {{1u << 15, -far}}), ADDRESS, 8ul << 15},
                 {grid_of(8, {{2, 16}}), (1ul << 62) - 23, 16},
                 {grid_of(8, {}), ~0ul, 8},
                 {grid_of(8, {}), 1ul << 62, 8}};

    for (const auto &c : cases) {
        EXPECT_FALSE(ri_grid_is_valid(&c.grid, c.address, c.length)) << (&c - cases);
    }
}

TEST(test_grid, the_largest)
{
    ri_wire_grid_t most = grid_of(1, {{RI_GRID_RUNS_MAX, 1l << 46}});
    ri_wire_grid_t run  = ri_grid_run(1ul << 61);
    int64_t lo, hi;

    EXPECT_FALSE(ri_grid_is_valid(&most, 1ul << 46, RI_GRID_RUNS_MAX)) << "too far";
    EXPECT_TRUE(ri_grid_is_valid(&most, (1ul << 46) - 1, RI_GRID_RUNS_MAX));
    ri_grid_hull(&most, &lo, &hi);
    EXPECT_EQ(0, lo);
    EXPECT_EQ(((RI_GRID_RUNS_MAX - 1l) << 46) + 1, hi);
    EXPECT_TRUE(ri_grid_is_valid(&run, 1ul << 61, 1ul << 61));
    EXPECT_FALSE(ri_grid_is_valid(&run, (1ul << 61) + 1, 1ul << 61));
}

} // namespace
