/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives in runs that no grid tells, which are offered through a network by the definition of
 * their layout. (src/ucp/proto/rtr/rtr_layout.c, rtr_net.c,
 * rtr_send_net.c)
 */

#include "unit/fakes/fake_malloc.h"
#include "rtr_layout_net_test.h"

extern "C" {
#include "ucp/link/way.h"
#include "ucp/run/peer_memory.h"
}

namespace {

class test_rtr_layout_net : public rtr_layout_net_test {};

/* The layout is defined once; the sender writes each run where it belongs, and the receiver need
 * not be there. */
TEST_F(test_rtr_layout_net, from_contiguous_data)
{
    for (bool sync : {false, true}) {
        recv_ptr r = post_in(m_in);
        EXPECT_EQ(sync ? 0u : 1u, m_ba->count(RI_WIRE_LAYOUT));
        EXPECT_EQ(1u, m_ba->count(RI_WIRE_RTR_LAYOUT));
        deliver();
        send_ptr s = send(LARGE, TAG, sync);
        EXPECT_FALSE(is_any_sent());
        m_a->progress();
        EXPECT_TRUE(m_in.spread(s->data) == m_in.memory);
        progress_both(3);
        check_in(m_in, r, s->data);
        check_sent(s);
        EXPECT_FALSE(is_any_sent()) << "no FIN";
    }
    check_rtrs(2, 2);
    EXPECT_EQ(0u, m_b_rdma->reads);
    EXPECT_EQ(0u, malformed());
}

/* Several elements, more runs than one operation takes */
TEST_F(test_rtr_layout_net, many_runs)
{
    for (uint64_t seed = 2; seed < 8; ++seed) {
        make(m_in, 200000 + seed * 777, seed);
        recv_ptr r = post_in_seen(4 * m_in.size);
        send_ptr s = send(4 * m_in.size);
        progress_both(3);
        check_in(m_in, r, s->data);
    }
    check_rtrs(6, 6);
}

/* Shorter ones are read, and unpacked (test_rtr_grid). */
TEST_F(test_rtr_layout_net, shorter_messages_go_otherwise)
{
    for (size_t length : {LARGE - 1, LARGE / 2, MEDIUM}) {
        SCOPED_TRACE(length);
        recv_ptr r = post_in_seen();
        send_ptr s = send(length);
        pump();
        check_in(m_in, r, s->data);
        check_sent(s);
    }
    EXPECT_EQ(0u, m_a_rdma->writes);
    check_rtrs(3, 0);
}

/* More layouts than there are slots */
TEST_F(test_rtr_layout_net, many_layouts)
{
    std::vector<std::unique_ptr<spread_type>> types;
    rng random(7);

    for (uint64_t i = 0; i < 80; ++i) {
        types.push_back(std::make_unique<spread_type>());
        make(*types.back(), LARGE, 100 + i);
    }
    for (unsigned round = 0; round < 300; ++round) {
        SCOPED_TRACE(round);
        spread_type &type = *types[random.below(80)];
        recv_ptr r        = post_in(type);
        EXPECT_EQ(RI_RTR_BY_KEY, rtr(r));
        deliver();
        send_ptr s = send(LARGE);
        progress_both(3);
        check_in(type, r, s->data);
    }
    check_rtrs(300, 300);
    EXPECT_EQ(0u, m_a->counters().rx_stale);
}

/* Large gaps, and a sender that does not know definitions */
TEST_F(test_rtr_layout_net, what_is_not_offered)
{
    make(m_in, LARGE, 3, 80000);
    recv_ptr r = post_in(m_in);
    EXPECT_EQ(RI_RTR_NONE, rtr(r));
    send_ptr s = send(LARGE);
    pump();
    check_in(m_in, r, s->data);

    make(m_in, LARGE, 3);
    stream()->way.layouts = 0;
    r                     = post_in(m_in);
    EXPECT_EQ(RI_RTR_NONE, rtr(r));
    s = send(LARGE);
    pump();
    check_in(m_in, r, s->data);
}

/* The write fails: the message comes again. */
TEST_F(test_rtr_layout_net, failed_writes)
{
    for (int what = 0; what < FAILURES; ++what) {
        SCOPED_TRACE(what);
        make(m_in, LARGE, 3);
        recv_ptr r = post_in_seen();
        fail_writes(what);
        send_ptr s = send(LARGE);
        pump();
        fail_writes(FAILURES);
        pump();
        check_in(m_in, r, s->data);
        check_sent(s);
        restart();
    }
}

TEST_F(test_rtr_layout_net, cancel)
{
    recv_ptr r = post_in_seen();

    m_b->cancel(r);
    EXPECT_FALSE(r->done) << "the sender is asked";
    pump();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CANCELED, r->status);
    EXPECT_EQ(m_in.started, m_in.finished);
    EXPECT_EQ(0u, waiting());
}

/* Memory that cannot be registered, as there may be a hole in it, is not offered, and later memory
   is. */
TEST_F(test_rtr_layout_net, no_registration)
{
    m_b_rdma->reg_status = UCS_ERR_INVALID_ADDR;
    recv_ptr r           = post_in(m_in);
    EXPECT_EQ(RI_RTR_NONE, rtr(r));
    m_b_rdma->reg_status = UCS_OK;
    send_ptr s           = send(LARGE);
    pump();
    check_in(m_in, r, s->data);
    check_sent(s);

    for (int i = 0; (i < 4) && (rtr(r = post_in(m_in)) == RI_RTR_NONE); ++i) {
        s = send(LARGE); /* what could not be offered counts against its sender */
        pump();
        check_in(m_in, r, s->data);
    }
    deliver();
    s = send(LARGE);
    progress_both(3);
    check_in(m_in, r, s->data);
    check_rtrs(1, 1);
}

/* The definition cannot be sent: it is longer than what goes at once, the endpoint is being left,
 * or UCX has no memory. The receive is not offered, and no definition is missed later. */
TEST_F(test_rtr_layout_net, definition_that_cannot_be_sent)
{
    for (int what = 0; what < 3; ++what) {
        SCOPED_TRACE(what);
        make(m_in, LARGE, 40 + what);
        size_t thresh = ri_config.eager_thresh;
        int memory    = m_ucx->memory;

        switch (what) {
        case 0:
            ri_config.eager_thresh = 10;
            break;
        case 1:
            m_back->flags |= RI_CONN_LEFT;
            break;
        default:
            m_ucx->memory = 0;
            break;
        }
        recv_ptr r = post_in(m_in);
        EXPECT_EQ(RI_RTR_NONE, rtr(r));
        ri_config.eager_thresh = thresh;
        m_back->flags &= ~(uint32_t)RI_CONN_LEFT;
        m_ucx->memory = memory;
        send_ptr s    = send(LARGE);
        pump();
        check_in(m_in, r, s->data);

        r = post_in_seen();
        s = send(LARGE);
        progress_both(3);
        check_in(m_in, r, s->data);
    }
    EXPECT_EQ(0u, m_a->counters().rx_stale);
    EXPECT_EQ(0u, m_a->counters().rx_malformed);
}

/* Each allocation fails in turn, of the receiver that defines, and of the sender that keeps. */
TEST_F(test_rtr_layout_net, no_memory)
{
    for (bool of_sender : {false, true}) {
        bool fails = true;

        for (int n = 0; fails; ++n) {
            SCOPED_TRACE(n);
            restart();
            make(m_in, LARGE, 50);
            m_in.clear(LARGE);
            fake::malloc_fails_after = of_sender ? -1 : n;
            recv_ptr r               = post_in(m_in);
            fails                    = (fake::malloc_fails_after < 0);
            fake::malloc_fails_after = of_sender ? n : -1;
            deliver();
            fails                    = of_sender ? (fake::malloc_fails_after < 0) : fails;
            fake::malloc_fails_after = -1;
            send_ptr s               = send(LARGE);
            pump();
            check_in(m_in, r, s->data);
            check_sent(s);
            EXPECT_EQ(0u, m_a->counters().rx_malformed);
        }
    }
}

/* The way is lost at both sides, during a write or before it: what was defined stays. */
TEST_F(test_rtr_layout_net, lost_way)
{
    setting<double> backoff(ri_way_backoff, 0);

    for (bool writes : {false, true}) {
        SCOPED_TRACE(writes);
        restart();
        recv_ptr r      = post_in_seen();
        m_a_rdma->holds = writes;
        send_ptr s      = writes ? send(LARGE) : nullptr;
        m_a_rdma->kill();
        m_b_rdma->kill();
        m_a_rdma->holds = false;
        s               = writes ? s : send(LARGE);
        pump();
        check_in(m_in, r, s->data);
        check_sent(s);
        for (int i = 0; (i < 12) && !(m_conn->flags & RI_CONN_WAY); ++i) {
            exchange(m_conn, TAG, 1); /* a new way */
        }
        ASSERT_TRUE(m_conn->flags & RI_CONN_WAY);

        count_from_now();
        m_a_rdma->writes = 0;
        r                = post_in(m_in);
        EXPECT_EQ(RI_RTR_BY_KEY, rtr(r));
        EXPECT_EQ(0u, m_ba->count(RI_WIRE_LAYOUT)) << "it is known";
        deliver();
        s = send(LARGE);
        progress_both(3);
        check_in(m_in, r, s->data);
        EXPECT_EQ(1u, m_a_rdma->writes);
        EXPECT_EQ(0u, m_a->counters().rx_malformed);
    }
}

/* A type that is made anew for each message is defined once. */
TEST_F(test_rtr_layout_net, made_anew)
{
    for (int i = 0; i < 5; ++i) {
        make(m_in, LARGE, 3);
        recv_ptr r = post_in(m_in);
        EXPECT_EQ((i == 0) ? 1u : 0u, m_ba->count(RI_WIRE_LAYOUT));
        deliver();
        send_ptr s = send(LARGE);
        progress_both(3);
        check_in(m_in, r, s->data);
    }
    check_rtrs(5, 5);
}

/* Its definition is not written as long as it cannot be sent. */
TEST_F(test_rtr_layout_net, written_when_there_is_room)
{
    m_back->flags |= RI_CONN_LEFT;
    recv_ptr r = post_in(m_in);
    EXPECT_EQ(RI_RTR_NONE, rtr(r));
    EXPECT_EQ(0u, ri_layout_wire_definition_length(m_in.known));
    m_back->flags &= ~(uint32_t)RI_CONN_LEFT;
    send_ptr s = send(LARGE);
    pump();
    check_in(m_in, r, s->data);
}

/* The sender has no memory for layouts of peers: it says so, and the layout is not offered again
 * until it has another slot. */
TEST_F(test_rtr_layout_net, refused)
{
    const size_t max = ri_layout_peers_max;
    setting<size_t> limit(ri_layout_peers_max, 0);
    recv_ptr r = post_in_seen();

    EXPECT_EQ(0u, waiting()) << "as good as lost";
    send_ptr s = send(LARGE);
    pump();
    check_in(m_in, r, s->data);
    ri_layout_peers_max = max;
    for (int again = 0; again < 3; ++again) {
        r = post_in(m_in);
        EXPECT_EQ(RI_RTR_NONE, rtr(r));
        EXPECT_EQ(0u, m_ba->count(RI_WIRE_LAYOUT));
        s = send(LARGE);
        pump();
        check_in(m_in, r, s->data);
    }
    make(m_in, LARGE, 77);
    r = post_in_seen();
    EXPECT_EQ(1u, waiting());
    s = send(LARGE);
    progress_both(3);
    check_in(m_in, r, s->data);
}

/* What the layouts of a peer take is counted for it, and in all. */
TEST_F(test_rtr_layout_net, memory)
{
    size_t peer  = ri_peer_memory_now(m_conn->peer);
    uint64_t all = m_a->counters().layouts_bytes;

    recv_ptr r   = post_in_seen();
    size_t bytes = ri_layouts_in_bytes(m_conn->rtr.net_layouts_in);
    EXPECT_LT(sizeof(ri_layouts_in_t), bytes);
    EXPECT_EQ(peer + bytes, ri_peer_memory_now(m_conn->peer));
    EXPECT_EQ(all + bytes, m_a->counters().layouts_bytes);
    send_ptr s = send(LARGE);
    pump();
    check_in(m_in, r, s->data);
}

/* From other runs, and from the pool */
TEST_F(test_rtr_layout_net, from_runs)
{
    ri_config.pool_size = 1 << 20;
    restart();
    ri_config.hybrid_net = LARGE;
    for (size_t run : {LARGE / 4, (size_t)1000}) {
        m_out.make(run, 77, LARGE / run);
        m_out.clear(LARGE);
        m_out.memory = m_out.spread(pattern(5, LARGE));
        recv_ptr r   = post_in_seen();
        send_ptr s   = m_a->send_of(m_conn, m_out.memory.data(), 1, m_out.datatype, TAG);
        m_a->progress();
        progress_both(3);
        check_in(m_in, r, pattern(5, LARGE));
        check_sent(s);
        EXPECT_EQ(m_out.started, m_out.finished);
    }
    EXPECT_EQ(2u, m_conn->counters.tx_recv_rndv);
    EXPECT_EQ(0u, m_b_rdma->reads);
}

/* With a channel the definition and the RTR go by active message, in their order. */
TEST_F(test_rtr_layout_net, beside_a_channel)
{
    with_channels(true);
    for (unsigned i = 0; i < 4; ++i) {
        recv_ptr r = post(), r2 = m_a->recv(TAG, ALL, 8);
        send_ptr s2 = m_b->send(m_back, bytes(8), TAG);
        pump();
        send_ptr s = send();
        pump();
        check(r, s);
    }
    ASSERT_NE(nullptr, m_back->channel);
    unsigned writes = m_a_rdma->writes;
    recv_ptr r      = post_in_seen();
    send_ptr s      = send(LARGE);
    pump();
    check_in(m_in, r, s->data);
    EXPECT_EQ(writes + 1, m_a_rdma->writes);
    EXPECT_EQ(0u, malformed());
    with_channels(false);
}

/* Contiguous, strided and irregular receives of one tag, some of which are cancelled, in any
   order */
TEST_F(test_rtr_layout_net, among_others)
{
    rng random(3);
    uint64_t used = m_b->counters().rtr_used;

    for (unsigned round = 0; round < 60; ++round) {
        SCOPED_TRACE(round);
        std::vector<std::unique_ptr<spread_type>> types;
        std::vector<recv_ptr> recvs;
        std::vector<send_ptr> sends;

        for (unsigned i = random.range(1, 5); i > 0; --i) {
            auto type = std::make_unique<spread_type>();
            if (random.percent(30)) {
                recvs.push_back(post(LARGE));
            } else {
                if (random.percent(30)) {
                    type->make(5000, 120, LARGE / 5000);
                } else {
                    make(*type, LARGE, random.below(70));
                }
                recvs.push_back(post_in(*type));
            }
            if (random.percent(50)) {
                deliver();
            }
            if (random.percent(20)) {
                m_b->cancel(recvs.back());
                pump();
                ASSERT_TRUE(recvs.back()->done);
                EXPECT_EQ(type->started, type->finished);
                recvs.pop_back();
            } else {
                types.push_back(std::move(type));
            }
        }
        for (size_t i = 0; i < recvs.size(); ++i) {
            sends.push_back(send(random.percent(80) ? LARGE : LARGE - 500));
            if (random.percent(30)) {
                pump();
            }
        }
        pump();
        for (size_t i = 0; i < recvs.size(); ++i) {
            if (types[i]->datatype != 0) {
                check_in(*types[i], recvs[i], sends[i]->data);
            } else {
                check(recvs[i], sends[i]);
            }
        }
    }
    EXPECT_LT(used + 20, m_b->counters().rtr_used);
    EXPECT_EQ(0u, m_a->counters().rx_malformed);
}

} // namespace
