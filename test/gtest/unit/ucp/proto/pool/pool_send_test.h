/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers, one of which sends from its pool, and hostile messages about that.
 */
#ifndef RI_TEST_HYBRID_TEST_H
#define RI_TEST_HYBRID_TEST_H

#include "unit/common/rndv_test.h"

namespace {

/* Progress calls after which nothing waits to be given back any more. */
const int PATIENCE = 300;

class pool_send_test : public rndv_test {
protected:
    static constexpr size_t MEDIUM = 20000;
    static constexpr size_t POOL   = 512 * 1024; /* 16 buffers of 32 KB */

    void SetUp() override
    {
        rndv_test::SetUp();
        stop();
        ri_config.hybrid_thresh = 65536;
        ri_config.pool_size     = POOL;
        start();
    }

    uint64_t used(node &n) { return n.counters().pool_bytes; }

    /* Until all is read and given back */
    void calm_down() override
    {
        pump();
        for (int i = 0; i < PATIENCE; ++i) {
            m_b->progress();
        }
        pump();
    }

    /* A message that is out: its id, from the POOL in front of the queue */
    uint32_t send_pool(uint64_t tag, const bytes &content)
    {
        memory from(CONTIG, content.size(), content);
        rndv_ptr s = send(from, tag);

        EXPECT_TRUE(s->done);
        return m_ab->sent.back().parse().req_id;
    }

    void release(const std::vector<uint32_t> &ids, ri_conn_t *conn = nullptr)
    {
        wire_msg msg(RI_WIRE_RELEASE, (conn ? conn : m_conn)->id, ids.size());

        msg.release = ids;
        m_a->deliver(msg);
    }

    void nack(uint32_t id, uint32_t recv_id, ri_conn_t *conn = nullptr)
    {
        wire_msg msg(RI_WIRE_NACK, (conn ? conn : m_conn)->id, id);

        msg.recv_id = recv_id;
        msg.flags   = RI_WIRE_NACK_POOL;
        m_a->deliver(msg);
    }

    /* Stock's, which nobody fetches */
    void end_rendezvous(ucs_status_t status)
    {
        for (fake::request *req : m_ucx->requests) {
            req->ready = true;
        }
        m_ucx->complete(status);
    }

    /* A POOL that the sender did not send */
    void pool(uint32_t sn, uint64_t tag, const bytes &content, uint16_t flags = 0,
              uint32_t id = 0x7777)
    {
        wire_msg msg(RI_WIRE_POOL, stream()->id, sn);

        msg.tag    = tag;
        msg.req_id = id;
        m_b->deliver(msg,
                     rts_payload({{(uintptr_t)content.data(), content.size()}}, flags));
    }

    /* Through the ring of the receiver's conn; what the sender's side reads */
    void record(uint8_t type, uint32_t extra, const bytes &payload, uint32_t value = 0)
    {
        ri_ring_record_t *r = ri_ring_tx_reserve(m_back->ring, payload.size());

        ASSERT_NE(nullptr, r);
        std::copy(payload.begin(), payload.end(), ri_ring_payload(r, payload.size()));
        r->type  = type;
        r->value = value;
        r->extra = extra;
        r->tag   = 99;
        ri_ring_tx_commit(m_back->ring, r, payload.size());
    }

    static bytes words(const std::vector<uint32_t> &ids)
    {
        const uint8_t *at = reinterpret_cast<const uint8_t *>(ids.data());

        return bytes(at, at + ids.size() * sizeof(uint32_t));
    }
};

} // namespace

#endif
