/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/coop/coop_exchange.c: messages that go both ways at the same time. One side copies
 * all of a message, as the receiver has said in its slot; if that side does not come to it, both
 * copy. The tests run src/ucp/proto/coop/coop_side.h, too.
 */

#include "exchange_test.h"

namespace {

class test_coop_exchange : public exchange_test {};

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

} // namespace
