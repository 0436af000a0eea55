/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers with rings and planes that the test makes, which copy together. A side is in the
 * library when the test says so: between copies, and, by the planes' hooks, while the other side
 * is in one.
 */
#ifndef RI_TEST_COOP_TEST_H
#define RI_TEST_COOP_TEST_H

#include "unit/common/pair_test.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace {

const size_t LONG  = 1000001;
const size_t UNITS = 245; /* of LONG */

const uint32_t FORGED_ID =
        0x777777; /* of the request that coop_test::recv_forged() names */

class coop_test : public pair_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        configure();
        start();
    }

    virtual void configure() { ri_config.ring_peers = 4; }

    void TearDown() override
    {
        stop();
        ri_test::TearDown();
    }

    void start()
    {
        meet();
        connect();
    }

    void restart()
    {
        stop();
        start();
    }

    /* Rings, and so planes */
    void connect()
    {
        talk(m_conn, 1, [this] { pump(); });
        ASSERT_TRUE(m_conn->flags & RI_CONN_PLANE_READ);
        ASSERT_TRUE(m_conn->flags & RI_CONN_PLANE_WRITE);
        ASSERT_NE(nullptr, m_conn->ring);
        ASSERT_TRUE(ri_coop_send_has_slot(m_conn));
    }

    void pump(unsigned rounds = 100)
    {
        do {
            deliver();
            progress_both(rounds);
        } while (m_ucx->complete() || is_any_sent());
    }

    /* The receiver's own messages go by UCP until then. */
    void open_way_back()
    {
        recv_ptr r = m_a->recv(1, ~0ul, LONG);
        send_ptr s = m_b->send(m_back, bytes(LONG), 1);

        pump();
        ASSERT_TRUE(r->done && s->done);
    }

    ri_stream_t *stream()
    {
        return ucs_list_head(&m_b->worker()->streams, ri_stream_t, list);
    }

    ri_ring_slot_t &slot(unsigned i = 0) { return m_conn->ring->control->slots[i]; }

    /* A message that waits at the receiver for its receive */
    send_ptr send_unmatched(const bytes &content, uint64_t tag = 5)
    {
        send_ptr s = m_a->send(m_conn, content, tag);

        progress_both(100);
        EXPECT_FALSE(s->done);
        return s;
    }

    /* A message of @a content by an RTS that the sender has not sent, with any slot and flags.
     * @return Its receive. */
    recv_ptr recv_forged(const bytes &content, uint64_t tag, uint16_t slot,
                         uint16_t flags = 0)
    {
        wire_msg msg(RI_WIRE_RTS, stream()->id, ++m_conn->tx_sn);

        msg.tag    = tag;
        msg.req_id = FORGED_ID;
        m_b->deliver(msg, rts_payload({{reinterpret_cast<uintptr_t>(content.data()),
                                        content.size()}},
                                      flags, slot));
        return m_b->recv(tag, ~0ul, content.size());
    }

    /* A message and its receive, whichever comes first */
    void begin_in_any_order(rng &random, const bytes &content, recv_ptr *r, send_ptr *s)
    {
        if (random.percent(50)) {
            *r = m_b->recv(5, ~0ul, content.size() + random.below(3));
            *s = m_a->send(m_conn, content, 5, random.percent(30));
        } else {
            *s = m_a->send(m_conn, content, 5, random.percent(30));
            m_b->progress();
            *r = m_b->recv(5, ~0ul, content.size());
        }
    }

    /* Call progress until both have ended, or for long enough; @a chance per cent of all calls are
     * the sender's */
    void progress_in_any_order(rng &random, unsigned chance, const recv_ptr &r,
                               const send_ptr &s)
    {
        for (unsigned i = 0; !(r->done && s->done) && (i < 10000); ++i) {
            (random.percent(chance) ? *m_a : *m_b).progress();
        }
    }

    void check(const recv_ptr &r, const bytes &content)
    {
        ASSERT_TRUE(r->done);
        ASSERT_EQ(UCS_OK, r->status);
        ASSERT_EQ(content.size(), r->info.length);
        ASSERT_TRUE(std::equal(content.begin(), content.end(), r->buffer.begin()));
    }

    void check(const send_ptr &s, ucs_status_t status = UCS_OK)
    {
        ASSERT_TRUE(s->done);
        ASSERT_EQ(status, s->status);
    }

    void check_idle()
    {
        EXPECT_EQ(0u, m_a->worker()->num_coops);
        EXPECT_EQ(0u, m_b->worker()->num_coops);
        EXPECT_EQ(0u, stream()->coop.num);
        EXPECT_EQ(0u, m_conn->coop.slots);
        EXPECT_EQ(0, ri_coop_send_is_unread(m_conn));
        if (m_conn->ring != nullptr) {
            for (unsigned i = 0; i < RI_RING_SLOTS; ++i) {
                EXPECT_FALSE(ri_slot_is_busy(&slot(i))) << i;
            }
        }
    }

    uint64_t written() { return m_a->counters().conns.tx_written_bytes; }

    uint64_t read() { return m_b->counters().streams.rx_read_bytes; }

    uint64_t coops() { return m_a->counters().conns.tx_coop; }
};

} // namespace

#endif
