/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers, and receives that are offered to a sender: what their tests have in common,
 * whether an offer is a grant in the ring (rtr_test.h), a key (rtr_net_test.h) or a queue pair
 * (rtr_ud_test.h).
 */
#ifndef RI_TEST_OFFER_TEST_H
#define RI_TEST_OFFER_TEST_H

#include "unit/common/pair_test.h"
#include "unit/common/setting.h"

extern "C" {
#include "ucp/link/planes.h"
#include "ucp/match/sender_map.h"
}

namespace {

const uint64_t ALL = ~0ul;
const uint64_t TAG = 1;

const size_t EAGER = 1000;

class offer_test : public pair_test {
protected:
    /* large: the usual length of a message, rounds: of progress in which all that can happen
     * does */
    offer_test(size_t large, unsigned rounds) : m_large(large), m_rounds(rounds) {}

    void SetUp() override
    {
        ri_test::SetUp();
        ri_config.rtr = UCS_YES;
        configure();
        start();
    }

    void TearDown() override
    {
        if (m_b && m_a) {
            pump();
            check_idle();
        }
        end();
        ri_test::TearDown();
    }

    virtual void configure() = 0;

    /* Workers that have a way, and know who sends what. */
    virtual void start() = 0;

    virtual void end() { stop(); }

    void restart()
    {
        pump();
        check_idle();
        end();
        start();
    }

    void progress_both() { pair_test::progress_both(m_rounds); }

    void progress_both(unsigned rounds) { pair_test::progress_both(rounds); }

    void pump()
    {
        do {
            deliver();
            progress_both();
        } while (m_ucx->complete() || is_any_sent());
    }

    /* Messages to receives that wait for them */
    void exchange(ri_conn_t *conn, uint64_t tag, unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            recv_ptr r = m_b->recv(tag, ALL, m_large);
            send_ptr s = m_a->send(conn, bytes(m_large), tag);

            pump();
            ASSERT_TRUE(r->done && s->done);
        }
    }

    ri_stream_t *stream_of(const ri_conn_t *conn)
    {
        return ri_stream_find(m_b->worker(), SENDER, conn->id);
    }

    ri_stream_t *stream() { return stream_of(m_conn); }

    ri_stream_t *stream2() { return stream_of(m_conn2); }

    /* Messages of that tag are expected from there. */
    void learn(const ri_stream_t *stream, uint64_t tag)
    {
        ri_sender_map_learn(&m_b->worker()->senders, tag, ALL, tag, stream->id);
    }

    void credit(const ri_stream_t *stream, uint64_t tag)
    {
        ri_sender_map_credit(&m_b->worker()->senders, tag, ALL, stream->id, 1);
    }

    recv_ptr post() { return post(m_large); }

    recv_ptr post(size_t length, uint64_t tag = TAG)
    {
        return m_b->recv(tag, ALL, length);
    }

    send_ptr send_by(ri_conn_t *conn, size_t length, uint64_t tag, bool sync)
    {
        return m_a->send(conn, pattern(++m_seed, length), tag, sync);
    }

    static ri_recv_req_t *req(const recv_ptr &r)
    {
        return reinterpret_cast<ri_recv_req_t *>(ri_req_of_handle(r->handle));
    }

    static ri_rtr_state_t rtr(const recv_ptr &r)
    {
        return (ri_rtr_state_t)req(r)->rtr.state;
    }

    /* Offers that are at the sender and of use */
    unsigned waiting(const ri_conn_t *conn)
    {
        unsigned count = 0;

        for (unsigned i = 0; i < conn->rtr.table->num_waiting; ++i) {
            count += ri_rtr_table_is_out(&conn->rtr.table->waiting[i]);
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

    void check_canceled(const recv_ptr &r)
    {
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_ERR_CANCELED, r->status);
    }

    /* When nothing is posted */
    virtual void check_idle()
    {
        ri_worker_t *worker    = m_b->worker();
        ri_worker_counters_t c = m_b->counters();
        ri_stream_t *s;

        ASSERT_EQ(0u, worker->match.num_posted);
        EXPECT_EQ(c.rtr_sent, c.rtr_used + c.rtr_dropped);
        EXPECT_EQ(0u, worker->rtr.num);
        EXPECT_EQ(0u, worker->num_transfers);
        if (m_a != nullptr) { /* its worker may have ended */
            EXPECT_EQ(0u, m_a->worker()->num_transfers);
        }
        EXPECT_TRUE(ucs_list_is_empty(&worker->rtr.queue));
        ucs_list_for_each(s, &worker->streams, list) {
            EXPECT_EQ(0u, s->rtr.num);
            EXPECT_FALSE(s->stalled);
            EXPECT_TRUE(ucs_list_is_empty(&s->rtr.recvs));
        }
        for (uint32_t i = 1; i < worker->ids.recvs.capacity; ++i) {
            EXPECT_EQ(nullptr, worker->ids.recvs.slots[i].object) << "id " << i;
        }
    }

    /* Offers since the start or the last call */
    void check_rtrs(uint64_t sent, uint64_t used)
    {
        EXPECT_EQ(sent, m_b->counters().rtr_sent - m_sent);
        EXPECT_EQ(used, m_b->counters().rtr_used - m_used);
        count_from_now();
    }

    void count_from_now()
    {
        m_sent = m_b->counters().rtr_sent;
        m_used = m_b->counters().rtr_used;
    }

    uint64_t malformed() { return m_b->counters().rx_malformed; }

    const size_t m_large;
    const unsigned m_rounds;
    uint64_t m_seed = 0, m_sent = 0, m_used = 0;
};

/* Of workers that reach each other through a network only, whose messages the test delivers. */
class net_offer_test : public offer_test {
protected:
    /* @param exchanges  The number of messages until receives are offered. */
    net_offer_test(size_t large, unsigned exchanges)
        : offer_test(large, 20), m_exchanges(exchanges)
    {
    }

    void configure() override { ri_config.ring_peers = 0; }

    /* The way, and who sends what */
    void teach(ri_conn_t *conn, uint64_t tag = TAG)
    {
        exchange(conn, tag, m_exchanges);
        ASSERT_TRUE(conn->flags & RI_CONN_WAY);
        ASSERT_TRUE(stream_of(conn)->way.any);
    }

    /* Another conn of the same worker: another sender. */
    void second()
    {
        m_ab2   = m_a->new_endpoint(m_b.get());
        m_conn2 = m_a->connect(m_ab2, RECEIVER);
        teach(m_conn2, TAG + 7);
        guess(stream());
    }

    void guess(const ri_stream_t *stream, uint64_t tag = TAG)
    {
        learn(stream, tag);
        credit(stream, tag);
    }

    /* ... with the answers */
    void deliver_all()
    {
        while (deliver()) {}
    }

    send_ptr send() { return send(m_large); }

    send_ptr send(size_t length, uint64_t tag = TAG, bool sync = false)
    {
        return send_by(m_conn, length, tag, sync);
    }

    send_ptr send2() { return send2(m_large); }

    send_ptr send2(size_t length) { return send_by(m_conn2, length, TAG, false); }

    const unsigned m_exchanges;
};

} // namespace

#endif
