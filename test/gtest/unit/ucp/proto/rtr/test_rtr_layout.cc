/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives in runs that no grid tells, which are offered to a sender on this host by the definition
 * of their layout, and records that a peer makes up. (src/ucp/proto/rtr/rtr_layout.c, rtr.c,
 * rtr_send_host.c) The tests run src/ucp/proto/rtr/rtr_host.c and src/ucp/proto/rtr/rtr_write.c,
 * too.
 */

#include "rtr_spread_test.h"

extern "C" {
#include "ucp/run/peer_memory.h"
#include "ucs/heap.h"
}

namespace {

class test_rtr_layout : public rtr_spread_test {
protected:
    void SetUp() override
    {
        rtr_spread_test::SetUp();
        make(m_in, LARGE, 1);
    }

    /* Runs of unequal lengths, of at least 8500 bytes each and of @a length bytes in all, in no
     * order */
    static void make(spread_type &type, size_t length, uint64_t seed, size_t behind = 100)
    {
        type.make_unequal(length, seed, 8500, 20000, 300, behind);
    }

    ri_stream_t *in() { return m_a->worker()->rings_in[0]; }

    unsigned defined() const
    {
        unsigned count = 0;

        for (const auto &slot : m_back->rtr.ring_layouts_out->slot) {
            count += slot.generation;
        }
        return count;
    }

    void put_layout(uint32_t slot, uint32_t generation, const bytes &definition)
    {
        put_record(m_back, RI_WIRE_LAYOUT, generation, slot, 0, definition);
    }

    void put_rtr_of(const ri_wire_rtr_layout_t &rtr)
    {
        bytes payload;

        wire_msg::append(payload, rtr);
        put_record(m_back, RI_WIRE_RTR, 77, m_conn->id, TAG, payload);
    }

    /* Of two runs, of 50000 bytes, 200 apart */
    static bytes two_runs() { return {0, 0, 0, 1, 2, 0xb0, 0x90, 6, 0, 0xd0, 0x86, 3}; }

    ri_wire_rtr_layout_t rtr_of(uint32_t generation, uint16_t grant = 4)
    {
        m_memory.assign(2 * LARGE, 0);
        ri_grant_offer(&in()->ring->control->grants[grant], 1);
        return {{ALL, (uintptr_t)m_memory.data(), LARGE, m_conn->tx_sn, 0, grant, 1},
                1,
                generation,
                3,
                0};
    }

    bytes m_memory;
};

/* The layout is defined once; the sender writes each run where it belongs, and the receiver need
 * not be there. */
TEST_F(test_rtr_layout, from_contiguous_data)
{
    for (bool sync : {false, true}) {
        recv_ptr r = post_in_seen();
        send_ptr s = send(LARGE, sync);

        EXPECT_TRUE(m_in.spread(s->data) == m_in.memory);
        m_b->progress();
        m_in.check(r, s->data);
        pump();
        check_sent(s);
        EXPECT_EQ(1u, defined());
    }
    EXPECT_EQ(2u, by_rtr());
    EXPECT_EQ(0u, m_b_plane->reads);
}

/* The bytes behind a shorter message stay as they are, wherever it ends. */
TEST_F(test_rtr_layout, shorter_messages)
{
    unsigned count = 0;

    for (size_t length : {LARGE - 1, LARGE / 2, (size_t)30001, (size_t)9000}) {
        SCOPED_TRACE(length);
        recv_ptr r = post_in_seen();
        send_ptr s = send(length);
        m_b->progress();
        m_in.check(r, s->data);
        EXPECT_EQ(++count, by_rtr());
    }
    EXPECT_EQ(1u, defined());
}

/* Several elements, more runs than one call takes, from other runs */
TEST_F(test_rtr_layout, from_runs)
{
    for (uint64_t seed = 2; seed < 12; ++seed) {
        SCOPED_TRACE(seed);
        make(m_in, 200000 + seed * 777, seed, (seed % 2) ? 0 : 64);
        size_t length = m_in.size * 6;
        m_out.make(5000, 24, length / 5000);
        m_out.clear(m_out.size);
        bytes data   = pattern(5, m_out.size);
        m_out.memory = m_out.spread(data);
        recv_ptr r   = post_in_seen(length);
        send_ptr s   = send_of(m_out);
        EXPECT_TRUE(s->done);
        m_b->progress();
        m_in.check(r, data);
        pump();
    }
    EXPECT_EQ(10u, by_rtr());
    EXPECT_EQ(10u, defined());
    EXPECT_EQ(0u, m_b_plane->reads);
}

/* More layouts than there are slots, again and again */
TEST_F(test_rtr_layout, many_layouts)
{
    std::vector<std::unique_ptr<spread_type>> types;
    rng random(7);

    for (uint64_t i = 0; i < 80; ++i) {
        types.push_back(std::make_unique<spread_type>());
        make(*types.back(), 30000, 100 + i);
    }
    for (unsigned round = 0; round < 400; ++round) {
        SCOPED_TRACE(round);
        std::vector<spread_type *> now;
        std::vector<recv_ptr> recvs;

        for (uint64_t i = random.range(1, 5); i > 0; --i) {
            spread_type *type = types[random.below(80)].get();
            if (std::find(now.begin(), now.end(), type) == now.end()) {
                now.push_back(type);
                recvs.push_back(post_in(*type, 30000));
                EXPECT_EQ(RI_RTR_BY_GRANT, rtr(recvs.back()));
            }
        }
        m_a->progress();
        EXPECT_EQ(now.size(), waiting());
        for (size_t i = 0; i < now.size(); ++i) {
            send_ptr s = send(30000);
            m_b->progress();
            now[i]->check(recvs[i], s->data);
        }
    }
    EXPECT_EQ(0u, m_a->counters().rx_stale);
    EXPECT_LT(64u, defined());
}

/* A type that is made anew for each message is defined once. */
TEST_F(test_rtr_layout, made_anew)
{
    for (int i = 0; i < 5; ++i) {
        make(m_in, LARGE, 3);
        recv_ptr r = post_in_seen();
        send_ptr s = send();
        m_b->progress();
        m_in.check(r, s->data);
    }
    EXPECT_EQ(1u, defined());
    EXPECT_EQ(5u, by_rtr());
}

/* Its definition is not written as long as the ring has no room for it. */
TEST_F(test_rtr_layout, written_when_there_is_room)
{
    uint32_t room = std::min<uint32_t>(RI_WIRE_LAYOUT_MAX, m_back->ring->max_payload);

    while (ri_ring_tx_reserve(m_back->ring, room) != nullptr) {
        put_record(m_back, RI_WIRE_FIN, 77, m_conn->id, 0, {}); /* stale */
    }
    recv_ptr r = post_in(m_in);
    m_b->progress();
    EXPECT_NE(RI_RTR_BY_GRANT, rtr(r));
    EXPECT_EQ(0u, ri_layout_wire_definition_length(m_in.known));
    pump();
    EXPECT_LT(0u, ri_layout_wire_definition_length(m_in.known));
    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
    send_ptr s = send();
    m_b->progress();
    m_in.check(r, s->data);
}

/* The sender has no memory for layouts of peers: it says so, and the layout is not offered again
 * until it has another slot. */
TEST_F(test_rtr_layout, refused)
{
    const size_t max = ri_layout_peers_max;
    setting<size_t> limit(ri_layout_peers_max, 0);
    recv_ptr r = post_in(m_in);

    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
    m_a->progress();
    EXPECT_EQ(0u, waiting()) << "as good as lost";
    send_ptr s = send();
    pump();
    m_in.check(r, s->data);
    ri_layout_peers_max = max;
    for (int again = 0; again < 3; ++again) {
        r = post_in(m_in);
        EXPECT_EQ(RI_RTR_NONE, rtr(r));
        s = send();
        pump();
        m_in.check(r, s->data);
    }
    EXPECT_EQ(1u, defined());
    make(m_in, LARGE, 77);
    r = post_in_seen();
    s = send();
    m_b->progress();
    m_in.check(r, s->data);
    EXPECT_EQ(2u, defined());
    EXPECT_EQ(0u, m_b->counters().rx_stale);
}

/* Refusals of the past, of the future, repeated, and of rings and slots that are none */
TEST_F(test_rtr_layout, refusals_out_of_order)
{
    recv_ptr r = post_in_seen();
    wire_msg msg(RI_WIRE_LAYOUT_REFUSED, m_back->id, 0);
    uint64_t stale = m_b->counters().rx_stale;

    for (uint32_t generation : {0u, 2u, ~0u}) {
        msg.value = generation;
        m_b->deliver(msg);
        EXPECT_EQ(++stale, m_b->counters().rx_stale);
    }
    msg.value = 1;
    msg.asked = 1; /* another slot */
    m_b->deliver(msg);
    msg.asked = 0;
    msg.flags = RI_WIRE_LAYOUT_REFUSED_AM; /* no stream, or one without definitions */
    m_b->deliver(msg);
    wire_msg other(RI_WIRE_LAYOUT_REFUSED, 0xfffff0, 1);
    m_b->deliver(other);
    EXPECT_EQ(stale + 3, m_b->counters().rx_stale);
    EXPECT_FALSE(m_back->rtr.ring_layouts_out->slot[0].refused);
    msg.flags = 0;
    m_b->deliver(msg);
    m_b->deliver(msg);
    EXPECT_EQ(stale + 3, m_b->counters().rx_stale);
    EXPECT_TRUE(m_back->rtr.ring_layouts_out->slot[0].refused);
    send_ptr s = send(); /* what was offered before is used */
    m_b->progress();
    m_in.check(r, s->data);
}

/* What the layouts of a peer take is counted for it, and in all. */
TEST_F(test_rtr_layout, memory)
{
    size_t peer   = ri_peer_memory_now(m_conn->peer);
    uint64_t all  = m_a->counters().layouts_bytes;
    size_t before = ri_layout_peers_bytes();

    recv_ptr r                = post_in_seen();
    const ri_layouts_in_t *in = this->in()->rtr.ring_layouts_in;
    EXPECT_LT(before, ri_layout_peers_bytes());
    EXPECT_EQ(peer + ri_layouts_in_bytes(in), ri_peer_memory_now(m_conn->peer));
    EXPECT_EQ(all + ri_layouts_in_bytes(in), m_a->counters().layouts_bytes);
    EXPECT_EQ(ri_layouts_in_bytes(in),
              ri_heap_block(sizeof(*in)) + ri_layout_peers_bytes() - before);
    send_ptr s = send();
    m_b->progress();
    m_in.check(r, s->data);
}

/* A type that is freed and another one that is made have layouts of their own; the table holds the
 * earlier one. */
TEST_F(test_rtr_layout, freed_types)
{
    for (uint64_t i = 0; i < 100; ++i) {
        make(m_in, LARGE, i);
        recv_ptr r = post_in_seen();
        send_ptr s = send();
        m_b->progress();
        m_in.check(r, s->data);
    }
    EXPECT_EQ(100u, defined());
    EXPECT_EQ(100u, by_rtr());
}

/* Short runs in the mean, a definition that has no room, a sender that knows no definitions */
TEST_F(test_rtr_layout, what_is_not_offered)
{
    std::vector<std::pair<size_t, size_t>> runs;
    size_t at = 0;

    for (size_t i = 0; i < 2000; ++i) {
        size_t run = 8192 + i * 7919 % 1000;
        runs.push_back({at, run});
        at += run + 1 + i % 3;
    }
    for (int what = 0; what < 4; ++what) {
        SCOPED_TRACE(what);
        if (what < 3) {
            make(m_in, LARGE, 1);
        } else {
            m_in.make_of(runs, 1);
        }
        stream()->plane.layouts = (what != 1);
        ri_config.dt_run_host   = (what == 2) ? 20000 : 8192;
        size_t length           = (what < 3) ? LARGE : m_in.size;
        for (int again = 0; again < 2; ++again) {
            recv_ptr r = post_in(m_in, length);
            EXPECT_EQ((what == 0) ? RI_RTR_BY_GRANT : RI_RTR_NONE, rtr(r));
            send_ptr s = send(length);
            pump();
            m_in.check(r, s->data);
        }
    }
    EXPECT_EQ(1u, defined());
}

TEST_F(test_rtr_layout, failed_writes)
{
    make(m_in, 200 * 8192, 3);
    for (unsigned good = 0; good < 3; ++good) {
        SCOPED_TRACE(good);
        check_failed_write(good, 200 * 8192);
    }
}

TEST_F(test_rtr_layout, late_rtr)
{
    check_late_rtr();
}

/* A send that looks for RTRs takes definitions, too, without progress. */
TEST_F(test_rtr_layout, found_by_a_send)
{
    recv_ptr r = post_in(m_in);
    send_ptr s = send_by(m_conn, LARGE, TAG, false);

    EXPECT_TRUE(m_in.spread(s->data) == m_in.memory);
    m_b->progress();
    m_in.check(r, s->data);
    EXPECT_EQ(1u, by_rtr());
}

/* The ring has no room for the definition, or for the RTR behind it. */
TEST_F(test_rtr_layout, full_ring)
{
    for (size_t left : {0, 1, 2, 3, 4}) {
        SCOPED_TRACE(left);
        make(m_in, LARGE, 50 + left);
        uint32_t limit      = m_back->ring->limit;
        m_back->ring->limit = m_back->ring->pos + left;
        recv_ptr r          = post_in(m_in);
        m_back->ring->limit = std::max(limit, m_back->ring->limit);
        m_b->progress();
        pump();
        EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
        send_ptr s = send();
        pump();
        m_in.check(r, s->data);
    }
}

/* Both tables are the ring's, and go with it. */
TEST_F(test_rtr_layout, ring_ends)
{
    recv_ptr r = post_in_seen();
    EXPECT_NE(nullptr, in()->rtr.ring_layouts_in);
    ri_ring_life_stop(m_back);
    pump();
    EXPECT_EQ(0u, m_a->worker()->num_rings);
    EXPECT_EQ(nullptr, m_back->rtr.ring_layouts_out);
    EXPECT_EQ(0u, m_conn->rtr.table->num_waiting);
    send_ptr s = send();
    pump();
    m_in.check(r, s->data);
}

TEST_F(test_rtr_layout, cancel)
{
    check_cancel();
}

/* A receiver that waits copies, too, or reads: the RTR stays unused. */
TEST_F(test_rtr_layout, receiver_that_waits)
{
    recv_ptr r = post_in_seen();

    ri_peer_note_hint(m_conn->peer, RI_RING_HINT_WAITS);
    send_ptr s = send();
    EXPECT_EQ(0u, m_a_plane->writes);
    pump();
    m_in.check(r, s->data);
    EXPECT_EQ(0u, by_rtr());
}

/* An RTR whose definition has not come, is gone, or could not be taken is as good as lost; that of
 * the latest definition is used. */
TEST_F(test_rtr_layout, past_and_future)
{
    uint64_t stale = m_a->counters().rx_stale;

    put_rtr_of(rtr_of(1)); /* nothing was defined at all */
    put_layout(2, 1, two_runs());
    put_rtr_of(rtr_of(1)); /* not that slot */
    put_layout(3, 5, two_runs());
    put_rtr_of(rtr_of(4));
    put_rtr_of(rtr_of(6));
    m_a->progress();
    EXPECT_EQ(stale + 4, m_a->counters().rx_stale);
    put_layout(3, 4, {0, 0, 0, 0, 1}); /* of the past, and once more */
    put_layout(3, 5, {0, 0, 0, 0, 1});
    m_a->progress();
    EXPECT_EQ(stale + 6, m_a->counters().rx_stale);
    EXPECT_EQ(0u, waiting());

    put_layout(3, 6,
               {0, 0, 0, 1, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0,
                8}); /* it overflows */
    put_rtr_of(rtr_of(6));
    m_a->progress();
    EXPECT_EQ(stale + 7, m_a->counters().rx_stale);
    EXPECT_EQ(0u, waiting());

    put_layout(3, 9, two_runs());
    put_rtr_of(rtr_of(9));
    put_layout(3, 10, {0, 0, 0, 0, 1}); /* what the RTR has named stays */
    m_a->progress();
    EXPECT_EQ(1u, waiting());
    send_ptr s = send();
    EXPECT_EQ(1u, by_rtr());
    EXPECT_TRUE(
            std::equal(s->data.begin(), s->data.begin() + LARGE / 2, m_memory.begin()));
    EXPECT_EQ(0u, m_a->counters().rx_malformed);
}

/* A layout that was replaced by a later RTR of its grant: the sender does not begin. */
TEST_F(test_rtr_layout, layout_of_another_rtr)
{
    unsigned writes = m_a_plane->writes;

    put_layout(3, 1, two_runs());
    put_rtr_of(rtr_of(1));
    put_layout(3, 2, {0, 0, 0, 0, 1});
    ri_wire_rtr_layout_t rtr = rtr_of(2);
    rtr.rtr.generation       = 2;
    rtr.rtr.length           = 1;
    put_rtr_of(rtr);
    m_a->progress();
    EXPECT_EQ(1u, waiting());
    send_ptr s = send();
    EXPECT_EQ(writes, m_a_plane->writes);
    recv_ptr r = post();
    pump();
    check(r, s);
}

/* A sender does not write runs that are too short to be worth a write each. */
TEST_F(test_rtr_layout, runs_that_are_too_short)
{
    unsigned writes          = m_a_plane->writes;
    ri_wire_rtr_layout_t rtr = rtr_of(1);

    put_layout(3, 1, {0, 0, 0, 1, 100, 0xd0, 0x0f, 0, 0xe7, 0x07}); /* 999 bytes each */
    rtr.rtr.length = 99900;
    put_rtr_of(rtr);
    m_a->progress();
    EXPECT_EQ(1u, waiting());
    send_ptr s = send(99900);
    EXPECT_EQ(writes, m_a_plane->writes);
    recv_ptr r = post(99900);
    pump();
    check(r, s);
}

TEST_F(test_rtr_layout, malformed)
{
    for (unsigned what = 0; what < 9; ++what) {
        SCOPED_TRACE(what);
        ri_wire_rtr_layout_t rtr = rtr_of(1);

        put_layout(3, 1, two_runs());
        m_a->progress();
        EXPECT_EQ(0u, m_a->counters().rx_malformed);
        switch (what) {
        case 0:
            put_layout(RI_WIRE_LAYOUTS, 1, two_runs());
            break;
        case 1:
            put_layout(4, 1, {});
            break;
        case 2:
            put_layout(4, 1, {0, 0, 0, 9, 1});
            break;
        case 3: {
            bytes padded = two_runs();
            padded.resize(RI_WIRE_LAYOUT_MAX + 1);
            put_layout(4, 1, padded);
            break;
        }
        case 4:
            rtr.slot = RI_WIRE_LAYOUTS;
            put_rtr_of(rtr);
            break;
        case 5:
            rtr.count = 2;
            put_rtr_of(rtr);
            break;
        case 6:
            rtr.rtr.address = 1ul << 62;
            put_rtr_of(rtr);
            break;
        case 7:
            rtr.rtr.length = 0;
            rtr.count      = 0;
            put_rtr_of(rtr);
            break;
        default:
            rtr.rtr.grant = RI_RING_GRANTS;
            put_rtr_of(rtr);
            break;
        }
        m_a->progress();
        EXPECT_EQ(1u, m_a->counters().rx_malformed);
        EXPECT_EQ(0u, m_a->worker()->num_rings);
        pump();
        stop();
        start();
    }
}

} // namespace
