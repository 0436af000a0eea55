/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/coop/coop_shelf.c: copies by both sides by way of a shelf. The receiver says for each
 * message by which method it goes, by what it has measured; the tests that need one or the other method send
 * until that is the next.
 */

#include "coop_shelf_test.h"

namespace {

class test_coop_shelf : public coop_shelf_test {};

TEST_F(test_coop_shelf, both_sides_in_any_order)
{
    const size_t lengths[] = {262144, 262145, 300000, LONG, 4194304 - 1};
    unsigned by_shelf = 0, by_plane = 0;

    for_seeds(100, [&](rng &random) {
        size_t length = lengths[random.below(5)];
        bytes content = pattern(random.next(), length);
        uint64_t p = put(), t = taken(), moved = written() + read();
        unsigned chance = random.range(5, 95);
        recv_ptr r;
        send_ptr s;

        begin_in_any_order(random, content, &r, &s);
        progress_in_any_order(random, chance, r, s);
        check(r, content);
        check(s);
        check_idle();
        EXPECT_EQ(put() - p, taken() - t);
        EXPECT_EQ(length, (taken() - t) + (written() + read() - moved));
        by_shelf += (taken() > t);
        by_plane += (taken() == t);
        EXPECT_TRUE(m_ba->sent.empty()) << "no message is needed to end it";
        m_a->release_done();
        m_b->release_done();
    });
    EXPECT_GT(by_shelf, 5u);
    EXPECT_GT(by_plane, 5u);
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
}

TEST_F(test_coop_shelf, nothing_is_put_before_the_match)
{
    uint64_t before = put();
    bytes content   = pattern(1, LONG);
    send_ptr s      = send_unmatched(content);

    for (unsigned i = 0; i < 1000; ++i) {
        m_a->progress();
    }
    EXPECT_EQ(before, put());
    recv_ptr r = m_b->recv(5, ~0ul, LONG);
    pump();
    check(r, content);
    check(s);
    check_idle();
}

/* What the shelf has no room for is written by the plane, and what lies there is no copy yet. */
TEST_F(test_coop_shelf, receiver_not_in_the_library)
{
    message m  = begin();
    uint64_t p = put(), w = written();

    for (unsigned i = 0; i < 1000; ++i) {
        m_a->progress();
    }
    EXPECT_LE(put() - p, SHELF);
    EXPECT_GT(put() - p, SHELF - RI_SLOT_UNIT) << "the last unit may be shorter";
    EXPECT_GT(written(), w);
    EXPECT_FALSE(m.s->done);
    EXPECT_FALSE(m.r->done);
    pump();
    check(m.r, m.content);
    check(m.s);
    check_idle();
}

TEST_F(test_coop_shelf, sender_not_in_the_library)
{
    message m  = begin();
    uint64_t t = taken();

    for (unsigned i = 0; i < 1000; ++i) {
        m_b->progress();
    }
    check(m.r, m.content);
    EXPECT_EQ(t, taken());
    pump();
    check(m.s);
    check_idle();
}

/* A sender that has put something there and then stays away */
TEST_F(test_coop_shelf, sender_leaves_the_library)
{
    message m  = begin();
    uint64_t t = taken();

    m_a->progress();
    for (unsigned i = 0; i < 1000; ++i) {
        m_b->progress();
    }
    check(m.r, m.content);
    EXPECT_GT(taken(), t);
    pump();
    check(m.s);
    check_idle();
}

/* The parts of several messages lie on one shelf. */
TEST_F(test_coop_shelf, several_messages)
{
    for_seeds(30, [&](rng &random) {
        std::vector<bytes> content;
        std::vector<recv_ptr> r;
        std::vector<send_ptr> s;
        unsigned count = random.range(2, 10);

        for (unsigned i = 0; i < count; ++i) {
            content.push_back(pattern(random.next(), random.range(262144, LONG)));
            s.push_back(m_a->send(m_conn, content[i], i));
        }
        for (unsigned i = count; i-- > 0;) {
            r.push_back(m_b->recv(i, ~0ul, LONG));
        }
        for (unsigned i = 0; i < ROUNDS; ++i) {
            (random.percent(50) ? *m_a : *m_b).progress();
        }
        pump();
        for (unsigned i = 0; i < count; ++i) {
            check(r[count - 1 - i], content[i]);
            check(s[i]);
        }
        check_idle();
        m_a->release_done();
        m_b->release_done();
    });
}

/* Which method */

/* Calls take so long that the shelf is faster; now and then it is looked whether they still do. */
TEST_F(test_coop_shelf, the_faster_way_is_taken)
{
    const unsigned count = 800;
    unsigned yes         = 0;

    m_b_plane->on_read = m_a_plane->on_write = [] { usleep(2000); };
    for (unsigned i = 0; i < count; ++i) {
        bytes content(262144);
        send_ptr s = send_unmatched(content);
        recv_ptr r = m_b->recv(5, ~0ul, content.size());

        yes += (slot().method == RI_RING_SLOT_METHOD_SHELF);
        for (unsigned j = 0; !(r->done && s->done) && (j < ROUNDS); ++j) {
            m_a->progress();
            m_b->progress();
        }
        ASSERT_TRUE(r->done && s->done);
        m_a->release_done();
        m_b->release_done();
    }
    EXPECT_GT(yes, count / 2);
    EXPECT_LT(yes, count);
    m_b_plane->on_read = m_a_plane->on_write = nullptr;
}

/* Ends */

TEST_F(test_coop_shelf, goes_with_the_ring)
{
    ri_ring_life_stop(m_conn);
    pump();
    EXPECT_EQ(nullptr, m_conn->ring);
    EXPECT_FALSE(ri_shelf_tx_is_open(&shelf()));
    EXPECT_EQ(nullptr, stream()->coop.shelf);
    EXPECT_EQ(0u, m_b->worker()->rings.num_shelves);
}

TEST_F(test_coop_shelf, ring_asked_back_in_the_middle)
{
    message m = begin();

    m_a->progress();
    ri_ring_life_stop(m_conn);
    EXPECT_NE(nullptr, m_conn->ring) << "the copy needs it";
    pump();
    check(m.r, m.content);
    check(m.s);
    EXPECT_EQ(nullptr, m_conn->ring);
    EXPECT_EQ(0u, m_b->worker()->rings.num_shelves);
    check_idle();
}

/* The ring has gone at the receiver, while parts lie on the shelf. */
TEST_F(test_coop_shelf, stream_breaks_in_the_middle)
{
    message m = begin();

    m_a->progress();
    ri_stream_break(stream(), "the test says so");
    EXPECT_EQ(1u, m_b->worker()->rings.num_shelves) << "the copy needs it";
    pump();
    ASSERT_TRUE(m.r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m.r->status);
    EXPECT_TRUE(m.s->done);
    EXPECT_EQ(0u, m_b->worker()->rings.num_shelves);
    EXPECT_EQ(0u, m_b->worker()->num_coops);
}

TEST_F(test_coop_shelf, send_ends_in_the_middle)
{
    for (bool putting : {false, true}) {
        message m = begin();

        if (putting) {
            m_a->progress();
        }
        ri_conn_fail(m_conn, UCS_ERR_UNREACHABLE);
        check(m.s, UCS_ERR_UNREACHABLE);
        pump();
        ASSERT_TRUE(m.r->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m.r->status);
        EXPECT_EQ(0u, m_b->worker()->rings.num_shelves);
        restart();
        make_shelf();
    }
}

TEST_F(test_coop_shelf, receivers_worker_ends)
{
    message m = begin();

    m_a->progress();
    m_b->may_end_open = true;
    m_b.reset();
    ASSERT_TRUE(m.r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m.r->status);
    m_a->progress(); /* FIN, through the ring */
    m_a->progress();
    check(m.s);
}

TEST_F(test_coop_shelf, receiver_dies_with_parts_on_the_shelf)
{
    message m = begin();

    m_a_plane->gone = true;
    for (unsigned i = 0; i < 40000; ++i) {
        m_a->progress();
    }
    check(m.s, UCS_ERR_CONNECTION_RESET);
    EXPECT_EQ(0u, m_a->worker()->num_coops);
    pump();
    EXPECT_TRUE(m.r->done);
}

TEST_F(test_coop_shelf, no_more_than_allowed)
{
    ri_config.shelf_peers = 1;
    talk(m_conn, 1, [this] { pump(); });
    ri_config.shelf_peers = 0;
    uint64_t before       = put();
    for (unsigned i = 0; i < 20; ++i) {
        exchange(LONG);
    }
    EXPECT_EQ(before, put()) << "switched off";
    restart();
    for (unsigned i = 0; i < 20; ++i) {
        exchange(LONG);
    }
    EXPECT_EQ(0u, m_b->worker()->rings.num_shelves);
}

/* What cannot be mapped is not tried again, and all goes by the plane. */
TEST_F(test_coop_shelf, a_shelf_that_the_sender_cannot_map)
{
    restart();
    for (unsigned i = 0; i < 3; ++i) {
        exchange(LONG);
    }
    send_ptr s                        = send_unmatched(pattern(1, LONG));
    recv_ptr r                        = m_b->recv(5, ~0ul, LONG);
    m_conn->ring->control->shelf_size = SHELF / 2;
    pump();
    check(r, pattern(1, LONG));
    check(s);
    EXPECT_EQ(RI_RING_SHELF_REFUSED, int(m_conn->ring->control->shelf_state));
    EXPECT_FALSE(ri_shelf_tx_is_open(&shelf()));
    for (unsigned i = 0; i < 20; ++i) {
        exchange(LONG);
        EXPECT_EQ(RI_RING_SLOT_METHOD_UNKNOWN, int(slot().method));
    }
    EXPECT_EQ(0u, put());
    check_idle();
}

/* Hostile marks */

TEST_F(test_coop_shelf, marks_that_cannot_be_true)
{
    struct {
        uint32_t first;
        uint16_t count;
    } forged[] = {{0, 0},         {0, RI_SHELF_UNITS + 1}, {0, UINT16_MAX}, {UNITS, 1},
                  {UNITS - 1, 2}, {UINT32_MAX, 1},         {UINT32_MAX, 8}};

    for (const auto &f : forged) {
        SCOPED_TRACE(std::to_string(f.first) + " " + std::to_string(f.count));
        message m            = begin();
        ri_shelf_part_t part = {uint32_t(slot().id), f.first, f.count, 0};

        if (!ri_shelf_tx_is_open(&shelf())) {
            m_a->progress();
        }
        ASSERT_TRUE(ri_shelf_tx_is_open(&shelf()));
        ASSERT_NE(nullptr, ri_shelf_tx_place(&shelf()));
        ri_shelf_tx_put(&shelf(), &part);
        for (unsigned i = 0; (i < 100) && !m.r->done; ++i) {
            m_b->progress();
        }
        ASSERT_TRUE(m.r->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m.r->status);
        EXPECT_TRUE(stream()->broken);
        pump();
        EXPECT_TRUE(m.s->done);
        restart();
        make_shelf();
    }
}

/* A part of a message that has ended, or of no message, is passed over. */
TEST_F(test_coop_shelf, marks_of_nobody)
{
    for (unsigned i = 0; i < 40; ++i) {
        message m            = begin();
        ri_shelf_part_t part = {uint32_t(slot().id + (i % 2)), 0, 1,
                                uint16_t((i % 2) ? 0 : (1 + i * 100))};

        if (ri_shelf_tx_is_open(&shelf()) && (ri_shelf_tx_place(&shelf()) != nullptr)) {
            ri_shelf_tx_put(&shelf(), &part);
        }
        pump();
        check(m.r, m.content);
        check(m.s);
        check_idle();
        m_a->release_done();
        m_b->release_done();
    }
}

/* Whatever the peer writes there, nothing outside the receive is touched, and the receive ends when the
 * connection does. */
TEST_F(test_coop_shelf, any_bytes)
{
    for_seeds(60, [&](rng &random) {
        message m    = begin();
        size_t range = 2 * RI_CACHE_LINE + 4 * sizeof(ri_shelf_mark_t);

        m_a->progress();
        ASSERT_TRUE(ri_shelf_tx_is_open(&shelf()));
        for (unsigned i = 0; (i < 200) && !m.r->done; ++i) {
            uint8_t *at = reinterpret_cast<uint8_t *>(shelf().shelf.head);

            if (random.percent(20)) {
                at[random.below(range)] = random.percent(50) ? random.below(12) :
                                                               random.next();
            }
            (random.percent(50) ? *m_a : *m_b).progress();
        }
        ri_conn_fail(m_conn, UCS_ERR_UNREACHABLE);
        pump();
        EXPECT_TRUE(m.s->done);
        EXPECT_TRUE(m.r->done);
        EXPECT_EQ(LONG, m.r->buffer.size());
        restart();
        make_shelf();
    });
}

} // namespace
