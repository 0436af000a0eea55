/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/dt/layout_wire.c: definitions of random layouts, which have their bytes at the same
 * places afterwards, and definitions that a peer makes up. */

#include "unit/common/layouts.h"

extern "C" {
#include "ucp/dt/layout_copy.h"
#include "ucp/dt/layout_wire.h"
#include "ucp/wire/grid.h"
}

#include <algorithm>

namespace {

using bytes = std::vector<uint8_t>;

constexpr uint64_t ADDRESS = 1ul << 40;

/* What nodes begin with */
enum {
    RUN,
    LOOP,
    BLOCKS,
    RUNS,
    LIST,
    SAME
};

class test_layout_wire : public layout_test {
protected:
    /* The definition of a layout; empty: it has no room */
    static bytes define(ri_layout_t *layout)
    {
        bytes definition(RI_WIRE_LAYOUT_MAX);

        definition.resize(ri_layout_wire_define(layout, definition.data()));
        return definition;
    }

    /* A layout that is read from memory of just that size */
    ri_layout_t *parse(const bytes &definition)
    {
        std::unique_ptr<uint8_t[]> copy(new uint8_t[definition.size()]);

        std::copy(definition.begin(), definition.end(), copy.get());
        return ri_layout_wire_parse(copy.get(), definition.size(), &m_malformed);
    }

    void expect_malformed(const bytes &definition)
    {
        EXPECT_EQ(nullptr, parse(definition));
        EXPECT_TRUE(m_malformed);
    }

    /* It is well-formed, but too much for this process */
    void expect_too_large(const bytes &definition)
    {
        EXPECT_EQ(nullptr, parse(definition));
        EXPECT_FALSE(m_malformed);
    }

    static bytes number(uint64_t value)
    {
        bytes out;

        for (; value > 0x7f; value >>= 7) {
            out.push_back((uint8_t)value | 0x80);
        }
        out.push_back((uint8_t)value);
        return out;
    }

    static bytes place(int64_t value)
    {
        return number(((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
    }

    static bytes join(std::initializer_list<bytes> parts)
    {
        bytes all;

        for (const bytes &part : parts) {
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }

    /* A node behind a head that divides by nothing and has no displacement */
    static bytes whole(const bytes &node, int64_t extent = 0)
    {
        return join({number(0), place(extent), place(0), node});
    }

    static bytes run(uint64_t length) { return join({number(RUN), number(length)}); }

    static bytes loop(uint64_t count, int64_t stride, const bytes &inner)
    {
        return join({number(LOOP), number(count), place(stride), inner});
    }

    /* Where the bytes of some elements are */
    static std::vector<uint64_t> places(const ri_layout_t *layout, uint64_t count)
    {
        std::vector<uint64_t> all;
        uint64_t offset = 0;

        while (offset < layout->size * count) {
            ri_segment_t segments[7];
            size_t length = layout->size * count - offset;
            size_t num    = ri_layout_copy_segments(layout, (const void *)ADDRESS, count,
                                                    offset, &length, segments, 7);
            for (size_t i = 0; i < num; ++i) {
                for (uint64_t byte = 0; byte < segments[i].length; ++byte) {
                    all.push_back(segments[i].address + byte);
                }
            }
            offset += length;
        }
        return all;
    }

    int m_malformed;
};

TEST_F(test_layout_wire, random_layouts)
{
    rng random(11);
    unsigned described = 0;

    for (unsigned round = 0; round < 1000; ++round) {
        SCOPED_TRACE(round);
        modelled_part part  = random_part(random);
        int64_t extent      = (int64_t)random.below(100000) - 30000;
        ri_layout_t *layout = end(part.part, extent);
        ASSERT_NE(nullptr, layout);
        bytes definition = define(layout);
        EXPECT_EQ(definition.empty(), !!ri_layout_wire_is_long(layout));
        if (!definition.empty()) {
            ++described;
            ri_layout_t *other = parse(definition);
            ASSERT_NE(nullptr, other);
            EXPECT_EQ(layout->size, other->size);
            EXPECT_EQ(layout->extent, other->extent);
            EXPECT_EQ(layout->stats.lo, other->stats.lo);
            EXPECT_EQ(layout->stats.hi, other->stats.hi);
            uint64_t count = random.range(1, 3);
            ASSERT_EQ(places(layout, count), places(other, count));
            ri_layout_put(other);
        }
        ri_layout_put(layout);
    }
    EXPECT_LT(900u, described);
}

/* Any definition that is cut or has a byte changed is refused or means something that can be
   walked. */
TEST_F(test_layout_wire, damaged)
{
    rng random(12);

    for (unsigned round = 0; round < 3000; ++round) {
        SCOPED_TRACE(round);
        modelled_part part  = random_part(random);
        ri_layout_t *layout = end(part.part, random.below(1000));
        bytes definition    = define(layout);
        ri_layout_put(layout);
        if (definition.empty()) {
            continue;
        }
        if (random.percent(30)) {
            definition.resize(random.below(definition.size()));
            expect_malformed(definition);
            continue;
        }
        for (unsigned i = random.range(1, 3); i > 0; --i) {
            definition[random.below(definition.size())] = (uint8_t)random.below(256);
        }
        layout = parse(definition);
        EXPECT_TRUE((layout == nullptr) || !m_malformed);
        if ((layout != nullptr) && (layout->size < 100000) &&
            ri_layout_wire_may_be_at(layout, 2, ADDRESS, 2 * layout->size)) {
            std::vector<uint64_t> all = places(layout, 2);
            EXPECT_EQ(2 * layout->size, all.size());
            int64_t first = std::min<int64_t>(0, layout->extent);
            int64_t last  = std::max<int64_t>(0, layout->extent);
            for (uint64_t at : all) {
                ASSERT_LE(ADDRESS + (uint64_t)(layout->stats.lo + first), at);
                ASSERT_GT(ADDRESS + (uint64_t)(layout->stats.hi + last), at);
            }
        }
        ri_layout_put(layout);
    }
}

/* The bytes of protocol.md */
TEST_F(test_layout_wire, example)
{
    ri_layout_part_t parts[] = {ri_layout_run(8192),
                                ri_layout_move(&m_builder, ri_layout_run(16384), 12288)};
    ri_layout_t *layout      = end(ri_layout_join(&m_builder, parts, 2), 32768);
    /* 2^12; extent 8, at 0; runs: two, at 0 of 2, 1 behind it of 4 */
    EXPECT_EQ((bytes{12, 16, 0, RUNS, 2, 0, 2, 2, 4}), define(layout));
    ri_layout_put(layout);
}

/* Many runs that are multiples of something take little room, and more than that have none. */
TEST_F(test_layout_wire, room)
{
    for (size_t count : {1000, 3000}) {
        std::vector<ri_layout_part_t> parts;
        int64_t at = 0;

        for (size_t i = 0; i < count; ++i) {
            size_t length = 8192 + 8 * (i * 7919 % 1000);
            parts.push_back(ri_layout_move(&m_builder, ri_layout_run(length), at));
            at += length + 8 * (1 + i % 3);
        }
        ri_layout_t *layout = end(ri_layout_join(&m_builder, parts.data(), count), at);
        bytes definition    = define(layout);
        EXPECT_EQ(count == 1000, !definition.empty());
        EXPECT_EQ(count != 1000, !!ri_layout_wire_is_long(layout));
        ri_layout_put(layout);
    }
}

/* A list of one node at many places tells the node once. */
TEST_F(test_layout_wire, the_same_node)
{
    ri_layout_part_t inner = ri_layout_repeat(&m_builder, ri_layout_run(5), 100, 17);
    std::vector<ri_layout_part_t> parts;

    for (int64_t i = 0; i < 100; ++i) {
        parts.push_back(ri_layout_move(&m_builder, inner, i * i * 2000));
    }
    ri_layout_t *layout = end(ri_layout_join(&m_builder, parts.data(), 100), 1);
    bytes definition    = define(layout);
    EXPECT_GT(500u, definition.size());
    ri_layout_t *other = parse(definition);
    ASSERT_NE(nullptr, other);
    EXPECT_EQ(places(layout, 1), places(other, 1));
    ri_layout_put(other);
    ri_layout_put(layout);
}

/* A tree that many lists share, and that would be endless if it were written out */
TEST_F(test_layout_wire, shared_trees)
{
    ri_layout_part_t part = ri_layout_repeat(&m_builder, ri_layout_run(1), 2, 3);

    for (int64_t depth = 0; depth < 20; ++depth) {
        ri_layout_part_t parts[3] = {part, ri_layout_run(1), part};
        parts[1]                  = ri_layout_move(&m_builder, parts[1], 1l << 30);
        parts[2]                  = ri_layout_move(&m_builder, part, 5 + depth);
        std::vector<ri_layout_part_t> many(20, parts[1]);
        many.front() = parts[0];
        many.back()  = parts[2];
        for (size_t i = 1; i < 19; ++i) {
            many[i].disp += i * i;
        }
        part = ri_layout_join(&m_builder, many.data(), many.size());
    }
    ri_layout_t *layout = end(part, 1l << 31);
    ASSERT_NE(nullptr, layout);
    EXPECT_TRUE(define(layout).empty());
    ri_layout_put(layout);
}

TEST_F(test_layout_wire, what_makes_no_sense)
{
    expect_malformed({});
    expect_malformed({0});
    expect_malformed(whole({}));
    expect_malformed(whole(run(0)));
    expect_malformed(whole({6}));                  /* no kind */
    expect_malformed(whole({SAME}));               /* in no list */
    expect_malformed(whole(loop(0, 8, run(8))));   /* no turn */
    expect_malformed(whole({RUNS, 0}));            /* no entry */
    expect_malformed(whole({BLOCKS, 3, 8, 0, 0})); /* an entry is missing */
    expect_malformed(whole({LIST, 1, 0, SAME}));   /* as none before */
    expect_malformed(join({whole(run(8)), {0}}));  /* more than a layout */
    expect_malformed(
            whole({RUNS, 0xff, 0xff, 0x7f, 0, 1})); /* as many entries as bytes at most */
    expect_malformed(join({number(33), place(0), place(0), run(1)}));
    expect_malformed(join({number(32), place(0), place(0), run(1ul << 31)}));
    expect_malformed(join({number(32), place(1l << 31), place(0), run(1)}));
    expect_malformed(whole(run(1ul << 63)));
    bytes of_66_bits(9, 0xff);
    of_66_bits.push_back(2);
    expect_malformed(join({of_66_bits, place(0), place(0), run(1)}));
    of_66_bits.back() = 0x81;
    of_66_bits.push_back(0);
    expect_malformed(whole(join({{RUN}, of_66_bits})));

    bytes deep = run(1);
    for (unsigned depth = 0; depth < 32; ++depth) {
        deep = join({{LIST, 1, 0}, deep});
    }
    ri_layout_put(parse(whole(deep)));
    EXPECT_FALSE(m_malformed);
    expect_malformed(whole(join({{LIST, 1, 0}, deep})));

    bytes largest = whole(join({{BLOCKS},
                                number(RI_WIRE_LAYOUT_MAX - 8),
                                {1},
                                bytes(RI_WIRE_LAYOUT_MAX - 8, 2)}));
    largest.resize(largest.size() + 4);
    ASSERT_LT((size_t)RI_WIRE_LAYOUT_MAX, largest.size());
    expect_malformed(largest);
}

/* Sums and products that no number holds */
TEST_F(test_layout_wire, what_overflows)
{
    const int64_t far = 1l << 61;

    expect_too_large(whole(loop(1ul << 40, 8, run(1ul << 40))));
    expect_too_large(whole(loop(1ul << 63, 8, run(8))));
    expect_too_large(whole(loop(1ul << 40, 1l << 40, run(8))));
    expect_too_large(whole(loop(5, far, run(8))));
    expect_too_large(whole(loop(6, -far, run(8))));
    expect_too_large(whole(loop(4, far, loop(4, far, run(8)))));
    expect_too_large(whole(join({{RUNS, 4, 0},
                                 number(far),
                                 place(0),
                                 number(far),
                                 place(0),
                                 number(far),
                                 place(0),
                                 number(far)})));
    expect_too_large(whole(loop(2, far, join({{RUNS, 2, 0, 1}, place(3 * far), {1}}))));
    expect_too_large(join({number(0), place(0), place(INT64_MAX - 3), run(8)}));

    bytes wide = loop(1000, 4000,
                      run(1)); /* turns of turns of the same: 1000 to the 7th */
    for (unsigned depth = 0; depth < 7; ++depth) {
        wide = loop(1000, 1, wide);
    }
    expect_too_large(whole(wide));
}

TEST_F(test_layout_wire, places_that_there_can_be)
{
    const struct {
        bytes node;
        int64_t extent;
        uint64_t count, address, length;
        bool good;
    } cases[] = {
            {run(8), 8, 1, ADDRESS, 8, true},
            {run(8), 8, 1, ADDRESS, 0, false},
            {run(8), 8, 0, ADDRESS, 0, false},
            {run(8), 8, 0, ADDRESS, 8, false},
            {run(8), 8, 2, ADDRESS, 8, false},
            {run(8), 8, 1, 1ul << 62, 8, false},
            {run(8), 8, 1, (1ul << 62) - 8, 8, true},
            {run(8), 8, 1, (1ul << 62) - 7, 8, false},
            {run(8), 8, 1, ~0ul, 8, false},
            {run(1ul << 61), 8, 1, 0, 1ul << 61, true},
            {run(1ul << 61), 8, 4, 0, 1ul << 63, false},
            {run(1ul << 61), 8, 8, 0, 0, false},
            {run(8), 1l << 60, 4, ADDRESS, 32, true},
            {run(8), 1l << 60, 5, ADDRESS, 40, false},
            {run(8), INT64_MAX, 3, ADDRESS, 24, false},
            {run(8), -16, 3, 32, 24, true},
            {run(8), -16, 3, 31, 24, false},
            {run(8), -(1l << 61), 3, 1ul << 61, 24, false},
            {run(1), 2, RI_GRID_RUNS_MAX, ADDRESS, RI_GRID_RUNS_MAX, true},
            {run(1), 2, RI_GRID_RUNS_MAX + 1, ADDRESS, RI_GRID_RUNS_MAX + 1, false},
            {loop(256, 8, run(1)), 4000, 256, ADDRESS, 65536, true},
            {loop(256, 8, run(1)), 4000, 257, ADDRESS, 257 * 256, false},
            {loop(1ul << 50, 2, run(1)), 0, 1ul << 20, ADDRESS, 0, false},
    };

    for (const auto &c : cases) {
        ri_layout_t *layout = parse(whole(c.node, c.extent));
        ASSERT_NE(nullptr, layout) << (&c - cases);
        EXPECT_EQ(c.good,
                  !!ri_layout_wire_may_be_at(layout, c.count, c.address, c.length))
                << (&c - cases);
        ri_layout_put(layout);
    }
}

/* Layouts of peers count as long as they are there, and are not taken beyond a limit. */
TEST_F(test_layout_wire, memory_of_peers)
{
    bytes runs = {10, 16, 0, 3, 2, 0, 2, 2, 4};
    int malformed;
    size_t before    = ri_layout_peers_bytes();
    ri_layout_t *one = ri_layout_wire_parse(runs.data(), runs.size(), &malformed);
    ri_layout_t *own = end(ri_layout_run(5), 8);
    size_t limit     = ri_layout_peers_max;

    ASSERT_NE(nullptr, one);
    ASSERT_NE(nullptr, own);
    EXPECT_LT(sizeof(*one) + 2 * sizeof(int64_t), one->bytes);
    EXPECT_EQ(before + one->bytes, ri_layout_peers_bytes()) << "its own do not count";
    ri_layout_peers_max = before + 2 * one->bytes - 1;
    EXPECT_EQ(nullptr, ri_layout_wire_parse(runs.data(), runs.size(), &malformed));
    EXPECT_FALSE(malformed);
    EXPECT_EQ(before + one->bytes, ri_layout_peers_bytes());
    ri_layout_peers_max = before + 2 * one->bytes;
    ri_layout_t *two    = ri_layout_wire_parse(runs.data(), runs.size(), &malformed);
    EXPECT_NE(nullptr, two);
    ri_layout_peers_max = limit;
    ri_layout_put(one);
    ri_layout_put(two);
    ri_layout_put(own);
    EXPECT_EQ(before, ri_layout_peers_bytes());
}

/* The length of a definition is known when it was written once. */
TEST_F(test_layout_wire, length_that_is_known)
{
    uint8_t bytes[RI_WIRE_LAYOUT_MAX];
    ri_layout_t *layout = end(ri_layout_run(5), 8);

    EXPECT_EQ(0u, ri_layout_wire_definition_length(layout));
    size_t length = ri_layout_wire_define(layout, bytes);
    EXPECT_LT(0u, length);
    EXPECT_EQ(length, ri_layout_wire_definition_length(layout));
    EXPECT_FALSE(ri_layout_wire_is_long(layout));
    ri_layout_put(layout);
}

} // namespace
