/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages that have their turn before their data is there, as their sender has told which receive
 * they are for (USED): what fails, ends, or makes no sense meanwhile. How that is told is in
 * test_rtr_net.cc. (protocol-rndv.md sections 4.3 to 4.6; src/ucp/proto/rtr/rtr_used.c) The tests
 * run src/ucp/proto/rtr/rtr_lost.c and src/ucp/proto/rtr/rtr_notified.c, too.
 */

#include "rtr_net_test.h"

#include <algorithm>

extern "C" {
#include "ucp/proto/rtr/rtr_entries.h"
}

namespace {

class test_rtr_used : public rtr_net_ends_test {
protected:
    /* A message goes into a receive that was offered, from the pool or not. */
    std::pair<recv_ptr, send_ptr> write_is_on_its_way(bool by_pool)
    {
        restart();
        ri_config.hybrid_net = by_pool ? LARGE : 0;
        recv_ptr r           = post_seen();
        m_a_rdma->holds      = true;
        return {r, send()};
    }

    /* One step of many at random. Of what the sender says, lies percent name what is not out. */
    void say_anything(rng &random, unsigned lies, std::vector<recv_ptr> &r)
    {
        const ri_rtr_entries_t *entries = stream()->peer->rtr.entries;
        unsigned index                  = random.below(4);
        uint32_t gen = ((entries != nullptr) ? entries->entry[index].generation : 0) +
                       random.percent(lies);
        uint32_t sn = stream()->next_sn +
                      (random.percent(lies) ? random.below(8) - 4 : random.below(3));
        wire_msg msg(RI_WIRE_RTS, stream()->id, sn);

        msg.tag    = TAG;
        msg.req_id = 77;
        switch (random.below(9)) {
        case 0:
            r.push_back(post(random.percent(80) ? LARGE : 8));
            break;
        case 1:
            if (!r.empty()) {
                recv_ptr one = r[random.below(r.size())];
                if (!one->done) {
                    m_b->cancel(one);
                }
            }
            break;
        case 2:
            deliver_used(stream()->id, sn,
                         {ri_wire_used_rtr(index, gen),
                          ri_wire_used_rtr(random.below(4), gen + 1)});
            break;
        case 3:
            deliver_revoked(stream()->id, gen, index, random.below(2));
            break;
        case 4:
            m_b_rdma->notify((sn & 0xffff) | (random.below(2) << 16) |
                                     (index << RI_WIRE_IMM_ENTRY_SHIFT) |
                                     (gen << RI_WIRE_IMM_GEN_SHIFT),
                             LARGE - random.below(lies));
            break;
        case 5:
            m_b->deliver(msg.header(),
                         rts_payload({{0x1000, LARGE}},
                                     random.percent(lies) ? RI_WIRE_RTS_AGAIN : 0));
            break;
        case 6:
            send(8, TAG + random.below(2));
            break;
        case 7:
            deliver();
            break;
        default:
            m_b->progress();
            break;
        }
    }
};

/* The message comes again after the stream has passed its number: that receive reads it. */
TEST_F(test_rtr_used, again_after_its_turn)
{
    for (int what : {AT_END, AT_END_TOLD, AT_END_LATER}) {
        SCOPED_TRACE(what);
        restart();
        recv_ptr r1 = post_seen(), r2 = post(8), r3 = post(8);
        m_a_rdma->holds = true;
        send_ptr s1 = send(), s2 = send(8);
        deliver(m_ab, 0);
        deliver(m_ab, 0);
        check(r2, s2);
        EXPECT_EQ(RI_RTR_NAMED, rtr(r1));
        fail_writes(what);
        m_a_rdma->holds = false;
        pump();
        check(r1, s1);
        check_sent(s1);
        send_ptr s3 = send(8);
        pump();
        check(r3, s3);
        EXPECT_EQ(1u, m_conn->counters.tx_again);
        EXPECT_EQ(0u, stream()->rtr.num_named);
        EXPECT_EQ(0u, malformed());
        fail_writes(-1);
        m_a_rdma->end_status = UCS_OK;
    }
}

/* What USED says of a way that is gone is void, whether it came before that or not. */
TEST_F(test_rtr_used, told_of_an_old_way)
{
    for (unsigned first : {0, 1, 2}) {
        SCOPED_TRACE(first);
        restart();
        recv_ptr r0 = post(8, TAG + 1), r1 = post_seen(), r2 = post(8);
        m_a_rdma->holds = true;
        send_ptr s0 = send(8, TAG + 1), s1 = send(), s2 = send(8);
        ASSERT_EQ(3u, m_ab->sent.size());
        if (first == 0) {
            deliver(m_ab, 1); /* USED, for the time after s0 */
            EXPECT_EQ(1u, stream()->num_early);
        }
        fail_writes(AT_END);
        m_a_rdma->holds = false;
        if (first == 2) { /* ... and behind the message that comes again */
            m_a->progress();
            deliver(m_ab, m_ab->sent.size() - 2); /* the last one tells of the way */
        }
        m_b_rdma->kill();
        ++m_b->worker()->net.rc->failures;
        m_b->progress();
        EXPECT_LT(rtr(r1), RI_RTR_BY_GRANT);
        EXPECT_EQ((first == 2) ? 1u : 0u, stream()->num_early);
        pump();
        check(r0, s0);
        check(r1, s1);
        check(r2, s2);
        EXPECT_EQ(0u, malformed());
        fail_writes(-1);
        m_a_rdma->end_status = UCS_OK;
    }
}

/* The sender ends: a receive whose message has had its turn fails, unless its data is there. */
TEST_F(test_rtr_used, named_and_the_stream_breaks)
{
    for (bool there : {false, true}) {
        restart();
        recv_ptr r1 = post_seen(), r2 = post(8);
        m_a_rdma->holds = true;
        send_ptr s1 = send(), s2 = send(8);
        deliver(m_ab, 0);
        deliver(m_ab, 0);
        check(r2, s2);
        if (there) {
            m_b_rdma->holds_news = true;
            m_a_rdma->holds      = false;
            m_a->progress();
        }
        ri_stream_break(stream(), "a test");
        ASSERT_TRUE(r1->done);
        EXPECT_EQ(there ? UCS_OK : UCS_ERR_CONNECTION_RESET, r1->status);
        EXPECT_EQ(0u, stream()->rtr.num_named);
        m_b_rdma->holds_news = m_a_rdma->holds = false;
        pump();
    }
}

/* The sender closes when its write has ended; that is told later. */
TEST_F(test_rtr_used, named_and_closed)
{
    recv_ptr r1 = post_seen(), r2 = post(8);
    m_a_rdma->holds = true;
    send_ptr s1 = send(), s2 = send(8);
    deliver(m_ab, 0);
    deliver(m_ab, 0);
    check(r2, s2);
    m_b_rdma->holds_news = true;
    m_a_rdma->holds      = false;
    m_a->progress();
    check_sent(s1);
    stream()->closed_sn = m_conn->tx_sn;
    stream()->closed    = 1;
    ri_stream_check_closed(stream());
    ASSERT_NE(nullptr, stream());
    EXPECT_FALSE(r1->done);
    m_b_rdma->holds_news = false;
    m_b->progress();
    check(r1, s1);
    EXPECT_EQ(nullptr, stream());
}

/* There is no memory to send a message again that was to be written. Others behind it may have had
 * their turn, and are read: their sends go on, and nothing is lost. */
TEST_F(test_rtr_used, no_memory_to_send_again)
{
    ri_config.pool_size = 1 << 20;
    for (bool by_pool : {false, true}) {
        SCOPED_TRACE(by_pool);
        auto [r1, s1] = write_is_on_its_way(by_pool);
        bytes data1   = s1->data;
        if (by_pool) {
            check_sent(s1);
        }
        ri_config.hybrid_net = 0;
        send_ptr s2          = send(LARGE, TAG + 1);
        bytes data2          = s2->data;
        deliver(m_ab, 0);
        deliver(m_ab, 0);
        ASSERT_EQ(RI_RTR_NAMED, rtr(r1));
        fail_writes(AT_END);
        m_a_rdma->holds = false;
        m_ucx->memory   = 0;
        for (int i = 0; i < 3; ++i) {
            m_a->progress();
        }
        EXPECT_EQ(UCS_OK, m_conn->status);
        EXPECT_TRUE(ri_worker_has_work(m_a->worker())) << "the application may sleep";
        EXPECT_FALSE(s2->done) << "its memory may be read";
        fail_writes(-1);
        m_a_rdma->end_status = UCS_OK;
        if (s2->done) {
            s2->data.assign(LARGE, 0xee); /* what an application does then */
        }
        m_ucx->memory = -1;
        recv_ptr r2   = post(LARGE, TAG + 1);
        pump();
        ASSERT_TRUE(r1->done && r2->done);
        EXPECT_EQ(UCS_OK, r1->status);
        EXPECT_TRUE(r1->buffer == data1);
        EXPECT_EQ(UCS_OK, r2->status);
        EXPECT_TRUE(r2->buffer == data2);
        check_sent(s1);
        check_sent(s2);
        EXPECT_EQ(1u, m_conn->counters.tx_again);
        EXPECT_EQ(0u, malformed());
    }
}

/* ... until the connection, or the worker, ends */
TEST_F(test_rtr_used, no_memory_and_the_end)
{
    ri_config.pool_size = 1 << 20;
    for (int what = 0; what < 4; ++what) {
        bool by_pool = what & 1, ends = what & 2;
        SCOPED_TRACE(what);
        auto [r1, s1] = write_is_on_its_way(by_pool);
        fail_writes(AT_END);
        m_a_rdma->holds = false;
        m_ucx->memory   = 0;
        m_a->progress();
        EXPECT_EQ(by_pool, s1->done);
        if (ends) {
            m_b->may_end_open = m_a->may_end_open = true;
            m_ab = m_ba = nullptr;
            m_a.reset();
            m_ucx->memory = -1;
            --m_b->worker()->reqs.in_use;
            m_b.reset();
            end();
            ri_config.hybrid_net = 0;
            start();
        } else {
            ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
            m_a->progress();
            EXPECT_EQ(0u, m_a->worker()->num_transfers);
            EXPECT_EQ(0u, m_a->worker()->pool.used);
            m_ucx->memory  = -1;
            m_conn->status = UCS_OK;
            ri_stream_break(stream(), "a test");
            m_b->cancel(r1);
            pump();
            check_canceled(r1);
        }
        ASSERT_TRUE(s1->done);
        EXPECT_EQ(by_pool ? UCS_OK :
                  ends    ? UCS_ERR_CANCELED :
                            UCS_ERR_CONNECTION_RESET,
                  s1->status);
        fail_writes(-1);
        m_a_rdma->end_status = UCS_OK;
    }
}

/* Another error: the sender says that the number is lost, though it was taken. */
TEST_F(test_rtr_used, lost_after_its_turn)
{
    for (bool later : {false, true}) {
        SCOPED_TRACE(later);
        restart();
        recv_ptr r1 = post_seen(), r2 = post(8);
        m_a_rdma->holds = true;
        send_ptr s1 = send(), s2 = send(8), s3;
        deliver(m_ab, 0);
        deliver(m_ab, 0);
        check(r2, s2);
        ASSERT_EQ(RI_RTR_NAMED, rtr(r1));
        if (later) {
            s3 = send(LARGE, TAG + 1);
            deliver(m_ab, 0);
        }
        wire_msg bye(RI_WIRE_BYE, stream()->id, stream()->next_sn - (later ? 4 : 3));
        m_b->deliver(bye);
        ASSERT_TRUE(r1->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r1->status);
        m_a_rdma->holds = false;
        pump();
        if (later) {
            EXPECT_TRUE(s3->done) << "nobody may read it any more";
            recv_ptr r3 = post(LARGE, TAG + 1);
            ASSERT_TRUE(r3->done);
            EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r3->status);
        }
        EXPECT_EQ(nullptr, stream());
    }
}

/* USED at any time, of anything */
TEST_F(test_rtr_used, told_of_what_is_not)
{
    recv_ptr r  = post();
    uint32_t at = immediate(r, 0), entry = (at >> RI_WIRE_IMM_ENTRY_SHIFT) % 32;
    uint32_t gen;
    ri_wire_rtr_msg_t msg;
    packet p = m_ba->sent.front();

    memcpy(&msg, p.data.data(), sizeof(msg));
    gen               = msg.generation;
    uint32_t next     = stream()->next_sn;
    uint64_t stale    = m_b->counters().rx_stale;
    const uint32_t ok = ri_wire_used_rtr(entry, gen);

    deliver_used(stream()->id, next, {ri_wire_used_rtr(entry, gen + 1)});
    deliver_used(stream()->id, next, {ri_wire_used_rtr((entry + 1) % 32, gen)});
    deliver_used(stream()->id, next - 1, {ok}); /* a number that has passed */
    EXPECT_EQ(stale + 3, m_b->counters().rx_stale);
    deliver_used(stream()->id + 1, next, {ok});
    EXPECT_EQ(stale + 4, m_b->counters().rx_stale);
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(r));
    EXPECT_EQ(0u, malformed());

    /* the same twice, in the future and in order */
    deliver_used(stream()->id, next + 2, {ok});
    deliver_used(stream()->id, next + 2, {ok});
    EXPECT_EQ(1u, stream()->num_early);
    deliver_used(stream()->id, next, {ok});
    EXPECT_EQ(RI_RTR_NAMED, rtr(r));
    deliver_used(stream()->id, next, {ok});
    EXPECT_EQ(RI_RTR_NAMED, rtr(r));
    EXPECT_EQ(0u, malformed());

    /* when the turn of the other one comes, it names no receive that is posted */
    m_ba->sent.clear();
    send(8, TAG + 5); /* takes the number that is passed */
    send_ptr s = send(8, TAG + 5);
    deliver(m_ab, 1);
    EXPECT_TRUE(stream()->broken);
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    pump();
}

/* The notification of a message whose turn was before is for another number. */
TEST_F(test_rtr_used, told_and_notified_of_another_number)
{
    recv_ptr r  = post();
    uint32_t at = immediate(r, stream()->next_sn + 3);
    ri_wire_rtr_msg_t msg;
    packet p = m_ba->sent.front();

    memcpy(&msg, p.data.data(), sizeof(msg));
    deliver_used(stream()->id, stream()->next_sn,
                 {ri_wire_used_rtr(msg.entry, msg.generation)});
    EXPECT_EQ(RI_RTR_NAMED, rtr(r));
    m_b_rdma->notify(at, LARGE);
    m_b->progress();
    EXPECT_TRUE(stream()->broken);
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    m_ba->sent.clear();
    pump();
}

/* A revocation of what was told of meanwhile */
TEST_F(test_rtr_used, told_while_revoked)
{
    for (bool lies : {false, true}) {
        restart();
        recv_ptr r1 = post_seen(), r2 = post(8);
        m_b->cancel(r1);
        m_a_rdma->holds = true;
        send_ptr s1 = send(), s2 = send(8);
        deliver(m_ab, 0);
        deliver(m_ab, 0);
        check(r2, s2);
        EXPECT_EQ(RI_RTR_NAMED, rtr(r1));
        deliver(m_ba, 0); /* REVOKE */
        ASSERT_EQ(1u, m_ab->count(RI_WIRE_REVOKED));
        if (lies) {
            ri_wire_revoked_t msg;
            memcpy(&msg, m_ab->sent.back().data.data(), sizeof(msg));
            m_ab->sent.clear();
            deliver_revoked(stream()->id, msg.base.value, msg.entry, 0);
            EXPECT_TRUE(stream()->broken);
            ASSERT_TRUE(r1->done);
            EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r1->status);
        } else {
            deliver(m_ab, 0);
            EXPECT_EQ(RI_RTR_NAMED, rtr(r1));
            EXPECT_EQ(0u, m_b->worker()->rtr.num_revoking);
        }
        m_a_rdma->holds = false;
        pump();
        if (!lies) {
            check(r1, s1);
        }
    }
}

/* A way that ends without telling what came by it: the message is lost, perhaps, and so the
 * stream, rather than that its receive waits for ever. */
TEST_F(test_rtr_used, way_is_lost)
{
    for (bool named : {false, true}) {
        restart();
        recv_ptr r1 = post_seen(), r2 = post(8);
        m_a_rdma->holds = m_b_rdma->holds_news = true;
        send_ptr s1 = send(), s2 = named ? send(8) : nullptr;
        deliver_all();
        m_a_rdma->holds = false;
        m_a->progress();
        check_sent(s1);
        m_b_rdma->loses_news = true;
        ri_way_fail_and_tell(m_b->worker(), stream()->peer);
        EXPECT_FALSE(stream()->broken) << "in progress";
        EXPECT_FALSE(r1->done);
        m_b->progress();
        EXPECT_TRUE(stream()->broken);
        EXPECT_EQ(named, r1->done);
        EXPECT_EQ(1u, m_ba->count(RI_WIRE_RESET));
        pump();
        EXPECT_NE(UCS_OK, m_conn->status);
        for (const recv_ptr &r : {r1, r2}) {
            if (!r->done) {
                m_b->cancel(r);
                check_canceled(r);
            }
        }
        EXPECT_EQ(named ? UCS_ERR_CONNECTION_RESET : UCS_ERR_CANCELED, r1->status);
    }
}

/* ... that had nothing to tell: nothing is lost with it. */
TEST_F(test_rtr_used, idle_way_is_lost)
{
    m_b_rdma->loses_news = true;
    ri_way_fail_and_tell(m_b->worker(), stream()->peer);
    m_b->progress();
    EXPECT_FALSE(stream()->broken);
    recv_ptr r = post();
    send_ptr s = send();
    pump();
    check(r, s);
}

/* A sender that says anything at any time, about RTRs that are out or are not: whatever comes of
 * that, all receives end, once, and nothing is left. It writes nothing. */
TEST_F(test_rtr_used, anything_at_random)
{
    uint64_t named = 0, broken = 0, whole = 0;

    for_seeds(200, [&](rng &random) {
        std::vector<recv_ptr> r;
        unsigned lies = random.percent(50) ? 2 : 20; /* percent */

        restart();
        for (unsigned i = 0; (i < 150) && !stream()->broken; ++i) {
            say_anything(random, lies, r);
        }
        named += stream()->counters.rx_named;
        ++((stream()->broken) ? broken : whole);
        ri_stream_break(stream(), "a test");
        m_ba->sent.clear();
        m_ab->sent.clear();
        for (unsigned i = 0; i < 3; ++i) {
            m_b->progress();
        }
        for (const recv_ptr &one : r) {
            if (!one->done) {
                m_b->cancel(one);
            }
            EXPECT_TRUE(one->done);
        }
        m_ab->sent.clear();
        m_ba->sent.clear();
    });
    EXPECT_GT(named, 50u);
    EXPECT_GT(broken, 20u);
    EXPECT_GT(whole, 0u);
}

} // namespace
