/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/link/ring_life.c: rings that are given back or closed, or whose sender writes nonsense.
 */

#include "ring_life_test.h"
#include "unit/common/state_changes.h"

namespace {

class test_ring_life_ends : public ring_life_test {};

/* The least recently active pair gives its ring back, but not a busy one. */
TEST_F(test_ring_life_ends, given_back)
{
    ri_config.ring_peers = 1;
    node *to = add_node(), *a = add_node(), *b = add_node();

    conn(to, a);
    conn(to, b);
    exchange(a, to, 20);
    EXPECT_NE(nullptr, conn(a, to)->ring);
    exchange(b, to, 500);
    EXPECT_NE(nullptr, conn(a, to)->ring);
    exchange(a, to, 1);
    exchange(b, to, 1500);
    EXPECT_EQ(nullptr, conn(a, to)->ring);
    EXPECT_NE(nullptr, conn(b, to)->ring);
    EXPECT_EQ(1u, to->counters().rings_given_back);
    EXPECT_EQ(1u, to->worker()->num_rings);
    exchange(a, to, 20);
    EXPECT_EQ(nullptr, conn(a, to)->ring);
}

/* A peer without an endpoint of the application may be gone, and stock's endpoint with it */
TEST_F(test_ring_life_ends, not_asked_for_through_an_endpoint_that_may_vanish)
{
    ri_config.ring_peers = 1;
    node *to = add_node(), *a = add_node(), *b = add_node();

    conn(to, a)->flags &= ~RI_CONN_USER;
    conn(to, b);
    exchange(a, to, 20);
    EXPECT_NE(nullptr, conn(a, to)->ring);
    ep(to, a)->closed = true;
    exchange(b, to, 2000);
    EXPECT_NE(nullptr, conn(a, to)->ring);
    EXPECT_EQ(0u, to->counters().rings_given_back);
    ep(to, a)->closed = false;
}

/* Who asks a closed connection for its ring must not wait for the answer for ever. */
TEST_F(test_ring_life_ends, given_back_by_nobody)
{
    ri_config.ring_peers = 1;
    node *to = add_node(), *a = add_node(), *b = add_node();

    conn(to, a);
    conn(to, b);
    exchange(a, to, 20);
    ri_conn_fail(conn(a, to), UCS_ERR_ENDPOINT_TIMEOUT); /* no RING_CLOSE */
    ri_conn_destroy(conn(a, to), UCS_ERR_CANCELED);
    exchange(b, to, 6000);
    EXPECT_NE(nullptr, conn(b, to)->ring);
}

TEST_F(test_ring_life_ends, closed_with_the_endpoint)
{
    for (uint32_t mode : {0, (int)RI_CONN_PEER_MODE}) {
        node *a = add_node(), *b = add_node();
        ucp_request_param_t param = {};

        conn(b, a);
        conn(a, b, RI_CONN_USER | mode);
        exchange(a, b, 20);
        EXPECT_EQ(1u, b->worker()->num_rings);
        EXPECT_EQ(nullptr, ri_ep_close(conn(a, b), &param));
        calm_down();
        EXPECT_EQ(0u, b->worker()->num_rings);
        EXPECT_EQ((mode == 0), !ucs_list_is_empty(&b->worker()->streams));
    }
}

/* Closing while the ring has no room for its last record. */
TEST_F(test_ring_life_ends, closed_when_full)
{
    node *a = add_node(), *b = add_node();
    ucp_request_param_t param = {};
    unsigned sent             = 0;

    conn(b, a);
    exchange(a, b, 20);
    while (a->counters().conns.tx_pending == 0) {
        a->send(conn(a, b), pattern(1, 8), 1);
        ++sent;
    }
    /* Take in messages until the one that waits fits, and no more */
    recv_ptr recv = b->recv(1, ~0ul, 8);
    while (ri_worker_has_work(a->worker())) {
        ri_ring_in_poll_all(b->worker());
        a->progress();
    }
    while (ri_ring_tx_reserve(conn(a, b)->ring, 0) != nullptr) {
        a->send(conn(a, b), pattern(1, 8), 1);
        ++sent;
    }

    ucs_status_ptr_t close = ri_ep_close(conn(a, b), &param);
    calm_down();
    EXPECT_TRUE(ep(a, b)->closed);
    for (unsigned i = 1; i < sent; ++i) {
        EXPECT_TRUE(b->recv(1, ~0ul, 8)->done);
    }
    EXPECT_EQ(0u, b->worker()->num_rings) << "the ring is lost to others";
    if (UCS_PTR_IS_PTR(close)) {
        ri_req_put(ri_req_of_handle(close));
    }
}

TEST_F(test_ring_life_ends, hostile_records)
{
    struct bad {
        uint8_t type;
        uint16_t length;
    };

    for (bad record :
         {bad{0, 0}, bad{RI_WIRE_BULK, 8}, bad{RI_WIRE_EAGER_SAME, 8},
          bad{RI_WIRE_CONN_REQ, 0}, bad{RI_WIRE_RING_OFFER, 0}, bad{RI_WIRE_BYE, 0},
          bad{RI_WIRE_FIRST, 8}, bad{RI_WIRE_FRAG, 8}, bad{RI_WIRE_RESET, 0}, bad{77, 0},
          bad{RI_WIRE_EAGER, 0xffff}, bad{RI_WIRE_EAGER_SYNC, 5000}}) {
        node *a = add_node(), *b = add_node();

        conn(b, a);
        exchange(a, b, 20);
        ri_stream_t *stream = b->worker()->rings_in[0];
        ri_ring_tx_t *ring  = conn(a, b)->ring;
        ri_ring_record_t *r = ri_ring_tx_reserve(ring, 0);
        r->type             = record.type;
        r->value            = stream->next_sn;
        ri_ring_tx_commit(ring, r, record.length & 0x1f);
        r->length = record.length;
        b->progress();
        EXPECT_TRUE(stream->broken) << (int)record.type;
        EXPECT_EQ(0u, b->worker()->num_rings);
        EXPECT_EQ(1u, b->counters().rx_malformed);
        EXPECT_EQ(0u, b->worker()->match.num_unexpected);

        /* The sender does not wait for what will not come, nor for room */
        send_ptr sync = a->send(conn(a, b), pattern(1, 8), 1, true);
        calm_down();
        EXPECT_TRUE(sync->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, sync->status);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, conn_of(a, b)->status);
    }
}

/* Broken by an active message: its ring goes, too, and no other one is offered. */
TEST_F(test_ring_life_ends, freed_with_a_broken_stream)
{
    for (bool empty : {true, false}) {
        node *a = add_node(), *b = add_node();

        conn(b, a);
        exchange(a, b, 20);
        ASSERT_EQ(1u, b->worker()->num_rings);
        ri_stream_t *stream = b->worker()->rings_in[0];
        if (!empty) {
            a->send(conn(a, b), pattern(1, 8), 1);
        }
        ri_config.reorder_window = 0;
        uint32_t next            = stream->next_sn;
        b->deliver(wire_msg(RI_WIRE_EAGER, stream->id, next + (1 << 30)), bytes(8));
        EXPECT_TRUE(stream->broken);
        ri_ring_rx_t later = {};
        EXPECT_EQ(stream->ring, stream->peer->ring_in);
        if (!empty) {
            stream->peer->ring_in = &later; /* as if there were a further one */
        }
        b->progress();
        EXPECT_EQ(empty ? nullptr : &later, stream->peer->ring_in);
        EXPECT_EQ(0u, b->worker()->num_rings);
        for (uint32_t sn = 0; sn < 29; ++sn) {
            b->deliver(wire_msg(RI_WIRE_EAGER, stream->id, next + sn), bytes(8));
        }
        EXPECT_EQ(0u, b->worker()->num_rings);
        EXPECT_EQ(1u, b->counters().rings_offered);
        calm_down();
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, conn_of(a, b)->status);
    }
}

/* Which changes ri_ring_life_tx_t allows */
TEST(test_ring_life_tx, states)
{
    const state_changes<ri_ring_life_tx_t> legal = {
            {RI_RING_LIFE_TX_NONE, RI_RING_LIFE_TX_OPEN},
            {RI_RING_LIFE_TX_OPEN, RI_RING_LIFE_TX_STOPPING},
            {RI_RING_LIFE_TX_OPEN, RI_RING_LIFE_TX_NONE},
            {RI_RING_LIFE_TX_STOPPING, RI_RING_LIFE_TX_STOPPING},
            {RI_RING_LIFE_TX_STOPPING, RI_RING_LIFE_TX_NONE}};

    check_state_changes<RI_RING_LIFE_TX_LAST>(ri_ring_life_may_become, legal);
}

} // namespace
