/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The state machines of ud transfers over a network made by the test (ud_sim.h).
 */
#include "ud_transfer_test.h"

namespace {

using namespace ud_sim;

TEST_F(test_ud_transfer, no_faults)
{
    for (uint32_t pieces : {1, 2, 7, 8, 9, 64, 1000}) {
        for (size_t tail : {0, 1, 15}) {
            m_sim.counters = {};
            run(make(pieces, tail));
            EXPECT_EQ(pieces, m_sim.counters.ud_sent);
            EXPECT_EQ(pieces, m_sim.counters.ud_received);
            EXPECT_EQ(0u, m_sim.counters.ud_resent + m_sim.counters.ud_moved +
                                  m_sim.counters.ud_stale + m_sim.counters.ud_nacks +
                                  m_sim.counters.ud_probes);
        }
    }
}

TEST_F(test_ud_transfer, indirect)
{
    run(make(20, 3, true));
}

TEST_F(test_ud_transfer, counts)
{
    EXPECT_EQ(0u, ri_ud_transfer_count_pieces(0, 16));
    EXPECT_EQ(1u, ri_ud_transfer_count_pieces(1, 16));
    EXPECT_EQ(1u, ri_ud_transfer_count_pieces(16, 16));
    EXPECT_EQ(2u, ri_ud_transfer_count_pieces(17, 16));
    EXPECT_EQ(0u, ri_ud_transfer_count_pieces(UINT64_MAX, 4096));
    EXPECT_EQ(1u, ri_ud_transfer_piece_length(17, 16, 1));
}

/* Only what was lost is sent again, and each piece is moved once at most. */
TEST_F(test_ud_transfer, one_lost)
{
    for (unsigned which = 0; which < 7; ++which) {
        m_sim.counters = {};
        lose({which});
        run(make(8));
        EXPECT_EQ(1u, m_sim.counters.ud_resent);
        EXPECT_EQ(1u, m_sim.counters.ud_nacks);
        EXPECT_EQ(8u - which, m_sim.counters.ud_moved);
        EXPECT_EQ(0u, m_sim.counters.ud_stale + m_sim.counters.ud_duplicates +
                              m_sim.counters.ud_probes);
    }
}

TEST_F(test_ud_transfer, last_lost)
{
    lose({7});
    run(make(8));
    EXPECT_EQ(1u, m_sim.counters.ud_resent);
    EXPECT_EQ(0u, m_sim.counters.ud_moved);
    EXPECT_EQ(1u, m_sim.counters.ud_probes);
}

TEST_F(test_ud_transfer, all_lost)
{
    lose({0, 1, 2, 3, 4, 5, 6, 7});
    run(make(8));
    EXPECT_EQ(8u, m_sim.counters.ud_resent);
    EXPECT_EQ(0u, m_sim.counters.ud_moved);
}

TEST_F(test_ud_transfer, resent_is_lost_too)
{
    lose({2, 5, 8});
    run(make(8));
    EXPECT_EQ(3u, m_sim.counters.ud_resent);
    EXPECT_EQ(2u, m_sim.counters.ud_nacks);
}

/* Neighbours that change places do not stop the window. */
TEST_F(test_ud_transfer, swapped)
{
    transfer &t = make(12);

    m_sim.pump(t);
    ASSERT_EQ(8u, m_sim.packets.size());
    auto second = std::next(m_sim.packets.begin(), 2), third = std::next(second);
    std::swap(second->second, third->second);
    run(t);
    EXPECT_EQ(2u, m_sim.counters.ud_moved);
    EXPECT_EQ(0u, m_sim.counters.ud_nacks);
}

TEST_F(test_ud_transfer, lost_control)
{
    for (ri_ud_type_t type : {RI_UD_GRANT, RI_UD_NACK, RI_UD_ACK, RI_UD_PROBE}) {
        for (unsigned count : {1, 5}) {
            lose_control(type, count);
            auto kill_control = m_sim.kill;
            unsigned data     = 0;
            m_sim.kill        = [&](const sim::packet &p) {
                return kill_control(p) || ((p.qp != nullptr) && (data++ == 3));
            };
            run(make(20));
            EXPECT_GE(m_seen, (type == RI_UD_PROBE) ? 0u : count);
        }
    }
}

/* What comes for a transfer when the next one has taken its queue pair uses up a receive of
 * that, and does no harm. */
TEST_F(test_ud_transfer, stale)
{
    transfer &first = make(8);

    std::vector<sim::packet> late;

    m_sim.kill = [&late](const sim::packet &p) {
        if (p.qp != nullptr) {
            late.push_back(p);
        }
        return false;
    };
    m_sim.run(first);
    m_sim.kill     = nullptr;
    transfer &next = make(100);
    for (size_t i = 0; i < late.size(); ++i) {
        m_sim.packets.emplace(m_sim.now + m_sim.latency + i * 15, late[i]);
    }
    run(next);
    EXPECT_EQ(8u, m_sim.counters.ud_stale);
    first.check_received();
}

/* A repeated datagram uses up a receive, too. */
TEST_F(test_ud_transfer, repeated)
{
    m_sim.f.repeat = 1000;
    run(make(100));
    EXPECT_GT(m_sim.counters.ud_duplicates, 0u);
}

TEST_F(test_ud_transfer, not_of_the_peer)
{
    transfer &t = make(8);

    for (uint32_t landing = 0; landing < 8; ++landing) {
        m_qp.posted.pop_front();
        ri_ud_rx_arrive(&t.rx, landing, 0, t.rx.sequence + landing, PIECE);
        EXPECT_EQ(8u, m_qp.posted.size());
    }
    EXPECT_EQ(8u, m_sim.counters.ud_stale);
    EXPECT_FALSE(t.rx.has_begun);
    run(t);
}

TEST_F(test_ud_transfer, of_another_length)
{
    transfer &t = make(8, 5);

    for (uint32_t length : {0ul, PIECE - 1, PIECE + 1}) {
        m_qp.posted.pop_front();
        ri_ud_rx_arrive(&t.rx, m_sim.counters.ud_stale, 1, t.rx.sequence, length);
    }
    EXPECT_EQ(3u, m_sim.counters.ud_stale);
    run(t);
}

/* It is beyond what was granted: the sender could only have made it up. */
TEST_F(test_ud_transfer, beyond_the_grant)
{
    transfer &t = make(20);

    m_qp.posted.pop_front();
    ri_ud_rx_arrive(&t.rx, 0, 1, t.rx.sequence + 8, PIECE);
    EXPECT_EQ(1u, m_sim.counters.ud_stale);
    run(t);
}

TEST_F(test_ud_transfer, restart)
{
    transfer &t = make(20);

    m_sim.pump(t);
    while (t.rx.base < 5) {
        m_sim.receive(m_sim.packets.begin()->second);
        m_sim.packets.erase(m_sim.packets.begin());
    }
    ri_ud_rx_restart(&t.rx);
    EXPECT_EQ(1u, t.rx.epoch);
    EXPECT_EQ(t.rx.granted - t.rx.base, m_qp.posted.size());
    run(t);
    EXPECT_EQ(1u, m_sim.counters.ud_restarts);
    EXPECT_EQ(1u, t.tx.epoch);
}

/* A piece of the time before, whose number was given out then, is none of now. */
TEST_F(test_ud_transfer, restart_and_a_piece_of_before)
{
    transfer &t = make(20);

    for (unsigned times = 1; times <= 3; ++times) {
        uint32_t before = t.rx.sequence;

        ri_ud_rx_restart(&t.rx);
        uint64_t stale = m_sim.counters.ud_stale;
        for (uint32_t piece = 0; piece < 20; ++piece) {
            auto posted = m_qp.posted.front();

            m_qp.posted.pop_front();
            ri_ud_rx_arrive(&t.rx, posted.landing, 1, before + piece, PIECE);
        }
        EXPECT_EQ(stale + 20, m_sim.counters.ud_stale) << "time " << times;
        EXPECT_EQ(0u, t.rx.filled);
    }
    run(t);
}

TEST_F(test_ud_transfer, restart_is_lost)
{
    transfer &t = make(20);

    lose_control(RI_UD_RESTART, 3);
    ri_ud_rx_restart(&t.rx);
    run(t);
    EXPECT_EQ(4u, m_seen);
}

/* When nothing gets through any more the transfer fails, at both sides. */
TEST_F(test_ud_transfer, restarts_end)
{
    transfer &t = make(20);

    m_sim.kill = [](const sim::packet &p) {
        return (p.qp != nullptr) && ((p.sequence % 20) == 0);
    };
    m_sim.run(t);
    EXPECT_EQ(RI_UD_RX_FAILED, t.rx.state);
    EXPECT_EQ(UCS_ERR_CANCELED, t.tx.status);
    EXPECT_EQ((uint64_t)RI_UD_RESTARTS_MAX, m_sim.counters.ud_restarts);
    EXPECT_TRUE(m_qp.posted.empty());
}

/* A sender that does nothing for long is asked now and then, and that is all. */
TEST_F(test_ud_transfer, sender_is_away)
{
    transfer &t = make(20);

    lose({3});
    m_sim.pump(t);
    m_sim.drain();
    m_sim.kill = [](const sim::packet &) { return true; };
    for (int i = 0; i < 10000; ++i) {
        m_sim.now += 10000;
        ri_ud_rx_time(&t.rx, m_sim.now);
    }
    EXPECT_GT(m_sim.counters.ud_nacks, (uint64_t)RI_UD_ROUNDS_MAX);
    EXPECT_LT(m_sim.counters.ud_nacks, 200u);
    EXPECT_EQ(0u, m_sim.counters.ud_restarts);
    m_sim.kill = nullptr;
    run(t);
}

/* Restarts far apart do not add up. */
TEST_F(test_ud_transfer, restarts_with_progress)
{
    transfer &t  = make(1000);
    uint32_t per = 0;

    while (!t.ended()) {
        m_sim.pump(t);
        if (m_sim.packets.empty()) {
            m_sim.now += 5000;
            ri_ud_tx_time(&t.tx, m_sim.now);
        } else {
            m_sim.receive(m_sim.packets.begin()->second);
            m_sim.packets.erase(m_sim.packets.begin());
        }
        if (t.rx.base >= per + 50) {
            per = t.rx.base;
            ri_ud_rx_restart(&t.rx);
        }
        ri_ud_rx_time(&t.rx, m_sim.now);
    }
    EXPECT_EQ(UCS_OK, t.tx.status);
    EXPECT_EQ(RI_UD_RX_DONE, t.rx.state);
    EXPECT_GT(m_sim.counters.ud_restarts, (uint64_t)RI_UD_RESTARTS_MAX);
}

TEST_F(test_ud_transfer, most_is_lost)
{
    m_transfers.emplace_back(
            new transfer(m_sim, m_qp, m_random, 64 * PIECE, PIECE, 64, false));
    transfer &t = *m_transfers.back();

    t.start();
    m_sim.kill = [this](const sim::packet &p) {
        return (p.qp != nullptr) && (m_seen < 64) && ((m_seen++ % 8) != 7);
    };
    run(t);
    EXPECT_EQ(1u, m_sim.counters.ud_restarts);
}

/* All of it comes again, also what was complete, until nothing gets lost. */
TEST_F(test_ud_transfer, whole_message)
{
    for (unsigned which : {2, 7, 12, 19}) {
        m_sim.counters = {};
        lose({which, which + 20});
        transfer &t   = make(20);
        t.rx.is_whole = 1;
        run(t);
        EXPECT_EQ(0u, m_sim.counters.ud_resent + m_sim.counters.ud_nacks);
        EXPECT_GE(m_sim.counters.ud_restarts, 1u);
        EXPECT_GE(m_sim.counters.ud_sent, 40u - 8);
        EXPECT_GT(m_sim.counters.ud_received, 20u);
    }
}

TEST_F(test_ud_transfer, nobody_answers)
{
    transfer &t = make(8);

    m_sim.times.give_up = 50000000;
    m_sim.kill          = [](const sim::packet &) { return true; };
    while (t.tx.status == UCS_INPROGRESS) {
        m_sim.pump(t);
        m_sim.now += 1000;
        ri_ud_tx_time(&t.tx, m_sim.now);
        ASSERT_LT(m_sim.now, 100000000u);
    }
    EXPECT_EQ(UCS_ERR_UNREACHABLE, t.tx.status);
    EXPECT_GT(m_sim.counters.ud_probes, 4u);
    EXPECT_LT(m_sim.counters.ud_probes, 30u) << "waits do not get longer";
    EXPECT_EQ(0u, ri_ud_tx_take(&t.tx, nullptr, 1));
}

/* Nothing has ever come from that receiver: perhaps nothing can. */
TEST_F(test_ud_transfer, never_answered)
{
    for (int known : {0, 1}) {
        m_qp.posted.clear();
        transfer &t = make(8);

        m_sim.times.give_up = 500000000;
        m_sim.times.first   = 50000000;
        t.tx.is_known       = known;
        m_sim.kill          = [](const sim::packet &) { return true; };
        m_sim.pump(t);
        ri_ud_tx_time(&t.tx, m_sim.now);
        for (uint64_t end = m_sim.now + 60000000; m_sim.now < end; m_sim.now += 1000000) {
            ri_ud_tx_time(&t.tx, m_sim.now);
        }
        EXPECT_EQ(known ? UCS_INPROGRESS : UCS_ERR_UNREACHABLE, t.tx.status);
    }
}

/* A sender that was stopped for longer than it would wait asks, and does not give up. */
TEST_F(test_ud_transfer, sender_was_stopped)
{
    transfer &t = make(8);

    m_sim.times.give_up = 50000000;
    lose_control(RI_UD_ACK, 1);
    m_sim.pump(t);
    ri_ud_tx_time(&t.tx, m_sim.now);
    m_sim.now += 1000000000;
    ri_ud_tx_time(&t.tx, m_sim.now);
    EXPECT_EQ(1u, m_sim.counters.ud_probes);
    run(t);
}

/* A probe: past, future, of more than was granted. */
TEST_F(test_ud_transfer, probes)
{
    transfer &t       = make(20);
    ri_ud_message_t m = {};

    m.type = RI_UD_PROBE;
    ri_ud_rx_probe(&t.rx, &m, m_sim.now);
    EXPECT_EQ(0u, t.rx.top);
    m.epoch = 1;
    ri_ud_rx_probe(&t.rx, &m, m_sim.now);
    m.epoch  = 0;
    m.pieces = UINT32_MAX;
    ri_ud_rx_probe(&t.rx, &m, m_sim.now);
    EXPECT_EQ(8u, t.rx.top);
    EXPECT_EQ(1u, m_sim.counters.ud_nacks);
    m.pieces = 3;
    ri_ud_rx_probe(&t.rx, &m, m_sim.now);
    EXPECT_EQ(8u, t.rx.top);
    EXPECT_EQ(1u, m_sim.counters.ud_nacks) << "answered already";
    m_sim.packets.clear();
    run(t);
}

/* Sequences of transfers on one queue pair; what is late disturbs those that follow. */
class test_ud_random : public test_ud_transfer {
protected:
    void transfers(const ud_faults &f, uint64_t seeds, unsigned count = 10,
                   bool is_whole = false)
    {
        for_seeds(seeds, [&](rng &random) {
            sim s(random);
            queue_pair qp;
            std::vector<std::unique_ptr<transfer>> all;
            const size_t piece = random.range(1, 24);

            qp.sequence = random.next(); /* wraps around in some */
            if (random.percent(20)) {
                qp.sequence = -(uint32_t)random.below(100);
            }
            s.f = f;
            for (unsigned i = 0; i < count; ++i) {
                size_t length  = random.range(1, random.percent(10) ? 20000 : 1500);
                length         = is_whole ? std::min(length, 60 * piece) : length;
                uint32_t depth = 1u << random.range(2, 8);

                all.emplace_back(new transfer(s, qp, random, length, piece, depth,
                                              random.percent(25)));
                all.back()->rx.is_whole = is_whole;
                all.back()->start();
                s.run(*all.back());
                ASSERT_EQ(UCS_OK, all.back()->tx.status);
                ASSERT_TRUE(qp.posted.empty());
            }
            s.drain();
            for (auto &t : all) {
                t->check_received();
            }
        });
    }
};

/* With each setting, and more seeds than processes have time for. */
class test_ud_random_faults : public test_ud_random,
                              public ::testing::WithParamInterface<ud_faults> {};

TEST_P(test_ud_random_faults, transfers)
{
    transfers(GetParam(), 20 * GetParam().seeds);
}

/* Transfers of which a loss costs the whole message. */
TEST_P(test_ud_random_faults, whole_messages)
{
    if (GetParam().drop > 50) {
        GTEST_SKIP() << "hardly any message gets through";
    }
    transfers(GetParam(), 5 * GetParam().seeds, 10, true);
}

INSTANTIATE_TEST_SUITE_P(ud, test_ud_random_faults,
                         ::testing::ValuesIn(ud_fault_settings()),
                         [](const auto &info) { return std::string(info.param.name); });

/* More of everything than a network has. */
TEST_F(test_ud_random, storm)
{
    ud_faults f = {};

    f.drop     = 100;
    f.repeat   = 100;
    f.reorder  = 500;
    f.window   = 300;
    f.delay    = 100;
    f.delay_us = 3000;
    transfers(f, 100);
}

} // namespace
