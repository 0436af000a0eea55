/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/ring_channel*.c, and all of the protocol with it: workers that talk to each
 * other over a UCX that delivers when the test says so.
 */

#include "fake_ucx.h"

#include <unistd.h>

using namespace fake;

namespace {

class test_ring_channel : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        ri_config.ring_size    = 4096;
        ri_config.eager_thresh = 1024;
        ri_config.am_inline    = 128;
        m_ucx->rndv_thresh     = 2000;
    }

    void TearDown() override
    {
        m_eps.clear();
        m_nodes.clear();
        ri_test::TearDown();
    }

    node *add_node()
    {
        m_nodes.push_back(std::make_unique<node>(0x1000 + m_nodes.size()));
        return m_nodes.back().get();
    }

    /* The one endpoint of a pair and direction */
    endpoint *ep(node *from, node *to)
    {
        endpoint *&ep = m_eps[{from, to}];

        if (ep == nullptr) {
            ep = from->new_endpoint(to);
        }
        return ep;
    }

    ri_conn_t *conn(node *from, node *to, uint32_t flags = RI_CONN_USER)
    {
        return from->connect(ep(from, to), to->uid(), flags);
    }

    static arrival_t arrival(const packet &p, rng *random)
    {
        return p.rndv                                       ? RNDV :
               ((random != nullptr) && random->percent(30)) ? DATA :
                                                              PLAIN;
    }

    void deliver(endpoint *e, size_t which, rng *random = nullptr)
    {
        packet p = e->sent[which];

        e->sent.erase(e->sent.begin() + which);
        e->to->deliver(p.header, p.data, arrival(p, random),
                       p.reply ? ep(e->to, e->from) : nullptr, p.req);
    }

    /* Deliver and progress until nothing moves any more. */
    void settle()
    {
        bool moved;

        do {
            std::vector<endpoint *> eps;
            moved = m_ucx->complete();
            for (auto &entry : m_eps) {
                eps.push_back(entry.second);
            }
            for (endpoint *e : eps) {
                while (!e->sent.empty()) {
                    deliver(e, 0);
                    moved = true;
                }
            }
            for (auto &n : m_nodes) {
                moved |= (ri_ring_channel_poll(n->worker()) > 0);
                n->progress();
            }
        } while (moved);
    }

    /* Without making a new one of a conn that failed */
    ri_conn_t *conn_of(node *from, node *to)
    {
        return ri_conn_find(ep(from, to)->handle());
    }

    uint64_t ring_messages(node *n) { return n->counters().streams.rx_ring; }

    /* Messages that nobody has to look at, received at once. */
    void exchange(node *from, node *to, unsigned count)
    {
        ri_conn_t *c = conn(from, to);

        for (unsigned i = 0; i < count; ++i) {
            recv_ptr recv = to->recv(1, ~0ul, 8);
            send_ptr send = from->send(c, pattern(i, 8), 1);

            settle();
            ASSERT_TRUE(send->done);
            ASSERT_TRUE(recv->done);
            ASSERT_EQ(send->data, recv->buffer);
            from->release_done();
            to->release_done();
        }
    }

    std::vector<std::unique_ptr<node>> m_nodes;
    std::map<std::pair<node *, node *>, endpoint *> m_eps;
};

TEST_F(test_ring_channel, made_when_a_pair_is_active)
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
    EXPECT_EQ(-1, b->worker()->rings[0]->ring->fd);
    exchange(b, a, 2 * ri_config.ring_after);
    EXPECT_EQ(1u, a->worker()->num_rings);
}

TEST_F(test_ring_channel, not_where_the_application_may_sleep)
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

TEST_F(test_ring_channel, not_when_turned_off_or_on_another_host)
{
    ri_config.ring_peers = 0;
    node *off            = add_node();
    ri_config.ring_peers = 64;
    node *a = add_node(), *far = add_node();

    far->worker()->host ^= 2;
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

TEST_F(test_ring_channel, any_number_of_peers)
{
    for (unsigned peers : {1u, 1000000u, ~0u}) { /* ~0: UCXRI_RING_PEERS=inf */
        ri_config.ring_peers = peers;
        node *a = add_node(), *b = add_node();

        conn(b, a);
        exchange(a, b, 20);
        EXPECT_EQ(1u, b->worker()->num_rings) << peers;
    }
}

TEST_F(test_ring_channel, sizes)
{
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    for (size_t length : {0, 1, 40, 41, 64, 65, 1023, 1024, 1025, 5000}) {
        uint64_t before = ring_messages(b);
        recv_ptr recv   = b->recv(1, ~0ul, length);
        send_ptr send   = a->send(conn(a, b), pattern(length, length), 1);

        settle();
        ASSERT_TRUE(recv->done);
        EXPECT_TRUE(send->done);
        EXPECT_EQ(send->data, recv->buffer);
        EXPECT_EQ(before + (length <= 1024), ring_messages(b)) << length;
    }
}

/* Around the lengths from which messages go in parts, and in more of them. */
TEST_F(test_ring_channel, sizes_in_parts)
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

            settle();
            recv = expected ? recv : b->recv(1, ~0ul, length);
            settle(); /* if it is in bulk */
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
TEST_F(test_ring_channel, no_room_for_parts)
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
    settle();
    EXPECT_TRUE(last->done);
    EXPECT_EQ(data, b->recv(2, ~0ul, 1024)->buffer);
    for (; sent > 0; --sent) {
        EXPECT_TRUE(b->recv(1, ~0ul, 8)->done);
    }
    EXPECT_TRUE(b->recv(1, ~0ul, 8)->done);
    ri_req_put(ri_req_of_handle(ret));
}

TEST_F(test_ring_channel, full)
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
    settle();
    EXPECT_FALSE(ri_worker_has_work(a->worker()));
    for (unsigned i = 0; i < 300; ++i) {
        EXPECT_TRUE(sends[i]->done);
        EXPECT_EQ(sends[i]->data, b->recv(0, 0, i)->buffer);
    }
}

/* One that does not take the ring passes all that wait for room in it. */
TEST_F(test_ring_channel, far_ahead_of_a_full_ring)
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
    settle();
    EXPECT_TRUE(recv->done);
    for (unsigned i = 0; i < 300; ++i) {
        EXPECT_EQ(pattern(i, 8), b->recv(5, ~0ul, 8)->buffer);
    }
    EXPECT_EQ(0u, b->counters().rx_malformed);
}

/* Messages in the ring behind one that stock holds back: they wait there, and then in the
 * sender, and however many they are, nothing is lost. */
TEST_F(test_ring_channel, behind_what_stock_holds_back)
{
    const unsigned COUNT     = 3000;
    ri_config.reorder_window = 400;
    node *a = add_node(), *b = add_node();
    std::vector<send_ptr> sends;

    conn(b, a);
    exchange(a, b, 10);
    ri_stream_t *stream = b->worker()->rings[0];
    for (unsigned i = 0; i < COUNT; ++i) {
        /* Two large ones, and many more at once than may be overtaken */
        size_t length = ((i == 0) || (i == 10) || ((i > 1000) && (i < 1300))) ? 2000 : 8;

        sends.push_back(a->send(conn(a, b), pattern(i, length), 5));
        a->progress();
        b->progress();
        ASSERT_GE(ri_config.reorder_window, stream->num_early);
    }
    while (b->worker()->progressing || (ri_ring_channel_poll(b->worker()) > 0)) {}
    EXPECT_EQ(0u, ri_ring_channel_poll(b->worker())) << "no progress is no event";
    EXPECT_FALSE(stream->broken);
    EXPECT_FALSE(sends.back()->done);
    EXPECT_EQ(0u, b->counters().rx_malformed);
    settle();
    for (unsigned i = 0; i < COUNT; ++i) {
        recv_ptr recv = b->recv(5, ~0ul, sends[i]->data.size());

        ASSERT_TRUE(recv->done) << i;
        ASSERT_EQ(sends[i]->data, recv->buffer) << i;
    }
    settle();
    EXPECT_TRUE(sends.back()->done);
}

/* A message whose data waits at the sender for its receive holds nothing back: the
 * receiver may want the later ones first. */
TEST_F(test_ring_channel, behind_an_unmatched_rendezvous)
{
    ri_config.reorder_window = 100;
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    send_ptr bulk = a->send(conn(a, b), pattern(1, 100000), 2);
    exchange(a, b, 2000);
    EXPECT_FALSE(bulk->done);
    recv_ptr recv = b->recv(2, ~0ul, 100000);
    settle();
    EXPECT_TRUE(bulk->done);
    EXPECT_EQ(bulk->data, recv->buffer);
}

/* What waits in a ring whose sender is gone must not keep it. */
TEST_F(test_ring_channel, behind_what_never_comes)
{
    ri_config.reorder_window = 100;
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    ri_stream_t *stream = b->worker()->rings[0];
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

TEST_F(test_ring_channel, sync_ack_by_ring)
{
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    exchange(b, a, 10);
    send_ptr send = a->send(conn(a, b), pattern(1, 8), 1, true);
    settle();
    EXPECT_FALSE(send->done);
    recv_ptr recv = b->recv(1, ~0ul, 8);
    EXPECT_TRUE(ep(b, a)->sent.empty());
    settle();
    EXPECT_TRUE(send->done);
    EXPECT_TRUE(recv->done);
}

/* The least recently active pair gives its ring back, but not a busy one. */
TEST_F(test_ring_channel, given_back)
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
TEST_F(test_ring_channel, not_asked_for_through_an_endpoint_that_may_vanish)
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
TEST_F(test_ring_channel, given_back_by_nobody)
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

TEST_F(test_ring_channel, closed_with_the_endpoint)
{
    for (uint32_t mode : {0, (int)RI_CONN_PEER_MODE}) {
        node *a = add_node(), *b = add_node();
        ucp_request_param_t param = {};

        conn(b, a);
        conn(a, b, RI_CONN_USER | mode);
        exchange(a, b, 20);
        EXPECT_EQ(1u, b->worker()->num_rings);
        EXPECT_EQ(nullptr, ri_ep_close(conn(a, b), &param));
        settle();
        EXPECT_EQ(0u, b->worker()->num_rings);
        EXPECT_EQ((mode == 0), !ucs_list_is_empty(&b->worker()->streams));
    }
}

/* Closing while the ring has no room for its last record. */
TEST_F(test_ring_channel, closed_when_full)
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
    /* Take in so much that the one that waits fits, and no more */
    recv_ptr recv = b->recv(1, ~0ul, 8);
    while (ri_worker_has_work(a->worker())) {
        ri_ring_channel_poll(b->worker());
        a->progress();
    }
    while (ri_ring_tx_reserve(conn(a, b)->ring, 0) != nullptr) {
        a->send(conn(a, b), pattern(1, 8), 1);
        ++sent;
    }

    ucs_status_ptr_t close = ri_ep_close(conn(a, b), &param);
    settle();
    EXPECT_TRUE(ep(a, b)->closed);
    for (unsigned i = 1; i < sent; ++i) {
        EXPECT_TRUE(b->recv(1, ~0ul, 8)->done);
    }
    EXPECT_EQ(0u, b->worker()->num_rings) << "the ring is lost to others";
    if (UCS_PTR_IS_PTR(close)) {
        ri_req_put(ri_req_of_handle(close));
    }
}

TEST_F(test_ring_channel, hostile_records)
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
        ri_stream_t *stream = b->worker()->rings[0];
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
        settle();
        EXPECT_TRUE(sync->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, sync->status);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, conn_of(a, b)->status);
    }
}

/* Broken by an active message: its ring goes, too, and no other one is offered. */
TEST_F(test_ring_channel, freed_with_a_broken_stream)
{
    for (bool empty : {true, false}) {
        node *a = add_node(), *b = add_node();

        conn(b, a);
        exchange(a, b, 20);
        ASSERT_EQ(1u, b->worker()->num_rings);
        ri_stream_t *stream = b->worker()->rings[0];
        if (!empty) {
            a->send(conn(a, b), pattern(1, 8), 1);
        }
        ri_config.reorder_window = 0;
        uint32_t next            = stream->next_sn;
        b->deliver(wire_msg(RI_WIRE_EAGER, stream->id, next + (1 << 30)), bytes(8));
        EXPECT_TRUE(stream->broken);
        b->progress();
        EXPECT_EQ(0u, b->worker()->num_rings);
        for (uint32_t sn = 0; sn < 29; ++sn) {
            b->deliver(wire_msg(RI_WIRE_EAGER, stream->id, next + sn), bytes(8));
        }
        EXPECT_EQ(0u, b->worker()->num_rings);
        EXPECT_EQ(1u, b->counters().rings_offered);
        settle();
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, conn_of(a, b)->status);
    }
}

/* Everything at random: sizes over all protocols, synchronous or not, receives before and
 * after, deliveries late and in bulk out of order, completions late. All must arrive once,
 * with its content, and in order. */
TEST_F(test_ring_channel, random)
{
    for_seeds(150, [this](rng &random) {
        struct message {
            node *from;
            uint64_t tag;
            uint32_t number; /* of its sender and receiver */
            send_ptr send;
            bool received;
        };
        struct posted {
            recv_ptr op;
            node *at;
        };

        m_ucx->random        = &random;
        m_ucx->send_mode     = random.percent(50) ? RANDOM : AT_ONCE;
        m_ucx->fetch_mode    = random.percent(50) ? RANDOM : AT_ONCE;
        ri_config.ring_after = random.range(1, 10);
        ri_config.ring_peers = random.range(0, 2);

        ri_config.ring_size    = 4096ul << random.below(3);
        ri_config.eager_thresh = ri_config.ring_size / 4;

        size_t num_nodes = random.range(2, 3);
        size_t max_size  = random.percent(50) ? 100 : 5000;
        uint64_t tags    = random.range(1, 4);
        unsigned total   = 0;
        std::vector<message> messages;
        std::map<std::pair<node *, node *>, uint32_t> numbers;
        std::vector<posted> receives;
        std::map<node *, int> outstanding; /* messages less receives */

        for (size_t i = 0; i < num_nodes; ++i) {
            add_node();
        }
        for (auto &n : m_nodes) {
            for (auto &m : m_nodes) {
                if (random.percent(80)) {
                    conn(n.get(), m.get());
                }
            }
        }

        auto pick = [&]() { return m_nodes[random.below(num_nodes)].get(); };
        for (unsigned step = 0; (step < 1500) && !HasFailure(); ++step) {
            uint64_t what = random.below(100);

            m_ucx->immediate = random.percent(20) ? (int)random.below(4) : -1;
            if (what < 25) {
                node *from = pick(), *to = pick();
                uint64_t tag  = random.below(tags);
                size_t length = 12 + random.below(random.percent(70) ? 60 : max_size);
                bytes data    = pattern(total, length);
                uint32_t id = total++, number = ++numbers[{from, to}];

                memcpy(&data[0], &id, 4);
                memcpy(&data[4], &number, 4);
                messages.push_back({from, tag, number, nullptr, false});
                messages.back().send = from->send(conn(from, to), data, tag,
                                                  random.percent(15));
                ++outstanding[to];
            } else if (what < 45) {
                node *at      = pick();
                bool wildcard = random.percent(30);

                if (outstanding[at] > -10) {
                    receives.push_back({at->recv(random.below(tags), wildcard ? 0 : ~0ul,
                                                 12 + max_size),
                                        at});
                    --outstanding[at];
                }
            } else if (what < 80) {
                auto it = m_eps.begin();
                std::advance(it, random.below(m_eps.size()));
                endpoint *e = it->second;

                if (!e->sent.empty()) {
                    /* What is large may be overtaken, the rest comes in its order */
                    size_t which = 0;
                    while ((which + 1 < e->sent.size()) &&
                           (e->sent[which].type() == RI_WIRE_BULK) &&
                           random.percent(50)) {
                        ++which;
                    }
                    deliver(e, which, &random);
                }
            } else if (what < 95) {
                pick()->progress();
            } else {
                m_ucx->complete_nth(random.below(4));
            }
        }
        m_ucx->immediate = -1;
        settle();
        for (auto &n : m_nodes) {
            while (n->worker()->match.num_unexpected > 0) {
                receives.push_back({n->recv(0, 0, 12 + max_size), n.get()});
                settle();
            }
        }

        /* Receives of one tag and mask take the messages of a sender in order */
        std::map<std::tuple<node *, node *, uint64_t, uint64_t, uint64_t>, uint32_t>
                latest;
        size_t received = 0;
        for (const posted &p : receives) {
            if (!p.op->done) {
                p.at->cancel(p.op);
                continue;
            }
            uint32_t id, number;

            ASSERT_EQ(UCS_OK, p.op->status);
            memcpy(&id, &p.op->buffer[0], 4);
            memcpy(&number, &p.op->buffer[4], 4);
            ASSERT_LT(id, messages.size());
            message &m = messages[id];
            ASSERT_FALSE(m.received) << "message " << id << " came twice";
            m.received = true;
            ++received;
            ASSERT_EQ(m.tag, p.op->info.sender_tag);
            ASSERT_EQ(m.send->data.size(), p.op->info.length);
            ASSERT_TRUE(std::equal(m.send->data.begin(), m.send->data.end(),
                                   p.op->buffer.begin()));
            uint32_t &last =
                    latest[{p.at, m.from, p.op->mask ? p.op->tag : 0, p.op->mask, m.tag}];
            ASSERT_LT(last, m.number) << "message " << id << " is late";
            last = m.number;
        }
        ASSERT_EQ(messages.size(), received);
        for (const message &m : messages) {
            ASSERT_TRUE(m.send->done);
            ASSERT_EQ(UCS_OK, m.send->status);
        }

        /* The invariants of counters.h */
        uint64_t sent = 0, matched = 0, by_self = 0;
        for (auto &n : m_nodes) {
            ri_worker_counters_t c = n->counters();

            sent += c.conns.tx_eager_ring + c.conns.tx_eager_am + c.conns.tx_bulk;
            by_self += c.conns.tx_self;
            matched += c.streams.rx_posted + c.streams.rx_unexpected;
            EXPECT_EQ(0u, c.held_bytes);
            EXPECT_EQ(0u, c.rx_malformed);
            EXPECT_EQ(0u, c.rx_stale);
        }
        EXPECT_EQ(messages.size(), sent + by_self);
        EXPECT_EQ(sent, matched);

        messages.clear();
        receives.clear();
        m_eps.clear();
        m_nodes.clear();
    });
    m_ucx->random = nullptr;
}

} // namespace
