/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cooperative copies into receives of derived data, whose layout the library knows: the sender fills
 * the shelf and writes nothing by the plane. (src/ucp/proto/coop/coop_shelf.c, coop_recv.c,
 * proto/rndv/read_generic.c)
 */

#include "coop_spread_test.h"

namespace {

class test_coop_spread : public coop_spread_test {
protected:
    recv_ptr recv_spread(size_t length) { return post(m_type, length); }

    void check_spread(const recv_ptr &r, const bytes &content)
    {
        check_filled(m_type, r, content);
    }

    void make_type(size_t run, size_t gap, size_t count) { m_type.make(run, gap, count); }

    spread_type m_type;
};

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

        ASSERT_NO_FATAL_FAILURE(make_type(
                run, random.below(std::min<size_t>(200, 3 * run)), random.range(1, 50)));
        send_ptr s = send_unmatched(content);
        recv_ptr r = recv_spread(length);
        EXPECT_EQ(RI_RING_SLOT_METHOD_SHELF_ONLY, int(slot().method));
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
    EXPECT_EQ(0u, m_type.callbacks);
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
    bytes before = m_type.memory;
    pump();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
    EXPECT_TRUE(before == m_type.memory);
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
    EXPECT_EQ(m_type.started, m_type.finished);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(0u, m_b->worker()->num_coops);
}

} // namespace
