/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cooperative copies into receives of derived data, whose layout the library knows: the sender fills
 * the shelf and writes nothing by the plane. (src/ucp/proto/coop/coop_shelf.c, coop_recv.c,
 * proto/rndv/read_generic.c)
 */

#include "coop_shelf_test.h"

namespace {

class test_coop_spread : public coop_shelf_test {
protected:
    void TearDown() override
    {
        coop_shelf_test::TearDown();
        if (m_datatype != 0) {
            ri_dt_unregister(m_datatype);
        }
    }

    /* A type whose elements are @a count runs of @a run bytes, each @a gap bytes behind the one
     * before */
    void make_type(size_t run, size_t gap, size_t count)
    {
        ri_layout_builder_t builder;
        ri_layout_part_t root;

        if (m_datatype != 0) {
            ri_dt_unregister(m_datatype);
        }
        m_run      = run;
        m_gap      = gap;
        m_size     = run * count;
        m_extent   = (run + gap) * count;
        m_datatype = (0x4000 << UCP_DATATYPE_SHIFT) | UCP_DATATYPE_GENERIC;
        ASSERT_EQ(UCS_OK, ri_dt_register(m_datatype, &OPS, this));
        ri_layout_begin(&builder);
        root = ri_layout_repeat(&builder, ri_layout_run(run), count, run + gap);
        ri_layout_t *layout = ri_layout_end(&builder, root, m_extent);
        ASSERT_NE(nullptr, layout);
        ri_dt_set_layout(m_datatype, layout);
    }

    recv_ptr recv_spread(size_t length)
    {
        ucp_request_param_t extra = {};
        size_t count              = (length + m_size - 1) / m_size;

        extra.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
        extra.datatype     = m_datatype;
        m_memory.assign(m_extent * count, uint8_t(GAP));
        return m_b->recv_into(m_memory.data(), count, 5, extra);
    }

    void check_spread(const recv_ptr &r, const bytes &content)
    {
        ASSERT_TRUE(r->done);
        ASSERT_EQ(UCS_OK, r->status);
        ASSERT_EQ(content.size(), r->info.length);
        bytes expected(m_memory.size(), uint8_t(GAP));
        for (size_t i = 0; i < content.size(); ++i) {
            expected[i + i / m_run * m_gap] = content[i];
        }
        ASSERT_TRUE(expected == m_memory);
        EXPECT_EQ(m_started, m_finished);
    }

    static const ucp_generic_dt_ops_t OPS;
    static constexpr uint8_t GAP = 0xee;

    ucp_datatype_t m_datatype = 0;
    size_t m_run, m_gap, m_size, m_extent;
    size_t m_count = 0;
    bytes m_memory;
    unsigned m_started = 0, m_finished = 0, m_callbacks = 0;
};

const ucp_generic_dt_ops_t test_coop_spread::OPS = {
        .start_pack   = nullptr,
        .start_unpack = [](void *context, void *, size_t count) -> void * {
            test_coop_spread *self = static_cast<test_coop_spread *>(context);

            ++self->m_started;
            self->m_count = count;
            return self;
        },
        .packed_size = [](void *state) -> size_t {
            test_coop_spread *self = static_cast<test_coop_spread *>(state);

            return self->m_count * self->m_size;
        },
        .pack   = nullptr,
        .unpack = [](void *state, size_t, const void *, size_t) -> ucs_status_t {
            ++static_cast<test_coop_spread *>(state)->m_callbacks;
            return UCS_OK;
        },
        .finish =
                [](void *state) {
                    ++static_cast<test_coop_spread *>(state)->m_finished;
                }};

TEST_F(test_coop_spread, both_sides_in_any_order)
{
    unsigned both = 0;

    for_seeds(60, [&](rng &random) {
        size_t runs[] = {1, 8, 24, 64, 100, 4096, 70000};
        size_t run    = runs[random.below(7)];
        size_t length = random.range(262144, 2 * LONG);
        bytes content = pattern(random.next(), length);
        uint64_t t = taken(), w = written(), rd = read();
        unsigned chance = random.range(5, 95);

        ASSERT_NO_FATAL_FAILURE(make_type(run, random.below(200), random.range(1, 50)));
        send_ptr s = send_unmatched(content);
        recv_ptr r = recv_spread(length);
        EXPECT_EQ(RI_RING_SLOT_SHELF_ONLY, int(slot().shelf));
        progress_in_any_order(random, chance, r, s);
        check_spread(r, content);
        check(s);
        check_idle();
        EXPECT_EQ(w, written()) << "only its receiver knows where the runs are";
        EXPECT_EQ(length, (taken() - t) + (read() - rd));
        both += (taken() > t);
        m_a->release_done();
        m_b->release_done();
    });
    EXPECT_GT(both, 40u);
    EXPECT_EQ(0u, m_callbacks);
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
}

TEST_F(test_coop_spread, sender_not_in_the_library)
{
    bytes content = pattern(1, LONG);

    for (size_t run : {size_t(64), size_t(8192)}) {
        ASSERT_NO_FATAL_FAILURE(make_type(run, 64, 10));
        send_ptr s = send_unmatched(content);
        recv_ptr r = recv_spread(LONG);
        for (unsigned i = 0; i < 1000; ++i) {
            m_b->progress();
        }
        check_spread(r, content);
        pump();
        check(s);
        check_idle();
    }
}

/* The sender puts what there is room for on the shelf, and waits. */
TEST_F(test_coop_spread, receiver_not_in_the_library)
{
    bytes content = pattern(1, LONG);

    ASSERT_NO_FATAL_FAILURE(make_type(64, 64, 10));
    send_ptr s = send_unmatched(content);
    recv_ptr r = recv_spread(LONG);
    uint64_t p = put(), w = written();
    for (unsigned i = 0; i < 1000; ++i) {
        m_a->progress();
    }
    EXPECT_FALSE(s->done);
    EXPECT_LE(put() - p, SHELF);
    EXPECT_EQ(w, written());
    pump();
    check_spread(r, content);
    check(s);
    check_idle();
}

/* Without a shelf the receiver reads alone. */
TEST_F(test_coop_spread, no_shelf)
{
    bytes content = pattern(1, LONG);

    ri_config.shelf_peers = 0;
    restart();
    for (size_t run : {size_t(64), size_t(8192)}) {
        ASSERT_NO_FATAL_FAILURE(make_type(run, 64, 10));
        send_ptr s = send_unmatched(content);
        recv_ptr r = recv_spread(LONG);
        pump();
        check_spread(r, content);
        check(s);
        check_idle();
    }
}

/* Messages into such receives alone get a shelf, too. */
TEST_F(test_coop_spread, they_make_a_shelf)
{
    bytes content = pattern(1, LONG);

    restart();
    ASSERT_NO_FATAL_FAILURE(make_type(64, 64, 10));
    for (unsigned i = 0; i < 6; ++i) {
        EXPECT_EQ((i >= 4) ? 1u : 0u, m_b->worker()->rings.num_shelves) << i;
        send_ptr s = send_unmatched(content);
        recv_ptr r = recv_spread(LONG);
        pump();
        check_spread(r, content);
        check(s);
    }
    EXPECT_GT(taken(), 0u);
    check_idle();
}

/* A sender that cannot map the shelf puts nothing there and writes nothing. */
TEST_F(test_coop_spread, a_shelf_that_the_sender_cannot_map)
{
    bytes content = pattern(1, LONG);

    restart();
    ASSERT_NO_FATAL_FAILURE(make_type(64, 64, 10));
    for (unsigned i = 0; i < 8; ++i) {
        send_ptr s                        = send_unmatched(content);
        recv_ptr r                        = recv_spread(LONG);
        m_conn->ring->control->shelf_size = 1;
        pump();
        check_spread(r, content);
        check(s);
    }
    EXPECT_EQ(0u, taken());
    EXPECT_EQ(0u, written());
    check_idle();
}

TEST_F(test_coop_spread, truncated)
{
    bytes content = pattern(1, LONG);

    ASSERT_NO_FATAL_FAILURE(make_type(64, 64, 10));
    send_ptr s   = send_unmatched(content);
    recv_ptr r   = recv_spread(LONG / 2);
    bytes before = m_memory;
    pump();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
    EXPECT_TRUE(before == m_memory);
    check(s);
    check_idle();
}

/* A read that fails: the data comes by UCP, into the same runs. */
TEST_F(test_coop_spread, a_copy_fails)
{
    bytes content = pattern(1, LONG);

    for (unsigned good = 0; good < 4; ++good) {
        ASSERT_NO_FATAL_FAILURE(make_type(64, 64, 10));
        m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
        m_b_plane->good_reads  = m_b_plane->reads + good;
        send_ptr s             = send_unmatched(content);
        recv_ptr r             = recv_spread(LONG);
        for (unsigned i = 0; i < 1000; ++i) {
            m_b->progress();
        }
        pump();
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_OK, r->status);
        check(s);
        restart();
        make_shelf();
    }
}

TEST_F(test_coop_spread, stream_breaks_in_the_middle)
{
    bytes content = pattern(1, LONG);

    ASSERT_NO_FATAL_FAILURE(make_type(64, 64, 10));
    send_ptr s = send_unmatched(content);
    recv_ptr r = recv_spread(LONG);
    m_a->progress();
    ri_stream_break(stream(), "the test says so");
    pump();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    EXPECT_EQ(m_started, m_finished);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(0u, m_b->worker()->num_coops);
}

} // namespace
