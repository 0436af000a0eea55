/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/dt/layout_cache.c: which slot a layout has, and definitions that come in any order. */

#include "unit/common/layouts.h"

extern "C" {
#include "ucp/dt/layout_cache.h"
}

namespace {

class test_layout_cache : public layout_test {
protected:
    void SetUp() override
    {
        layout_test::SetUp();
        m_out = ri_layouts_out_make();
        m_in  = ri_layouts_in_make();
    }

    void TearDown() override
    {
        ri_layouts_out_free(m_out);
        ri_layouts_in_free(m_in);
        for (ri_layout_t *layout : m_layouts) {
            EXPECT_EQ(1u, layout->refs);
            ri_layout_put(layout);
        }
    }

    ri_layout_t *make(size_t length)
    {
        m_layouts.push_back(end(ri_layout_run(length), length));
        return m_layouts.back();
    }

    /* @return Whether it was defined */
    bool use(ri_layout_t *layout)
    {
        if (ri_layouts_out_name(m_out, layout) >= 0) {
            return false;
        }
        unsigned slot = ri_layouts_out_next(m_out);
        ri_layouts_out_set(m_out, slot, layout);
        EXPECT_EQ(1, ri_layouts_in_define(m_in, slot, m_out->slot[slot].generation,
                                          ri_layout_get(layout)));
        return true;
    }

    int define(unsigned slot, uint32_t generation, ri_layout_t *layout)
    {
        return ri_layouts_in_define(m_in, slot, generation, ri_layout_get(layout));
    }

    ri_layouts_out_t *m_out;
    ri_layouts_in_t *m_in;
    std::vector<ri_layout_t *> m_layouts;
};

/* The one that was named least recently goes, against a model. */
TEST_F(test_layout_cache, least_recent_use)
{
    rng random(5);
    std::vector<ri_layout_t *> recent; /* the latest one last */

    for (size_t i = 1; i <= 100; ++i) {
        make(i);
    }
    for (unsigned round = 0; round < 5000; ++round) {
        ri_layout_t *layout = m_layouts[random.below(random.percent(70) ? 60 : 100)];
        auto at             = std::find(recent.begin(), recent.end(), layout);
        bool known          = (at != recent.end());

        ASSERT_EQ(!known, use(layout)) << round;
        if (known) {
            recent.erase(at);
        } else if (recent.size() == RI_WIRE_LAYOUTS) {
            recent.erase(recent.begin());
        }
        recent.push_back(layout);

        /* What is named is there */
        int slot = ri_layouts_out_name(m_out, layout);
        ASSERT_LE(0, slot);
        EXPECT_EQ(layout,
                  ri_layouts_in_find(m_in, (unsigned)slot, m_out->slot[slot].generation));
    }
}

TEST_F(test_layout_cache, past_repeated_and_future)
{
    ri_layout_t *a = make(1), *b = make(2);

    EXPECT_EQ(nullptr, ri_layouts_in_find(m_in, 3, 0)) << "nothing was defined";
    EXPECT_EQ(1, define(3, 7, a));
    EXPECT_EQ(a, ri_layouts_in_find(m_in, 3, 7));
    EXPECT_EQ(nullptr, ri_layouts_in_find(m_in, 3, 8)) << "not yet";
    EXPECT_EQ(nullptr, ri_layouts_in_find(m_in, 3, 6));
    EXPECT_EQ(nullptr, ri_layouts_in_find(m_in, 2, 7));
    EXPECT_EQ(0, define(3, 7, b)) << "repeated";
    EXPECT_EQ(0, define(3, 6, b)) << "of the past";
    EXPECT_EQ(0, define(3, 7 + (1u << 31), b));
    EXPECT_EQ(a, ri_layouts_in_find(m_in, 3, 7));
    EXPECT_EQ(1, define(3, 8, b)) << "in order";
    EXPECT_EQ(b, ri_layouts_in_find(m_in, 3, 8));
    EXPECT_EQ(nullptr, ri_layouts_in_find(m_in, 3, 7));
    EXPECT_EQ(1, define(3, 100, a)) << "of the future";
    EXPECT_EQ(a, ri_layouts_in_find(m_in, 3, 100));
    EXPECT_EQ(1, define(5, UINT32_MAX, a));
    EXPECT_EQ(1, define(5, 0, b)) << "they wrap";
    EXPECT_EQ(b, ri_layouts_in_find(m_in, 5, 0));
}

/* A layout that could not be taken is not there, and the next one is. */
TEST_F(test_layout_cache, layout_that_could_not_be_taken)
{
    ri_layout_t *a = make(1);

    EXPECT_EQ(1, define(0, 1, a));
    EXPECT_EQ(1, ri_layouts_in_define(m_in, 0, 2, nullptr));
    EXPECT_EQ(nullptr, ri_layouts_in_find(m_in, 0, 1));
    EXPECT_EQ(nullptr, ri_layouts_in_find(m_in, 0, 2));
    EXPECT_EQ(1, define(0, 3, a));
    EXPECT_EQ(a, ri_layouts_in_find(m_in, 0, 3));
}

/* What an RTR has named stays as it was, whatever its slot becomes. */
TEST_F(test_layout_cache, uses)
{
    ri_layout_t *a = make(1), *b = make(2);

    define(0, 1, a);
    const ri_layout_use_t *use = ri_layouts_in_use(m_in, 31, a, 5);
    define(0, 2, b);
    EXPECT_EQ(2u, a->refs);
    EXPECT_EQ(a, use->layout);
    EXPECT_EQ(5u, use->count);
    EXPECT_EQ(use, ri_layouts_in_use(m_in, 31, a, 6));
    EXPECT_EQ(use, ri_layouts_in_use(m_in, 31, b, 7));
    EXPECT_EQ(1u, a->refs);
    EXPECT_EQ(b, use->layout);
    EXPECT_EQ(7u, use->count);
    ri_layouts_in_free(nullptr);
    ri_layouts_out_free(nullptr);
}

/* The same layout, made anew, has the slot of the earlier one, which is let go. */
TEST_F(test_layout_cache, made_anew)
{
    uint8_t bytes[RI_WIRE_LAYOUT_MAX];
    ri_layout_t *a = make(100), *b = make(200), *c = make(100);

    ri_layout_wire_define(a, bytes);
    ri_layouts_out_set(m_out, 7, a);
    size_t length = ri_layout_wire_define(b, bytes);
    EXPECT_EQ(-1, ri_layouts_out_name_same(m_out, b, bytes, length));
    length = ri_layout_wire_define(c, bytes);
    EXPECT_EQ(-1, ri_layouts_out_name(m_out, c));
    EXPECT_EQ(7, ri_layouts_out_name_same(m_out, c, bytes, length));
    EXPECT_EQ(1u, m_out->slot[7].generation);
    EXPECT_EQ(1u, a->refs);
    EXPECT_EQ(7, ri_layouts_out_name(m_out, c));
    EXPECT_EQ(-1, ri_layouts_out_name(m_out, a));
}

/* A hash that is the same by chance does not make layouts the same. */
TEST_F(test_layout_cache, hash_of_another)
{
    uint8_t bytes[RI_WIRE_LAYOUT_MAX];
    ri_layout_t *a = make(101), *b = make(103);
    size_t of_a = ri_layout_wire_define(a, bytes);
    size_t of_b = ri_layout_wire_define(b, bytes);

    ASSERT_EQ(of_a, of_b);
    a->wire_hash = b->wire_hash.load();
    ri_layouts_out_set(m_out, 7, a);
    EXPECT_EQ(-1, ri_layouts_out_name_same(m_out, b, bytes, of_b));
}

/* A refusal is of one definition. */
TEST_F(test_layout_cache, refused)
{
    ri_layout_t *a = make(1), *b = make(2);

    EXPECT_EQ(0, ri_layouts_out_refuse(m_out, 0, 0)) << "nothing was defined";
    ri_layouts_out_set(m_out, 0, a);
    EXPECT_EQ(0, ri_layouts_out_refuse(m_out, 0, 0)) << "of the past";
    EXPECT_EQ(0, ri_layouts_out_refuse(m_out, 0, 2)) << "of the future";
    EXPECT_FALSE(m_out->slot[0].refused);
    EXPECT_EQ(1, ri_layouts_out_refuse(m_out, 0, 1));
    EXPECT_EQ(1, ri_layouts_out_refuse(m_out, 0, 1)) << "repeated";
    EXPECT_TRUE(m_out->slot[0].refused);
    ri_layouts_out_set(m_out, 0, b);
    EXPECT_FALSE(m_out->slot[0].refused);
    EXPECT_EQ(0, ri_layouts_out_refuse(m_out, 0, 1));
    ri_layouts_out_unset(m_out, 0);
    EXPECT_EQ(0, ri_layouts_out_refuse(m_out, 0, 2));
}

/* Each layout counts once, whether a slot or RTRs have it. */
TEST_F(test_layout_cache, bytes)
{
    ri_layout_t *a = make(1), *b = make(2);
    size_t empty = ri_layouts_in_bytes(m_in);

    EXPECT_EQ(0u, ri_layouts_in_bytes(nullptr));
    EXPECT_LE(sizeof(*m_in), empty);
    define(0, 1, a);
    ri_layouts_in_use(m_in, 3, a, 1);
    ri_layouts_in_use(m_in, 4, a, 1);
    EXPECT_EQ(empty + a->bytes, ri_layouts_in_bytes(m_in));
    define(0, 2, b);
    EXPECT_EQ(empty + a->bytes + b->bytes, ri_layouts_in_bytes(m_in));
    ri_layouts_in_use(m_in, 3, b, 1);
    ri_layouts_in_use(m_in, 4, b, 1);
    EXPECT_EQ(empty + b->bytes, ri_layouts_in_bytes(m_in));
}

} // namespace
