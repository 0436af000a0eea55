/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers that reach each other through a network only, and receives with RTRs by message.
 * The test is the network of messages, and says when writes end and are told.
 */
#ifndef RI_TEST_RTR_MESSAGE_TEST_H
#define RI_TEST_RTR_MESSAGE_TEST_H

#include "fake_rdma.h"
#include "pair_test.h"

extern "C" {
#include "ucp/link/planes.h"
#include "ucp/proto/rtr/rtr_message.h"
}

namespace {

const uint64_t ALL = ~0ul;
const uint64_t TAG = 1;

const size_t EAGER  = 1000;
const size_t MEDIUM = 20000;
const size_t LARGE  = 100000;

class rtr_message_test : public pair_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        m_on                 = ri_rtr_message_on;
        ri_rtr_message_on    = 1;
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
        stop_rdma();
        ri_config.rtr     = 0;
        ri_rtr_message_on = m_on;
        ri_test::TearDown();
    }

    void stop_rdma()
    {
        stop();
        m_a_rdma.reset();
        m_b_rdma.reset();
    }

    void start()
    {
        meet(0, false);
        m_a_rdma = std::make_unique<rdma>(*m_a);
        m_b_rdma = std::make_unique<rdma>(*m_b);
        ri_rtr_message_listen(m_a->worker());
        ri_rtr_message_listen(m_b->worker());
        teach(m_conn);
    }

    void restart()
    {
        pump();
        check_idle();
        stop_rdma();
        start();
    }

    /* The way, and who sends what */
    void teach(ri_conn_t *conn)
    {
        for (unsigned i = 0; i < 2; ++i) {
            recv_ptr r = m_b->recv(TAG, ALL, LARGE);
            send_ptr s = m_a->send(conn, bytes(LARGE), TAG);

            pump();
            ASSERT_TRUE(r->done && s->done);
        }
        ASSERT_TRUE(conn->flags & RI_CONN_RDMA);
        ASSERT_TRUE(ri_stream_find(m_b->worker(), SENDER, conn->id)->rdma_write);
        m_sent           = m_b->counters().rtr_sent;
        m_used           = m_b->counters().rtr_used;
        m_a_rdma->writes = m_b_rdma->reads = 0;
    }

    /* Control messages go by channels of 4 KB from now on, or not (any more). */
    void with_channels(bool on)
    {
        ri_config.ib_eager_peers = on ? 4 : 0;
        ri_config.ib_eager_size  = RI_CHANNEL_SIZE_MIN;
        ri_config.ib_eager_max   = ri_channel_max_payload(RI_CHANNEL_SIZE_MIN);
        ri_config.ib_eager_after = 1;
        restart();
    }

    /* Another conn of the same worker: another sender. */
    void second()
    {
        m_ab2   = m_a->new_endpoint(m_b.get());
        m_conn2 = m_a->connect(m_ab2, RECEIVER);
        for (unsigned i = 0; i < 2; ++i) {
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

    /* ... with the answers */
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

        EXPECT_EQ(RI_RTR_SENT, rtr(r));
        deliver();
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

    /* RTRs that are at the sender and of use */
    unsigned waiting()
    {
        unsigned count = 0;

        for (unsigned i = 0; i < m_conn->rtrs->num_waiting; ++i) {
            count += ri_rtr_is_out(&m_conn->rtrs->waiting[i]);
        }
        return count;
    }

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

    /* Buffers of the pool that are free and stay registered */
    static size_t pooled(node &n)
    {
        const ri_pool_buffer_t *buffer;
        size_t count = 0;

        for (ucs_list_link_t &list : n.worker()->pool.free) {
            ucs_list_for_each(buffer, &list, list) {
                count += (buffer->plane != nullptr);
            }
        }
        return count;
    }

    /* When nothing is posted */
    void check_idle()
    {
        ri_worker_t *worker    = m_b->worker();
        ri_worker_counters_t c = m_b->counters();
        ri_stream_t *s;

        if (m_a->worker()->pool.used + worker->pool.used > 0) {
            housekeeping(); /* buffers are given back */
            pump();
        }
        EXPECT_EQ(0u, m_a->worker()->pool.used);
        EXPECT_EQ(0u, worker->pool.used);
        ASSERT_EQ(0u, worker->match.num_posted);
        EXPECT_EQ(c.rtr_sent, c.rtr_used + c.rtr_dropped);
        EXPECT_EQ(0u, worker->num_rtrs);
        EXPECT_EQ(0u, worker->num_rtr_slots);
        EXPECT_EQ(0u, worker->num_revoking);
        EXPECT_EQ(0u, worker->num_reads);
        EXPECT_EQ(0u, m_a->worker()->num_reads);
        EXPECT_TRUE(ucs_list_is_empty(&worker->rtr_queue));
        EXPECT_TRUE(ucs_list_is_empty(&worker->stalled_self));
        EXPECT_EQ(pooled(*m_a) + m_a->worker()->num_channels, m_a_rdma->keys());
        EXPECT_EQ(pooled(*m_b) + worker->num_channels, m_b_rdma->keys());
        ucs_list_for_each(s, &worker->streams, list) {
            EXPECT_EQ(0u, s->num_rtrs);
            EXPECT_FALSE(s->stalled);
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

    uint64_t malformed() { return m_b->counters().rx_malformed; }

    int m_on;
    std::unique_ptr<rdma> m_a_rdma, m_b_rdma;
    uint64_t m_seed = 0, m_sent = 0, m_used = 0;
};

/* ... with failures, and what a peer says that it should not */
class rtr_message_ends_test : public rtr_message_test {
protected:
    enum failure_t {
        AT_START,
        AT_END,
        AT_END_TOLD,  /* all of it was done, and the receiver is told at once */
        AT_END_LATER, /* ... when its own end of the way ends */
        FAILURES
    };

    void fail_writes(int what)
    {
        m_a_rdma->start_status = (what == AT_START) ? UCS_ERR_UNREACHABLE : UCS_OK;
        m_a_rdma->end_status   = (what == AT_START) ? UCS_OK : UCS_ERR_UNREACHABLE;
        m_a_rdma->loses_end    = (what == AT_END_TOLD) || (what == AT_END_LATER);
        m_b_rdma->holds_news   = (what == AT_END_LATER);
    }

    void deliver_rtr(ri_wire_rtr_msg_t msg, uint32_t conn_id, size_t length)
    {
        const uint8_t *at = reinterpret_cast<const uint8_t *>(&msg);

        msg.base.type = RI_WIRE_RTR;
        ri_wire_set_id(&msg.base, conn_id);
        m_a->deliver(bytes(at, at + length), {});
    }

    void deliver_revoked(uint32_t stream_id, uint32_t generation, uint16_t slot,
                         uint16_t flags)
    {
        ri_wire_revoked_t msg = {};
        const uint8_t *at     = reinterpret_cast<const uint8_t *>(&msg);

        msg.base.type  = RI_WIRE_REVOKED;
        msg.base.value = generation;
        msg.slot       = slot;
        msg.flags      = flags;
        ri_wire_set_id(&msg.base, stream_id);
        m_b->deliver(bytes(at, at + sizeof(msg)), {});
    }

    void deliver_revoke(uint32_t conn_id, uint32_t generation, uint16_t slot,
                        uint32_t stream_id, uint64_t uid)
    {
        ri_wire_revoke_t msg = {};
        const uint8_t *at    = reinterpret_cast<const uint8_t *>(&msg);

        msg.base.type  = RI_WIRE_REVOKE;
        msg.base.value = generation;
        msg.slot       = slot;
        msg.stream_id  = stream_id;
        msg.uid        = uid;
        ri_wire_set_id(&msg.base, conn_id);
        m_a->deliver(bytes(at, at + sizeof(msg)), {});
    }

    /* An RTR as the receiver would send it */
    ri_wire_rtr_msg_t rtr_of(uint32_t seen, uint32_t generation)
    {
        ri_wire_rtr_msg_t msg = {};

        msg.base.value = 77;
        msg.tag        = TAG;
        msg.mask       = ALL;
        msg.address    = 0x1000;
        msg.length     = LARGE;
        msg.way        = m_conn->peer->rdma_way;
        msg.seen       = seen;
        msg.generation = generation;
        msg.slot       = 3;
        return msg;
    }

    void deliver_used(uint32_t stream_id, uint32_t sn, const std::vector<uint32_t> &rtrs)
    {
        ri_wire_used_t msg = {};
        const uint8_t *at  = reinterpret_cast<const uint8_t *>(&msg);

        msg.base.type  = RI_WIRE_USED;
        msg.base.value = sn;
        msg.count      = rtrs.size();
        memcpy(msg.rtrs, rtrs.data(), rtrs.size() * sizeof(rtrs[0]));
        ri_wire_set_id(&msg.base, stream_id);
        m_b->deliver(bytes(at, at + sizeof(msg)), {});
    }

    /* The immediate of the write of a receive's RTR, by the message of a number */
    uint32_t immediate(const recv_ptr &r, uint32_t sn)
    {
        ri_wire_rtr_msg_t msg;

        EXPECT_EQ(1u, m_ba->count(RI_WIRE_RTR));
        packet p = m_ba->sent.front();
        EXPECT_EQ(sizeof(msg), p.data.size());
        memcpy(&msg, p.data.data(), sizeof(msg));
        return (sn & 0xffff) | ((uint32_t)msg.slot << RI_WIRE_IMM_SLOT_SHIFT) |
               (msg.generation << RI_WIRE_IMM_GEN_SHIFT);
    }
};

} // namespace

#endif
