/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/dt/layout_copy.c: ranges of random layouts, against a list of the place of each byte. */

#include "unit/common/layouts.h"

namespace {

typedef std::vector<uint8_t> bytes;

/* Random elements in the middle of memory, of which each byte is known. */
class test_layout_copy : public layout_test {
protected:
    void make(rng &random)
    {
        modelled_part element = random_part(random);
        int64_t extent        = width(element) +
                         (random.percent(40) ? 0 : (int64_t)random.below(30));

        m_count  = random.range(1, 5);
        m_places = {};
        for (size_t i = 0; i < m_count; ++i) {
            for (int64_t place : element.places) {
                m_places.push_back(place + i * extent);
            }
        }
        m_layout = end(element.part, extent);
        ASSERT_NE(nullptr, m_layout);
        ASSERT_EQ(element.places.size(), m_layout->size);
        expect_stats(element);

        int64_t first = *std::min_element(m_places.begin(), m_places.end());
        int64_t last  = *std::max_element(m_places.begin(), m_places.end());
        m_memory.resize(last - first + 1);
        for (uint8_t &byte : m_memory) {
            byte = random.next();
        }
        m_origin = -first;
    }

    void expect_stats(const modelled_part &element)
    {
        EXPECT_EQ(least(element), m_layout->stats.lo);
        EXPECT_EQ(least(element) + width(element), m_layout->stats.hi);
        EXPECT_LE(m_layout->stats.runs * m_layout->stats.run_min, m_layout->size);
        EXPECT_GE(m_layout->stats.runs * m_layout->stats.run_max, m_layout->size);
    }

    /* Offset and length of some packed bytes, of all of them the first time */
    std::pair<size_t, size_t> range(rng &random, int time)
    {
        size_t offset = (time == 0) ? 0 : random.below(m_places.size() + 1);

        return {offset, (time == 0) ? m_places.size() :
                                      random.below(m_places.size() - offset + 1)};
    }

    uint8_t *buffer() { return m_memory.data() + m_origin; }

    ri_layout_t *m_layout;
    std::vector<int64_t> m_places; /* from the buffer, of each packed byte */
    bytes m_memory;
    int64_t m_origin;
    size_t m_count;
};

TEST_F(test_layout_copy, pack)
{
    for_seeds(600, [this](rng &random) {
        make(random);
        for (int i = 0; i < 20; ++i) {
            auto [offset, length] = range(random, i);
            bytes packed(length + 1, 0xee); /* the vector's end is known to sanitizers */

            ri_layout_copy_pack(m_layout, buffer(), m_count, offset, packed.data(),
                                length);
            for (size_t j = 0; j < length; ++j) {
                ASSERT_EQ(buffer()[m_places[offset + j]], packed[j])
                        << offset << " " << length << " " << j;
            }
            ASSERT_EQ(0xee, packed[length]);
        }
        ri_layout_put(m_layout);
    });
}

TEST_F(test_layout_copy, unpack)
{
    for_seeds(600, [this](rng &random) {
        make(random);
        for (int i = 0; i < 20; ++i) {
            auto [offset, length] = range(random, i);
            bytes expected        = m_memory, packed(length);

            for (size_t j = 0; j < length; ++j) {
                packed[j]                                 = random.next();
                expected[m_origin + m_places[offset + j]] = packed[j];
            }
            ri_layout_copy_unpack(m_layout, buffer(), m_count, offset, packed.data(),
                                  length);
            ASSERT_EQ(expected, m_memory) << offset << " " << length;
        }
        ri_layout_put(m_layout);
    });
}

TEST_F(test_layout_copy, segments)
{
    for_seeds(600, [this](rng &random) {
        make(random);
        for (int i = 0; i < 10; ++i) {
            size_t max    = random.range(1, 30);
            size_t offset = random.below(m_places.size());
            size_t wanted = random.range(1, m_places.size() - offset);
            size_t length = wanted;
            std::vector<ri_segment_t> segments(max);
            size_t at    = offset;
            size_t count = ri_layout_copy_segments(m_layout, buffer(), m_count, offset,
                                                   &length, segments.data(), max);

            ASSERT_LE(count, max);
            ASSERT_TRUE((length == wanted) || (count == max));
            for (size_t n = 0; n < count; ++n) {
                ASSERT_NE(0u, segments[n].length);
                for (size_t j = 0; j < segments[n].length; ++j) {
                    ASSERT_EQ((uintptr_t)buffer() + m_places[at++],
                              segments[n].address + j);
                }
            }
            ASSERT_EQ(offset + length, at);
        }
        ri_layout_put(m_layout);
    });
}

/* What is said to be runs of one length at one stride has the same bytes. */
TEST_F(test_layout_copy, runs)
{
    unsigned found = 0;

    for_seeds(600, [&](rng &random) {
        ri_layout_runs_t runs;

        make(random);
        if (ri_layout_copy_is_runs(m_layout, buffer(), m_count, &runs)) {
            ++found;
            ASSERT_EQ(m_places.size(), runs.count * runs.length);
            for (size_t j = 0; j < m_places.size(); ++j) {
                ASSERT_EQ((uintptr_t)buffer() + m_places[j],
                          runs.address + (int64_t)(j / runs.length) * runs.stride +
                                  j % runs.length);
            }
        }
        ri_layout_put(m_layout);
    });
    EXPECT_LT(50u, found);
}

/* Blocks to blocks of the same length at another stride, or of another element. */
TEST_F(test_layout_copy, loops)
{
    unsigned copied = 0;

    for_seeds(600, [&](rng &random) {
        size_t unit = random.range(1, 3) * 4, count = random.range(1, 40), used;
        bytes from(4000), to(4000, 0xee), expected(4000, 0xee), packed(4000);
        ri_layout_t *in, *out;

        for (uint8_t &byte : from) {
            byte = random.next();
        }
        m_layout = end(ri_layout_repeat(&m_builder, ri_layout_run(unit), count,
                                        unit + random.below(20)),
                       0);
        in       = m_layout;
        ri_layout_begin(&m_builder);
        m_layout = end(ri_layout_repeat(&m_builder,
                                        ri_layout_run(random.percent(80) ? unit : 4),
                                        count, unit + random.below(20)),
                       0);
        out      = m_layout;
        used     = ri_min((size_t)in->size, (size_t)out->size);
        used -= random.percent(20) ? random.below(used) : 0;
        ri_layout_copy_pack(in, from.data(), 1, 0, packed.data(), used);
        ri_layout_copy_unpack(out, expected.data(), 1, 0, packed.data(), used);
        if (ri_layout_copy_loops(in, from.data(), 1, out, to.data(), 1, used)) {
            ++copied;
            ASSERT_EQ(expected, to);
        } else {
            ASSERT_EQ(bytes(4000, 0xee), to);
        }
        ri_layout_put(in);
        ri_layout_put(out);
    });
    EXPECT_LT(200u, copied);
}

TEST_F(test_layout_copy, nothing)
{
    ri_layout_runs_t runs;

    m_layout = end(ri_layout_run(0), 8);
    ri_layout_copy_pack(m_layout, nullptr, 10, 0, nullptr, 0);
    ri_layout_copy_unpack(m_layout, nullptr, 10, 0, nullptr, 0);
    EXPECT_FALSE(ri_layout_copy_is_runs(m_layout, nullptr, 10, &runs));
    ri_layout_put(m_layout);
}

/* Bytes that are there more than once may be packed. */
TEST_F(test_layout_copy, overlap)
{
    uint8_t memory[] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint8_t packed[12];

    m_layout = end(ri_layout_repeat(&m_builder, ri_layout_run(4), 3, 2), 0);
    ri_layout_copy_pack(m_layout, memory, 1, 0, packed, sizeof(packed));
    EXPECT_EQ(bytes({1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 7, 8}),
              bytes(packed, packed + sizeof(packed)));
    ri_layout_put(m_layout);
}

/* One run each, all over the address space; the buffer is no address. */
TEST_F(test_layout_copy, absolute)
{
    static uint8_t here[3]   = {1, 2, 3};
    uint8_t there[2]         = {4, 5};
    ri_layout_part_t parts[] = {{nullptr, (int64_t)(uintptr_t)here, 3},
                                {nullptr, (int64_t)(uintptr_t)there, 2}};
    uint8_t packed[5];

    m_layout = end(ri_layout_join(&m_builder, parts, 2), 0);
    ri_layout_copy_pack(m_layout, nullptr, 1, 0, packed, sizeof(packed));
    EXPECT_EQ(bytes({1, 2, 3, 4, 5}), bytes(packed, packed + sizeof(packed)));
    ri_layout_put(m_layout);
}

} // namespace
