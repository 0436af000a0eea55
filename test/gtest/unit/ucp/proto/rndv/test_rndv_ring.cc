/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/rndv/rndv.c: an RTS in a ring that is full, or that says nonsense.
 */

#include "unit/common/rndv_test.h"

namespace {

class test_rndv_ring : public rndv_test {};

TEST_F(test_rndv_ring, ring_is_full)
{
    with_rings();
    connect_planes();
    memory small(CONTIG, 1000), from(CONTIG, LONG, pattern(1, LONG)), to(CONTIG, LONG);
    std::vector<rndv_ptr> sends;

    do {
        sends.push_back(send(small, 1));
    } while (sends.back()->done);
    rndv_ptr s = send(from, 5);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS));
    recv_ptr r = recv(to, 5);
    pump();
    check(r, to, pattern(1, LONG), 5);
    EXPECT_TRUE(s->done);
    for (rndv_ptr &op : sends) {
        EXPECT_TRUE(op->done);
        recv(to, 1);
    }
}

/* Numbers in a ring rise: what waits for room must not come behind. The receiver leaves a
 * message in the ring that is far ahead, so they would wait for each other. */
TEST_F(test_rndv_ring, ring_with_messages_that_wait)
{
    with_rings();
    connect_planes();
    memory small(CONTIG, 1000), from(CONTIG, LONG, pattern(1, LONG)), to(CONTIG, LONG);
    std::vector<rndv_ptr> sends;

    for (int i = 0; i < 1500; ++i) {
        sends.push_back(send(small, 1));
    }
    ASSERT_FALSE(sends.back()->done);
    m_b->progress(); /* makes room */
    rndv_ptr s = send(from, 5);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS));
    recv_ptr r = recv(to, 5);
    pump();
    check(r, to, pattern(1, LONG), 5);
    for (rndv_ptr &op : sends) {
        EXPECT_TRUE(op->done);
        recv(to, 1);
    }
}

TEST_F(test_rndv_ring, ring_record_that_is_malformed)
{
    for (int what = 0; what < 4; ++what) {
        with_rings();
        connect_planes();
        memory from(CONTIG, LONG);
        rndv_ptr s               = send(from, 5);
        ri_ring_rx_t *ring       = stream()->ring;
        ri_ring_record_t *record = &ring->lines[ring->pos & ring->mask];
        ri_wire_rts_t *payload = (ri_wire_rts_t *)ri_ring_payload(record, record->length);
        ASSERT_EQ((unsigned)RI_WIRE_RTS, record->type);

        switch (what) {
        case 0:
            record->length = RI_WIRE_RTS_MAX + 16;
            break;
        case 1:
            record->length = 0;
            break;
        case 2:
            payload->num_segments = 2;
            break;
        default:
            payload->segments[0].length = 0;
            break;
        }
        uint64_t malformed = m_b->counters().rx_malformed;
        m_b->progress();
        EXPECT_EQ(malformed + 1, m_b->counters().rx_malformed);
        EXPECT_TRUE(stream()->broken);
        EXPECT_EQ(nullptr, stream()->ring);
        pump(); /* RESET */
        ASSERT_TRUE(s->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
    }
}

} // namespace
