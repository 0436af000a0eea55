/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/ring.[ch]: when a sender is far, and what it writes then */

#include "ring_test.h"

namespace {

class test_ring_far : public ring_test {
protected:
    void SetUp() override
    {
        ring_test::SetUp();
        open_both(32768);
    }

    record short_record() { return {1, 2, 3, 4, std::vector<uint8_t>(8, 5)}; }

    /* Send until there is no room, which reads the receiver's index, and read all of it. */
    void fill_and_read()
    {
        while (send(short_record())) {}
        while (!m_model.empty()) {
            ASSERT_TRUE(receive());
        }
    }

    bool is_far() { return ri_ring_tx_streams(&m_tx, RI_RING_STREAM_MIN, 0); }
};

TEST_F(test_ring_far, after_some_times)
{
    unsigned laps = 0;

    ri_distance_far_ticks = 1;
    EXPECT_FALSE(is_far());
    while (!is_far() && (laps < 20)) {
        fill_and_read();
        ++laps;
    }
    EXPECT_TRUE(is_far());
    EXPECT_GE(laps, 2u); /* one lap could be an interrupt */
    EXPECT_FALSE(ri_ring_tx_streams(&m_tx, RI_RING_STREAM_MIN - 1, 0));
}

/* Halves help near receivers only. */
TEST_F(test_ring_far, goes_as_a_whole)
{
    for (uint32_t length : {RI_RING_PARTS_MIN, RI_RING_STREAM_MIN - 1, RI_RING_STREAM_MIN,
                            RI_RING_STREAM_PART}) {
        m_tx.distance.times = 0;
        EXPECT_FALSE(ri_ring_tx_is_one(&m_tx, length)) << length;
        m_tx.distance.times = RI_DISTANCE_FAR_TIMES;
        EXPECT_TRUE(ri_ring_tx_is_one(&m_tx, length)) << length;
    }
    EXPECT_FALSE(ri_ring_tx_is_one(&m_tx, RI_RING_STREAM_PART + 1));
}

/* A line that nobody has written since was in this core's cache. */
TEST_F(test_ring_far, an_index_that_stays_tells_nothing)
{
    ri_distance_far_ticks = 1;
    while (send(short_record())) {}
    for (int i = 0; i < 20; ++i) {
        EXPECT_FALSE(send(short_record()));
    }
    EXPECT_FALSE(is_far());
}

TEST_F(test_ring_far, near_at_once)
{
    ri_distance_far_ticks = UINT64_MAX;
    m_tx.distance.times   = RI_DISTANCE_FAR_TIMES;
    fill_and_read();
    fill_and_read();
    EXPECT_FALSE(is_far());
}

TEST_F(test_ring_far, never)
{
    for (int i = 0; i < 20; ++i) {
        fill_and_read();
    }
    EXPECT_FALSE(is_far());
}

/* Of each length, from each alignment */
TEST_F(test_ring_far, writes_the_same)
{
    std::vector<uint8_t> data(m_tx.max_payload + RI_RING_LINE);

    for (size_t i = 0; i < data.size(); ++i) {
        data[i] = i * 11 + i / 256;
    }
    for (uint32_t length = RI_RING_STREAM_MIN; length <= m_tx.max_payload; ++length) {
        m_tx.distance.times      = RI_DISTANCE_FAR_TIMES;
        const uint8_t *from      = &data[length % RI_RING_LINE];
        ri_ring_record_t *record = ri_ring_tx_reserve(&m_tx, length);
        ASSERT_NE(nullptr, record) << length;
        m_tx.distance.times = RI_DISTANCE_FAR_TIMES; /* the index may have been read */
        ri_ring_tx_write(&m_tx, record, from, length,
                         ri_ring_tx_streams(&m_tx, length, 0));
        record->type = 1;
        ri_ring_tx_commit(&m_tx, record, length);

        const ri_ring_record_t *there = peek_behind_padding();
        ASSERT_NE(nullptr, there) << length;
        EXPECT_EQ(0, memcmp(ri_ring_payload(there, length), from, length)) << length;
        ri_ring_rx_advance(&m_rx, ri_ring_rx_lines(&m_rx, there->type, there->length));
    }
}

/* What is longer goes in parts, of which only a last short one goes by the caches. */
TEST_F(test_ring_far, writes_the_same_in_parts)
{
    close_both();
    open_both(524288);
    std::vector<uint8_t> data(65536 + RI_RING_LINE);

    for (size_t i = 0; i < data.size(); ++i) {
        data[i] = i * 7 + i / 256;
    }
    for (uint32_t length : {RI_RING_STREAM_PART + 1, RI_RING_STREAM_PART + 40,
                            RI_RING_STREAM_PART + 41, 2 * RI_RING_STREAM_PART,
                            2 * RI_RING_STREAM_PART + RI_RING_STREAM_MIN, 65535, 65536}) {
        const uint8_t *from = &data[length % RI_RING_LINE];
        uint32_t pos        = m_tx.pos;
        std::vector<uint8_t> there;

        m_tx.distance.times = RI_DISTANCE_FAR_TIMES;
        EXPECT_FALSE(ri_ring_tx_is_one(&m_tx, length)) << length;
        ASSERT_TRUE(ri_ring_parts_put(&m_tx, 1, 2, 0, from, length)) << length;
        EXPECT_EQ(ri_ring_lines_in_parts(length, RI_RING_STREAM_PART), m_tx.pos - pos);
        while (there.size() < length) {
            const ri_ring_record_t *record = peek_behind_padding();
            ASSERT_NE(nullptr, record) << length;
            EXPECT_EQ(there.empty() ? RI_RING_START : RI_RING_PART, record->type);
            EXPECT_EQ(length, record->extra);
            const uint8_t *payload = ri_ring_payload(record, record->length);
            there.insert(there.end(), payload, payload + record->length);
            ri_ring_rx_advance(&m_rx,
                               ri_ring_rx_lines(&m_rx, record->type, record->length));
        }
        EXPECT_TRUE(std::equal(there.begin(), there.end(), from)) << length;
    }
    m_tx.distance.times = RI_DISTANCE_FAR_TIMES;
    EXPECT_TRUE(ri_ring_tx_is_one(&m_tx, RI_RING_STREAM_PART));
}

} // namespace
