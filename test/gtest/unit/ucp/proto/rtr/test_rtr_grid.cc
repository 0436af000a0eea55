/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives in runs that are offered through a network, and what is written run by run.
 * (src/ucp/proto/rtr/rtr_net.c, rtr_write.c)
 */

#include "rtr_net_test.h"
#include "unit/common/spread_type.h"

namespace {

class test_rtr_grid : public rtr_net_ends_test {
protected:
    static constexpr size_t RUN  = 5000;
    static constexpr size_t GAP  = 120;
    static constexpr size_t RUNS = LARGE / RUN;

    void SetUp() override
    {
        rtr_net_ends_test::SetUp();
        m_in.make(RUN, GAP, RUNS);
    }

    /* A receive of any number of runs of a type */
    recv_ptr post_in(spread_type &type, size_t length)
    {
        return type.post(*m_b, length, TAG);
    }

    recv_ptr post_in_seen()
    {
        recv_ptr r = post_in(m_in, LARGE);

        EXPECT_EQ(RI_RTR_BY_KEY, rtr(r));
        EXPECT_EQ(1u, m_ba->count(RI_WIRE_RTR_GRID));
        deliver();
        return r;
    }

    /* An RTR as the receiver would send it, of two runs of memory that is there */
    wire_msg grid_msg(uint32_t seen, uint32_t generation)
    {
        wire_msg msg(RI_WIRE_RTR_GRID, m_conn->id, 77);

        m_memory.assign(2 * LARGE, 0);
        msg.tag          = TAG;
        msg.cookie       = (uintptr_t)m_memory.data(); /* the mask, too */
        msg.length       = LARGE;
        msg.way          = m_conn->peer->way.number;
        msg.recv_id      = seen;
        msg.generation   = generation;
        msg.entry        = 3;
        msg.grid         = ri_grid_run(LARGE / 2);
        msg.grid.loop[0] = {2, (int64_t)LARGE};
        return msg;
    }

    spread_type m_in, m_out;
    bytes m_memory;
};

/* The sender writes each run where it belongs, and the receiver need not be there. */
TEST_F(test_rtr_grid, from_contiguous_data)
{
    for (bool sync : {false, true}) {
        recv_ptr r      = post_in_seen();
        unsigned writes = m_a_rdma->writes;
        send_ptr s      = send(LARGE, TAG, sync);

        EXPECT_FALSE(is_any_sent());
        m_a->progress();
        EXPECT_TRUE(m_in.spread(s->data) == m_in.memory);
        EXPECT_EQ(writes + 1, m_a_rdma->writes) << "one operation for all runs";
        progress_both(3);
        m_in.check(r, s->data);
        check_sent(s);
        EXPECT_FALSE(is_any_sent()) << "no FIN";
    }
    check_rtrs(2, 2);
    EXPECT_EQ(0u, m_b_rdma->reads);
    EXPECT_EQ(2 * LARGE, m_conn->counters.tx_written_bytes);
}

/* More runs than one operation takes, of elements that are runs themselves. */
TEST_F(test_rtr_grid, many_runs)
{
    const size_t length = 200 * 4096;

    for (size_t runs : {1, 7, 200}) {
        m_in.make(4096, 64, runs);
        recv_ptr r      = post_in(m_in, length);
        size_t of_all   = m_in.count_of(length) * m_in.size;
        unsigned writes = m_a_rdma->writes;
        EXPECT_EQ(1u, m_ba->count(RI_WIRE_RTR_GRID));
        deliver();
        send_ptr s = send(of_all);
        progress_both(3);
        m_in.check(r, s->data);
        EXPECT_EQ(writes + 4, m_a_rdma->writes);
    }
}

/* A few runs are written from where they are, to others. */
TEST_F(test_rtr_grid, from_few_runs)
{
    m_out.make(LARGE / 4, 77, 4);
    m_out.clear(LARGE);
    m_out.memory    = m_out.spread(pattern(5, LARGE));
    recv_ptr r      = post_in_seen();
    m_a_rdma->holds = true;
    send_ptr s      = m_a->send_of(m_conn, m_out.memory.data(), 1, m_out.datatype, TAG);
    EXPECT_FALSE(s->done);
    m_a_rdma->holds = false;
    progress_both(3);
    m_in.check(r, pattern(5, LARGE));
    check_sent(s);
    EXPECT_EQ(1u, m_conn->counters.tx_recv_rndv);
    EXPECT_EQ(m_out.started, m_out.finished);
}

/* Many runs are packed to the pool, and the send is complete. */
TEST_F(test_rtr_grid, from_many_runs)
{
    ri_config.pool_size = 1 << 20;
    restart();
    ri_config.hybrid_net = LARGE;
    for (bool strided : {true, false}) {
        m_out.make(1000, 24, LARGE / 1000);
        m_out.clear(LARGE);
        m_out.memory = m_out.spread(pattern(6, LARGE));
        recv_ptr r   = strided ? post_in_seen() : post_seen();
        send_ptr s   = m_a->send_of(m_conn, m_out.memory.data(), 1, m_out.datatype, TAG);
        EXPECT_TRUE(s->done);
        EXPECT_FALSE(is_any_sent());
        m_a->progress();
        progress_both(3);
        if (strided) {
            m_in.check(r, pattern(6, LARGE));
        } else {
            ASSERT_TRUE(r->done);
            EXPECT_TRUE(r->buffer == pattern(6, LARGE));
        }
        EXPECT_EQ(m_out.started, m_out.finished);
    }
    EXPECT_EQ(2u, m_conn->counters.tx_recv_rndv);
    EXPECT_EQ(0u, m_b_rdma->reads);
}

/* From the pool in parts, each of which ends anywhere in a run */
TEST_F(test_rtr_grid, from_the_pool)
{
    ri_config.pool_size = 1 << 20;
    restart();
    ri_config.hybrid_net = LARGE;
    recv_ptr r           = post_in_seen();
    send_ptr s           = send(LARGE);
    bytes data           = s->data;
    EXPECT_TRUE(s->done);
    s->data.assign(LARGE, 0xee);
    progress_both(3);
    m_in.check(r, data);
    EXPECT_EQ(1u, m_conn->counters.tx_recv_rndv);
}

/* The notification says how long the last write was, which is not all of the message: so it has to be as
 * long as the receive. Others are read, and unpacked. */
TEST_F(test_rtr_grid, shorter_messages_go_otherwise)
{
    for (size_t length : {LARGE - 1, LARGE - RUN, MEDIUM, EAGER + 1, (size_t)8}) {
        SCOPED_TRACE(length);
        recv_ptr r = post_in_seen();
        send_ptr s = send(length);
        pump();
        m_in.check(r, s->data);
        check_sent(s);
    }
    EXPECT_EQ(0u, m_a_rdma->writes);
    check_rtrs(5, 0);
}

/* What cannot be told in a message, or would cost too much, is not offered. */
TEST_F(test_rtr_grid, what_is_not_offered)
{
    struct {
        size_t run, gap, runs;
    } cases[] = {{4095, 10, 30}, {4096, 4096 * 8, 25}, {8, 8, 20000}};

    for (const auto &c : cases) {
        SCOPED_TRACE(c.run);
        m_in.make(c.run, c.gap, c.runs);
        recv_ptr r = post_in(m_in, m_in.size);
        EXPECT_EQ(RI_RTR_NONE, rtr(r));
        send_ptr s = send(m_in.size);
        pump();
        m_in.check(r, s->data);
    }
    m_b_rdma->reg_status = UCS_ERR_INVALID_ADDR; /* a hole, perhaps */
    m_in.make(RUN, GAP, RUNS);
    recv_ptr r = post_in(m_in, LARGE);
    EXPECT_EQ(RI_RTR_NONE, rtr(r));
    m_b_rdma->reg_status = UCS_OK;
    send_ptr s           = send(LARGE);
    pump();
    m_in.check(r, s->data);
}

/* Whichever of the writes fails, and however: the message comes again. */
TEST_F(test_rtr_grid, failed_writes)
{
    for (int what = 0; what < FAILURES; ++what) {
        for (unsigned good = 0; good < 4; ++good) {
            SCOPED_TRACE(what * 10 + good);
            m_in.make(4096, 64, 200);
            recv_ptr r = post_in(m_in, 200 * 4096);
            deliver();
            fail_writes(what);
            m_a_rdma->good_starts = (what == AT_START) ? good : 0;
            m_a_rdma->good_ends   = (what == AT_START) ? 0 : good;
            send_ptr s            = send(200 * 4096);
            pump();
            fail_writes(FAILURES);
            m_a_rdma->start_status = m_a_rdma->end_status = UCS_OK;
            pump();
            m_in.check(r, s->data);
            check_sent(s);
            restart();
        }
    }
}

/* It is withdrawn as others are. */
TEST_F(test_rtr_grid, cancel)
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

/* Whichever part of the copy in the pool fails: it comes again from there. */
TEST_F(test_rtr_grid, failed_writes_from_the_pool)
{
    ri_config.pool_size = 1 << 20;
    for (int what = 0; what < FAILURES; ++what) {
        for (unsigned good = 0; good < 4; ++good) {
            SCOPED_TRACE(what * 10 + good);
            restart();
            ri_config.hybrid_net = LARGE;
            recv_ptr r           = post_in_seen();
            fail_writes(what);
            m_a_rdma->good_starts = (what == AT_START) ? good : 0;
            m_a_rdma->good_ends   = (what == AT_START) ? 0 : good;
            send_ptr s            = send(LARGE);
            bytes data            = s->data;
            EXPECT_TRUE(s->done);
            s->data.assign(LARGE, 0xee);
            pump();
            fail_writes(FAILURES);
            pump();
            m_in.check(r, data);
        }
    }
}

/* A sender that has not said that it takes such RTRs, as one of an earlier build, gets none. */
TEST_F(test_rtr_grid, only_to_who_takes_them)
{
    for (uint32_t value :
         {RI_WIRE_PLANE_WRITES, RI_WIRE_PLANE_WRITES | RI_WIRE_PLANE_GRIDS}) {
        wire_msg msg(RI_WIRE_PLANE_REQ, stream()->id, value);

        msg.plane = RI_WIRE_PLANE_RC;
        msg.way   = m_conn->peer->way.number;
        m_b->deliver(msg);
        recv_ptr r = post_in(m_in, LARGE);
        EXPECT_EQ((value == RI_WIRE_PLANE_WRITES) ? RI_RTR_NONE : RI_RTR_BY_KEY, rtr(r));
        deliver();
        send_ptr s = send(LARGE);
        pump();
        m_in.check(r, s->data);
        check_sent(s);
    }
}

/* In a channel it is found by a send that looks for it, without progress, and taken once. */
TEST_F(test_rtr_grid, in_a_channel)
{
    with_channels(true);
    for (unsigned i = 0; i < 4;
         ++i) { /* the sender offers a channel to who sends by message */
        recv_ptr r = post(), r2 = m_a->recv(TAG, ALL, 8);
        send_ptr s2 = m_b->send(m_back, bytes(8), TAG);
        pump();
        send_ptr s = send();
        pump();
        check(r, s);
        EXPECT_TRUE(r2->done && s2->done);
    }
    unsigned writes = m_a_rdma->writes;
    uint64_t looked = m_a->counters().streams.rx_looked;

    recv_ptr r = post_in(m_in, LARGE);
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(r));
    EXPECT_EQ(0u, m_ba->sent.size()) << "it is in the channel";
    m_b->progress();
    send_ptr s = send(LARGE);
    EXPECT_EQ(looked + 1, m_a->counters().streams.rx_looked);
    EXPECT_EQ(writes + 1, m_a_rdma->writes);
    pump();
    m_in.check(r, s->data);
    check_sent(s);
    EXPECT_EQ(0u, malformed());
    with_channels(false);
}

/* Some bytes of a receive in runs cannot be a message: it would not use the RTR. */
TEST_F(test_rtr_grid, notification_of_a_part)
{
    recv_ptr r    = post_in(m_in, LARGE);
    uint32_t good = immediate(r, m_conn->tx_sn + 1, RI_WIRE_RTR_GRID);

    deliver_all();
    m_b_rdma->notify(good | RI_WIRE_IMM_SHORT, RUN);
    progress_both(3);
    EXPECT_TRUE(stream()->broken);
    EXPECT_FALSE(r->done) << "it may be another sender's";
    m_b->cancel(r);
    pump();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CANCELED, r->status);
    EXPECT_EQ(m_in.started, m_in.finished);
}

/* A sender does not write runs that are too short to be worth a write each. */
TEST_F(test_rtr_grid, runs_that_are_too_short)
{
    wire_msg msg = grid_msg(m_conn->tx_sn, 1000);

    msg.grid         = ri_grid_run(1000);
    msg.grid.loop[0] = {LARGE / 1000, 2000};
    m_a->deliver(msg);
    EXPECT_EQ(1u, waiting());
    send_ptr s = send(LARGE);
    EXPECT_EQ(0u, m_a_rdma->writes);
    recv_ptr r = post(LARGE);
    pump();
    check(r, s);
}

/* The way fails at both sides during the write. */
TEST_F(test_rtr_grid, way_fails)
{
    recv_ptr r      = post_in_seen();
    m_a_rdma->holds = true;
    send_ptr s      = send(LARGE);
    m_a_rdma->kill();
    m_b_rdma->kill();
    m_a_rdma->holds = false;
    pump();
    pump();
    m_in.check(r, s->data);
    check_sent(s);
}

/* Past, repeated, early and of another way: each RTR counts once. */
TEST_F(test_rtr_grid, out_of_order)
{
    uint64_t stale = m_a->counters().rx_stale;
    uint32_t seen  = m_conn->tx_sn;

    m_a->deliver(grid_msg(seen, 1000));
    EXPECT_EQ(1u, waiting());
    m_a->deliver(grid_msg(seen, 1000)); /* again */
    m_a->deliver(grid_msg(seen, 999));  /* an earlier one */
    EXPECT_EQ(stale + 2, m_a->counters().rx_stale);
    EXPECT_EQ(1u, waiting());

    wire_msg other = grid_msg(seen, 1001);
    ++other.way;
    m_a->deliver(other);
    EXPECT_EQ(stale + 3, m_a->counters().rx_stale);

    /* of the future: nothing of that number was sent */
    m_a->deliver(grid_msg(seen + 5, 1002));
    m_a->deliver(grid_msg(seen - RI_RTR_WINDOW - 1, 1003));
    EXPECT_EQ(stale + 3, m_a->counters().rx_stale);
    EXPECT_EQ(0u, waiting()) << "the entry has later ones, and these have no effect";
    send_ptr s = send(LARGE);
    EXPECT_EQ(0u, m_a_rdma->writes);
    recv_ptr r = post(LARGE);
    pump();
    check(r, s);
}

/* A later RTR of an entry has another grid. */
TEST_F(test_rtr_grid, the_grid_of_the_latest)
{
    recv_ptr r1 = post_in_seen();
    m_b->cancel(r1);
    pump();
    spread_type other;
    other.make(2 * RUN, GAP / 2, RUNS / 2);
    recv_ptr r2 = post_in(other, LARGE);
    deliver();
    send_ptr s = send(LARGE);
    progress_both(3);
    other.check(r2, s->data);
    EXPECT_EQ(1u, m_a_rdma->writes);
}

/* Contiguous and strided receives of one tag, in any order */
TEST_F(test_rtr_grid, among_others)
{
    rng random(3);

    for (unsigned round = 0; round < 40; ++round) {
        SCOPED_TRACE(round);
        std::vector<std::unique_ptr<spread_type>> types;
        std::vector<recv_ptr> recvs;
        std::vector<send_ptr> sends;
        unsigned count = random.range(1, 4);

        for (unsigned i = 0; i < count; ++i) {
            types.push_back(std::make_unique<spread_type>());
            if (random.percent(30)) {
                recvs.push_back(post(LARGE));
            } else {
                types.back()->make(random.percent(70) ? RUN : 1000, GAP, 5);
                recvs.push_back(post_in(*types.back(), LARGE));
            }
            if (random.percent(50)) {
                deliver();
            }
        }
        for (unsigned i = 0; i < count; ++i) {
            sends.push_back(send(random.percent(80) ? LARGE : LARGE - 500));
            if (random.percent(30)) {
                pump();
            }
        }
        pump();
        for (unsigned i = 0; i < count; ++i) {
            if (types[i]->datatype != 0) {
                types[i]->check(recvs[i], sends[i]->data);
            } else {
                check(recvs[i], sends[i]);
            }
        }
    }
}

} // namespace
