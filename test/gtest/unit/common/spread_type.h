/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* A generic datatype in runs that the library knows. */
#ifndef RI_TEST_SPREAD_TYPE_H
#define RI_TEST_SPREAD_TYPE_H

#include "unit/fakes/fake_ucx.h"

namespace {

/* A type whose elements are runs, each a gap behind the one before, and memory for one message of
 * it */
class spread_type {
public:
    ~spread_type()
    {
        if (datatype != 0) {
            ri_dt_unregister(datatype);
        }
    }

    void make(size_t of_run, size_t of_gap, size_t runs)
    {
        ri_layout_builder_t builder;

        run    = of_run;
        gap    = of_gap;
        size   = run * runs;
        extent = (run + gap) * runs;
        m_places.clear();
        ri_layout_begin(&builder);
        know(&builder, ri_layout_repeat(&builder, ri_layout_run(run), runs, run + gap));
    }

    /* A type of @a length bytes in runs of unequal lengths, each of at least @a least and all but
     * one of at most @a most bytes, in no order, with gaps of up to @a gap bytes */
    void make_unequal(size_t length, uint64_t seed, size_t least, size_t most, size_t gap,
                      size_t behind)
    {
        std::vector<std::pair<size_t, size_t>> runs;
        rng random(seed);
        size_t at = 0;

        while (length > 0) {
            size_t run = random.range(least, most);
            run = (length < run + least) ? length : run; /* no short one at the end */
            at += random.range(1, gap);
            runs.push_back({at, run});
            at += run;
            length -= run;
        }
        for (size_t i = 1; i < runs.size(); ++i) {
            std::swap(runs[i], runs[random.below(i + 1)]);
        }
        make_of(runs, behind);
    }

    /* Runs of other lengths at other places, of which none has the place of another; extent: behind
     * the last of them */
    void make_of(const std::vector<std::pair<size_t, size_t>> &runs, size_t behind)
    {
        std::vector<ri_layout_part_t> parts;
        ri_layout_builder_t builder;

        extent = 0;
        m_places.clear();
        ri_layout_begin(&builder);
        for (const auto &place : runs) {
            parts.push_back(ri_layout_move(&builder, ri_layout_run(place.second),
                                           (int64_t)place.first));
            extent = std::max(extent, place.first + place.second + behind);
            for (size_t i = 0; i < place.second; ++i) {
                m_places.push_back(place.first + i);
            }
        }
        size = m_places.size();
        know(&builder, ri_layout_join(&builder, parts.data(), parts.size()));
    }

    /* @return The number of elements that have room for @a length bytes. */
    size_t count_of(size_t length) const { return (length + size - 1) / size; }

    void clear(size_t length) { memory.assign(extent * count_of(length), uint8_t(GAP)); }

    /* A receive of @a length bytes or some more, into the memory */
    fake::recv_ptr post(fake::node &receiver, size_t length, uint64_t tag)
    {
        ucp_request_param_t extra = {};

        extra.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
        extra.datatype     = datatype;
        clear(length);
        return receiver.recv_into(memory.data(), count_of(length), tag, extra);
    }

    /* What the memory is to be with these bytes in its runs */
    bytes spread(const bytes &content) const
    {
        bytes all(memory.size(), uint8_t(GAP));

        for (size_t i = 0; i < content.size(); ++i) {
            all[m_places.empty() ? i + i / run * gap :
                                   i / size * extent + m_places[i % size]] = content[i];
        }
        return all;
    }

    /* A receive into the memory is complete, with these bytes, and nobody has called back for
     * them. */
    void check(const fake::recv_ptr &r, const bytes &data) const
    {
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_OK, r->status);
        EXPECT_EQ(data.size(), r->info.length);
        EXPECT_TRUE(spread(data) == memory);
        EXPECT_EQ(started, finished);
        EXPECT_EQ(0u, callbacks);
    }

    static constexpr uint8_t GAP = 0xee;

    ucp_datatype_t datatype  = 0;
    const ri_layout_t *known = nullptr; /* as long as the type is there */
    size_t run, gap, size, extent;
    bytes memory;
    unsigned started = 0, finished = 0, callbacks = 0;

private:
    static void *begin(void *context, size_t count)
    {
        spread_type *self = static_cast<spread_type *>(context);

        ++self->started;
        self->m_count = count;
        return self;
    }

    /* From now on it is a new type, of this layout. */
    void know(ri_layout_builder_t *builder, ri_layout_part_t root)
    {
        static uint64_t last = 0x4000;

        if (datatype != 0) {
            ri_dt_unregister(datatype);
        }
        datatype = (++last << UCP_DATATYPE_SHIFT) | UCP_DATATYPE_GENERIC;
        ASSERT_EQ(UCS_OK, ri_dt_register(datatype, &OPS, this));
        ri_layout_t *layout = ri_layout_end(builder, root, (int64_t)extent);
        ASSERT_NE(nullptr, layout);
        ri_dt_set_layout(datatype, layout);
        known = layout;
    }

    static const ucp_generic_dt_ops_t OPS;

    std::vector<size_t> m_places; /* of the bytes of an element; empty: it is regular */
    size_t m_count = 0;
};

const ucp_generic_dt_ops_t spread_type::OPS = {
        .start_pack = [](void *context, const void *, size_t count) -> void * {
            return begin(context, count);
        },
        .start_unpack = [](void *context, void *, size_t count) -> void * {
            return begin(context, count);
        },
        .packed_size = [](void *state) -> size_t {
            spread_type *self = static_cast<spread_type *>(state);

            return self->m_count * self->size;
        },
        .pack = [](void *state, size_t, void *, size_t) -> size_t {
            ++static_cast<spread_type *>(state)->callbacks;
            return 0;
        },
        .unpack = [](void *state, size_t, const void *, size_t) -> ucs_status_t {
            ++static_cast<spread_type *>(state)->callbacks;
            return UCS_OK;
        },
        .finish = [](void *state) { ++static_cast<spread_type *>(state)->finished; }};

} // namespace

#endif
