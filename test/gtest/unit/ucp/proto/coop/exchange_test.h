/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two nodes that send each other messages at the same time: a message to B is one of an exchange,
 * as far as A knows. For the tests of the copies, and of what A takes for an exchange.
 */
#ifndef EXCHANGE_TEST_H
#define EXCHANGE_TEST_H

#include "coop_test.h"

class exchange_test : public coop_test {
protected:
    static constexpr uint64_t OTHER =
            99; /* tag of a receive that A has posted all the time */
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

#endif
