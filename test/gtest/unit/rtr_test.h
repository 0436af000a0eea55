/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers with rings and planes, and receives with RTRs: for tests of receiver-initiated
 * rendezvous. A side is in the library when the test says so, and, by the
 * planes' hooks, while the other side writes.
 */
#ifndef RI_TEST_RTR_TEST_H
#define RI_TEST_RTR_TEST_H

#include "pair_test.h"

namespace {

const uint64_t ALL = ~0ul;
const uint64_t TAG = 1;

const size_t EAGER  = 1000;
const size_t MEDIUM = 20000;
const size_t LARGE  = 100000;
const size_t GIANT  = 300000; /* by slot */

class rtr_test : public pair_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        ri_config.ring_peers = 4;
        ri_config.rtr        = 1;
        start();
    }

    void TearDown() override
    {
        if (m_b && m_a) {
            pump();
            check_idle();
        }
        stop();
        ri_config.rtr = 0;
        ri_test::TearDown();
    }

    void start()
    {
        meet();
        teach(m_conn);
        ASSERT_NE(nullptr, m_conn->ring);
        ASSERT_NE(nullptr, m_back->ring);
        ASSERT_TRUE(stream()->plane_write);
    }

    /* Another conn of the same worker: another sender. */
    void second()
    {
        m_ab2   = m_a->new_endpoint(m_b.get());
        m_conn2 = m_a->connect(m_ab2, RECEIVER);
        teach(m_conn2);
        ASSERT_TRUE(stream2()->plane_write);
        guess(stream());
    }

    void restart()
    {
        pump();
        check_idle();
        stop();
        start();
    }

    /* Rings, planes, and who sends what */
    void teach(ri_conn_t *conn)
    {
        talk(conn, 9, [this] { pump(); });
        for (unsigned i = 0; i < 2; ++i) {
            recv_ptr r = m_b->recv(TAG, ALL, LARGE);
            send_ptr s = m_a->send(conn, bytes(LARGE), TAG);

            pump();
            ASSERT_TRUE(r->done && s->done);
        }
        m_sent            = m_b->counters().rtr_sent;
        m_used            = m_b->counters().rtr_used;
        m_a_plane->writes = m_b_plane->reads = 0;
    }

    /* From now on, messages of TAG are expected from there. */
    void guess(ri_stream_t *stream)
    {
        ri_sender_map_learn(&m_b->worker()->senders, TAG, ALL, TAG, stream->id);
    }

    void progress_both(unsigned rounds = 50) { pair_test::progress_both(rounds); }

    void pump()
    {
        do {
            deliver();
            progress_both();
        } while (m_ucx->complete() || is_any_sent());
    }

    ri_stream_t *stream() { return ri_stream_find(m_b->worker(), SENDER, m_conn->id); }

    ri_stream_t *stream2() { return ri_stream_find(m_b->worker(), SENDER, m_conn2->id); }

    recv_ptr post(size_t length = LARGE, uint64_t tag = TAG)
    {
        return m_b->recv(tag, ALL, length);
    }

    /* A receive whose RTR waits at the sender */
    recv_ptr post_seen(size_t length = LARGE)
    {
        recv_ptr r = post(length);

        EXPECT_EQ(RI_RTR_OUT, rtr(r));
        m_a->progress();
        return r;
    }

    /* The sender takes notice of RTRs that its progress has found, and of no others. */
    send_ptr send_on(ri_conn_t *conn, size_t length, bool sync)
    {
        int progressing = m_a->worker()->progressing;

        m_a->worker()->progressing = 1;
        send_ptr s = m_a->send(conn, pattern(++m_seed, length), TAG, sync);
        m_a->worker()->progressing = progressing;
        return s;
    }

    send_ptr send(size_t length = LARGE, bool sync = false)
    {
        return send_on(m_conn, length, sync);
    }

    send_ptr send2(size_t length = LARGE) { return send_on(m_conn2, length, false); }

    static ri_recv_req_t *req(const recv_ptr &r)
    {
        return reinterpret_cast<ri_recv_req_t *>(ri_req_of_handle(r->handle));
    }

    static ri_rtr_state_t rtr(const recv_ptr &r) { return (ri_rtr_state_t)req(r)->rtr; }

    static std::atomic<uint64_t> &word(const recv_ptr &r)
    {
        return req(r)->rtr_conn->ring->control->grants[req(r)->rtr_index].word;
    }

    /* Of a receive with an RTR: what the grant says */
    static uint32_t state(const recv_ptr &r)
    {
        EXPECT_EQ(RI_RTR_OUT, rtr(r));
        return (rtr(r) != RI_RTR_OUT) ? ~0u : (uint32_t)word(r);
    }

    static void set_state(const recv_ptr &r, uint32_t state)
    {
        word(r) = ri_ring_grant_word(req(r)->rtr_generation, state);
    }

    /* RTRs that are at the sender and of use */
    unsigned waiting(ri_conn_t *conn)
    {
        unsigned count = 0;

        for (unsigned i = 0; i < conn->rtrs->num_waiting; ++i) {
            count += ri_rtr_is_out(&conn->rtrs->waiting[i]);
        }
        return count;
    }

    unsigned waiting() { return waiting(m_conn); }

    /* That receive got that message. */
    void check(const recv_ptr &r, const send_ptr &s)
    {
        ASSERT_TRUE(r->done);
        EXPECT_EQ(s->data.size(), r->info.length);
        if (s->data.size() > r->buffer.size()) {
            EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
            return;
        }
        EXPECT_EQ(UCS_OK, r->status);
        EXPECT_TRUE(std::equal(s->data.begin(), s->data.end(), r->buffer.begin()));
    }

    void check_sent(const send_ptr &s, ucs_status_t status = UCS_OK)
    {
        ASSERT_TRUE(s->done);
        EXPECT_EQ(status, s->status);
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

    /* When nothing is posted */
    void check_idle()
    {
        ri_worker_t *worker    = m_b->worker();
        ri_worker_counters_t c = m_b->counters();
        ri_stream_t *s;

        ASSERT_EQ(0u, worker->match.num_posted);
        EXPECT_EQ(c.rtr_sent, c.rtr_used + c.rtr_dropped);
        EXPECT_EQ(0u, worker->num_rtrs);
        EXPECT_EQ(0u, worker->num_offered);
        for (uint32_t count : worker->rtr_keys) {
            EXPECT_EQ(0u, count);
        }
        EXPECT_TRUE(ucs_list_is_empty(&worker->rtr_queue));
        EXPECT_TRUE(ucs_list_is_empty(&worker->rtr_writing));
        ucs_list_for_each(s, &worker->streams, list) {
            EXPECT_EQ(0u, s->num_rtrs);
            EXPECT_TRUE(ucs_list_is_empty(&s->rtrs));
        }
        for (uint32_t i = 1; i < worker->recv_ids.capacity; ++i) {
            EXPECT_EQ(nullptr, worker->recv_ids.slots[i].object) << "id " << i;
        }
    }

    /* RTRs since the start or the last call */
    void check_rtrs(uint64_t sent, uint64_t used)
    {
        EXPECT_EQ(sent, m_b->counters().rtr_sent - m_sent);
        EXPECT_EQ(used, m_b->counters().rtr_used - m_used);
        m_sent = m_b->counters().rtr_sent;
        m_used = m_b->counters().rtr_used;
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

    uint64_t malformed() { return m_b->counters().rx_malformed; }

    uint64_t m_seed = 0, m_sent = 0, m_used = 0;
};

} // namespace

#endif
