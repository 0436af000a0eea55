/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/tag/send_host.c and src/ucp/core/exchange.c: which messages are taken for those of an
 * exchange, and which go through a ring.
 */

#include "../proto/coop/exchange_test.h"

namespace {

class test_send_host : public exchange_test {
protected:
    /* B sends something: then A is not ahead of it */
    void take_turn()
    {
        recv_ptr turn = m_a->recv(6, ~0ul, 8);

        m_b->send(m_back, bytes(8), 6);
        pump();
        EXPECT_TRUE(turn->done);
    }

    /* A sends with flags, and B receives after that. @return Whether the send was open till then */
    bool send_with(uint32_t flags, const bytes &data)
    {
        ucp_request_param_t param = {};

        param.op_attr_mask   = flags;
        ucs_status_ptr_t ret = ri_tag_send_slow(m_conn, data.data(), data.size(), 5,
                                                &param, 0);
        recv_ptr r           = m_b->recv(5, ~0ul, data.size());

        pump();
        check(r, data);
        if (UCS_PTR_IS_PTR(ret)) {
            ri_req_put(ri_req_of_handle(ret));
        }
        return UCS_PTR_IS_PTR(ret);
    }
};

TEST_F(test_send_host, is_on_while_messages_meet)
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

TEST_F(test_send_host, is_off_if_the_peer_is_busy)
{
    m_conn->peer->hint.prompt  = 0;
    m_conn->peer->exchange.met = 4;
    EXPECT_FALSE(ri_exchange_is_on(m_conn, LENGTH, 0));
}

/* What the ring takes anyway goes through it in an exchange, too. */
TEST_F(test_send_host, what_the_ring_takes)
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

/* Sends that may have to end before their receives are posted go as if there were no exchange: by a
 * ring, if it takes them. */
TEST_F(test_send_host, sends_that_end_early)
{
    const size_t length = 20000;
    bytes data          = pattern(1, length);

    expect_exchange(m_conn->peer);
    for (uint32_t flag : {0u, (uint32_t)UCP_OP_ATTR_FLAG_FAST_CMPL,
                          (uint32_t)UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL}) {
        uint64_t coops = m_a->counters().conns.tx_coop;

        m_conn->ring_limits.contig = length - (flag == 0);
        EXPECT_EQ(flag == 0, send_with(flag, data)) << flag;
        EXPECT_EQ(coops + (flag == 0), m_a->counters().conns.tx_coop) << flag;
    }
}

/* They may be of an exchange where as many messages come as go. */
TEST_F(test_send_host, sends_that_end_early_of_many_each_way)
{
    const size_t length = 20000;
    bytes data          = pattern(1, length);
    ri_peer_t *peer     = m_conn->peer;

    m_conn->ring_limits.contig = 1000;
    for (uint32_t received : {1u, 8u}) {
        uint64_t coops = m_a->counters().conns.tx_coop;

        expect_exchange(peer);
        peer->row.sent     = 8;
        peer->row.received = received;
        send_with(UCP_OP_ATTR_FLAG_FAST_CMPL, data);
        EXPECT_EQ(coops + (received == 8), m_a->counters().conns.tx_coop) << received;
    }
}

/* But a ring takes them for a receiver that reads slowly: up to half of what it takes for one, or up
 * to all of that, where few messages come from there. */
TEST_F(test_send_host, sends_that_end_early_to_one_that_reads_slowly)
{
    const size_t length = 20000;
    bytes data          = pattern(1, length);
    ri_peer_t *peer     = m_conn->peer;

    m_conn->ring_limits.contig = 1000;
    for (bool told : {false, true}) {
        for (bool mutual : {false, true}) {
            for (size_t most : {length - 1, length, 2 * length - 1, 2 * length}) {
                bool by_ring = told && (most >= (mutual ? 2 * length : length));

                take_turn();
                expect_exchange(peer);
                m_conn->ring_limits.slow = most;
                peer->reads.told         = told;
                peer->reads.turn         = 0;
                peer->row.sent           = 8;
                peer->row.received       = mutual ? 8 : 1;
                uint64_t rings           = m_a->counters().conns.tx_eager_ring;
                uint64_t coops           = m_a->counters().conns.tx_coop;
                send_with(UCP_OP_ATTR_FLAG_FAST_CMPL, data);
                EXPECT_EQ(rings + by_ring, m_a->counters().conns.tx_eager_ring)
                        << most << mutual;
                EXPECT_EQ(coops + (mutual && !by_ring), m_a->counters().conns.tx_coop)
                        << most << mutual;
            }
        }
    }
}

/* Without any receive posted both sends end, though both processes send. */
TEST_F(test_send_host, both_send_first)
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
TEST_F(test_send_host, a_message_in_the_ring_tells)
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
TEST_F(test_send_host, a_quick_ring_is_better)
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

                take_turn();
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
TEST_F(test_send_host, what_has_come_tells)
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
TEST_F(test_send_host, crowded)
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
TEST_F(test_send_host, peer_says_whether_it_asks_soon)
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
