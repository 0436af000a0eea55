/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/link/ring_life.c: who has a ring, what goes by it, and the order that is left. The tests
 * run src/ucp/link/ring_send.c and src/ucp/run/pending.c, too.
 */

#include "ring_life_test.h"
#include "unit/fakes/fake_malloc.h"

namespace {

class test_ring_life : public ring_life_test {};

TEST_F(test_ring_life, made_when_a_pair_is_active)
{
    node *a = add_node(), *b = add_node();

    conn(b, a); /* or there is no way for the offer */
    exchange(a, b, ri_config.ring_after);
    EXPECT_EQ(1u, b->counters().rings_offered);
    EXPECT_EQ(1u, b->worker()->num_rings);
    EXPECT_NE(nullptr, conn(a, b)->ring);
    exchange(a, b, 10);
    EXPECT_EQ(10u, ring_messages(b));
    EXPECT_EQ(0u, a->worker()->num_rings); /* the other direction was silent */
    EXPECT_EQ(-1, b->worker()->rings_in[0]->ring->fd);
    EXPECT_EQ(b->worker()->rings_in[0]->ring, conn(b, a)->peer->ring_in);
    EXPECT_EQ(nullptr, conn(a, b)->peer->ring_in);
    exchange(b, a, 2 * ri_config.ring_after);
    EXPECT_EQ(1u, a->worker()->num_rings);
}

/* Signals say nothing of how many rings there may be. */
TEST_F(test_ring_life, signals_come_when_it_is_made)
{
    node *a = add_node(), *b = add_node();
    unsigned most = b->worker()->rings.max;

    conn(b, a);
    fake::fallocate_interrupts = -1;
    exchange(a, b, 3 * ri_config.ring_after);
    fake::fallocate_interrupts = 0;
    EXPECT_EQ(0u, b->worker()->num_rings);
    EXPECT_EQ(most, b->worker()->rings.max);
    exchange(a, b, ri_config.ring_after);
    EXPECT_EQ(1u, b->worker()->num_rings);
}

TEST_F(test_ring_life, not_where_the_application_may_sleep)
{
    m_nodes.push_back(
            std::make_unique<node>(0x9999, UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP));
    node *a = m_nodes.back().get(), *b = add_node();

    conn(a, b);
    exchange(b, a, 20);
    EXPECT_EQ(0u, a->counters().rings_offered);
    exchange(a, b, 20); /* but it may send into one */
    EXPECT_LT(0u, ring_messages(b));
}

TEST_F(test_ring_life, not_when_turned_off_or_on_another_host)
{
    ri_config.ring_peers = 0;
    node *off            = add_node();
    ri_config.ring_peers = 64;
    node *a = add_node(), *far = add_node();

    far->worker()->self.host ^= 2;
    for (node *n : {off, a, far}) {
        for (node *m : {off, a, far}) {
            if (n != m) {
                conn(n, m);
            }
        }
    }
    exchange(off, a, 20);
    exchange(a, off, 20);
    exchange(far, a, 20);
    exchange(a, far, 20);
    for (node *n : {off, a, far}) {
        EXPECT_EQ(0u, n->counters().rings_offered);
    }
}

TEST_F(test_ring_life, any_number_of_peers)
{
    for (unsigned peers : {1u, 1000000u, ~0u}) { /* ~0: UCXRI_RING_PEERS=inf */
        ri_config.ring_peers = peers;
        node *a = add_node(), *b = add_node();

        conn(b, a);
        exchange(a, b, 20);
        EXPECT_EQ(1u, b->worker()->num_rings) << peers;
    }
}

TEST_F(test_ring_life, sizes)
{
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    for (size_t length : {0, 1, 40, 41, 64, 65, 1023, 1024, 1025, 5000}) {
        uint64_t before = ring_messages(b);
        recv_ptr recv   = b->recv(1, ~0ul, length);
        send_ptr send   = a->send(conn(a, b), pattern(length, length), 1);

        calm_down();
        ASSERT_TRUE(recv->done);
        EXPECT_TRUE(send->done);
        EXPECT_EQ(send->data, recv->buffer);
        EXPECT_EQ(before + (length <= 1024), ring_messages(b)) << length;
    }
}

/* Around the lengths from which messages go in parts, and in more of them. */
TEST_F(test_ring_life, sizes_in_parts)
{
    ri_config.ring_size    = 65536;
    ri_config.eager_thresh = 16384;
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    for (size_t length = 1000; length < 17000; length += (length < 2200) ? 1 : 61) {
        for (bool expected : {true, false}) {
            uint64_t before = ring_messages(b);
            recv_ptr recv   = expected ? b->recv(1, ~0ul, length) : nullptr;
            send_ptr send   = a->send(conn(a, b), pattern(length, length), 1);

            calm_down();
            recv = expected ? recv : b->recv(1, ~0ul, length);
            calm_down(); /* if it is in bulk */
            ASSERT_TRUE(recv->done) << length;
            EXPECT_EQ(length, recv->info.length);
            EXPECT_EQ(UCS_OK, recv->status);
            EXPECT_TRUE(send->done);
            ASSERT_EQ(send->data, recv->buffer) << length;
            EXPECT_EQ(before + (length <= 16384), ring_messages(b)) << length;
        }
        a->release_done();
        b->release_done();
    }
    EXPECT_EQ(0u, b->counters().held_bytes);
}

/* No room for all parts: the message waits as a whole, whatever its elements are. */
TEST_F(test_ring_life, no_room_for_parts)
{
    node *a = add_node(), *b = add_node();
    bytes data                = pattern(7, 1024);
    ucp_request_param_t param = {};

    conn(b, a);
    exchange(a, b, 10);
    ri_ring_tx_t *ring = conn(a, b)->ring;
    unsigned sent      = 0;
    for (; ri_ring_tx_reserve_lines(ring, 10) != nullptr; ++sent) {
        ASSERT_EQ(UCS_OK, a->send(conn(a, b), pattern(1, 8), 1)->status);
    }
    param.op_attr_mask   = UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype       = ucp_dt_make_contig(16);
    ucs_status_ptr_t ret = ri_tag_send(conn(a, b), data.data(), 64, 2, &param, 0);
    ASSERT_TRUE(UCS_PTR_IS_PTR(ret));
    EXPECT_EQ(1u, a->counters().conns.tx_pending);
    send_ptr last = a->send(conn(a, b), pattern(1, 8), 1);
    EXPECT_FALSE(last->done);
    calm_down();
    EXPECT_TRUE(last->done);
    EXPECT_EQ(data, b->recv(2, ~0ul, 1024)->buffer);
    for (; sent > 0; --sent) {
        EXPECT_TRUE(b->recv(1, ~0ul, 8)->done);
    }
    EXPECT_TRUE(b->recv(1, ~0ul, 8)->done);
    ri_req_put(ri_req_of_handle(ret));
}

TEST_F(test_ring_life, full)
{
    node *a = add_node(), *b = add_node();
    std::vector<send_ptr> sends;

    conn(b, a);
    exchange(a, b, 10);
    for (unsigned i = 0; i < 300; ++i) {
        sends.push_back(a->send(conn(a, b), pattern(i, i), i));
    }
    EXPECT_FALSE(sends.back()->done);
    EXPECT_LT(0u, a->counters().conns.tx_pending);
    EXPECT_TRUE(ri_worker_has_work(a->worker()));
    calm_down();
    EXPECT_FALSE(ri_worker_has_work(a->worker()));
    for (unsigned i = 0; i < 300; ++i) {
        EXPECT_TRUE(sends[i]->done);
        EXPECT_EQ(sends[i]->data, b->recv(0, 0, i)->buffer);
    }
}

/* A message without a tag of its own has that of the one before it, also if that one has waited for
 * room, and the ring is gone. */
TEST_F(test_ring_life, tags_behind_what_has_waited)
{
    node *a = add_node(), *b = add_node();
    unsigned count = 0;
    send_ptr send;

    conn(b, a);
    exchange(a, b, 10);
    do {
        send = a->send(conn(a, b), pattern(count++, 8), 5);
    } while (send->done);
    a->send(conn(a, b), pattern(1000, 8), 6);
    calm_down();
    ri_ring_life_close(conn(a, b));
    a->send(conn(a, b), pattern(count++, 8), 5);
    calm_down();
    EXPECT_EQ(pattern(1000, 8), b->recv(6, ~0ul, 8)->buffer);
    for (unsigned i = 0; i < count; ++i) {
        recv_ptr recv = b->recv(5, ~0ul, 8);

        ASSERT_TRUE(recv->done) << i << " of " << count;
        EXPECT_EQ(pattern(i, 8), recv->buffer);
    }
}

/* One that does not take the ring passes all that wait for room in it. */
TEST_F(test_ring_life, far_ahead_of_a_full_ring)
{
    ri_config.reorder_window = 100;
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    for (unsigned i = 0; i < 300; ++i) {
        a->send(conn(a, b), pattern(i, 8), 5);
    }
    send_ptr bulk = a->send(conn(a, b), pattern(1, 2000), 6);
    recv_ptr recv = b->recv(6, ~0ul, 2000);
    calm_down();
    EXPECT_TRUE(recv->done);
    for (unsigned i = 0; i < 300; ++i) {
        EXPECT_EQ(pattern(i, 8), b->recv(5, ~0ul, 8)->buffer);
    }
    EXPECT_EQ(0u, b->counters().rx_malformed);
}

/* Messages in the ring behind one that stock holds back: they wait there, and then in the
 * sender, and however many they are, nothing is lost. */
TEST_F(test_ring_life, behind_what_stock_holds_back)
{
    const unsigned COUNT     = 3000;
    ri_config.reorder_window = 400;
    node *a = add_node(), *b = add_node();
    std::vector<send_ptr> sends;

    conn(b, a);
    exchange(a, b, 10);
    ri_stream_t *stream = b->worker()->rings_in[0];
    for (unsigned i = 0; i < COUNT; ++i) {
        /* Two large ones, and many more at once than may be overtaken */
        size_t length = ((i == 0) || (i == 10) || ((i > 1000) && (i < 1300))) ? 2000 : 8;

        sends.push_back(a->send(conn(a, b), pattern(i, length), 5));
        a->progress();
        b->progress();
        ASSERT_GE(ri_config.reorder_window, stream->num_early);
    }
    while (b->worker()->progressing || (ri_ring_in_poll_all(b->worker()) > 0)) {}
    EXPECT_EQ(0u, ri_ring_in_poll_all(b->worker())) << "no progress is no event";
    EXPECT_FALSE(stream->broken);
    EXPECT_FALSE(sends.back()->done);
    EXPECT_EQ(0u, b->counters().rx_malformed);
    calm_down();
    for (unsigned i = 0; i < COUNT; ++i) {
        recv_ptr recv = b->recv(5, ~0ul, sends[i]->data.size());

        ASSERT_TRUE(recv->done) << i;
        ASSERT_EQ(sends[i]->data, recv->buffer) << i;
    }
    calm_down();
    EXPECT_TRUE(sends.back()->done);
}

/* A message whose data waits at the sender for its receive holds nothing back: the
 * receiver may want the later ones first. */
TEST_F(test_ring_life, behind_an_unmatched_rendezvous)
{
    ri_config.reorder_window = 100;
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    send_ptr bulk = a->send(conn(a, b), pattern(1, 100000), 2);
    exchange(a, b, 2000);
    EXPECT_FALSE(bulk->done);
    recv_ptr recv = b->recv(2, ~0ul, 100000);
    calm_down();
    EXPECT_TRUE(bulk->done);
    EXPECT_EQ(bulk->data, recv->buffer);
}

/* What waits in a ring whose sender is gone must not keep it. */
TEST_F(test_ring_life, behind_what_never_comes)
{
    ri_config.reorder_window = 100;
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    ri_stream_t *stream = b->worker()->rings_in[0];
    a->send(conn(a, b), pattern(1, 2000), 5);
    ep(a, b)->sent.clear();
    while (a->counters().conns.tx_pending == 0) {
        a->send(conn(a, b), pattern(1, 8), 5);
        b->progress();
    }
    ri_conn_fail(conn_of(a, b), UCS_ERR_ENDPOINT_TIMEOUT);
    b->progress();
    EXPECT_EQ(1u, b->worker()->num_rings);

    /* It is asked back when others want one */
    endpoint *other = a->new_endpoint(b); /* a way for the answer */
    a->connect(other, b->uid());
    wire_msg stop(RI_WIRE_RING_STOP, conn_of(a, b)->id, stream->id);
    stop.uid = b->uid();
    a->deliver(stop);
    packet refuse = other->take(RI_WIRE_RING_REFUSE);
    b->deliver(refuse.header, refuse.data);
    for (int i = 0; i < 100; ++i) {
        b->progress();
    }
    EXPECT_EQ(0u, b->worker()->num_rings);
}

TEST_F(test_ring_life, sync_ack_by_ring)
{
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    exchange(b, a, 10);
    send_ptr send = a->send(conn(a, b), pattern(1, 8), 1, true);
    calm_down();
    EXPECT_FALSE(send->done);
    recv_ptr recv = b->recv(1, ~0ul, 8);
    EXPECT_TRUE(ep(b, a)->sent.empty());
    calm_down();
    EXPECT_TRUE(send->done);
    EXPECT_TRUE(recv->done);
}

} // namespace
