/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers with rings and planes, and receives with RTRs: for tests of receiver-initiated
 * rendezvous. A side is in the library when the test says so, and, by the
 * planes' hooks, while the other side writes.
 */
#ifndef RI_TEST_RTR_TEST_H
#define RI_TEST_RTR_TEST_H

#include "offer_test.h"

extern "C" {
#include "ucp/match/sender_map.h"
}

namespace {

class rtr_test : public offer_test {
protected:
    static constexpr size_t MEDIUM = 20000;
    static constexpr size_t LARGE  = 100000;
    static constexpr size_t GIANT  = 300000; /* by entry */

    rtr_test() : offer_test(LARGE, 50) {}

    void configure() override { ri_config.ring_peers = 4; }

    void start() override
    {
        meet();
        teach(m_conn);
        ASSERT_NE(nullptr, m_conn->ring);
        ASSERT_NE(nullptr, m_back->ring);
        ASSERT_TRUE(stream()->plane.any);
    }

    /* Another conn of the same worker: another sender. */
    void second()
    {
        m_ab2   = m_a->new_endpoint(m_b.get());
        m_conn2 = m_a->connect(m_ab2, RECEIVER);
        teach(m_conn2);
        ASSERT_TRUE(stream2()->plane.any);
        guess(stream());
    }

    /* Rings, planes, and who sends what */
    void teach(ri_conn_t *conn)
    {
        talk(conn, 9, [this] { pump(); });
        exchange(conn, TAG, 2);
        count_from_now();
        m_a_plane->writes = m_b_plane->reads = 0;
    }

    /* From now on, messages of TAG are expected from there. */
    void guess(ri_stream_t *stream) { learn(stream, TAG); }

    /* A receive whose RTR waits at the sender */
    recv_ptr post_seen(size_t length = LARGE)
    {
        recv_ptr r = post(length);

        EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
        m_a->progress();
        return r;
    }

    /* The sender takes notice of RTRs that its progress has found, and of no others. */
    send_ptr send_on(ri_conn_t *conn, size_t length, bool sync)
    {
        int progressing = m_a->worker()->progressing;

        m_a->worker()->progressing = 1;
        send_ptr s                 = send_by(conn, length, TAG, sync);
        m_a->worker()->progressing = progressing;
        return s;
    }

    send_ptr send(size_t length = LARGE, bool sync = false)
    {
        return send_on(m_conn, length, sync);
    }

    send_ptr send2(size_t length = LARGE) { return send_on(m_conn2, length, false); }

    static std::atomic<uint64_t> &word(const recv_ptr &r)
    {
        return req(r)->rtr.conn->ring->control->grants[req(r)->rtr.index].word;
    }

    /* Of a receive with an RTR: what the grant says */
    static uint32_t state(const recv_ptr &r)
    {
        EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
        return (rtr(r) != RI_RTR_BY_GRANT) ? ~0u : (uint32_t)word(r);
    }

    static void set_state(const recv_ptr &r, uint32_t state)
    {
        word(r) = ri_grant_word(req(r)->rtr.generation, state);
    }

    void cancel(const recv_ptr &r)
    {
        m_b->cancel(r);
        EXPECT_TRUE(r->done);
        EXPECT_EQ(UCS_ERR_CANCELED, r->status);
    }

    void cancel_in_vain(const recv_ptr &r)
    {
        m_b->cancel(r);
        EXPECT_FALSE(r->done);
    }

    void check_idle() override
    {
        ri_worker_t *worker = m_b->worker();

        offer_test::check_idle();
        EXPECT_EQ(0u, worker->rtr.num_offered);
        for (uint32_t count : worker->rtr.by_class) {
            EXPECT_EQ(0u, count);
        }
        EXPECT_TRUE(ucs_list_is_empty(&worker->rtr.writing));
    }

    /* A record that the library did not write */
    void put_record(ri_conn_t *conn, uint8_t type, uint32_t value, uint32_t extra,
                    uint64_t tag, const bytes &payload)
    {
        ri_ring_record_t *record = ri_ring_tx_reserve(conn->ring, payload.size());

        ASSERT_NE(nullptr, record);
        std::copy(payload.begin(), payload.end(),
                  ri_ring_payload(record, payload.size()));
        record->type  = type;
        record->value = value;
        record->extra = extra;
        record->tag   = tag;
        ri_ring_tx_commit(conn->ring, record, payload.size());
    }

    void put_placed(uint32_t sn, uint32_t recv_id, uint64_t length)
    {
        bytes payload;

        wire_msg::append(payload, ri_wire_placed_t{length});
        put_record(m_conn, RI_WIRE_PLACED, sn, recv_id, TAG, payload);
    }

    void put_rtr(const ri_wire_rtr_t &rtr, uint32_t conn_id, size_t length = 36)
    {
        bytes payload;

        wire_msg::append(payload, rtr);
        payload.resize(length);
        put_record(m_back, RI_WIRE_RTR, 77, conn_id, TAG, payload);
    }
};

} // namespace

#endif
