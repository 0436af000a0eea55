/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/settings/costs.c: thresholds from given costs, and that measuring stays in range. */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <gtest/gtest.h>

namespace {

ri_costs_t costs(double copy_rate, double call, double plane_rate, double line)
{
    return {copy_rate, {call, plane_rate}, line, line, 0, 1, 1};
}

/* Any costs that measuring can give */
ri_costs_t random_costs(rng &random)
{
    auto between = [&random](double min, double max) {
        return min + (max - min) * random.below(1000001) / 1e6;
    };

    return costs(between(RI_COSTS_RATE_MIN, RI_COSTS_RATE_MAX),
                 between(RI_COSTS_CALL_MIN, RI_COSTS_CALL_MAX),
                 between(RI_COSTS_RATE_MIN, RI_COSTS_RATE_MAX),
                 between(RI_COSTS_LINE_MIN, RI_COSTS_LINE_MAX));
}

void expect_power_of_two(size_t value, size_t min, size_t max)
{
    EXPECT_EQ(0u, value & (value - 1)) << value;
    EXPECT_LE(min, value);
    EXPECT_GE(max, value);
}

void expect_sane(const ri_costs_t &c)
{
    EXPECT_LE(RI_COSTS_RATE_MIN, c.copy_rate);
    EXPECT_GE(RI_COSTS_RATE_MAX, c.copy_rate);
    EXPECT_LE(RI_COSTS_RATE_MIN, c.plane.rate);
    EXPECT_GE(RI_COSTS_RATE_MAX, c.plane.rate);
    EXPECT_LE(RI_COSTS_CALL_MIN, c.plane.call);
    EXPECT_GE(RI_COSTS_CALL_MAX, c.plane.call);
    EXPECT_LE(RI_COSTS_LINE_MIN, c.line);
    EXPECT_GE(RI_COSTS_LINE_MAX, c.line);
    EXPECT_EQ(c.line_measured != 0, c.line != RI_COSTS_LINE);
}

struct example {
    double copy_rate, call, plane_rate, line;
    size_t eager, ring, hybrid, coop; /* KB */
};

const example EXAMPLES[] = {
        /* What was seen on the machine of docs/performance.md */
        {31, 570, 20, 130, 8, 16, 64, 64},
        {40, 650, 20, 110, 8, 16, 64, 64},
        {30, 760, 17, 120, 8, 32, 64, 64},
        {28, 1260, 13.8, 162, 8, 64, 128, 64},
        /* What is assumed */
        {RI_COSTS_COPY_RATE, RI_COSTS_PLANE_CALL, RI_COSTS_PLANE_RATE, RI_COSTS_LINE, 8,
         32, 64, 64},
        /* A cheap call: the plane soon beats the ring, and waiting is cheap */
        {30, 150, 20, 130, 8, 8, 32, 64},
        /* A call that takes long: all come later */
        {30, 3000, 20, 130, 32, 64, 256, 256},
        /* The plane is no faster than the ring: never */
        {30, 600, 1, 130, 64, 64, 64, 64},
        /* A slow copy is not worth it */
        {2, 600, 20, 130, 8, 8, 16, 64},
        /* Everything at its limit */
        {RI_COSTS_RATE_MAX, RI_COSTS_CALL_MAX, RI_COSTS_RATE_MAX, RI_COSTS_LINE_MAX, 16,
         64, 256, 1024},
        {RI_COSTS_RATE_MIN, RI_COSTS_CALL_MIN, RI_COSTS_RATE_MIN, RI_COSTS_LINE_MIN, 64,
         64, 16, 64},
};

TEST(test_costs, examples)
{
    for (const example &e : EXAMPLES) {
        ri_costs_t c = costs(e.copy_rate, e.call, e.plane_rate, e.line);

        EXPECT_EQ(e.eager << 10, ri_costs_eager_thresh(&c)) << &e - EXAMPLES;
        EXPECT_EQ(e.ring << 10, ri_costs_ring_thresh(&c)) << &e - EXAMPLES;
        EXPECT_EQ(e.hybrid << 10, ri_costs_hybrid_thresh(&c)) << &e - EXAMPLES;
        EXPECT_EQ(e.coop << 10, ri_costs_coop_thresh(&c)) << &e - EXAMPLES;
    }
}

/* A quick ring carries more than both sides do by the plane; where nothing is known of that, what any
 * ring is assumed to carry. */
TEST(test_costs, quick_rate)
{
    ri_costs_t c = costs(30, 600, 10, 130);

    c.plane_measured = 1;
    EXPECT_DOUBLE_EQ(12, ri_costs_quick_rate(&c));
    c.plane.rate = 20;
    EXPECT_DOUBLE_EQ(24, ri_costs_quick_rate(&c));
    c.plane_measured = 0;
    EXPECT_DOUBLE_EQ(10, ri_costs_quick_rate(&c));
}

TEST(test_costs, limits)
{
    for_seeds(2000, [](rng &random) {
        ri_costs_t c = random_costs(random);

        expect_power_of_two(ri_costs_eager_thresh(&c), RI_COSTS_EAGER_MIN,
                            RI_COSTS_EAGER_MAX);
        expect_power_of_two(ri_costs_ring_thresh(&c), ri_costs_eager_thresh(&c),
                            RI_COSTS_EAGER_MAX);
        expect_power_of_two(ri_costs_hybrid_thresh(&c), RI_COSTS_HYBRID_MIN,
                            RI_COSTS_HYBRID_MAX);
        expect_power_of_two(ri_costs_coop_thresh(&c), RI_COSTS_COOP_MIN,
                            RI_COSTS_COOP_MAX);
    });
}

/* More of one cost, all others alike */
TEST(test_costs, monotonic)
{
    for_seeds(2000, [](rng &random) {
        ri_costs_t less  = random_costs(random);
        ri_costs_t other = random_costs(random);
        ri_costs_t more  = less;

        more.plane.call = std::max(less.plane.call, other.plane.call);
        EXPECT_LE(ri_costs_eager_thresh(&less), ri_costs_eager_thresh(&more));
        EXPECT_LE(ri_costs_hybrid_thresh(&less), ri_costs_hybrid_thresh(&more));
        EXPECT_LE(ri_costs_coop_thresh(&less), ri_costs_coop_thresh(&more));

        more            = less;
        more.plane.rate = std::max(less.plane.rate, other.plane.rate);
        EXPECT_GE(ri_costs_eager_thresh(&less), ri_costs_eager_thresh(&more));
        EXPECT_EQ(ri_costs_hybrid_thresh(&less), ri_costs_hybrid_thresh(&more));
        EXPECT_LE(ri_costs_coop_thresh(&less), ri_costs_coop_thresh(&more));

        more           = less;
        more.copy_rate = std::max(less.copy_rate, other.copy_rate);
        EXPECT_LE(ri_costs_eager_thresh(&less), ri_costs_eager_thresh(&more));
        EXPECT_LE(ri_costs_hybrid_thresh(&less), ri_costs_hybrid_thresh(&more));
        EXPECT_EQ(ri_costs_coop_thresh(&less), ri_costs_coop_thresh(&more));

        more      = less;
        more.line = std::max(less.line, other.line);
        EXPECT_LE(ri_costs_hybrid_thresh(&less), ri_costs_hybrid_thresh(&more));
        EXPECT_LE(ri_costs_coop_thresh(&less), ri_costs_coop_thresh(&more));
    });
}

/* What is far takes twice what memory does, but no more than COSTS_FAR_MAX where others use the
 * memory. */
TEST(test_costs, far)
{
    ri_costs_t c  = costs(20, 700, 15, 80);
    c.line_ticks  = 200;
    c.clock_ticks = 50;
    EXPECT_EQ(450u, ri_costs_far_ticks(&c));

    c.line       = 380;
    c.line_ticks = 950;
    EXPECT_EQ(50 + 950 / 2, ri_costs_far_ticks(&c));
}

/* A call and the bytes, in ticks of 2.5 to a nanosecond. */
TEST(test_costs, copy_by_the_plane)
{
    ri_costs_t c = costs(20, 700, 15, 80);
    c.line_ticks = 200;
    EXPECT_DOUBLE_EQ(700 * 2.5, ri_costs_plane_ticks(&c, 0));
    EXPECT_DOUBLE_EQ((700 + 2000) * 2.5, ri_costs_plane_ticks(&c, 30000));

    c.line_ticks = 0;
    EXPECT_EQ(0, ri_costs_plane_ticks(&c, 30000));
}

TEST(test_costs, far_is_not_known)
{
    ri_costs_t c  = costs(20, 700, 15, 80);
    c.line_ticks  = 0; /* not measured */
    c.clock_ticks = 0;
    EXPECT_EQ(0u, ri_costs_far_ticks(&c));

    c.line_ticks  = 30;
    c.clock_ticks = 40; /* the clock is too slow */
    EXPECT_EQ(0u, ri_costs_far_ticks(&c));
}

TEST(test_costs, measure)
{
    ri_costs_t c;

    ri_costs_measure(&c, &ri_plane_cma);
    expect_sane(c);
}

TEST(test_costs, measure_without_plane)
{
    ri_costs_t c;

    ri_costs_measure(&c, nullptr);
    expect_sane(c);
    EXPECT_FALSE(c.plane_measured);
    EXPECT_EQ(RI_COSTS_PLANE_CALL, c.plane.call);
    EXPECT_EQ(RI_COSTS_PLANE_RATE, c.plane.rate);
}

/* What a plane made by the test says */
ri_plane_cost_t said;
ucs_status_t said_status;

ucs_status_t say(void *to, void *from, size_t length, ri_plane_cost_t *cost)
{
    memcpy(to, from, length); /* the memory is there, and does not overlap */
    *cost = said;
    return said_status;
}

TEST(test_costs, measure_planes)
{
    ri_plane_ops_t ops = {};
    ri_costs_t c;

    ri_costs_measure(&c, &ops); /* cannot measure */
    EXPECT_FALSE(c.plane_measured);

    ops.measure = say;
    said        = {1000, 10};
    said_status = UCS_OK;
    ri_costs_measure(&c, &ops);
    EXPECT_TRUE(c.plane_measured);
    EXPECT_EQ(1000, c.plane.call);
    EXPECT_EQ(10, c.plane.rate);

    for (double wrong : {1e-9, 1e9}) {
        said = {wrong, wrong};
        ri_costs_measure(&c, &ops);
        EXPECT_TRUE(c.plane_measured);
        expect_sane(c);
    }

    said_status = UCS_ERR_UNSUPPORTED;
    ri_costs_measure(&c, &ops);
    EXPECT_FALSE(c.plane_measured);
    EXPECT_EQ(RI_COSTS_PLANE_CALL, c.plane.call);
    EXPECT_EQ(RI_COSTS_PLANE_RATE, c.plane.rate);
}

} // namespace
