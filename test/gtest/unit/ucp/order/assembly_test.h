/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker with a ring from a peer that the test plays, and which writes messages in parts.
 */
#ifndef RI_TEST_ASSEMBLY_TEST_H
#define RI_TEST_ASSEMBLY_TEST_H

#include "unit/common/node_test.h"

namespace {

/* When a receive is posted, as seen from the parts */
enum when_t {
    BEFORE,
    BETWEEN,
    AFTER
};

class assembly_test : public node_test {
protected:
    static constexpr uint32_t CONN_ID = 77; /* of the sender's conn */

    void SetUp() override
    {
        ri_test::SetUp();
        start();
    }

    void TearDown() override
    {
        stop();
        ri_test::TearDown();
    }

    void start()
    {
        node_test::start();
        m_tx = {};
        open_ring();
    }

    void stop()
    {
        close_ring();
        m_node.reset();
    }

    void restart()
    {
        stop();
        start();
    }

    ri_stream_t *stream() { return stream_of(REMOTE, CONN_ID, worker()->self.host); }

    void open_ring()
    {
        ri_ring_life_consider(stream());
        ASSERT_NE(nullptr, stream()->ring);
        ri_wire_msg_t offer = m_ep->take(RI_WIRE_RING_OFFER).parse();
        ASSERT_EQ(UCS_OK, ri_ring_open(&m_tx, offer.ring_pid, offer.ring_fd, offer.value,
                                       offer.ring_cookie));
    }

    void close_ring()
    {
        if (m_tx.control != nullptr) {
            ri_ring_tx_close(&m_tx);
        }
    }

    /* Write a record and let the worker take it. */
    void record(uint8_t type, uint32_t value, uint64_t tag, uint32_t extra,
                const bytes &payload, bool taken = true)
    {
        ri_ring_record_t *r = ri_ring_tx_reserve(&m_tx, payload.size());

        ASSERT_NE(nullptr, r);
        std::copy(payload.begin(), payload.end(), ri_ring_payload(r, payload.size()));
        r->type  = type;
        r->value = value;
        r->tag   = tag;
        r->extra = extra;
        ri_ring_tx_commit(&m_tx, r, payload.size());
        if (taken) {
            m_node->progress();
        }
    }

    static bytes slice(const bytes &data, size_t from, size_t length)
    {
        return bytes(data.begin() + from, data.begin() + from + length);
    }

    /* Message @a sn is pattern(sn, total); its first @a length bytes. */
    void first(uint32_t sn, uint64_t tag, size_t total, size_t length)
    {
        record(RI_RING_START, sn, tag, total, slice(pattern(sn, total), 0, length));
    }

    void next(uint32_t sn, size_t total, size_t offset, size_t length)
    {
        record(RI_RING_PART, 0, 0, 0, slice(pattern(sn, total), offset, length));
    }

    void whole(uint32_t sn, uint64_t tag, size_t total)
    {
        first(sn, tag, total, total / 2);
        next(sn, total, total / 2, total - total / 2);
    }

    void by_am(uint32_t sn, uint64_t tag, size_t length = 8)
    {
        wire_msg msg(RI_WIRE_EAGER, stream()->id, sn);

        msg.tag = tag;
        m_node->deliver(msg, pattern(sn, length));
    }

    void bye(uint32_t last_sn)
    {
        m_node->deliver(wire_msg(RI_WIRE_BYE, stream()->id, last_sn));
    }

    void check_received(const recv_ptr &op, uint32_t sn, uint64_t tag, size_t length)
    {
        ASSERT_TRUE(op->done) << "sn " << sn;
        EXPECT_EQ(UCS_OK, op->status);
        EXPECT_EQ(tag, op->info.sender_tag);
        EXPECT_EQ(length, op->info.length);
        EXPECT_EQ(pattern(sn, length), slice(op->buffer, 0, length));
    }

    ri_worker_counters_t counters() { return m_node->counters(); }

    /* The ring is gone, with all that had come of a message. */
    void check_ended(uint64_t malformed)
    {
        EXPECT_EQ(0u, worker()->num_rings);
        EXPECT_EQ(nullptr, stream()->ring);
        EXPECT_EQ(0u, stream()->assembly.length);
        EXPECT_TRUE(stream()->broken);
        EXPECT_EQ(malformed, counters().rx_malformed);
        EXPECT_EQ(0u, counters().held_bytes);
    }

    ri_ring_tx_t m_tx;
};

} // namespace

#endif
