/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives in runs that are offered to a sender on this host, data in runs that is written by RTRs,
 * and RTRs of such receives that a peer makes up. (src/ucp/proto/rtr/rtr.c, rtr_send_host.c) The
 * tests run src/ucp/proto/rtr/rtr_known.c, too.
 */

#include "rtr_spread_test.h"

namespace {

class test_rtr_runs : public rtr_spread_test {
protected:
    static constexpr size_t RUN  = 10000;
    static constexpr size_t GAP  = 120;
    static constexpr size_t RUNS = LARGE / RUN;

    void SetUp() override
    {
        rtr_spread_test::SetUp();
        m_in.make(RUN, GAP, RUNS);
    }

    /* What a sender of runs sends */
    void fill_out(size_t run, size_t gap, size_t runs)
    {
        m_out.make(run, gap, runs);
        m_out.clear(run * runs);
        m_out.memory = m_out.spread(pattern(5, run * runs));
    }

    void put_runs(const ri_wire_rtr_runs_t &rtr, size_t length)
    {
        bytes payload;

        wire_msg::append(payload, rtr);
        payload.resize(length);
        put_record(m_back, RI_WIRE_RTR, 77, m_conn->id, TAG, payload);
    }

    void say(uint8_t hint) { ri_peer_note_hint(m_conn->peer, hint); }
};

/* The sender writes each run where it belongs, and the receiver need not be there. */
TEST_F(test_rtr_runs, from_contiguous_data)
{
    for (bool sync : {false, true}) {
        recv_ptr r      = post_in_seen();
        unsigned writes = m_a_plane->writes;
        send_ptr s      = send(LARGE, sync);

        EXPECT_TRUE(m_in.spread(s->data) == m_in.memory);
        EXPECT_EQ(writes + 1, m_a_plane->writes) << "one operation for all runs";
        m_b->progress();
        m_in.check(r, s->data);
        pump();
        check_sent(s);
    }
    EXPECT_EQ(2u, by_rtr());
    EXPECT_EQ(0u, m_b_plane->reads);
}

/* The bytes behind a shorter message stay as they are, wherever it ends. */
TEST_F(test_rtr_runs, shorter_messages)
{
    unsigned count = 0;

    for (size_t length : {LARGE - 1, LARGE - RUN, 2 * RUN + 1, RUN, RUN - 1}) {
        SCOPED_TRACE(length);
        recv_ptr r = post_in_seen();
        send_ptr s = send(length);
        m_b->progress();
        m_in.check(r, s->data);
        pump();
        check_sent(s);
        EXPECT_EQ(++count, by_rtr());
    }
}

/* More runs than one call takes, at both sides, which begin and end in each other's middle. */
TEST_F(test_rtr_runs, from_runs)
{
    const struct {
        size_t in, out;
    } cases[] = {{8192, 4096}, {8192, 16384}, {8200, 8000}, {16000, 16400}, {8192, 8192}};

    for (const auto &c : cases) {
        SCOPED_TRACE(c.in);
        size_t length = 200 * c.out;
        m_in.make(c.in, 64, 1);
        fill_out(c.out, 24, 200);
        for (bool strided : {true, false}) {
            recv_ptr r = strided ? post_in_seen(length) : post_seen(length);
            send_ptr s = send_of(m_out);
            EXPECT_TRUE(s->done);
            m_b->progress();
            if (strided) {
                m_in.check(r, pattern(5, length));
            } else {
                ASSERT_TRUE(r->done);
                EXPECT_TRUE(r->buffer == pattern(5, length));
            }
            pump();
            EXPECT_EQ(m_out.started, m_out.finished);
        }
    }
    EXPECT_EQ(10u, by_rtr());
    EXPECT_EQ(0u, m_b_plane->reads);
}

/* Data in a list of pieces */
TEST_F(test_rtr_runs, from_pieces)
{
    bytes data          = pattern(8, LARGE);
    ucp_dt_iov_t iov[3] = {{&data[0], 1}, {&data[1], 60000}, {&data[60001], 39999}};
    recv_ptr r          = post_in_seen();
    m_a->worker()->progressing = 1;
    send_ptr s                 = m_a->send_of(m_conn, iov, 3, ucp_dt_make_iov(), TAG);
    m_a->worker()->progressing = 0;
    m_b->progress();
    m_in.check(r, data);
    EXPECT_EQ(1u, by_rtr());
}

/* A receiver that waits copies, too, or reads: the RTR stays unused. */
TEST_F(test_rtr_runs, receiver_that_waits)
{
    for (bool strided : {false, true}) {
        recv_ptr r = post_in_seen();
        bytes data = pattern(5, LARGE);
        send_ptr s;

        say(RI_RING_HINT_WAITS);
        if (strided) {
            fill_out(5000, 24, LARGE / 5000);
            s = send_of(m_out);
        } else {
            s    = send();
            data = s->data;
        }
        EXPECT_EQ(0u, m_a_plane->writes);
        pump();
        m_in.check(r, data);
        check_sent(s);
        say(0);
    }
    EXPECT_EQ(0u, by_rtr());
}

/* Short runs are copied to the pool, or go by a shelf. */
TEST_F(test_rtr_runs, what_is_not_offered)
{
    const struct {
        size_t run, gap;
    } cases[] = {{8191, 10}, {4096, 4096}, {8, 8}};

    for (const auto &c : cases) {
        SCOPED_TRACE(c.run);
        m_in.make(c.run, c.gap, LARGE / c.run);
        recv_ptr r = post_in(m_in, m_in.size);
        EXPECT_EQ(RI_RTR_NONE, rtr(r));
        send_ptr s = send(m_in.size);
        pump();
        m_in.check(r, s->data);
    }
    m_in.make(RUN, GAP, RUNS);
    for (bool by_setting : {false, true}) {
        stream()->plane.grids = stream()->plane.layouts =
                by_setting; /* 0: a sender that does not know them */
        ri_config.dt_run_host = by_setting ? RUN + 1 : 8192;
        recv_ptr r            = post_in(m_in);
        EXPECT_EQ(RI_RTR_NONE, rtr(r));
        send_ptr s = send();
        pump();
        m_in.check(r, s->data);
    }
}

/* Short runs of the sender are not written one by one; what is short is a setting. */
TEST_F(test_rtr_runs, short_runs_of_the_sender)
{
    for (size_t run_min : {(size_t)4096, (size_t)1000, SIZE_MAX}) {
        SCOPED_TRACE(run_min);
        recv_ptr r      = post_in_seen();
        unsigned writes = m_a_plane->writes;

        ri_config.dt_run_min = run_min;
        fill_out(1000, 24, LARGE / 1000);
        send_ptr s = send_of(m_out);
        EXPECT_EQ(run_min == 1000, m_a_plane->writes > writes);
        ri_config.dt_run_min = 4096;
        pump();
        m_in.check(r, pattern(5, LARGE));
        check_sent(s);
    }
}

/* The library does not look at layouts: the callbacks are called, here to no effect. */
TEST_F(test_rtr_runs, layouts_that_are_not_used)
{
    ri_config.dt_layouts = 0;
    recv_ptr r           = post_in(m_in);
    EXPECT_EQ(RI_RTR_NONE, rtr(r));
    send_ptr s = send();
    pump();
    ASSERT_TRUE(r->done);
    EXPECT_LT(0u, m_in.callbacks);
    check_sent(s);
}

TEST_F(test_rtr_runs, failed_writes)
{
    m_in.make(8192, 64, 200);
    for (unsigned good = 0; good < 4; ++good) {
        SCOPED_TRACE(good);
        check_failed_write(good, 200 * 8192);
    }
}

TEST_F(test_rtr_runs, late_rtr)
{
    check_late_rtr();
}

/* The ring ends while RTRs wait, one of them for a message that was announced before. */
TEST_F(test_rtr_runs, ring_ends)
{
    ri_rtr_send_host_patience = 1e9;
    ri_config.hybrid_thresh   = 0;
    send_ptr s                = send();
    recv_ptr r                = post_in(m_in);
    spread_type other;

    other.make(RUN, GAP, RUNS);
    recv_ptr r2 = post_in(other);
    m_a->progress();
    EXPECT_EQ(1u, m_conn->rtr.table->num_late);
    EXPECT_EQ(1u, waiting());
    EXPECT_NE(nullptr, m_a->worker()->rings_in[0]->rtr.grids);
    ri_ring_life_stop(m_back);
    pump();
    EXPECT_EQ(0u, m_a->worker()->num_rings);
    EXPECT_EQ(0u, m_conn->rtr.table->num_late + m_conn->rtr.table->num_waiting);
    m_in.check(r, s->data);
    send_ptr s2 = send();
    pump();
    ASSERT_TRUE(r2->done);
    EXPECT_TRUE(other.spread(s2->data) == other.memory);
}

/* A grant that names a slot, or says that it will: not for a receive in runs. */
TEST_F(test_rtr_runs, hostile_grants)
{
    for (uint32_t state : {RI_RING_GRANT_SLOT, RI_RING_GRANT_SHARING}) {
        SCOPED_TRACE(state);
        m_in.make(RUN, GAP, RUNS);
        recv_ptr r = post_in_seen();

        ri_config.coop_thresh = LARGE;
        say(RI_RING_HINT_WAITS);
        send_ptr s = send(); /* by a slot, without the RTR */
        set_state(r, state);
        pump();
        EXPECT_TRUE(r->done);
        EXPECT_TRUE((r->status != UCS_OK) || (m_in.spread(s->data) == m_in.memory));
        stop();
        start();
    }
}

/* A grid that was replaced by a later RTR of its grant: the sender does not begin. */
TEST_F(test_rtr_runs, grid_of_another_rtr)
{
    ri_wire_rtr_runs_t rtr = {{ALL, (uintptr_t)&rtr, LARGE, m_conn->tx_sn, 0, 4, 1},
                              ri_grid_run(LARGE)};
    ri_ring_grant_t *grant = &m_a->worker()->rings_in[0]->ring->control->grants[4];
    unsigned writes        = m_a_plane->writes;

    ri_grant_offer(grant, 1);
    put_runs(rtr, sizeof(rtr));
    rtr.rtr.generation = 2;
    rtr.rtr.length = rtr.grid.run = 1;
    put_runs(rtr, sizeof(rtr));
    m_a->progress();
    EXPECT_EQ(1u, waiting());
    send_ptr s = send();
    EXPECT_EQ(writes, m_a_plane->writes);
    recv_ptr r = post();
    pump();
    check(r, s);
}

/* The same of an RTR that comes behind the announcement of its message. */
TEST_F(test_rtr_runs, grid_of_another_late_rtr)
{
    bytes place(LARGE);
    ri_wire_rtr_runs_t rtr = {
            {ALL, (uintptr_t)place.data(), LARGE, m_conn->tx_sn, 0, 4, 1},
            ri_grid_run(LARGE)};
    ri_ring_grant_t *grant = &m_a->worker()->rings_in[0]->ring->control->grants[4];

    ri_config.hybrid_thresh = 0;
    send_ptr s              = send();
    unsigned writes         = m_a_plane->writes;
    ri_grant_offer(grant, 1);
    put_runs(rtr, sizeof(rtr));
    rtr.rtr.generation = 2;
    rtr.rtr.length = rtr.grid.run = 1;
    put_runs(rtr, sizeof(rtr));
    m_a->progress();
    m_a->progress();
    EXPECT_EQ(writes, m_a_plane->writes);
    recv_ptr r = post();
    pump();
    check(r, s);
}

TEST_F(test_rtr_runs, cancel)
{
    check_cancel();
}

/* The grids of RTRs that wait are each their own. */
TEST_F(test_rtr_runs, several_at_once)
{
    spread_type other[3];
    std::vector<recv_ptr> recvs;

    for (unsigned i = 0; i < 3; ++i) {
        other[i].make(RUN + 1000 * i, 8 << i, 10);
        recvs.push_back(post_in(other[i], other[i].size));
    }
    m_a->progress();
    EXPECT_EQ(3u, waiting());
    for (unsigned i = 0; i < 3; ++i) {
        send_ptr s = send(other[i].size);
        m_b->progress();
        ASSERT_TRUE(recvs[i]->done);
        EXPECT_TRUE(other[i].spread(s->data) == other[i].memory);
    }
    EXPECT_NE(nullptr, m_a->worker()->rings_in[0]->rtr.grids);
}

TEST_F(test_rtr_runs, malformed)
{
    ri_wire_rtr_runs_t good = {{ALL, 65536, 3 * 8192, 0, 0, 0, 1}, ri_grid_run(8192)};
    std::vector<std::pair<ri_wire_rtr_runs_t, size_t>> bad;

    good.grid.loop[0] = {3, 10000};
    bad.assign(9, {good, sizeof(good)});
    bad[0].second                    = sizeof(good) - 1;
    bad[1].second                    = sizeof(good) + 1;
    bad[2].second                    = 37;
    bad[3].first.grid.run            = 8191;
    bad[4].first.grid.loop[2].count  = 0;
    bad[5].first.grid.loop[0].count  = RI_GRID_RUNS_MAX + 1;
    bad[6].first.grid.loop[0].stride = INT64_MAX;
    bad[7].first.rtr.grant           = RI_RING_GRANTS;
    bad[8].first.grid.loop[0].stride = -65536; /* below address 0 */
    for (const auto &b : bad) {
        SCOPED_TRACE(&b - &bad[0]);
        put_rtr(good.rtr, m_conn->id);
        m_a->progress();
        EXPECT_EQ(0u, m_a->counters().rx_malformed);
        put_runs(b.first, b.second);
        m_a->progress();
        EXPECT_EQ(1u, m_a->counters().rx_malformed);
        EXPECT_EQ(0u, m_a->worker()->num_rings);
        pump();
        stop();
        start();
    }
    put_runs(good, sizeof(good));
    m_a->progress();
    EXPECT_EQ(0u, m_a->counters().rx_malformed);
}

} // namespace
