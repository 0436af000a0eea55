/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Layouts at random, each with a model: the place of each packed byte. */
#ifndef RI_TEST_LAYOUTS_H
#define RI_TEST_LAYOUTS_H

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <vector>

/* A part of a layout, and the places of its bytes. */
struct modelled_part {
    ri_layout_part_t part;
    std::vector<int64_t> places;
};

class layout_test : public ::testing::Test {
protected:
    void SetUp() override { ri_layout_begin(&m_builder); }

    ri_layout_t *end(ri_layout_part_t part, int64_t extent)
    {
        return ri_layout_end(&m_builder, part, extent);
    }

    void end_and_put(ri_layout_part_t part, int64_t extent)
    {
        ri_layout_t *layout = end(part, extent);

        EXPECT_NE(nullptr, layout);
        ri_layout_put(layout);
    }

    modelled_part random_run(rng &random)
    {
        static const size_t lengths[] = {1,  2,  3,   4,   5,   8,   12, 15,
                                         16, 20, 24,  31,  32,  40,  48, 63,
                                         64, 65, 100, 127, 128, 129, 300};
        size_t length = lengths[random.below(sizeof(lengths) / sizeof(lengths[0]))];
        modelled_part run;

        run.part = ri_layout_run(length);
        for (size_t i = 0; i < length; ++i) {
            run.places.push_back(i);
        }
        return run;
    }

    static int64_t width(const modelled_part &part)
    {
        return *std::max_element(part.places.begin(), part.places.end()) + 1 -
               *std::min_element(part.places.begin(), part.places.end());
    }

    static void append(modelled_part &to, const modelled_part &from, int64_t disp)
    {
        for (int64_t place : from.places) {
            to.places.push_back(place + disp);
        }
    }

    modelled_part repeat(rng &random, const modelled_part &inner)
    {
        uint64_t count = random.range(1, random.percent(20) ? 40 : 6);
        int64_t stride = width(inner) + (random.percent(30) ? 0 : random.below(20));
        modelled_part outer;

        if (random.percent(20)) {
            stride = -stride;
        }
        outer.part = ri_layout_repeat(&m_builder, inner.part, count, stride);
        for (uint64_t i = 0; i < count; ++i) {
            append(outer, inner, i * stride);
        }
        return outer;
    }

    modelled_part join(rng &random, const modelled_part &inner)
    {
        size_t count = random.range(1, random.percent(20) ? 40 : 5);
        bool same    = random.percent(60);
        std::vector<ri_layout_part_t> parts;
        int64_t at = (int64_t)random.below(100) - 50;
        modelled_part outer;

        for (size_t i = 0; i < count; ++i) {
            modelled_part next = same ? inner : random_run(random);

            at += random.percent(50) ? 0 : random.below(9);
            parts.push_back(ri_layout_move(&m_builder, next.part,
                                           at - (next.places.empty() ? 0 : least(next))));
            append(outer, next, at - least(next));
            at += width(next);
        }
        outer.part = ri_layout_join(&m_builder, parts.data(), parts.size());
        return outer;
    }

    static int64_t least(const modelled_part &part)
    {
        return *std::min_element(part.places.begin(), part.places.end());
    }

    /* Of at most some 20,000 bytes, none of them twice. */
    modelled_part random_part(rng &random)
    {
        modelled_part part = random_run(random);

        for (uint64_t depth = random.below(6); depth > 0; --depth) {
            if (part.places.size() > 500) {
                break;
            }
            part = random.percent(50) ? repeat(random, part) : join(random, part);
        }
        return part;
    }

    ri_layout_builder_t m_builder;
};

#endif
