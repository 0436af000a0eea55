/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A way that neither reads nor writes memory, as it goes by datagrams: what is only for ways that
 * do is not asked for there, and taken from nobody. (docs/protocol.md sections 6.4 and 8)
 */

#include "rtr_ud_test.h"

namespace {

class test_rtr_ud_hostile : public rtr_ud_test {};

/* As from a peer that could write this process's memory */
TEST_F(test_rtr_ud_hostile, rtr_for_a_write)
{
    uint64_t before = m_a->counters().rx_stale;
    wire_msg msg(RI_WIRE_RTR, m_conn->id, 77);

    msg.tag        = TAG;
    msg.cookie     = ALL;
    msg.length     = LARGE;
    msg.way        = m_conn->peer->way.number;
    msg.recv_id    = m_conn->tx_sn;
    msg.generation = 10;
    msg.entry      = 3;
    m_a->deliver(msg);
    EXPECT_EQ(before + 1, m_a->counters().rx_stale);
    EXPECT_EQ(0u, m_conn->rtr.table->num_waiting);

    recv_ptr r = post();
    send_ptr s = send();
    pump();
    check(r, s);
    EXPECT_EQ(0u, m_a->counters().rx_malformed);
}

TEST_F(test_rtr_ud_hostile, no_channel)
{
    ri_config.ib_eager_peers = 4;
    ri_config.ib_eager_size  = 4096;
    ri_config.ib_eager_after = 4;
    for (size_t max : {(size_t)0, (size_t)100}) {
        ri_config.ib_eager_max = max;
        restart();
        for (int i = 0; i < 20; ++i) {
            recv_ptr r = post(i % 2 ? LARGE : 8);
            send_ptr s = send(i % 2 ? LARGE : 8);

            pump();
            check(r, s);
        }
        EXPECT_EQ(0u, m_a->counters().channels_offered);
        EXPECT_EQ(0u, m_b->counters().channels_offered);
    }

    wire_msg offer(RI_WIRE_CHANNEL_OFFER, m_conn->id, 4096);
    offer.stream_id = stream()->id;
    offer.uid       = RECEIVER;
    offer.way       = m_conn->peer->way.number;
    offer.serial    = 7;
    m_a->deliver(offer);
    EXPECT_EQ(nullptr, m_conn->channel);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_CHANNEL_CLOSE));
    m_ab->take(RI_WIRE_CHANNEL_CLOSE);
}

} // namespace
