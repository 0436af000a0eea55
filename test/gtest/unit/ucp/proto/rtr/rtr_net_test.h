/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers that reach each other through a network only, and receives with RTRs by message.
 * The test is the network of messages, and says when writes end and are told.
 */
#ifndef RI_TEST_RTR_MESSAGE_TEST_H
#define RI_TEST_RTR_MESSAGE_TEST_H

#include "offer_test.h"
#include "unit/fakes/fake_rdma.h"

extern "C" {
#include "ucp/proto/rtr/rtr_net.h"
}

namespace {

class rtr_net_test : public net_offer_test {
protected:
    static constexpr size_t MEDIUM = 20000;
    static constexpr size_t LARGE  = 100000;

    rtr_net_test() : net_offer_test(LARGE, 2) {}

    void end() override
    {
        stop();
        m_a_rdma.reset();
        m_b_rdma.reset();
    }

    void start() override
    {
        meet(0, false);
        m_a_rdma = std::make_unique<rdma>(*m_a);
        m_b_rdma = std::make_unique<rdma>(*m_b);
        ri_rtr_net_listen(m_a->worker());
        ri_rtr_net_listen(m_b->worker());
        teach(m_conn);
        count_from_now();
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

    /* A receive whose RTR waits at the sender */
    recv_ptr post_seen(size_t length = LARGE)
    {
        recv_ptr r = post(length);

        EXPECT_EQ(RI_RTR_BY_KEY, rtr(r));
        deliver();
        return r;
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

    void check_idle() override
    {
        ri_worker_t *worker = m_b->worker();

        if (m_a->worker()->pool.used + worker->pool.used > 0) {
            housekeeping(); /* buffers are given back */
            pump();
        }
        net_offer_test::check_idle();
        EXPECT_EQ(0u, m_a->worker()->pool.used);
        EXPECT_EQ(0u, worker->pool.used);
        EXPECT_EQ(0u, worker->rtr.num_entries);
        EXPECT_EQ(0u, worker->rtr.num_revoking);
        EXPECT_TRUE(ucs_list_is_empty(&worker->rtr.stalled_self));
        EXPECT_EQ(pooled(*m_a) + m_a->worker()->num_channel_ends, m_a_rdma->keys());
        EXPECT_EQ(pooled(*m_b) + worker->num_channel_ends, m_b_rdma->keys());
    }

    std::unique_ptr<rdma> m_a_rdma, m_b_rdma;
};

/* ... with failures, and what a peer says that it should not */
class rtr_net_ends_test : public rtr_net_test {
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

    void deliver_revoked(uint32_t stream_id, uint32_t generation, uint16_t entry,
                         uint16_t flags)
    {
        ri_wire_revoked_t msg = {};
        const uint8_t *at     = reinterpret_cast<const uint8_t *>(&msg);

        msg.base.type  = RI_WIRE_REVOKED;
        msg.base.value = generation;
        msg.entry      = entry;
        msg.flags      = flags;
        ri_wire_set_id(&msg.base, stream_id);
        m_b->deliver(bytes(at, at + sizeof(msg)), {});
    }

    void deliver_revoke(uint32_t conn_id, uint32_t generation, uint16_t entry,
                        uint32_t stream_id, uint64_t uid)
    {
        ri_wire_revoke_t msg = {};
        const uint8_t *at    = reinterpret_cast<const uint8_t *>(&msg);

        msg.base.type  = RI_WIRE_REVOKE;
        msg.base.value = generation;
        msg.entry      = entry;
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
        msg.way        = m_conn->peer->way.number;
        msg.seen       = seen;
        msg.generation = generation;
        msg.entry      = 3;
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

    /* The immediate of the write of a receive's RTR, by the message of a number. RTR_GRID begins as RTR
     * does. */
    uint32_t immediate(const recv_ptr &r, uint32_t sn, ri_wire_type_t type = RI_WIRE_RTR)
    {
        ri_wire_rtr_msg_t msg;

        EXPECT_EQ(1u, m_ba->count(type));
        packet p = m_ba->sent.front();
        EXPECT_LE(sizeof(msg), p.data.size());
        memcpy(&msg, p.data.data(), sizeof(msg));
        return (sn & 0xffff) | ((uint32_t)msg.entry << RI_WIRE_IMM_ENTRY_SHIFT) |
               (msg.generation << RI_WIRE_IMM_GEN_SHIFT);
    }
};

} // namespace

#endif
