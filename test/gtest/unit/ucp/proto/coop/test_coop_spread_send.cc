/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cooperative copies of data in runs: the sender packs it onto the shelf, and nothing goes by the
 * plane. What cannot go by the shelf the receiver asks for. (src/ucp/proto/coop/coop_shelf.c,
 * coop_copy.c, coop_send.c, proto/fetch.c)
 */

#include "coop_spread_test.h"

namespace {

class test_coop_spread_send : public coop_spread_test {
protected:
    void SetUp() override
    {
        coop_spread_test::SetUp();
        m_from.make(64, 40, 50);
        m_into.make(24, 8, 7);
    }

    /* @return About @a length bytes: whole elements */
    bytes fill(size_t length, uint64_t seed = 1)
    {
        bytes content = pattern(seed, m_from.count_of(length) * m_from.size);

        m_from.clear(content.size());
        m_from.memory = m_from.spread(content);
        return content;
    }

    send_ptr send(const bytes &content, bool sync = false)
    {
        return m_a->send_of(m_conn, m_from.memory.data(), m_from.count_of(content.size()),
                            m_from.datatype, 5, sync);
    }

    /* ... which waits at the receiver for its receive */
    send_ptr send_unmatched(const bytes &content)
    {
        send_ptr s = send(content);

        progress_both(100);
        EXPECT_FALSE(s->done);
        return s;
    }

    /* ... into runs, whose receive is posted before */
    void exchange(const bytes &content, unsigned rounds = 100)
    {
        recv_ptr r = post(m_into, content.size());
        send_ptr s = send(content);

        pump(rounds);
        check_filled(m_into, r, content);
        check_sent(s);
    }

    void check_sent(const send_ptr &s, ucs_status_t status = UCS_OK)
    {
        check(s, status);
        EXPECT_EQ(m_from.started, m_from.finished);
    }

    /* The receiver has gone */
    void pump_sender()
    {
        for (unsigned i = 0; i < 100; ++i) {
            m_a->progress();
        }
    }

    uint64_t asked() { return m_b->counters().rndv_fallback; }

    spread_type m_from, m_into;
};

/* The time to pack the data says nothing of the receiver's reads. */
TEST_F(test_coop_spread_send, slow_copies_are_not_noticed)
{
    ri_costs_t before   = ri_costs;
    bytes content       = fill(LONG);
    ri_config.ring_slow = content.size();
    ri_costs.line       = 100;
    ri_costs.line_ticks = 100;
    ri_costs.plane      = {.call = 1e-3, .rate = 1e9}; /* no copy is as fast */
    uint64_t coops      = m_a->counters().conns.tx_coop;

    for (unsigned i = 0; i < 2 * RI_PEER_SLOW_TIMES; ++i) {
        send_ptr s = send_unmatched(content);
        recv_ptr r = m_b->recv(5, ~0ul, content.size());

        pump();
        check(r, content);
        check_sent(s);
    }
    EXPECT_LT(coops, m_a->counters().conns.tx_coop);
    EXPECT_EQ(0u, stream()->peer->reads.slow);
    ri_costs = before;
}

TEST_F(test_coop_spread_send, both_sides_in_any_order)
{
    const size_t runs[] = {1, 8, 24, 100, 2999, 4096, 70000};
    unsigned far        = 0;
    unsigned alone      = 0;

    for_seeds(60, [&](rng &random) {
        ri_distance_far_ticks = random.percent(50);
        for (spread_type *type : {&m_from, &m_into}) {
            size_t run = runs[random.below(7)];
            ASSERT_NO_FATAL_FAILURE(
                    type->make(run, random.below(std::min<size_t>(200, 3 * run)),
                               random.range(1, 50)));
        }
        bytes content = fill(random.range(262144, 2 * LONG), random.next());
        uint64_t t = taken(), w = written(), rd = read();
        bool contig     = random.percent(30);
        unsigned chance = random.range(5, 95);
        auto receive    = [&] {
            return contig ? m_b->recv(5, ~0ul, content.size()) :
                               post(m_into, content.size());
        };
        recv_ptr r;
        send_ptr s;

        if (random.percent(50)) {
            r = receive();
        }
        s = send(content, random.percent(30));
        if (r == nullptr) {
            m_b->progress();
            r = receive();
        }
        progress_in_any_order(random, chance, r, s);
        if (contig) {
            check(r, content);
        } else {
            check_filled(m_into, r, content);
        }
        check_sent(s);
        check_idle();
        EXPECT_EQ(rd, read());
        if (written() > w) { /* by an RTR */
            EXPECT_EQ(content.size(), written() - w);
            EXPECT_EQ(t, taken());
            ++alone;
        } else {
            EXPECT_EQ(content.size(), taken() - t);
        }
        far += ri_distance_is_far(&shelf().distance);
        m_a->release_done();
        m_b->release_done();
    });
    EXPECT_LT(alone, 20u);
    EXPECT_GT(far, 10u);
    EXPECT_LT(far, 60u);
    EXPECT_EQ(0u, asked());
    EXPECT_EQ(0u, m_from.callbacks + m_into.callbacks);
}

/* The receiver neither claims nor reads anything while it waits. */
TEST_F(test_coop_spread_send, sender_not_in_the_library)
{
    bytes content = fill(LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = post(m_into, content.size());

    for (unsigned i = 0; i < 1000; ++i) {
        m_b->progress();
    }
    EXPECT_FALSE(r->done);
    EXPECT_EQ(0u, uint64_t(slot().claimed));
    EXPECT_EQ(RI_RING_SLOT_METHOD_SHELF_ONLY, int(slot().method));
    pump();
    check_filled(m_into, r, content);
    check_sent(s);
    check_idle();
}

TEST_F(test_coop_spread_send, receiver_not_in_the_library)
{
    bytes content = fill(LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, content.size());
    uint64_t p    = put();

    for (unsigned i = 0; i < 1000; ++i) {
        m_a->progress();
    }
    EXPECT_LE(put() - p, SHELF);
    EXPECT_GT(put() - p, SHELF - RI_SLOT_UNIT) << "the last unit may be shorter";
    EXPECT_FALSE(s->done);
    pump();
    check(r, content);
    check_sent(s);
    check_idle();
}

/* The first ones make it, and come by UCP. */
TEST_F(test_coop_spread_send, they_make_a_shelf)
{
    bytes content = fill(LONG);

    restart();
    for (unsigned i = 0; i < 8; ++i) {
        exchange(content);
        EXPECT_EQ((i < 3) ? 0u : 1u, m_b->worker()->rings.num_shelves) << i;
        EXPECT_TRUE(m_conn->flags & RI_CONN_PLANE_READ) << "nobody tried to read";
    }
    EXPECT_EQ(3u, asked());
    EXPECT_EQ(5 * content.size(), taken());
    EXPECT_EQ(0u, m_conn->coop.refused);
    check_idle();
}

/* A receiver that never has a shelf is not asked for ever. */
TEST_F(test_coop_spread_send, no_shelf)
{
    const unsigned count = 200;
    bytes content        = fill(LONG);

    ri_config.shelf_peers = 0;
    restart();
    for (unsigned i = 0; i < count; ++i) {
        exchange(content, 10);
        m_a->release_done();
        m_b->release_done();
    }
    EXPECT_GE(asked(), 8 + (count - 8) / 64);
    EXPECT_LE(asked(), 8 + count / 64);
    check_idle();
}

/* Nor is one whose receives are of types of which nothing is known. */
TEST_F(test_coop_spread_send, receives_that_nobody_knows)
{
    const ucp_datatype_t unknown = (0x3000 << UCP_DATATYPE_SHIFT) | UCP_DATATYPE_GENERIC;
    ucp_generic_dt_ops_t ops     = {};
    bytes content                = fill(LONG), into;
    ucp_request_param_t extra    = {};

    ops.start_unpack = [](void *, void *buffer, size_t) { return buffer; };
    ops.packed_size  = [](void *) -> size_t { return 2 * LONG; };
    ops.unpack       = [](void *state, size_t offset, const void *src, size_t length) {
        memcpy(static_cast<char *>(state) + offset, src, length);
        return UCS_OK;
    };
    ops.finish = [](void *) {};
    ASSERT_EQ(UCS_OK, ri_dt_register(unknown, &ops, nullptr));
    extra.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    extra.datatype     = unknown;
    for (unsigned i = 0; i < 20; ++i) {
        into.assign(2 * LONG, 0);
        recv_ptr r = m_b->recv_into(into.data(), 1, 5, extra);
        send_ptr s = send(content);

        pump();
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_OK, r->status);
        EXPECT_TRUE(std::equal(content.begin(), content.end(), into.begin()));
        check_sent(s);
    }
    EXPECT_EQ(8u, asked());
    ri_dt_unregister(unknown);
    check_idle();
}

/* The receiver waits for the shelf when the sender finds that it cannot map it. */
TEST_F(test_coop_spread_send, a_shelf_that_the_sender_cannot_map)
{
    bytes content = fill(LONG);

    restart();
    for (unsigned i = 0; i < 6; ++i) {
        send_ptr s = send_unmatched(content);
        recv_ptr r = post(m_into, content.size());

        if (i == 3) {
            EXPECT_EQ(RI_RING_SLOT_METHOD_SHELF_ONLY, int(slot().method));
        }
        m_conn->ring->control->shelf_size = 1;
        pump();
        check_filled(m_into, r, content);
        check_sent(s);
        check_idle();
    }
    EXPECT_EQ(RI_RING_SHELF_REFUSED, int(m_conn->ring->control->shelf_state));
    EXPECT_EQ(6u, asked());
    EXPECT_EQ(0u, taken());
}

TEST_F(test_coop_spread_send, truncated)
{
    bytes content = fill(LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = post(m_into, content.size() / 2);

    pump();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
    check_sent(s);
    check_idle();
}

/* RTRs are of no use to such a sender: the receive is matched, and takes its RTR back. */
TEST_F(test_coop_spread_send, receive_that_was_offered)
{
    bytes content = fill(LONG);
    uint64_t w    = written();

    ri_config.rtr = UCS_YES;
    for (unsigned i = 0; i < 20; ++i) {
        bool early = (i % 2);
        send_ptr s = early ? nullptr : send(content);
        recv_ptr r = m_b->recv(5, ~0ul, content.size());

        progress_both(early ? 10 : 0);
        s = early ? send(content) : s;
        pump();
        check(r, content);
        check_sent(s);
        check_idle();
        m_a->release_done();
        m_b->release_done();
    }
    EXPECT_EQ(0u, asked());
    EXPECT_EQ(w, written());
}

/* The ring is asked back before the receiver has matched the message, while it waits for the
 * sender, and with parts on the shelf. */
TEST_F(test_coop_spread_send, ring_asked_back)
{
    bytes content = fill(LONG);

    for (unsigned when = 0; when < 3; ++when) {
        SCOPED_TRACE(when);
        uint64_t a = asked();
        send_ptr s = send_unmatched(content);
        recv_ptr r = (when > 0) ? post(m_into, content.size()) : nullptr;

        if (when == 2) {
            m_a->progress();
        }
        ri_ring_life_stop(m_conn);
        if (when == 0) {
            pump();
            r = post(m_into, content.size());
        }
        pump();
        check_filled(m_into, r, content);
        check_sent(s);
        EXPECT_EQ((when < 2) ? 1u : 0u, asked() - a);
        EXPECT_EQ(nullptr, m_conn->ring);
        EXPECT_EQ(0u, m_b->worker()->rings.num_shelves);
        restart();
        make_shelf();
    }
}

/* The send is given up before and after the first part. */
TEST_F(test_coop_spread_send, send_ends_in_the_middle)
{
    bytes content = fill(LONG);

    for (bool putting : {false, true}) {
        send_ptr s = send_unmatched(content);
        recv_ptr r = post(m_into, content.size());

        if (putting) {
            m_a->progress();
        }
        ri_conn_fail(m_conn, UCS_ERR_UNREACHABLE);
        check_sent(s, UCS_ERR_UNREACHABLE);
        pump();
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
        EXPECT_EQ(m_into.started, m_into.finished);
        restart();
        make_shelf();
    }
}

TEST_F(test_coop_spread_send, stream_breaks_in_the_middle)
{
    bytes content = fill(LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = post(m_into, content.size());

    m_a->progress();
    ri_stream_break(stream(), "the test says so");
    pump();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(m_from.started, m_from.finished);
    EXPECT_EQ(0u, m_b->worker()->num_coops);
}

TEST_F(test_coop_spread_send, receivers_worker_ends)
{
    bytes content = fill(LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = post(m_into, content.size());

    m_a->progress();
    m_b->may_end_open = true;
    m_b.reset();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    m_a->progress(); /* FIN, through the ring */
    m_a->progress();
    check_sent(s);
}

/* Parts of two messages lie on the shelf, in another order than that of the receives: nobody waits,
 * and the sender hears of both. */
TEST_F(test_coop_spread_send, receivers_worker_ends_with_two_messages)
{
    bytes content = fill(262144);
    send_ptr s[2];
    recv_ptr r[2];

    for (unsigned i = 0; i < 2; ++i) {
        s[i] = m_a->send_of(m_conn, m_from.memory.data(), m_from.count_of(content.size()),
                            m_from.datatype, i);
    }
    progress_both(100);
    for (unsigned i : {1, 0}) {
        r[i] = m_b->recv(i, ~0ul, content.size());
        m_a->progress();
    }
    m_a->progress();
    m_b->may_end_open = true;
    double began      = ri_clock_now();
    m_b.reset();
    EXPECT_LT(ri_clock_now() - began, ri_quiesce_timeout) << "no wait in vain";
    pump_sender();
    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_TRUE(r[i]->done);
        EXPECT_TRUE(s[i]->done);
    }
}

TEST_F(test_coop_spread_send, sender_dies_before_the_first_part)
{
    bytes content = fill(LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = post(m_into, content.size());

    m_b_plane->gone = true;
    for (unsigned i = 0; (i < 40000) && !r->done; ++i) {
        m_b->progress();
    }
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    EXPECT_EQ(0u, m_b->worker()->num_coops);
    ri_conn_fail(m_conn, UCS_ERR_UNREACHABLE);
    check_sent(s, UCS_ERR_UNREACHABLE);
}

/* Hostile: it says that it has, or may have, written by the slot, which no sender of runs does. */
TEST_F(test_coop_spread_send, slot_with_an_address)
{
    bytes content  = fill(LONG);
    send_ptr s     = send_unmatched(content);
    slot().address = 4096;
    recv_ptr r     = post(m_into, content.size());

    EXPECT_TRUE(stream()->broken); /* it is freed later */
    pump();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    EXPECT_TRUE(s->done);
}

} // namespace
