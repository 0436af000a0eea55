/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/uct/shm/ring.c: messages that take several records.
 */

#include "ring_test.h"

namespace {

class test_ring_parts : public ring_test {};

TEST_F(test_ring_parts, parts_each_length_at_each_place)
{
    open_both(8192);
    for (uint32_t length = RI_RING_PARTS_MIN; length <= m_tx.max_payload; ++length) {
        record r = parts_record(length, length);

        for (uint32_t slot = 0; slot < lines(); ++slot) {
            start_in(slot);
            for (int i = 0; i < 2; ++i) {
                ASSERT_TRUE(send(r)) << length << " at " << slot;
                ASSERT_TRUE(receive_parts()) << length << " at " << slot;
            }
            ASSERT_EQ(nullptr, ri_ring_rx_peek(&m_rx)) << length << " at " << slot;
        }
    }
}

/* A payload that a function tells is the same, in one record and in parts, near and far. */
TEST_F(test_ring_parts, filled)
{
    open_both(1 << 20);
    for (int far = 0; far < 2; ++far) {
        m_tx.distance.times = far ? RI_DISTANCE_FAR_TIMES : 0;
        for (uint32_t length : {RI_RING_INLINE + 1u, 1536u, 4095u, 4097u, 8193u, 16384u,
                                16385u, 16400u, 65535u, 65536u, 200001u}) {
            record r = parts_record(length, length);

            r.filled = true;
            r.type   = 1;
            ASSERT_EQ(far && (length >= RI_RING_STREAM_MIN),
                      ri_ring_tx_streams(&m_tx, length, 0));
            if (!ri_ring_tx_is_one(&m_tx, length)) {
                ASSERT_TRUE(send(r)) << length;
                ASSERT_TRUE(receive_parts()) << length;
            }
            r.parts = false;
            if (length <= m_tx.max_payload) {
                ASSERT_TRUE(send(r)) << length;
                ASSERT_TRUE(receive()) << length;
            }
            m_tx.distance.times = far ? RI_DISTANCE_FAR_TIMES : 0;
        }
    }
}

/* How long it takes to tell a payload says nothing of the ring. */
TEST_F(test_ring_parts, filled_is_not_judged)
{
    record r = parts_record(RI_QUICK_LENGTH, 1);

    open_both(1 << 20);
    ri_quick_rate = 1e9; /* nothing is as quick */
    for (int filled = 1; filled >= 0; --filled) {
        r.filled = filled;
        ASSERT_TRUE(send(r));
        ASSERT_TRUE(receive_parts());
        EXPECT_EQ(filled ? 0u : 1u, m_tx.quick.slow);
    }
    ri_quick_rate = 0;
}

/* Whole lines: half of a short payload, an eighth of a longer one, from 8 KB to 16 KB. */
TEST_F(test_ring_parts, part_lengths)
{
    const struct {
        uint32_t length, part;
    } EXAMPLES[] = {{1536, 768},    {1537, 832},   {4096, 2048},    {4097, 2112},
                    {8192, 4096},   {16384, 8192}, {16385, 8192},   {65536, 8192},
                    {66047, 8192},  {66048, 8256}, {131072, 16384}, {131073, 16384},
                    {262144, 16384}};

    for (const auto &e : EXAMPLES) {
        EXPECT_EQ(e.part, ri_ring_part_length(e.length)) << e.length;
    }
    for (uint32_t length = RI_RING_PARTS_MIN; length < 300000; length += 7) {
        uint32_t part = ri_ring_part_length(length);

        ASSERT_LT(part, length);
        ASSERT_EQ(0u, part % RI_RING_LINE) << length;
    }
}

/* More than two parts, also of a payload that no single record holds. */
TEST_F(test_ring_parts, parts_long)
{
    open_both(1 << 20);
    ASSERT_EQ((uint32_t)UINT16_MAX, m_tx.max_payload);
    for (uint32_t length :
         {4096u, 4097u, 6143u, 6144u, 8192u, 8193u, 20000u, 65535u, 65536u, 200001u}) {
        record r = parts_record(length, length);

        for (uint32_t slot : {0u, 1u, lines() - 1, lines() - ri_ring_lines(length),
                              lines() - ri_ring_lines(length) / 2}) {
            start_in(slot);
            ASSERT_TRUE(send(r)) << length << " at " << slot;
            ASSERT_EQ(ri_ring_part_length(length), peek_behind_padding()->length);
            ASSERT_TRUE(receive_parts()) << length << " at " << slot;
            ASSERT_FALSE(receive());
        }
    }
}

TEST_F(test_ring_parts, parts_stale_payload_is_no_record)
{
    open_both(8192);
    for (uint32_t laps = 0; laps < 4; ++laps) {
        for (uint32_t length = RI_RING_PARTS_MIN; length <= m_tx.max_payload;
             length += 61) {
            record r = parts_record(length, length);

            disguise(r, laps);
            ASSERT_TRUE(send(r));
            ASSERT_TRUE(receive_parts());
            ASSERT_FALSE(receive());
            for (uint32_t stop = m_tx.pos + laps * lines() + 3; m_tx.pos < stop;) {
                ASSERT_TRUE(send({1, m_tx.pos, 3, 4, {}}));
                ASSERT_TRUE(receive());
                ASSERT_FALSE(receive());
            }
        }
    }
}

/* All parts or none: a message that was begun is never left for later. */
TEST_F(test_ring_parts, parts_refused_as_a_whole)
{
    open_both(8192);
    for (uint32_t length : {1536u, 1537u, 1600u, 2047u, 2048u}) {
        for (uint32_t slot = 0; slot < lines(); ++slot) {
            start_in(slot);
            for (uint32_t i = 0; send({1, i, 3, 4, {}}); ++i) {}

            /* Make room line by line */
            for (bool sent = false; !sent;) {
                ASSERT_FALSE(m_model.empty());
                ASSERT_TRUE(receive());
                m_rx.published         = m_rx.pos;
                m_tx.control->consumed = m_rx.pos;

                uint32_t pos = m_tx.pos;
                sent         = send(parts_record(length, slot));
                if (!sent) {
                    ASSERT_EQ(pos, m_tx.pos);
                }
                ASSERT_LT((int32_t)(m_tx.pos - m_rx.pos), (int32_t)lines());
            }
            while (!m_model.empty()) {
                ASSERT_TRUE(receive());
            }
            ASSERT_FALSE(receive());
        }
    }
}

} // namespace
