/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Definitions of layouts, and RTRs that name them, that a peer makes up, and that come through a
 * network in any order. (src/ucp/proto/rtr/rtr_layout.c, rtr_send_net.c)
 */

#include "rtr_layout_net_test.h"

namespace {

class test_rtr_layout_net_hostile : public rtr_layout_net_test {
protected:
    /* Of two runs, of 50000 bytes, 200 apart */
    static bytes two_runs() { return {0, 0, 0, 1, 2, 0xb0, 0x90, 6, 0, 0xd0, 0x86, 3}; }

    /* What the receiver would send */
    void define(uint16_t slot, uint32_t generation, const bytes &definition)
    {
        wire_msg msg(RI_WIRE_LAYOUT, m_conn->id, generation);

        msg.asked = slot;
        m_a->deliver(msg, definition);
    }

    void define(uint16_t slot, uint32_t generation)
    {
        define(slot, generation, two_runs());
    }

    wire_msg rtr_of(uint16_t slot, uint32_t defined, uint32_t generation)
    {
        wire_msg msg(RI_WIRE_RTR_LAYOUT, m_conn->id, 77);

        m_memory.assign(2 * LARGE, GAP);
        msg.tag        = TAG;
        msg.cookie     = (uintptr_t)m_memory.data(); /* the mask, too */
        msg.length     = LARGE;
        msg.way        = m_conn->peer->way.number;
        msg.recv_id    = m_conn->tx_sn;
        msg.generation = generation;
        msg.entry      = 3;
        msg.number     = 1;
        msg.serial     = defined;
        msg.asked      = slot;
        return msg;
    }

    void offer(uint16_t slot, uint32_t defined, uint32_t generation)
    {
        m_a->deliver(rtr_of(slot, defined, generation));
    }

    static constexpr uint8_t GAP = 0xee;

    bytes m_memory;
};

/* An RTR overtakes its definition, or is overtaken by the next one: it is as good as lost. */
TEST_F(test_rtr_layout_net_hostile, out_of_order)
{
    uint64_t stale = m_a->counters().rx_stale;

    offer(5, 1, 1000); /* nothing was defined */
    EXPECT_EQ(stale + 1, m_a->counters().rx_stale);
    define(5, 1);
    offer(5, 2, 1001); /* of the future */
    define(5, 1);      /* again */
    EXPECT_EQ(stale + 3, m_a->counters().rx_stale);
    define(5, 3);
    define(5, 2); /* of the past */
    offer(5, 1, 1002);
    offer(6, 3, 1003); /* another slot */
    EXPECT_EQ(stale + 6, m_a->counters().rx_stale);
    EXPECT_EQ(0u, waiting());
    offer(5, 3, 1004);
    EXPECT_EQ(stale + 6, m_a->counters().rx_stale);
    EXPECT_EQ(1u, waiting());
    offer(5, 3, 1004); /* again */
    offer(5, 3, 1003);
    EXPECT_EQ(stale + 8, m_a->counters().rx_stale);
    EXPECT_EQ(1u, waiting());
    EXPECT_EQ(0u, m_a->counters().rx_malformed);

    send_ptr s = send(LARGE); /* its key is none: the message comes again */
    EXPECT_EQ(1u, m_a_rdma->writes);
    recv_ptr r = post(LARGE);
    pump();
    check(r, s);
}

/* What an RTR has named stays, whatever is defined behind it; the gap is not written. */
TEST_F(test_rtr_layout_net_hostile, definition_of_the_time)
{
    ri_plane_t *rc = m_b->worker()->net.rc;
    wire_msg rtr   = rtr_of(5, 1, 1000);
    ri_plane_memory_t memory;
    bytes expected = m_memory;

    ASSERT_EQ(UCS_OK, rc->ops->reg(rc, m_memory.data(), m_memory.size(), &memory));
    rtr.key     = memory.remote_key;
    rtr.recv_id = m_conn->tx_sn; /* what was seen */
    define(5, 1);
    m_a->deliver(rtr);
    define(5, 2, {0, 0, 0, 0, 1});
    define(5, 3,
           {0, 0, 0, 1, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0,
            8}); /* it overflows */
    ASSERT_EQ(1u, waiting());
    send_ptr s = send(LARGE);
    m_a->progress();
    EXPECT_TRUE(s->done);
    for (size_t i = 0; i < LARGE; ++i) {
        expected[i + i / (LARGE / 2) * 200] = s->data[i];
    }
    EXPECT_TRUE(expected == m_memory);
    rc->ops->release(rc, &memory);
}

/* Elements that are not as long as the RTR says, or not where memory can be: no effect */
TEST_F(test_rtr_layout_net_hostile, hostile_rtrs)
{
    uint64_t stale = m_a->counters().rx_stale;

    define(5, 1);
    for (unsigned what = 0; what < 8; ++what) {
        SCOPED_TRACE(what);
        wire_msg rtr = rtr_of(5, 1, 1000 + what);
        bool is_form = true; /* only what it is about is wrong */

        switch (what) {
        case 0:
            rtr.number = 2;
            break;
        case 1:
            rtr.number = 0;
            break;
        case 2:
            rtr.number = 1ul << 62;
            break;
        case 3:
            rtr.length = LARGE - 1;
            break;
        case 4:
            rtr.cookie = 1ul << 62;
            break;
        case 5:
            rtr.cookie = (1ul << 62) - LARGE;
            break;
        case 6:
            rtr.asked = RI_WIRE_LAYOUTS;
            is_form   = false;
            break;
        default:
            rtr.entry = RI_WIRE_RTR_ENTRIES;
            is_form   = false;
            break;
        }
        uint64_t malformed = m_a->counters().rx_malformed;
        m_a->deliver(rtr);
        stale += is_form;
        EXPECT_EQ(stale, m_a->counters().rx_stale);
        EXPECT_EQ(malformed + !is_form, m_a->counters().rx_malformed);
        EXPECT_EQ(0u, waiting());
    }
}

/* They are dropped, and what was defined stays. */
TEST_F(test_rtr_layout_net_hostile, hostile_definitions)
{
    define(5, 1);
    bytes padded = two_runs();
    padded.resize(RI_WIRE_LAYOUT_MAX + 1);
    uint64_t malformed = 0;
    for (const bytes &bad :
         std::vector<bytes>{{0}, {0, 0, 0, 9}, {0, 0, 0, 3, 2, 0}, padded}) {
        define(5, 2, bad);
        EXPECT_EQ(++malformed, m_a->counters().rx_malformed);
    }
    define(RI_WIRE_LAYOUTS, 1);
    define(4, 1, {});
    EXPECT_EQ(malformed + 2, m_a->counters().rx_malformed);
    offer(5, 2, 1000);
    EXPECT_EQ(0u, waiting());
    offer(5, 1, 1001);
    EXPECT_EQ(1u, waiting());
    send_ptr s = send(LARGE);
    recv_ptr r = post(LARGE);
    pump();
    check(r, s);
}

/* To a conn that has no way, or is none */
TEST_F(test_rtr_layout_net_hostile, definitions_for_others)
{
    uint64_t stale = m_a->counters().rx_stale;
    wire_msg msg(RI_WIRE_LAYOUT, 0xffffff, 1);

    m_a->deliver(msg, two_runs());
    EXPECT_EQ(stale + 1, m_a->counters().rx_stale);
    ri_rtr_words_t *words = m_conn->rtr.words;
    m_conn->rtr.words     = nullptr;
    define(5, 1);
    m_conn->rtr.words = words;
    EXPECT_EQ(stale + 2, m_a->counters().rx_stale);
    EXPECT_EQ(nullptr, m_conn->rtr.net_layouts_in);
}

/* A sender does not write runs that are too short to be worth a write each. */
TEST_F(test_rtr_layout_net_hostile, runs_that_are_too_short)
{
    wire_msg rtr = rtr_of(5, 1, 1000);

    define(5, 1, {0, 0, 0, 1, 100, 0xd0, 0x0f, 0, 0xe7, 0x07}); /* 999 bytes each */
    rtr.length = 99900;
    m_a->deliver(rtr);
    EXPECT_EQ(1u, waiting());
    send_ptr s = send(99900);
    EXPECT_EQ(0u, m_a_rdma->writes);
    recv_ptr r = post(99900);
    pump();
    check(r, s);
}

} // namespace
