/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Both ends of a ring in one process, beside a model of what is in it.
 */
#ifndef RI_TEST_RING_TEST_H
#define RI_TEST_RING_TEST_H

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <unistd.h>
#include <vector>

namespace {

const uint64_t COOKIE = 0x123456789abcdefful;

class ring_test : public ::testing::Test {
protected:
    struct record {
        uint8_t type;
        uint32_t value;
        uint32_t extra;
        uint64_t tag;
        std::vector<uint8_t> payload;
        bool parts  = false; /* by ri_ring_parts_put */
        bool filled = false; /* by a function that tells the payload */
    };

    void SetUp() override
    {
        memset((void *)&m_rx, 0, sizeof(m_rx));
        memset((void *)&m_tx, 0, sizeof(m_tx));
    }

    void TearDown() override { close_both(); }

    void open_both(size_t size)
    {
        ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, size, COOKIE));
        ASSERT_EQ(UCS_OK, ri_ring_open(&m_tx, getpid(), m_rx.fd, size, COOKIE));
        m_tx.end = m_tx.limit = lines(); /* as if it had grown */
    }

    void close_both()
    {
        if (m_tx.control != nullptr) {
            ri_ring_tx_close(&m_tx);
        }
        if (m_rx.control != nullptr) {
            ri_ring_rx_close(&m_rx);
        }
        m_model.clear();
        m_received = 0;
    }

    uint32_t lines() const { return m_tx.mask + 1; }

    /* As if the ring had run up to @a pos, a multiple of its lines. */
    void start_at(uint32_t pos)
    {
        ASSERT_EQ(0u, pos & m_tx.mask);
        m_tx.pos = m_rx.pos = m_rx.published = pos;
        m_tx.limit                           = pos + lines();
        m_tx.control->consumed               = pos;
    }

    /* @return Whether there was room. */
    bool send(const record &r)
    {
        uint32_t length = r.payload.size();
        ri_ring_record_t *record;

        if (r.parts) {
            if (!(r.filled ? ri_ring_parts_fill(&m_tx, r.value, r.tag, 0, fill,
                                                (void *)r.payload.data(), length) :
                             ri_ring_parts_put(&m_tx, r.value, r.tag, 0, r.payload.data(),
                                               length))) {
                return false;
            }
            m_model.push_back(r);
            return true;
        }
        record = ri_ring_tx_reserve(&m_tx, length);
        if (record == nullptr) {
            return false;
        }
        record->type  = r.type;
        record->value = r.value;
        record->extra = r.extra;
        record->tag   = r.tag;
        if (r.filled) {
            ri_ring_parts_fill_one(&m_tx, record, fill, (void *)r.payload.data(), 0,
                                   length, ri_ring_tx_streams(&m_tx, length, 0));
        } else if (length > RI_RING_INLINE) {
            ri_ring_tx_write(&m_tx, record, r.payload.data(), length,
                             ri_ring_tx_streams(&m_tx, length, 0));
        } else {
            std::copy(r.payload.begin(), r.payload.end(), record->payload);
        }
        ri_ring_tx_commit(&m_tx, record, length);
        m_model.push_back(r);
        return true;
    }

    /* What a sender packs, of a payload */
    static void fill(void *arg, size_t offset, void *dest, size_t length)
    {
        memcpy(dest, (const uint8_t *)arg + offset, length);
    }

    const ri_ring_record_t *peek_behind_padding()
    {
        const ri_ring_record_t *record;

        while (((record = ri_ring_rx_peek(&m_rx)) != nullptr) &&
               (record->type == RI_RING_PAD)) {
            EXPECT_EQ(0u, m_received) << "padding between parts";
            ri_ring_rx_advance(&m_rx, ri_ring_rx_lines(&m_rx, RI_RING_PAD, 0));
        }
        return record;
    }

    /* Take what is next, padding not counted, of a message in parts one part; compare it
     * with the model. */
    bool receive()
    {
        const ri_ring_record_t *record = peek_behind_padding();

        EXPECT_EQ(m_model.empty(), record == nullptr) << "at position " << m_rx.pos;
        if ((record == nullptr) || m_model.empty()) {
            return false;
        }

        const struct record &expected = m_model.front();
        uint8_t type                  = !expected.parts   ? expected.type :
                                        (m_received == 0) ? RI_RING_START :
                                                            RI_RING_PART;
        uint32_t extra = expected.parts ? expected.payload.size() : expected.extra;
        size_t left    = expected.payload.size() - m_received;
        size_t length  = expected.parts ? std::min<size_t>(left, record->length) : left;
        uint32_t count = ri_ring_rx_lines(&m_rx, record->type, record->length);
        EXPECT_EQ(ri_ring_lines(length), count);
        EXPECT_EQ(type, record->type);
        EXPECT_EQ(expected.value, record->value);
        EXPECT_EQ(extra, record->extra);
        EXPECT_EQ(expected.tag, record->tag);
        EXPECT_EQ(length, record->length);
        EXPECT_TRUE(!expected.parts || (length > 0));
        EXPECT_TRUE((type != RI_RING_START) || (length < left));
        EXPECT_TRUE(std::equal(expected.payload.begin() + m_received,
                               expected.payload.begin() + m_received + length,
                               ri_ring_payload(record, record->length)));
        ri_ring_rx_advance(&m_rx, count);
        m_received += length;
        if (m_received == expected.payload.size()) {
            m_model.pop_front();
            m_received = 0;
        }
        return !HasFailure();
    }

    /* Receive a whole message. */
    bool receive_parts()
    {
        do {
            if (!receive()) {
                return false;
            }
        } while (m_received > 0);
        return true;
    }

    record parts_record(uint32_t length, uint32_t value)
    {
        record r = {0, value, 0, ~0ul - value, std::vector<uint8_t>(length), true};

        for (size_t i = 0; i < length; ++i) {
            r.payload[i] = value + i * 7;
        }
        return r;
    }

    /* As if the ring had just come to line @a slot, and had never held anything. */
    void start_in(uint32_t slot)
    {
        start_at(0);
        m_tx.pos = m_rx.pos = m_rx.published = slot;
        m_tx.control->consumed               = slot;
        m_tx.limit                           = slot + lines();
        memset((void *)m_tx.lines, 0, lines() * RI_RING_LINE);
    }

    record random_record(rng &random, size_t max_length)
    {
        /* Small ones often, as in life */
        size_t length = random.percent(50) ?
                                random.below(std::min<size_t>(max_length, 60)) :
                                random.range(0, max_length);

        if ((max_length >= RI_RING_PARTS_MIN) && random.percent(25)) {
            return parts_record(random.range(RI_RING_PARTS_MIN, max_length),
                                random.next());
        }

        record r = {(uint8_t)random.range(1, 30), (uint32_t)random.next(),
                    (uint32_t)random.next(), random.next(), std::vector<uint8_t>(length)};

        for (size_t i = 0; i < length; ++i) {
            r.payload[i] = r.value + i;
        }
        return r;
    }

    /* Payload that looks like a record which the receiver waits for: at the head of each
     * line the stamp that this line will have @a laps laps later. */
    void disguise(record &r, uint32_t laps)
    {
        if (r.payload.size() <= RI_RING_INLINE) {
            return; /* shares the line with its header */
        }
        uint32_t part = r.parts ? ri_ring_part_length(r.payload.size()) : UINT32_MAX;
        for (size_t at = 0; at + 4 <= r.payload.size(); at += RI_RING_LINE) {
            uint32_t line  = 1 + at / RI_RING_LINE + at / part;
            uint32_t stamp = ri_ring_stamp(m_tx.pos + line + laps * lines());

            memcpy(&r.payload[at], &stamp, sizeof(stamp));
        }
    }

    void run_random(rng &random, unsigned operations, size_t max_length, bool disguised)
    {
        unsigned share = random.range(30, 70);

        for (unsigned i = 0; (i < operations) && !HasFailure(); ++i) {
            if (random.percent(share)) {
                record r = random_record(random, max_length);

                if (disguised) {
                    disguise(r, random.below(3));
                }
                send(r);
            } else {
                receive();
            }
            if (random.percent(2)) {
                share = random.range(10, 90);
            }
            if (random.percent(10)) {
                m_tx.distance.times = random.percent(50) ? RI_DISTANCE_FAR_TIMES : 0;
            }
        }
        while (!m_model.empty() && !HasFailure()) {
            receive();
        }
        EXPECT_FALSE(receive());
    }

    ri_ring_rx_t m_rx;
    ri_ring_tx_t m_tx;
    std::deque<record> m_model;
    size_t m_received = 0; /* of the first message of the model */
};

} // namespace

#endif
