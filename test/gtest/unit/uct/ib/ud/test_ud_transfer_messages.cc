/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Control messages of ud transfers, one by one: what a receiver asks for and when, and what a
 * sender makes of what it hears.
 */
#include "ud_transfer_test.h"

namespace {

using namespace ud_sim;

/* A receiver whose pieces come one by one, with what it asks for. */
class test_ud_rx_asks : public test_ud_transfer {
protected:
    static const uint32_t DEPTH = 64;

    test_ud_rx_asks()
    {
        m_transfers.emplace_back(new transfer(m_sim, m_qp, m_random, 2 * DEPTH * PIECE,
                                              PIECE, DEPTH, false));
        t = m_transfers.back().get();
        t->start();
        m_sim.kill = [this](const sim::packet &p) {
            if ((p.qp == nullptr) && (p.message.type == RI_UD_NACK)) {
                m_asked.emplace_back();
                for (uint32_t i = 0; i < p.message.num_bits; ++i) {
                    if (p.message.bits[i / 8] & (1u << (i % 8))) {
                        m_asked.back().push_back(p.message.base + i);
                    }
                }
            }
            return m_deaf && (p.qp == nullptr);
        };
        m_sim.pump(*t);
        m_sent.swap(m_sim.packets);
    }

    /* Pieces of the window from @a first to before @a end come, but for some. */
    void arrive(uint32_t first, uint32_t end, std::set<uint32_t> lost = {})
    {
        for (uint32_t piece = first; piece < end; ++piece) {
            if (lost.count(piece) == 0) {
                m_sim.receive(std::next(m_sent.begin(), piece)->second);
            }
        }
    }

    /* @return The pieces that are asked for after @a time ns. */
    std::vector<uint32_t> after(uint64_t time)
    {
        m_asked.clear();
        m_sim.now += time;
        ri_ud_rx_time(&t->rx, m_sim.now);
        EXPECT_LE(m_asked.size(), 1u);
        return m_asked.empty() ? std::vector<uint32_t>() : m_asked[0];
    }

    typedef std::vector<uint32_t> list;

    transfer *t;
    std::multimap<uint64_t, sim::packet> m_sent;
    std::vector<list> m_asked;
    bool m_deaf = true; /* the sender hears nothing */
};

/* What was asked for may be on its way: it is not asked for with what is found later. */
TEST_F(test_ud_rx_asks, only_what_is_new)
{
    m_deaf = false;
    arrive(0, 20, {3, 7});
    EXPECT_EQ(list(), after(m_sim.times.quiet - 1));
    EXPECT_EQ(list({3, 7}), after(1));
    arrive(20, 40, {22});
    EXPECT_EQ(list({22}), after(m_sim.times.quiet));
    arrive(40, 50);
    EXPECT_EQ(list(), after(m_sim.times.quiet - 1)) << "asked for, all of it";
    EXPECT_EQ(list({3, 7, 22}), after(1)) << "without an answer";
    arrive(50, 60, {55});
    arrive(3, 4);
    EXPECT_EQ(list({55}), after(m_sim.times.quiet));
    m_sim.kill = nullptr;
    run(*t);
}

/* Nothing follows the end of a window. */
TEST_F(test_ud_rx_asks, end_of_window)
{
    arrive(0, DEPTH - 1, {0});
    EXPECT_EQ(list(), after(m_sim.times.quiet / 2));
    arrive(DEPTH - 1, DEPTH);
    EXPECT_EQ(list({0}), after(m_sim.times.quiet / 2));
    EXPECT_EQ(list(), after(m_sim.times.quiet / 4));
    EXPECT_EQ(list({0}), after(m_sim.times.quiet));
    m_sim.kill = nullptr;
    run(*t);
}

/* Pieces that come late after all are not asked for. */
TEST_F(test_ud_rx_asks, late_and_not_lost)
{
    arrive(0, 20, {3, 7});
    arrive(7, 8);
    arrive(3, 4);
    EXPECT_EQ(list(), after(2 * m_sim.times.quiet));
    arrive(20, 40, {25, 26});
    EXPECT_EQ(list({25, 26}), after(m_sim.times.quiet));
    arrive(26, 27);
    arrive(40, 42, {40});
    EXPECT_EQ(list({40}), after(m_sim.times.quiet));
    EXPECT_EQ(0u, t->rx.unasked);
    m_sim.kill = nullptr;
    run(*t);
}

/* What was asked for tells how long an answer takes, what is only late does not. */
TEST_F(test_ud_rx_asks, learns_from_answers_only)
{
    const uint64_t quiet = m_sim.times.quiet;
    ri_ud_message_t m    = {};

    arrive(0, 20, {3, 7});
    EXPECT_EQ(list({3, 7}), after(quiet));
    arrive(20, 22, {20});
    arrive(20, 21);
    EXPECT_EQ(list(), after(quiet / 2));
    EXPECT_EQ(quiet, t->rx.quiet) << "20 was late, and not asked for";
    m_sim.now += 3 * quiet;
    arrive(3, 4);
    EXPECT_EQ(3 * quiet + quiet / 2, t->rx.quiet);
    EXPECT_EQ(list(), after(3 * quiet));
    EXPECT_EQ(list({7}), after(quiet / 2));

    /* The answer is the last one that was sent. */
    arrive(7, 8);
    EXPECT_EQ(list(), after(quiet));
    EXPECT_EQ(0u, t->rx.asked);
    m.type   = RI_UD_PROBE;
    m.pieces = 23;
    ri_ud_rx_probe(&t->rx, &m, m_sim.now);
    EXPECT_NE(0u, t->rx.asked);
    arrive(22, 23);
    EXPECT_EQ(list(), after(quiet));
    EXPECT_EQ(0u, t->rx.asked);
    ri_ud_rx_restart(&t->rx);
    EXPECT_EQ(0u, t->rx.asked);
    m_sim.kill = nullptr;
    run(*t);
}

/* Pieces were asked for and are on their way: that most of those that followed are missing, too, is
 * no reason to forget all. */
TEST_F(test_ud_rx_asks, most_of_what_follows_is_missing)
{
    std::set<uint32_t> most, then;

    for (uint32_t piece = 0; piece < 60; ++piece) {
        if ((piece < 39) && (piece >= 11)) {
            most.insert(piece);
        } else if (piece >= 40) {
            then.insert(piece);
        }
    }
    most.insert(0);
    arrive(0, 40, most);
    EXPECT_EQ(29u, after(m_sim.times.quiet).size());
    arrive(40, 61, then);
    EXPECT_EQ(20u, after(m_sim.times.quiet).size());
    EXPECT_EQ(0u, m_sim.counters.ud_restarts);
    m_sim.kill = nullptr;
    run(*t);
}

/* The sender says that all were sent: what was not asked for is, at once. */
TEST_F(test_ud_rx_asks, probe)
{
    ri_ud_message_t m = {};

    arrive(0, 20, {3});
    EXPECT_EQ(list({3}), after(m_sim.times.quiet));
    m.type   = RI_UD_PROBE;
    m.pieces = 22;
    m_asked.clear();
    ri_ud_rx_probe(&t->rx, &m, m_sim.now);
    ASSERT_EQ(1u, m_asked.size());
    EXPECT_EQ(list({20, 21}), m_asked[0]);
    ri_ud_rx_probe(&t->rx, &m, m_sim.now);
    EXPECT_EQ(1u, m_asked.size()) << "asked for, all of it";
    m_sim.kill = nullptr;
    run(*t);
}

/* A receiver's message: past, repeated, future, malformed. */
class test_ud_tx_message : public test_ud_transfer {
protected:
    test_ud_tx_message() : t(make(40))
    {
        uint32_t pieces[32];

        EXPECT_EQ(8u, ri_ud_tx_take(&t.tx, pieces, 32));
    }

    int give(ri_ud_message_t m) { return ri_ud_tx_message(&t.tx, &m); }

    static ri_ud_message_t message(ri_ud_type_t type, uint32_t pieces)
    {
        ri_ud_message_t m = {};

        m.type   = type;
        m.pieces = pieces;
        return m;
    }

    static ri_ud_message_t nack(uint32_t round, uint32_t base, uint8_t bits)
    {
        ri_ud_message_t m = message(RI_UD_NACK, 8);

        m.round    = round;
        m.base     = base;
        m.num_bits = 8 - base;
        m.bits[0]  = bits;
        return m;
    }

    transfer &t;
};

TEST_F(test_ud_tx_message, grant)
{
    EXPECT_TRUE(give(message(RI_UD_GRANT, 16)));
    EXPECT_EQ(16u, t.tx.granted);
    EXPECT_TRUE(give(message(RI_UD_GRANT, 12)));
    EXPECT_EQ(16u, t.tx.granted);
    EXPECT_FALSE(give(message(RI_UD_GRANT, 41)));
    EXPECT_EQ(16u, t.tx.granted);
}

TEST_F(test_ud_tx_message, nack)
{
    uint32_t pieces[8];

    EXPECT_TRUE(give(nack(2, 1, 0x05)));
    EXPECT_EQ(2u, ri_ud_tx_take(&t.tx, pieces, 8));
    EXPECT_EQ(1u, pieces[0]);
    EXPECT_EQ(3u, pieces[1]);
    EXPECT_TRUE(give(nack(2, 1, 0x05)));
    EXPECT_TRUE(give(nack(1, 1, 0x7f)));
    EXPECT_EQ(0u, ri_ud_tx_take(&t.tx, pieces, 8));
    EXPECT_TRUE(give(nack(9, 7, 0x01)));
    EXPECT_EQ(1u, ri_ud_tx_take(&t.tx, pieces, 8));
    EXPECT_EQ(7u, pieces[0]);
}

/* What was asked for before and has not been sent yet is not forgotten, but for what has
 * arrived since. */
TEST_F(test_ud_tx_message, nacks_add_up)
{
    uint32_t pieces[8];

    EXPECT_TRUE(give(nack(1, 0, 0x06)));
    EXPECT_TRUE(give(nack(2, 0, 0x22)));
    EXPECT_EQ(1u, ri_ud_tx_take(&t.tx, pieces, 1));
    EXPECT_EQ(1u, pieces[0]);
    EXPECT_TRUE(give(nack(3, 0, 0x01)));
    EXPECT_EQ(3u, ri_ud_tx_take(&t.tx, pieces, 8));
    EXPECT_EQ(0u, pieces[0]);
    EXPECT_EQ(2u, pieces[1]);
    EXPECT_EQ(5u, pieces[2]);

    EXPECT_TRUE(give(nack(4, 0, 0x86)));
    EXPECT_TRUE(give(nack(5, 2, 0x10)));
    EXPECT_EQ(3u, ri_ud_tx_take(&t.tx, pieces, 8));
    EXPECT_EQ(2u, pieces[0]);
    EXPECT_EQ(6u, pieces[1]);
    EXPECT_EQ(7u, pieces[2]);
    EXPECT_EQ(t.tx.resend_next, t.tx.resend_end);
}

/* Windows of a long message far apart: nothing is left of the ones before. */
TEST_F(test_ud_tx_message, nacks_of_other_windows)
{
    const uint32_t far = 8 + 1000 * RI_UD_WINDOW_MAX;
    ri_ud_message_t m  = nack(2, far, 0x81);
    uint32_t pieces[8];

    t.tx.count = t.tx.granted = t.tx.next = RI_UD_PIECES_MAX;
    EXPECT_TRUE(give(nack(1, 0, 0xff)));
    m.num_bits                       = RI_UD_WINDOW_MAX;
    m.bits[RI_UD_WINDOW_MAX / 8 - 1] = 0x80;
    EXPECT_TRUE(give(m));
    EXPECT_EQ(3u, ri_ud_tx_take(&t.tx, pieces, 8));
    EXPECT_EQ(far, pieces[0]);
    EXPECT_EQ(far + 7, pieces[1]);
    EXPECT_EQ(far + RI_UD_WINDOW_MAX - 1, pieces[2]);

    /* Back again, as no receiver does */
    m.round = 3;
    EXPECT_TRUE(give(m));
    EXPECT_TRUE(give(nack(4, 0, 0x02)));
    EXPECT_EQ(1u, ri_ud_tx_take(&t.tx, pieces, 8));
    EXPECT_EQ(1u, pieces[0]);
    EXPECT_EQ(t.tx.resend_next, t.tx.resend_end);
}

TEST_F(test_ud_tx_message, nack_of_what_was_not_sent)
{
    ri_ud_message_t m = nack(2, 1, 0xff);

    m.num_bits = 8;
    EXPECT_FALSE(give(m));
    m.base     = 9;
    m.num_bits = 0;
    EXPECT_FALSE(give(m));
    m.base     = 0;
    m.num_bits = RI_UD_WINDOW_MAX + 1;
    EXPECT_FALSE(give(m));
    EXPECT_FALSE(ri_ud_tx_is_ready(&t.tx));
}

TEST_F(test_ud_tx_message, restart)
{
    ri_ud_message_t m = message(RI_UD_RESTART, 12);

    m.base     = 4;
    m.epoch    = 1;
    m.sequence = 777;
    EXPECT_TRUE(give(m));
    EXPECT_EQ(4u, t.tx.next);
    EXPECT_EQ(777u, t.tx.sequence);
    m.sequence = 778;
    EXPECT_TRUE(give(m));
    EXPECT_EQ(777u, t.tx.sequence);
    EXPECT_TRUE(give(nack(5, 1, 0xff))) << "of the epoch before";
    EXPECT_EQ(t.tx.resend_next, t.tx.resend_end);
    m.epoch = 2;
    m.base  = 13;
    EXPECT_FALSE(give(m));
    m.base  = 0;
    m.epoch = 1000;
    EXPECT_FALSE(give(m));
}

/* What was asked for before is not sent again with what is sent anew. */
TEST_F(test_ud_tx_message, restart_while_pieces_are_wanted)
{
    ri_ud_message_t m = message(RI_UD_RESTART, 12);
    uint32_t pieces[32];

    EXPECT_TRUE(give(nack(1, 0, 0xea)));
    m.base  = 4;
    m.epoch = 1;
    EXPECT_TRUE(give(m));
    EXPECT_EQ(t.tx.resend_next, t.tx.resend_end);
    ASSERT_EQ(8u, ri_ud_tx_take(&t.tx, pieces, 32));
    for (uint32_t i = 0; i < 8; ++i) {
        EXPECT_EQ(4 + i, pieces[i]);
    }
    m = nack(1, 4, 0x02); /* the rounds begin anew, too: nothing is left of the bits */
    m.epoch = 1;
    EXPECT_TRUE(give(m));
    m.round = 2;
    m.base  = 6;
    EXPECT_TRUE(give(m));
    EXPECT_LE(ri_ud_tx_take(&t.tx, pieces, 32), 2u);
}

TEST_F(test_ud_tx_message, ends)
{
    EXPECT_TRUE(give(message(RI_UD_ACK, 0)));
    EXPECT_EQ(UCS_OK, t.tx.status);
    EXPECT_TRUE(give(message(RI_UD_CANCEL, 0)));
    EXPECT_TRUE(give(nack(5, 1, 0xff)));
    EXPECT_EQ(UCS_OK, t.tx.status);
    EXPECT_FALSE(ri_ud_tx_is_ready(&t.tx));
}

TEST_F(test_ud_tx_message, unknown)
{
    EXPECT_FALSE(give(message((ri_ud_type_t)0, 0)));
    EXPECT_FALSE(give(message(RI_UD_PROBE, 0)));
    EXPECT_FALSE(give(message(RI_UD_TYPE_LAST, 0)));
    EXPECT_EQ(UCS_INPROGRESS, t.tx.status);
}

} // namespace
