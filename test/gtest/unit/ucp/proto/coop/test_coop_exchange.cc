/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/coop/coop_exchange.c and core/exchange.c: messages that go both ways at the same
 * time. One side copies all of a message, as the receiver has said in its slot; if that side does
 * not come to it, both copy. The tests run src/ucp/proto/coop/coop_side.h and
 * src/ucp/tag/send_host.c, too.
 */

#include "coop_test.h"

namespace {

const uint64_t OTHER = 99; /* tag of a receive that A has posted all the time */

class test_coop_exchange : public coop_test {
protected:
    static constexpr size_t LENGTH = 200000; /* 49 units */

    void configure() override
    {
        coop_test::configure();
        ri_config.rtr = UCS_AUTO; /* with y there are no exchanges */
    }

    void SetUp() override
    {
        coop_test::SetUp();
        ASSERT_NO_FATAL_FAILURE(open_way_back());
        m_b->worker()->rings.crowd = m_a->worker()->rings.crowd = 2;
        m_posted = m_a->recv(OTHER, ~0ul, 8);
    }

    void TearDown() override
    {
        m_b->send(m_back, bytes(8), OTHER);
        pump();
        EXPECT_TRUE(m_posted->done);
        m_posted.reset();
        coop_test::TearDown();
    }

    /* One message each way, of which the one from A is matched at B while B's is on its way */
    struct pair {
        bytes there, back;
        recv_ptr r_a, r_b;
        send_ptr s_a, s_b;
    };

    /* The peer has said that it asks for long messages soon, and the latest ones met. */
    void expect_exchange(ri_peer_t *peer)
    {
        peer->hint.prompt  = 1;
        peer->exchange.met = 4;
    }

    pair begin(unsigned seed, size_t length = LENGTH)
    {
        pair p;

        p.there = pattern(seed, length);
        p.back  = pattern(seed + 1000, length);
        p.s_b   = m_b->send(m_back, p.back, 5);
        expect_exchange(m_conn->peer);
        p.s_a = m_a->send(m_conn, p.there, 5);
        EXPECT_EQ(1u, m_a->worker()->num_coops);
        p.r_b = m_b->recv(5, ~0ul, length);
        return p;
    }

    /* It is matched at B, which waits for A to write. */
    pair begin_written()
    {
        decide(true);
        pair p = begin(1);

        m_b->progress();
        EXPECT_EQ(RI_RING_SLOT_METHOD_WRITE, int(slot().method));
        return p;
    }

    void finish(pair &p)
    {
        finish_messages(p);
        check_idle();
    }

    void finish_messages(pair &p)
    {
        p.r_a = m_a->recv(5, ~0ul, p.back.size());
        pump();
        check(p.r_a, p.back);
        check(p.r_b, p.there);
        check(p.s_a);
        check(p.s_b);
    }

    /* Messages to B are to be written by A, or read by B. */
    void decide(bool by_writer)
    {
        ri_stream_t *s = stream();

        if (s->coop.exchange == nullptr) {
            s->coop.exchange = (ri_coop_methods_t *)calloc(1, sizeof(*s->coop.exchange));
        }
        for (ri_coop_lane_t &lane : s->coop.exchange->lanes) {
            lane        = {};
            lane.method = by_writer;
            lane.tries  = 1000000;
        }
    }

    recv_ptr m_posted;
};

TEST_F(test_coop_exchange, read)
{
    decide(false);
    pair p         = begin(1);
    unsigned reads = m_b_plane->reads, writes = m_a_plane->writes;

    EXPECT_FALSE(p.r_b->done);
    for (unsigned i = 0; i < 10; ++i) {
        m_b->progress();
    }
    check(p.r_b, p.there);
    EXPECT_EQ(reads + 1, m_b_plane->reads);
    EXPECT_EQ(writes, m_a_plane->writes);
    finish(p);
}

/* The sender leaves it to the receiver, although it knows where to write. */
TEST_F(test_coop_exchange, read_while_the_sender_waits)
{
    const size_t length = 300 * RI_SLOT_UNIT; /* five calls */

    decide(false);
    pair p = begin(1, length);
    m_b->progress(); /* matched, and the first part is read */
    EXPECT_EQ(RI_RING_SLOT_METHOD_READ, int(slot().method));
    unsigned writes = m_a_plane->writes;
    for (unsigned i = 0; i < RI_COOP_IN_VAIN_MAX; ++i) {
        m_a->progress();
    }
    EXPECT_EQ(writes, m_a_plane->writes);
    finish(p);
}

/* ... but not for ever */
TEST_F(test_coop_exchange, receiver_does_not_read_on)
{
    const size_t length = 1200 * RI_SLOT_UNIT;

    decide(false);
    pair p = begin(1, length);
    m_b->progress();
    unsigned writes = m_a_plane->writes;
    for (unsigned i = 0; i < RI_COOP_IN_VAIN_MAX + 1200 * RI_COOP_IN_VAIN_UNIT + 1000;
         ++i) {
        m_a->progress();
    }
    EXPECT_LT(writes, m_a_plane->writes);
    finish(p);
}

TEST_F(test_coop_exchange, written)
{
    decide(true);
    pair p         = begin(1);
    unsigned reads = m_b_plane->reads, writes = m_a_plane->writes;

    m_b->progress();
    EXPECT_EQ(RI_RING_SLOT_METHOD_WRITE, int(slot().method));
    for (unsigned i = 0; i < RI_COOP_IN_VAIN_MAX; ++i) {
        m_b->progress();
    }
    EXPECT_EQ(reads, m_b_plane->reads);
    for (unsigned i = 0; i < 10; ++i) {
        m_a->progress();
    }
    EXPECT_EQ(writes + 1, m_a_plane->writes);
    m_b->progress();
    check(p.r_b, p.there);
    EXPECT_EQ(reads, m_b_plane->reads);
    finish(p);
}

TEST_F(test_coop_exchange, written_in_several_parts)
{
    decide(true);
    pair p         = begin(1, 5 * LONG);
    unsigned reads = m_b_plane->reads, writes = m_a_plane->writes;

    m_b->progress();
    for (unsigned i = 0; i < 20; ++i) {
        m_a->progress();
    }
    EXPECT_EQ(writes + 3, m_a_plane->writes) << "2 MB each";
    m_b->progress();
    check(p.r_b, p.there);
    EXPECT_EQ(reads, m_b_plane->reads);
    finish(p);
}

/* The sender does something else. */
TEST_F(test_coop_exchange, sender_does_not_write)
{
    decide(true);
    pair p         = begin(1);
    unsigned reads = m_b_plane->reads;

    m_b->progress();
    EXPECT_EQ(RI_RING_SLOT_METHOD_WRITE, int(slot().method));
    EXPECT_EQ(reads, m_b_plane->reads);
    for (unsigned i = 0; i < 10000; ++i) {
        m_b->progress();
    }
    check(p.r_b, p.there);
    EXPECT_LT(reads, m_b_plane->reads);
    finish(p);
}

TEST_F(test_coop_exchange, sender_cannot_write)
{
    pair p = begin_written();

    m_a_plane->write_status = UCS_ERR_UNREACHABLE;
    finish(p);
}

/* The sender takes the message back while the receiver waits for it to write: the data comes
 * another way. */
TEST_F(test_coop_exchange, withdrawn)
{
    pair p = begin_written();

    ri_coop_send_let_go(m_conn);
    EXPECT_TRUE(ri_slot_is_withdrawn(&slot()));
    finish(p);
}

/* The ring is asked back while the receiver waits for the sender to write. */
TEST_F(test_coop_exchange, ring_asked_back)
{
    pair p = begin_written();

    ri_ring_life_stop(m_conn);
    finish_messages(p);
    EXPECT_EQ(0u, m_b->worker()->num_coops);
    EXPECT_EQ(0u, m_a->worker()->num_coops);
    EXPECT_TRUE(m_conn->flags & RI_CONN_PLANE_READ) << "nothing is wrong with it";
}

/* The sender gives the send up. */
TEST_F(test_coop_exchange, sender_closes)
{
    ucp_request_param_t force = {};

    force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    force.flags        = UCP_EP_CLOSE_FLAG_FORCE;
    pair p             = begin_written();

    p.r_a                  = m_a->recv(5, ~0ul, p.back.size());
    ucs_status_ptr_t close = ri_ep_close(m_conn, &force);
    pump(3000);
    if (UCS_PTR_IS_PTR(close)) {
        ri_req_put(ri_req_of_handle(close));
    }
    EXPECT_TRUE(p.r_b->done);
    EXPECT_TRUE(p.s_a->done);
    EXPECT_EQ(0u, m_b->worker()->num_coops);
}

/* Both methods are tried, and the messages are right by each. */
TEST_F(test_coop_exchange, both_are_tried)
{
    unsigned read = 0, written = 0;

    for (unsigned i = 0; i < 4 * RI_COOP_METHODS_LAP; ++i) {
        pair p = begin(i, 65536 + i);

        m_b->progress();
        read += (slot().method == RI_RING_SLOT_METHOD_READ);
        written += (slot().method == RI_RING_SLOT_METHOD_WRITE);
        finish(p);
    }
    EXPECT_LE(RI_COOP_METHODS_LAP, read);
    EXPECT_LE(RI_COOP_METHODS_LAP, written);
}

/* Whatever the peer writes there: both copy. */
TEST_F(test_coop_exchange, unknown_method)
{
    pair p = begin_written();

    slot().method = 12345;
    for (unsigned i = 0; i < 100; ++i) {
        m_a->progress();
    }
    EXPECT_LE(2u, m_a_plane->writes) << "halves";
    finish(p);
}

/* In random order, each message is what was sent. */
TEST_F(test_coop_exchange, random)
{
    unsigned methods[6] = {};

    for_seeds(10, [&](rng &random) {
        for (unsigned i = 0; i < 20; ++i) {
            size_t length = 20000 + random.below(600000);
            bytes there   = pattern(random.below(1000), length),
                  back    = pattern(random.below(1000), length);
            recv_ptr r_a, r_b;
            send_ptr s_a, s_b;

            decide(random.percent(50));
            begin_in_any_order(random, there, &r_b, &s_a);
            s_b                       = m_b->send(m_back, back, 6);
            m_conn->peer->hint.prompt = 1;
            ++methods[slot().method];
            progress_in_any_order(random, 50, r_b, s_a);
            r_a = m_a->recv(6, ~0ul, length);
            pump();
            check(r_a, back);
            check(r_b, there);
            check(s_a);
            check(s_b);
            check_idle();
        }
    });
    EXPECT_LT(0u, methods[RI_RING_SLOT_METHOD_READ]);
    EXPECT_LT(0u, methods[RI_RING_SLOT_METHOD_WRITE]);
}

/* Whether there is an exchange */

TEST_F(test_coop_exchange, is_on_while_messages_meet)
{
    const size_t length = RI_EXCHANGE_MIN + 1;

    expect_exchange(m_conn->peer);
    EXPECT_TRUE(ri_exchange_is_on(m_conn, length, 0));
    EXPECT_FALSE(ri_exchange_is_on(m_conn, length - 1, 0));
    for (unsigned i = 0; i < 10; ++i) {
        ri_exchange_note(m_conn->peer); /* nothing of A's is on its way */
    }
    unsigned on = 0;
    for (unsigned i = 0; i < 640; ++i) {
        on += ri_exchange_is_on(m_conn, length, 0);
    }
    EXPECT_EQ(10u, on) << "one in 64 is tried";

    send_ptr s = m_a->send(m_conn, bytes(LENGTH), 5);
    ri_exchange_note(m_conn->peer);
    EXPECT_TRUE(ri_exchange_is_on(m_conn, length, 0));
    recv_ptr r = m_b->recv(5, ~0ul, LENGTH);
    pump();
}

TEST_F(test_coop_exchange, is_off_if_the_peer_is_busy)
{
    m_conn->peer->hint.prompt  = 0;
    m_conn->peer->exchange.met = 4;
    EXPECT_FALSE(ri_exchange_is_on(m_conn, LENGTH, 0));
}

/* Sends that may have to end before their receives are posted go as if there were no exchange: by a
 * ring, if it takes them. */
TEST_F(test_coop_exchange, sends_that_end_early)
{
    const size_t length = 20000;
    bytes data          = pattern(1, length);

    expect_exchange(m_conn->peer);
    for (uint32_t flag : {0u, (uint32_t)UCP_OP_ATTR_FLAG_FAST_CMPL,
                          (uint32_t)UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL}) {
        ucp_request_param_t param = {};

        m_conn->ring_limits.contig = length - (flag == 0);
        param.op_attr_mask         = flag;
        uint64_t coops             = m_a->counters().conns.tx_coop;
        ucs_status_ptr_t ret = ri_tag_send_slow(m_conn, data.data(), length, 5, &param,
                                                0);
        EXPECT_EQ(flag == 0, UCS_PTR_IS_PTR(ret)) << flag;
        EXPECT_EQ(coops + (flag == 0), m_a->counters().conns.tx_coop) << flag;
        recv_ptr r = m_b->recv(5, ~0ul, length);
        pump();
        check(r, data);
        if (flag == 0) {
            ri_req_put(ri_req_of_handle(ret));
        }
    }
}

/* What the ring takes anyway goes through it in an exchange, too. */
TEST_F(test_coop_exchange, what_the_ring_takes)
{
    const size_t limit = 20000;

    m_conn->ring_limits.contig = limit;
    for (size_t length : {limit - 1, limit, limit + 1}) {
        bytes data     = pattern(length, length);
        uint64_t coops = m_a->counters().conns.tx_coop;
        uint64_t rings = m_a->counters().conns.tx_eager_ring;

        expect_exchange(m_conn->peer);
        send_ptr s = m_a->send(m_conn, data, 5);
        recv_ptr r = m_b->recv(5, ~0ul, length);
        pump();
        check(r, data);
        check(s);
        EXPECT_EQ(coops + (length > limit), m_a->counters().conns.tx_coop) << length;
        EXPECT_EQ(rings + (length <= limit), m_a->counters().conns.tx_eager_ring)
                << length;
    }
}

/* Unless as many messages come as go. */
TEST_F(test_coop_exchange, sends_that_end_early_of_many_each_way)
{
    const size_t length = 20000;
    bytes data          = pattern(1, length);
    ri_peer_t *peer     = m_conn->peer;

    m_conn->ring_limits.contig = 1000;
    for (uint32_t received : {1u, 8u}) {
        ucp_request_param_t param = {};
        uint64_t coops            = m_a->counters().conns.tx_coop;

        expect_exchange(peer);
        peer->row.sent       = 8;
        peer->row.received   = received;
        param.op_attr_mask   = UCP_OP_ATTR_FLAG_FAST_CMPL;
        ucs_status_ptr_t ret = ri_tag_send_slow(m_conn, data.data(), length, 5, &param,
                                                0);
        recv_ptr r           = m_b->recv(5, ~0ul, length);
        EXPECT_EQ(coops + (received == 8), m_a->counters().conns.tx_coop) << received;
        pump();
        check(r, data);
        if (UCS_PTR_IS_PTR(ret)) {
            ri_req_put(ri_req_of_handle(ret));
        }
    }
}

/* Nor where a ring takes them for a receiver that reads slowly: up to half of what it takes for one,
 * or up to all of that, where few come from there. */
TEST_F(test_coop_exchange, sends_that_end_early_to_one_that_reads_slowly)
{
    const size_t length = 20000;
    bytes data          = pattern(1, length);
    ri_peer_t *peer     = m_conn->peer;

    m_conn->ring_limits.contig = 1000;
    for (bool told : {false, true}) {
        for (bool mutual : {false, true}) {
            for (size_t most : {length - 1, length, 2 * length - 1, 2 * length}) {
                bool by_ring = told && (most >= (mutual ? 2 * length : length));
                ucp_request_param_t param = {};

                recv_ptr turn = m_a->recv(6, ~0ul, 8);
                m_b->send(m_back, bytes(8), 6);
                pump();
                EXPECT_TRUE(turn->done);
                expect_exchange(peer);
                m_conn->ring_limits.slow = most;
                peer->reads.told         = told;
                peer->reads.turn         = 0;
                peer->row.sent           = 8;
                peer->row.received       = mutual ? 8 : 1;
                uint64_t rings           = m_a->counters().conns.tx_eager_ring;
                uint64_t coops           = m_a->counters().conns.tx_coop;
                param.op_attr_mask       = UCP_OP_ATTR_FLAG_FAST_CMPL;
                ucs_status_ptr_t ret = ri_tag_send_slow(m_conn, data.data(), length, 5,
                                                        &param, 0);
                recv_ptr r           = m_b->recv(5, ~0ul, length);
                pump();
                check(r, data);
                if (UCS_PTR_IS_PTR(ret)) {
                    ri_req_put(ri_req_of_handle(ret));
                }
                EXPECT_EQ(rings + by_ring, m_a->counters().conns.tx_eager_ring)
                        << most << mutual;
                EXPECT_EQ(coops + (mutual && !by_ring), m_a->counters().conns.tx_coop)
                        << most << mutual;
            }
        }
    }
}

/* Without any receive posted both sends end, though both processes send. */
TEST_F(test_coop_exchange, both_send_first)
{
    const size_t length = 20000;
    bytes there = pattern(1, length), back = pattern(2, length);

    m_b->send(m_back, bytes(8), OTHER);
    pump();
    ASSERT_TRUE(m_posted->done);
    m_conn->ring_limits.contig = m_back->ring_limits.contig = length;
    expect_exchange(m_conn->peer);
    expect_exchange(m_back->peer);
    send_ptr s_b = m_b->send(m_back, back, 5), s_a = m_a->send(m_conn, there, 5);
    EXPECT_TRUE(s_a->done);
    EXPECT_TRUE(s_b->done);
    recv_ptr r_a = m_a->recv(5, ~0ul, length), r_b = m_b->recv(5, ~0ul, length);
    pump();
    check(r_a, back);
    check(r_b, there);
    m_posted = m_a->recv(OTHER, ~0ul, 8);
}

/* A long message of B's that A has not looked at, in parts or announced, tells of an exchange where
 * nothing else does: when B's go through the ring. A shorter one does not, nor one that is just
 * being delivered: what is sent then is its answer. */
TEST_F(test_coop_exchange, a_message_in_the_ring_tells)
{
    const size_t limit  = ri_config.eager_thresh;
    ri_stream_t *from_b = ri_stream_find(m_a->worker(), m_b->uid(), m_back->id);

    ASSERT_NE(nullptr, from_b);
    m_back->ring_limits.contig = 20000;
    EXPECT_FALSE(ri_ring_in_has_long_message(from_b));
    for (bool behind : {false, true}) {
        for (size_t length : {size_t(8), size_t(2048), limit, limit + 1, LENGTH}) {
            bytes data = pattern(length, length);
            send_ptr first, s;
            recv_ptr r_first, r;

            if (behind) {
                first = m_b->send(m_back, bytes(8), 4);
            }
            s = m_b->send(m_back, data, 5);
            EXPECT_EQ(length > limit, ri_ring_in_has_long_message(from_b)) << length;
            ++from_b->busy;
            EXPECT_FALSE(ri_ring_in_has_long_message(from_b)) << length;
            --from_b->busy;
            if (behind) {
                r_first = m_a->recv(4, ~0ul, 8);
            }
            r = m_a->recv(5, ~0ul, length);
            pump();
            check(r, data);
            check(s);
            EXPECT_FALSE(ri_ring_in_has_long_message(from_b)) << length;
        }
    }
}

/* A ring that is quick is better than one copy by one side, for messages up to half of what it
 * takes; for longer ones, too, if as many come as go. */
TEST_F(test_coop_exchange, a_quick_ring_is_better)
{
    const size_t length = 20000;
    ri_peer_t *peer     = m_conn->peer;

    m_conn->ring_limits.contig = length - 1;
    for (bool quick : {false, true}) {
        for (bool meets : {false, true}) {
            for (size_t most : {length - 1, 2 * length - 1, 2 * length}) {
                bytes data     = pattern(most, length);
                uint64_t rings = m_a->counters().conns.tx_eager_ring;
                bool by_ring   = quick && (most >= (meets ? length : 2 * length));

                recv_ptr turn = m_a->recv(6, ~0ul, 8);
                m_b->send(m_back, bytes(8), 6);
                pump();
                EXPECT_TRUE(turn->done);
                expect_exchange(peer);
                m_conn->ring_limits.contig_quick = most;
                peer->hint.ready                 = 1;
                peer->hint.fresh                 = 1;
                peer->row.sent                   = 8;
                peer->row.received               = meets ? 8 : 0;
                peer->row.met                    = ri_send_host_next_of_peer(peer) - 1;
                ri_quick_rate                    = quick ? 1e-9 : 0;
                send_ptr s                       = m_a->send(m_conn, data, 5);
                recv_ptr r                       = m_b->recv(5, ~0ul, length);
                pump();
                check(r, data);
                check(s);
                EXPECT_EQ(rings + by_ring, m_a->counters().conns.tx_eager_ring)
                        << most << meets;
            }
        }
    }
}

/* Then there is one, if B waits for long messages. */
TEST_F(test_coop_exchange, what_has_come_tells)
{
    m_conn->peer->exchange.met     = 0;
    m_conn->peer->exchange.untried = 0;
    m_conn->peer->hint.prompt      = 0;
    EXPECT_FALSE(ri_exchange_is_on(m_conn, LENGTH, 1));
    m_conn->peer->hint.prompt = 1;
    EXPECT_FALSE(ri_exchange_is_on(m_conn, LENGTH, 0));
    EXPECT_FALSE(ri_exchange_is_on(m_conn, RI_EXCHANGE_MIN, 1));
    EXPECT_TRUE(ri_exchange_is_on(m_conn, LENGTH, 1));
    EXPECT_TRUE(ri_exchange_is_on(m_conn, LENGTH, 0)) << "from then on";
}

/* In a crowd nobody is prompt. */
TEST_F(test_coop_exchange, crowded)
{
    m_conn->peer->hint.prompt = 0;
    EXPECT_FALSE(ri_exchange_is_crowded(m_a->worker()));
    m_a->worker()->rings.crowd = m_a->worker()->num_rings;
    EXPECT_TRUE(ri_exchange_is_crowded(m_a->worker()));
    EXPECT_TRUE(ri_exchange_is_on(m_conn, RI_EXCHANGE_MIN_CROWDED + 1, 0));
    EXPECT_FALSE(ri_exchange_is_on(m_conn, RI_EXCHANGE_MIN_CROWDED, 0));
    m_conn->ring_limits.contig = 2 * RI_EXCHANGE_MIN_CROWDED;
    EXPECT_TRUE(ri_exchange_is_on(m_conn, 2 * RI_EXCHANGE_MIN_CROWDED + 1, 0));
    EXPECT_FALSE(ri_exchange_is_on(m_conn, 2 * RI_EXCHANGE_MIN_CROWDED, 0));
}

/* What B does about long messages, A hears with the next of B's that has room for it: a long one
 * that goes through the ring by itself, for example. */
TEST_F(test_coop_exchange, peer_says_whether_it_asks_soon)
{
    const size_t length = 20000; /* more than one record */

    m_b->worker()->rings.crowd = m_a->worker()->rings.crowd =
            0; /* no exchange of this length */
    m_back->ring_limits.contig = m_conn->ring_limits.contig = length;
    for (bool soon : {true, false, true}) {
        for (unsigned i = 0; i < 4; ++i) {
            send_ptr s = m_a->send(m_conn, bytes(length), 5);
            recv_ptr r = m_b->recv(5, ~0ul, length);

            m_b->worker()->activity.received_us = ri_clock_now_us() -
                                                  (soon ? 0 : 1000000);
            pump(1);
            ASSERT_TRUE(r->done);
        }
        EXPECT_EQ(soon, m_back->peer->hint.soon > 0);
        uint64_t rings = m_b->counters().conns.tx_eager_ring;
        send_ptr s     = m_b->send(m_back, bytes(length), 6);
        recv_ptr r     = m_a->recv(6, ~0ul, length);

        pump();
        ASSERT_TRUE(r->done);
        EXPECT_EQ(rings + 1, m_b->counters().conns.tx_eager_ring);
        EXPECT_EQ(soon, m_conn->peer->hint.prompt != 0);
    }
}

} // namespace
