/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The memory of the eager channel through a network: records arrive whole or not at all, in
 * whatever order a device places their bytes. (src/uct/ib/rc/rc_channel.h)
 */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <deque>
#include <vector>

namespace {

typedef std::vector<uint8_t> bytes;

struct sent {
    uint32_t value;
    bytes payload;
};

class test_rc_channel : public ::testing::Test {
protected:
    /* A write that the device has begun: what is not placed yet. */
    struct write {
        size_t offset;
        bytes data;
        std::vector<size_t> left; /* pieces, in no order */
    };

    static constexpr size_t PIECE = 8;

    void start(size_t size, uint64_t key, uint32_t pos = 0)
    {
        m_shadow.assign(size, 0);
        m_buffer.assign(size, 0);
        m_credit = ri_channel_credit(key, pos);
        ri_channel_tx_init(&m_tx, m_shadow.data(), size, key, &m_credit);
        ri_channel_rx_init(&m_rx, m_buffer.data(), size, key);
        m_tx.pos = m_tx.acked = m_tx.consumed = m_rx.pos = m_rx.published = pos;
        m_writes.clear();
        m_expected.clear();
    }

    void post(ri_channel_record_t *record)
    {
        size_t length = ri_channel_tx_seal(&m_tx, record);
        uint8_t *at   = reinterpret_cast<uint8_t *>(record);
        write w       = {(size_t)(at - m_shadow.data()), bytes(at, at + length), {}};

        for (size_t i = 0; i < length; i += PIECE) {
            w.left.push_back(i);
        }
        m_writes.push_back(w);
        ri_channel_tx_advance(&m_tx);
    }

    /* @return Whether there was room. */
    bool send(uint32_t value, const bytes &payload)
    {
        ri_channel_record_t *record;

        if (!ri_channel_tx_has_room(&m_tx, payload.size())) {
            return false;
        }
        if (ri_channel_tx_needs_pad(&m_tx, payload.size())) {
            record         = ri_channel_tx_next(&m_tx);
            record->length = 0;
            record->type   = RI_CHANNEL_PAD;
            record->value  = 0;
            record->tag    = 0;
            post(record);
        }
        record         = ri_channel_tx_next(&m_tx);
        record->length = payload.size();
        record->type   = 1;
        record->value  = value;
        record->tag    = ~(uint64_t)value;
        std::copy(payload.begin(), payload.end(), record->payload);
        post(record);
        m_expected.push_back({value, payload});
        return true;
    }

    /* Place a piece of the @a n-th write. @return Whether that one is complete. */
    bool place(size_t n, size_t piece)
    {
        write &w  = m_writes[n];
        size_t at = w.left[piece], end = std::min(at + PIECE, w.data.size());

        std::copy(w.data.begin() + at, w.data.begin() + end,
                  m_buffer.begin() + w.offset + at);
        w.left[piece] = w.left.back();
        w.left.pop_back();
        return w.left.empty();
    }

    /* Writes end in their order. */
    void acknowledge()
    {
        while (!m_writes.empty() && m_writes.front().left.empty()) {
            m_writes.pop_front();
            ri_channel_tx_pop(&m_tx);
        }
    }

    void place_all()
    {
        for (size_t i = 0; i < m_writes.size(); ++i) {
            while (!m_writes[i].left.empty()) {
                place(i, 0);
            }
        }
        acknowledge();
    }

    /* Take what is there; it must be what is expected next. @return Whether there was any. */
    bool receive()
    {
        ri_channel_record_t header;
        const uint8_t *payload = (const uint8_t *)ri_channel_rx_peek(&m_rx, &header);

        if (payload == nullptr) {
            return false;
        }
        EXPECT_FALSE(m_expected.empty());
        if (m_expected.empty()) {
            return false;
        }
        EXPECT_EQ(m_expected.front().value, header.value);
        EXPECT_EQ(~(uint64_t)header.value, header.tag);
        EXPECT_TRUE(m_expected.front().payload ==
                    bytes(payload, payload + header.length));
        m_expected.pop_front();
        ri_channel_rx_advance(&m_rx, &header);
        if (ri_channel_rx_publish(&m_rx)) {
            m_credit = ri_channel_credit(m_rx.key, m_rx.pos);
        }
        return true;
    }

    ri_channel_tx_t m_tx;
    ri_channel_rx_t m_rx;
    bytes m_shadow, m_buffer;
    uint64_t m_credit;
    std::deque<write> m_writes;
    std::deque<sent> m_expected;
};

TEST_F(test_rc_channel, sizes)
{
    EXPECT_FALSE(ri_channel_size_is_valid(0));
    EXPECT_FALSE(ri_channel_size_is_valid(2048));
    EXPECT_FALSE(ri_channel_size_is_valid(4097));
    EXPECT_FALSE(ri_channel_size_is_valid(1ul << 25));
    EXPECT_TRUE(ri_channel_size_is_valid(4096));
    EXPECT_TRUE(ri_channel_size_is_valid(1ul << 24));
    EXPECT_EQ(1024u - 32, ri_channel_max_payload(4096));
    EXPECT_EQ(65535u - 32, ri_channel_max_payload(1ul << 24));
    EXPECT_EQ(1u, ri_channel_lines(0));
    EXPECT_EQ(1u, ri_channel_lines(32));
    EXPECT_EQ(2u, ri_channel_lines(33));
}

/* Each order of the pieces of a record, one at a time: it is not there before the last. */
TEST_F(test_rc_channel, whole_or_not_at_all)
{
    for_seeds(200, [&](rng &random) {
        start(4096, random.next());
        for (uint8_t &byte : m_buffer) { /* a lap before it */
            byte = random.percent(50) ? 0 : random.next();
        }
        bytes payload(random.below(993));
        for (uint8_t &byte : payload) {
            byte = random.percent(90) ? 0 : random.next(); /* hides what is missing */
        }
        ASSERT_TRUE(send(1, payload));
        for (bool complete = false; !complete;) {
            bool differs = !std::equal(m_writes[0].data.begin(), m_writes[0].data.end(),
                                       m_buffer.begin() + m_writes[0].offset);

            if (differs) {
                ri_channel_record_t header;

                ASSERT_EQ(nullptr, ri_channel_rx_peek(&m_rx, &header));
            }
            complete = place(0, random.below(m_writes[0].left.size()));
        }
        acknowledge();
        EXPECT_TRUE(receive());
        EXPECT_FALSE(receive());
    });
}

/* Laps, positions that wrap, credits that come late, several writes under way. */
TEST_F(test_rc_channel, random_traffic)
{
    for_seeds(100, [&](rng &random) {
        start(4096 << random.below(3), random.next(), -(uint32_t)random.below(200));
        uint32_t value = 0, received = 0, full = 0;

        while (value < 300) {
            switch (random.below(4)) {
            case 0: {
                size_t max = random.percent(50) ? 40 : m_tx.max_payload;
                bytes payload(random.below(max + 1));

                for (uint8_t &byte : payload) {
                    byte = random.next();
                }
                if (send(value, payload)) {
                    ++value;
                } else {
                    ++full;
                }
                break;
            }
            case 1:
                if (!m_writes.empty()) {
                    size_t n = random.below(m_writes.size());

                    for (size_t i = random.below(200); i > 0; --i) {
                        if (!m_writes[n].left.empty()) {
                            place(n, random.below(m_writes[n].left.size()));
                        }
                    }
                }
                break;
            case 2:
                acknowledge();
                break;
            default:
                received += receive();
                break;
            }
            ASSERT_LE(m_tx.pos - m_rx.published, m_tx.mask + 1) << "overwritten";
        }
        place_all();
        while (receive()) {
            ++received;
        }
        EXPECT_EQ(value, received);
        EXPECT_GT(full, 0u);
        EXPECT_EQ(m_tx.pos, m_rx.pos);
        EXPECT_EQ(m_tx.pos, m_tx.acked);
    });
}

/* It is full until the receiver has said that it has read, and the device that it has
 * written. */
TEST_F(test_rc_channel, room)
{
    start(4096, 1);
    for (int i = 0; i < 64; ++i) {
        ASSERT_TRUE(send(i, bytes(8)));
    }
    EXPECT_FALSE(send(64, bytes(8)));
    for (size_t i = 0; i < m_writes.size(); ++i) {
        while (!m_writes[i].left.empty()) {
            place(i, 0);
        }
    }
    while (receive()) {}
    EXPECT_FALSE(send(64, bytes(8))) << "read, but not known to be written";
    acknowledge();
    EXPECT_TRUE(send(64, bytes(8)));
    place_all();
    EXPECT_TRUE(receive());
}

/* What the receiver's word cannot be is ignored. */
TEST_F(test_rc_channel, hostile_credit)
{
    const uint64_t key = 77;

    start(4096, key);
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(send(i, bytes(8)));
    }
    for (uint64_t word :
         {(uint64_t)5, ri_channel_credit(key + 1, 5), ri_channel_credit(key, 11),
          ri_channel_credit(key, -1u), ri_channel_credit(key, 5) ^ 1}) {
        m_credit = word;
        ri_channel_tx_update(&m_tx);
        EXPECT_EQ(0u, m_tx.consumed);
    }
    m_credit = ri_channel_credit(key, 5);
    ri_channel_tx_update(&m_tx);
    EXPECT_EQ(5u, m_tx.consumed);
    m_credit = ri_channel_credit(key, 4); /* an earlier one */
    ri_channel_tx_update(&m_tx);
    EXPECT_EQ(5u, m_tx.consumed);
}

/* The stamp alone is not a record, whatever length it claims; nor is one of another position,
 * or channel. */
TEST_F(test_rc_channel, not_a_record)
{
    const uint64_t key = 99;
    ri_channel_record_t header;

    for_seeds(100, [&](rng &random) {
        ri_channel_record_t found;

        start(4096, key);
        for (uint8_t &byte : m_buffer) {
            byte = random.next();
        }
        uint32_t stamp = ri_channel_stamp(key, 0);
        memcpy(m_buffer.data(), &stamp, sizeof(stamp));
        m_buffer[6] = random.percent(50) ? 1 : RI_CHANNEL_PAD;
        EXPECT_EQ(nullptr, ri_channel_rx_peek(&m_rx, &found));
    });

    start(4096, key);
    ASSERT_TRUE(send(1, bytes(8)));
    place_all();
    m_rx.pos += 64; /* a lap later */
    EXPECT_EQ(nullptr, ri_channel_rx_peek(&m_rx, &header));
    m_rx.pos -= 64;
    m_rx.key += 1ul << 40;
    EXPECT_EQ(nullptr, ri_channel_rx_peek(&m_rx, &header));
    m_rx.key -= 1ul << 40;
    EXPECT_NE(nullptr, ri_channel_rx_peek(&m_rx, &header));
}

/* A record that is whole, but goes beyond the lap, or beyond the buffer */
TEST_F(test_rc_channel, beyond_the_lap)
{
    ri_channel_record_t header, *record;

    start(4096, 5, 60);
    bytes large(m_buffer.size() + 70000);
    record         = reinterpret_cast<ri_channel_record_t *>(&large[60 * 64]);
    record->length = 4 * 64 - 32 + 1; /* one more than fits */
    record->type   = 1;
    m_tx.shadow    = large.data();
    ri_channel_tx_seal(&m_tx, record);
    std::copy(large.begin(), large.begin() + m_buffer.size(), m_buffer.begin());
    EXPECT_EQ(nullptr, ri_channel_rx_peek(&m_rx, &header));
    record->length = 65535;
    ri_channel_tx_seal(&m_tx, record);
    std::copy(large.begin(), large.begin() + m_buffer.size(), m_buffer.begin());
    EXPECT_EQ(nullptr, ri_channel_rx_peek(&m_rx, &header));
    record->length = 4 * 64 - 32;
    ri_channel_tx_seal(&m_tx, record);
    std::copy(large.begin(), large.begin() + m_buffer.size(), m_buffer.begin());
    EXPECT_NE(nullptr, ri_channel_rx_peek(&m_rx, &header));
}

/* Any single bit that differs shows. */
TEST_F(test_rc_channel, sum_of_each_bit)
{
    ri_channel_record_t header;

    start(4096, 3);
    bytes payload(75, 0x5a);
    ASSERT_TRUE(send(1, payload));
    place_all();
    for (size_t bit = 0; bit < (24 + 80 + 8) * 8; ++bit) {
        m_buffer[bit / 8] ^= 1 << (bit % 8);
        EXPECT_EQ(nullptr, ri_channel_rx_peek(&m_rx, &header)) << bit;
        m_buffer[bit / 8] ^= 1 << (bit % 8);
    }
    EXPECT_TRUE(receive());
}

} // namespace
