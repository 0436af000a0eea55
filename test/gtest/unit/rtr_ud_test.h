/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers that reach each other by datagrams only, and receives that offer queue pairs. The
 * test is the network of messages, and says when transfers are heard of and end.
 */
#ifndef RI_TEST_RTR_UD_TEST_H
#define RI_TEST_RTR_UD_TEST_H

#include "fake_ud.h"
#include "pair_test.h"

extern "C" {
#include "ucp/link/planes.h"
#include "ucp/proto/rtr/rtr_slots.h"
#include "ucp/proto/rtr/rtr_message.h"
#include "ucp/proto/rtr/rtr_ud.h"
}

namespace {

const uint64_t ALL = ~0ul;
const uint64_t TAG = 1;

const size_t EAGER  = 1000;
const size_t MEDIUM = 12000;
const size_t LARGE  = 30000;

class rtr_ud_test : public pair_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        m_on                 = ri_rtr_message_on;
        m_rtr_backoff        = ri_rtr_ud_backoff;
        m_planes_backoff     = ri_planes_backoff;
        ri_rtr_message_on    = 1;
        ri_rtr_ud_backoff    = 0;
        ri_planes_backoff    = 0;
        ri_config.ring_peers = 0;
        ri_config.rtr        = UCS_YES;
        start();
    }

    void TearDown() override
    {
        if (m_b && m_a) {
            pump();
            check_idle();
        }
        stop_ud();
        ri_config.rtr     = 0;
        ri_rtr_message_on = m_on;
        ri_rtr_ud_backoff = m_rtr_backoff;
        ri_planes_backoff = m_planes_backoff;
        ri_test::TearDown();
    }

    void stop_ud()
    {
        stop();
        m_a_ud.reset();
        m_b_ud.reset();
    }

    void start()
    {
        meet(0, false);
        m_a_ud = std::make_unique<ud>(*m_a);
        m_b_ud = std::make_unique<ud>(*m_b);
        teach(m_conn);
    }

    void restart()
    {
        pump();
        check_idle();
        stop_ud();
        start();
    }

    /* The way, and who sends what */
    void teach(ri_conn_t *conn)
    {
        for (unsigned i = 0; i < 3; ++i) {
            recv_ptr r = m_b->recv(TAG, ALL, LARGE);
            send_ptr s = m_a->send(conn, bytes(LARGE), TAG);

            pump();
            ASSERT_TRUE(r->done && s->done);
        }
        ASSERT_TRUE(conn->flags & RI_CONN_RDMA);
        ASSERT_TRUE(ri_stream_find(m_b->worker(), SENDER, conn->id)->rdma_write);
        m_sent = m_b->counters().rtr_sent;
        m_used = m_b->counters().rtr_used;
    }

    /* Another conn of the same worker: another sender. */
    void second()
    {
        m_ab2   = m_a->new_endpoint(m_b.get());
        m_conn2 = m_a->connect(m_ab2, RECEIVER);
        for (unsigned i = 0; i < 3; ++i) {
            recv_ptr r = m_b->recv(TAG + 7, ALL, LARGE);
            send_ptr s = m_a->send(m_conn2, bytes(LARGE), TAG + 7);

            pump();
            ASSERT_TRUE(r->done && s->done);
        }
        ASSERT_TRUE(stream2()->rdma_write);
        guess(stream());
    }

    void guess(ri_stream_t *stream, uint64_t tag = TAG)
    {
        ri_sender_map_learn(&m_b->worker()->senders, tag, ALL, tag, stream->id);
        ri_sender_map_credit(&m_b->worker()->senders, tag, ALL, stream->id, 1);
    }

    void deliver_all()
    {
        while (deliver()) {}
    }

    void pump()
    {
        do {
            deliver();
            progress_both(20);
        } while (m_ucx->complete() || is_any_sent());
    }

    /* Up to a message, which was not handed over. */
    void until(endpoint *ep, ri_wire_type_t type)
    {
        for (unsigned i = 0; (i < 1000) && (ep->count(type) == 0); ++i) {
            endpoint *next = !m_ab->sent.empty() ? m_ab : m_ba;

            if (!next->sent.empty()) {
                pair_test::deliver(next, 0);
            } else {
                progress_both(1);
            }
        }
        ASSERT_EQ(1u, ep->count(type));
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

        EXPECT_EQ(RI_RTR_BY_UD, rtr(r));
        deliver();
        EXPECT_EQ(1u, m_conn->rtrs->num_waiting);
        return r;
    }

    send_ptr send(size_t length = LARGE, uint64_t tag = TAG, bool sync = false)
    {
        return m_a->send(m_conn, pattern(++m_seed, length), tag, sync);
    }

    send_ptr send2(size_t length = LARGE)
    {
        return m_a->send(m_conn2, pattern(++m_seed, length), TAG);
    }

    static ri_recv_req_t *req(const recv_ptr &r)
    {
        return reinterpret_cast<ri_recv_req_t *>(ri_req_of_handle(r->handle));
    }

    static ri_rtr_state_t rtr(const recv_ptr &r) { return (ri_rtr_state_t)req(r)->rtr; }

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
    void check_idle()
    {
        ri_worker_t *worker    = m_b->worker();
        ri_worker_counters_t c = m_b->counters();
        ri_stream_t *s;

        ASSERT_EQ(0u, worker->match.num_posted);
        EXPECT_EQ(c.rtr_sent, c.rtr_used + c.rtr_dropped);
        EXPECT_EQ(0u, worker->num_rtrs);
        EXPECT_EQ(0u, worker->num_offered);
        EXPECT_EQ(0u, worker->num_reads);
        EXPECT_EQ(0u, m_a->worker()->num_reads);
        EXPECT_TRUE(ucs_list_is_empty(&worker->rtr_queue));
        for (ud *u : {m_a_ud.get(), m_b_ud.get()}) {
            EXPECT_EQ(0u, u->keys());
            EXPECT_EQ(0u, u->transfers()) << "a queue pair is not home";
        }
        ucs_list_for_each(s, &worker->streams, list) {
            EXPECT_EQ(0u, s->num_rtrs);
            EXPECT_TRUE(ucs_list_is_empty(&s->rtrs));
            EXPECT_TRUE(ucs_list_is_empty(&s->fetching));
            EXPECT_TRUE((s->peer->rtr_slots == nullptr) ||
                        (s->peer->rtr_slots->free == ~0u));
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

    uint64_t malformed() { return m_b->counters().rx_malformed; }

    int m_on;
    double m_rtr_backoff, m_planes_backoff;
    std::unique_ptr<ud> m_a_ud, m_b_ud;
    uint64_t m_seed = 0, m_sent = 0, m_used = 0;
};

} // namespace

#endif
