/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/uct/shm/ring.[hc]: records of one line or several, and what a hostile peer writes.
 */

#include "ring_test.h"

namespace {

class test_ring : public ring_test {};

TEST_F(test_ring, stamp_is_never_zero_and_differs)
{
    for (uint32_t pos : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
        EXPECT_NE(0u, ri_ring_stamp(pos));
        EXPECT_NE(ri_ring_stamp(pos), ri_ring_stamp(pos + 64));
    }
}

TEST_F(test_ring, lines_of_a_record)
{
    EXPECT_EQ(1u, ri_ring_lines(0));
    EXPECT_EQ(1u, ri_ring_lines(40));
    EXPECT_EQ(2u, ri_ring_lines(41));
    EXPECT_EQ(2u, ri_ring_lines(64));
    EXPECT_EQ(3u, ri_ring_lines(65));
    EXPECT_EQ(1025u, ri_ring_lines(UINT16_MAX));
}

TEST_F(test_ring, payload_is_in_its_lines)
{
    ri_ring_record_t record[3] = {};

    EXPECT_EQ(record[0].payload, ri_ring_payload(record, 0));
    EXPECT_EQ(record[0].payload, ri_ring_payload(record, RI_RING_INLINE));
    EXPECT_EQ((void *)&record[1], ri_ring_payload(record, RI_RING_INLINE + 1));
}

TEST_F(test_ring, reserve_fills_all_but_one_line)
{
    open_both(4096);
    unsigned sent = 0;

    while (send({1, sent, 3, 4, {}})) {
        ++sent;
    }
    EXPECT_EQ(lines() - 1, sent);

    /* The receiver tells of what it read every quarter of a lap */
    for (unsigned i = 0; i < lines() / 4 - 1; ++i) {
        ASSERT_TRUE(receive());
        ASSERT_FALSE(send({1, 2, 3, 4, {}}));
    }
    ASSERT_TRUE(receive());
    for (unsigned i = 0; i < lines() / 4; ++i) {
        ASSERT_TRUE(send({1, sent++, 3, 4, {}})) << i;
    }
    ASSERT_FALSE(send({1, 2, 3, 4, {}}));
    while (!m_model.empty()) {
        ASSERT_TRUE(receive());
    }
}

TEST_F(test_ring, reserve_is_repeatable)
{
    open_both(4096);
    for (int i = 0; i < 60; ++i) {
        send({1, 2, 3, 4, {}});
        receive();
    }
    /* Does not fit the rest of the lap: padding is written once */
    uint32_t pos            = m_tx.pos;
    ri_ring_record_t *first = ri_ring_tx_reserve(&m_tx, 1000);
    ASSERT_NE(nullptr, first);
    EXPECT_EQ(m_tx.lines, first);
    EXPECT_EQ(lines(), m_tx.pos);
    EXPECT_LT(pos, m_tx.pos);
    EXPECT_EQ(first, ri_ring_tx_reserve(&m_tx, 1000));
    EXPECT_EQ(lines(), m_tx.pos);
    EXPECT_TRUE(send({1, 2, 3, 4, std::vector<uint8_t>(1000, 5)}));
    EXPECT_TRUE(receive());
}

TEST_F(test_ring, each_length_at_each_place)
{
    open_both(4096);
    for (uint32_t start = 0; start < lines(); ++start) {
        for (uint32_t length :
             {0u, 1u, 40u, 41u, 64u, 65u, m_tx.max_payload - 1, m_tx.max_payload}) {
            start_at(0);
            memset((void *)m_tx.lines, 0, lines() * RI_RING_LINE);
            for (uint32_t i = 0; i < start; ++i) {
                ASSERT_TRUE(send({1, i, 3, 4, {}}));
                ASSERT_TRUE(receive());
            }
            record r = {9, length, start, 7, std::vector<uint8_t>(length, start)};
            for (int i = 0; i < 2; ++i) {
                ASSERT_TRUE(send(r)) << start << " " << length;
                ASSERT_TRUE(receive());
            }
            ASSERT_FALSE(receive());
        }
    }
}

TEST_F(test_ring, stale_payload_is_no_record)
{
    open_both(4096);

    /* Payload like the stamps that come next, then single lines over them */
    for (uint32_t laps = 0; laps < 4; ++laps) {
        for (uint32_t length = 41; length <= m_tx.max_payload; length += 61) {
            record r = {1, length, 3, 4, std::vector<uint8_t>(length)};
            uint32_t stop;

            disguise(r, laps);
            ASSERT_TRUE(send(r));
            ASSERT_TRUE(receive());
            ASSERT_FALSE(receive());
            for (stop = m_tx.pos + laps * lines() + 3; m_tx.pos < stop;) {
                ASSERT_TRUE(send({1, m_tx.pos, 3, 4, {}}));
                ASSERT_TRUE(receive());
                ASSERT_FALSE(receive());
            }
        }
    }
}

/* Lines that padding skips keep an old header, whose stamp comes again after 2^31 lines. */
TEST_F(test_ring, stale_header_behind_padding_is_no_record)
{
    open_both(4096);
    for (uint32_t gap = 2; gap < 20; ++gap) {
        SCOPED_TRACE(gap);
        start_at(0);
        for (uint32_t i = 0; i < lines(); ++i) { /* a header in each line */
            ASSERT_TRUE(send({1, i, 3, 4, {}}));
            ASSERT_TRUE(receive());
        }
        for (uint32_t i = 0; i + gap < lines(); ++i) {
            ASSERT_TRUE(send({1, i, 3, 4, {}}));
            ASSERT_TRUE(receive());
        }
        record wide = {1, 2, 3, 4, std::vector<uint8_t>(gap * RI_RING_LINE)};
        ASSERT_EQ(gap + 1, ri_ring_lines(wide.payload.size()));
        ASSERT_TRUE(send(wide)); /* at the start of the next lap */
        ASSERT_TRUE(receive());
        start_at(1u << 31);
        for (uint32_t i = 0; i < lines(); ++i) {
            ASSERT_TRUE(send({1, i, 3, 4, {}}));
            ASSERT_TRUE(receive());
            ASSERT_EQ(nullptr, ri_ring_rx_peek(&m_rx)) << "line " << i + 1;
        }
        m_tx.pos = m_rx.pos = 0;
        close_both();
        open_both(4096);
    }
}

TEST_F(test_ring, random)
{
    for_seeds(1000, [this](rng &random) {
        open_both(4096ul << random.below(3));
        run_random(random, 1000, random.percent(50) ? m_tx.max_payload : 300, false);
        close_both();
    });
}

TEST_F(test_ring, random_stale_payload)
{
    for_seeds(1000, [this](rng &random) {
        open_both(4096ul << random.below(3));
        run_random(random, 1000, m_tx.max_payload, true);
        close_both();
    });
}

/* Positions wrap at 2^32, stamps at 2^31. */
TEST_F(test_ring, random_over_the_wrap)
{
    for_seeds(200, [this](rng &random) {
        open_both(4096ul << random.below(2));
        uint32_t wrap = random.percent(50) ? 0x80000000u : 0u;
        start_at(wrap - lines() * random.range(1, 5));
        uint32_t start = m_tx.pos;
        run_random(random, 1000, m_tx.max_payload, true);
        EXPECT_GT(m_tx.pos - start, wrap - start) << "did not get there";
        close_both();
    });
}

/* Whatever the peer writes into its index, the sender's own bounds hold and it ends. */
TEST_F(test_ring, hostile_consumed)
{
    for_seeds(200, [this](rng &random) {
        open_both(4096);
        start_at(random.percent(50) ? 0 : lines() * (uint32_t)random.next());
        for (unsigned i = 0; i < 500; ++i) {
            uint32_t consumed = random.percent(50) ?
                                        (uint32_t)random.next() :
                                        m_tx.pos - lines() + random.below(3 * lines());

            atomic_store_explicit(&m_tx.control->consumed, consumed,
                                  memory_order_release);
            uint32_t length          = random.range(0, m_tx.max_payload);
            ri_ring_record_t *record = ri_ring_tx_reserve(&m_tx, length);
            if (record != nullptr) {
                ASSERT_GE(record, m_tx.lines);
                ASSERT_LE(record + ri_ring_lines(length), m_tx.lines + lines());
                ri_ring_tx_commit(&m_tx, record, length);
            }
            ASSERT_LE(m_tx.limit - m_tx.pos, lines());
        }
        close_both();
    });
}

TEST_F(test_ring, hostile_record_length)
{
    open_both(4096);
    for (uint32_t slot = 0; slot < lines(); ++slot) {
        uint32_t left = lines() - slot;

        m_rx.pos = lines() * 5 + slot;
        for (uint32_t length = 0; length <= UINT16_MAX; ++length) {
            uint32_t need = ri_ring_lines(length);

            ASSERT_EQ((need <= left) ? need : 0, ri_ring_rx_lines(&m_rx, 1, length));
            ASSERT_EQ(left, ri_ring_rx_lines(&m_rx, RI_RING_PAD, length));
        }
    }
}

/* The length of a record has 16 bits, so a large ring must not promise more. */
TEST_F(test_ring, max_payload_fits_the_length)
{
    open_both(1 << 20);
    EXPECT_LE(m_tx.max_payload, (uint32_t)UINT16_MAX);
    uint32_t length = m_tx.max_payload;
    ASSERT_TRUE(send({1, 2, 3, 4, std::vector<uint8_t>(length, 5)}));
    EXPECT_TRUE(receive());
}

} // namespace
