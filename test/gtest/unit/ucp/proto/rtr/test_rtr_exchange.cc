/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* RTRs of receives whose message is one of an exchange within a host (src/ucp/proto/rtr/rtr_send_host.c,
 * rtr_learn.c, src/ucp/core/exchange.h). */

#include "rtr_test.h"

namespace {

class test_rtr_exchange : public rtr_test {};

/* Both send at the same time. The RTR comes behind the RTS of its message, which its receiver is to read,
 * as the sender has another one to copy. Such RTRs are not sent for long. */
TEST_F(test_rtr_exchange, rtr_of_an_exchange)
{
    ri_ring_slot_t *slot       = &m_conn->ring->control->slots[0];
    unsigned rtrs              = 0;
    ri_config.coop_thresh      = GIANT;
    ri_config.rtr              = UCS_AUTO;
    m_a->worker()->rings.crowd = m_b->worker()->rings.crowd = 2;

    for (unsigned i = 0; i < 40; ++i) {
        bool exchanges = (i > 0);
        recv_ptr r_a   = exchanges ? m_a->recv(5, ALL, GIANT) : nullptr;
        for (ri_peer_t *peer : {m_conn->peer, m_back->peer}) {
            peer->hint.prompt  = exchanges;
            peer->hint.soon    = exchanges ? 3 : 0;
            peer->exchange.met = 4;
        }
        send_ptr s = send(GIANT);
        recv_ptr r = post(GIANT); /* it has not looked for the message yet */
        rtrs += (rtr(r) == RI_RTR_BY_GRANT);
        EXPECT_EQ(0u, uint64_t(slot->address));
        m_a->progress();
        if (rtr(r) == RI_RTR_BY_GRANT) {
            EXPECT_EQ(exchanges, slot->address == 0) << i;
        }
        send_ptr s_b = exchanges ? m_b->send(m_back, pattern(i, GIANT), 5) : nullptr;
        m_b->progress(); /* it reads before its own message is read */
        pump();
        check(r, s);
        if (exchanges) {
            ASSERT_TRUE(r_a->done && s_b->done);
            EXPECT_TRUE(r_a->buffer == pattern(i, GIANT));
        }
        m_a->release_done();
        m_b->release_done();
    }
    EXPECT_LT(1u, rtrs);
    EXPECT_GT(20u, rtrs);
}

/* A sender that has a receive posted, and gets nothing, uses RTRs: messages go one way only. */
TEST_F(test_rtr_exchange, one_way_with_a_receive_posted)
{
    ri_config.coop_thresh      = GIANT;
    ri_config.rtr              = UCS_AUTO;
    m_conn->peer->hint.prompt  = 1;
    m_a->worker()->rings.crowd = 2;
    recv_ptr other             = m_a->recv(99, ALL, 8);

    for (unsigned i = 0; i < 20; ++i) {
        recv_ptr r = post_seen(GIANT);
        send_ptr s = send(GIANT);
        EXPECT_NE(0u, uint64_t(m_conn->ring->control->slots[0].address)) << i;
        pump();
        check(r, s);
        m_a->release_done();
        m_b->release_done();
    }
    m_a->cancel(other);
}

/* In a crowd RTRs are used: nobody knows whether there is an exchange. */
TEST_F(test_rtr_exchange, in_a_crowd)
{
    ri_config.rtr              = UCS_AUTO;
    m_a->worker()->rings.crowd = 0;
    recv_ptr other             = m_a->recv(99, ALL, 8);
    recv_ptr r                 = post_seen(LARGE);
    unsigned writes            = m_a_plane->writes;
    send_ptr s                 = send(LARGE);

    EXPECT_EQ(writes + 1, m_a_plane->writes);
    m_b->progress();
    check(r, s);
    m_a->cancel(other);
}

/* A message of an exchange that has no slot: its receiver reads it, and an RTR that comes late is not
 * used either. */
TEST_F(test_rtr_exchange, late_rtr_without_a_slot)
{
    ri_config.coop_thresh      = SIZE_MAX;
    ri_config.hybrid_thresh    = 0;
    ri_rtr_send_host_patience  = 1e9;
    ri_config.rtr              = UCS_AUTO;
    m_a->worker()->rings.crowd = 2;
    recv_ptr other             = m_a->recv(99, ALL, 8);

    for (bool met : {false, true}) {
        unsigned late              = m_conn->rtr.table->num_late;
        m_conn->peer->hint.prompt  = 1;
        m_conn->peer->exchange.met = met ? 4 : 0;
        send_ptr s                 = send(LARGE);
        recv_ptr r                 = post(LARGE);
        EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
        m_a->progress();
        EXPECT_EQ(late + !met, m_conn->rtr.table->num_late);
        pump();
        check(r, s);
    }
    m_a->cancel(other);
}

} // namespace
