/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages that have their turn before their data is there, and too many others behind them.
 * (protocol-rndv.md section 4; src/ucp/proto/rtr/rtr_used.c)
 */

#include "rtr_net_test.h"

#include <algorithm>

extern "C" {
#include "ucp/proto/rtr/rtr_entries.h"
}

namespace {

class test_rtr_used_window : public rtr_net_ends_test {};

/* Early messages are bounded, whoever they wait for. */
TEST_F(test_rtr_used_window, window)
{
    ri_config.reorder_window = 8;
    recv_ptr r               = post_seen();
    deliver_used(stream()->id, stream()->next_sn + 1, {0}); /* void */
    EXPECT_EQ(0u, stream()->num_early);
    m_a_rdma->holds = true;
    send();
    for (unsigned i = 0; i < 10; ++i) {
        send(8, TAG + 1);
    }
    m_ab->sent
            .pop_front(); /* USED is lost, as UCP loses nothing: the peer did not send it */
    EXPECT_EQ(10u, m_ab->sent.size());
    for (unsigned i = 0; i < 8; ++i) {
        deliver(m_ab, 0);
    }
    EXPECT_EQ(8u, stream()->num_early);
    EXPECT_FALSE(stream()->broken);
    deliver(m_ab, 0);
    EXPECT_TRUE(stream()->broken);
    EXPECT_EQ(0u, stream()->num_early);
    m_ab->sent.clear();
    m_a_rdma->holds = false;
    pump();
    m_b->cancel(r);
}

/* ... but a sender does not pay for another one that does not answer. */
TEST_F(test_rtr_used_window, window_while_contested)
{
    ri_config.reorder_window = 8;
    second();
    recv_ptr r = post_seen();
    std::vector<send_ptr> s;
    for (unsigned i = 0; i < 12; ++i) {
        s.push_back(send2(8));
    }
    for (unsigned i = 0; i < 8; ++i) {
        deliver(m_ab2, 0);
    }
    EXPECT_TRUE(stream2()->stalled);
    EXPECT_EQ(RI_WAY_CONNECTED, stream()->peer->way.state);
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_REVOKE));
    m_ba->sent.clear(); /* it is not answered */
    deliver(m_ab2, 0);
    EXPECT_EQ(RI_WAY_FAILED, stream()->peer->way.state);
    EXPECT_FALSE(stream2()->broken);
    m_b->progress();
    check(r, s[0]);
    EXPECT_FALSE(stream2()->stalled);
    pump();
    for (unsigned i = 1; i < 12; ++i) {
        recv_ptr one = post(8);
        check(one, s[i]);
    }
}

/* What takes the place of USED needs no room; and what was told of a way goes with it while
 * messages are kept, as the senders are two conns of one peer here. */
TEST_F(test_rtr_used_window, window_is_full)
{
    ri_config.reorder_window = 3;
    recv_ptr r0 = post(8, TAG + 1), r1 = post_seen(), r2 = post(8);
    m_a_rdma->holds = true;
    send_ptr s0 = send(8, TAG + 1), s1 = send(), s2 = send(8), s3 = send(8, TAG + 2);
    while (m_ab->sent.size() > 1) { /* USED, and what follows */
        deliver(m_ab, 1);
    }
    EXPECT_EQ(3u, stream()->num_early);
    m_a_rdma->holds = false;
    progress_both(3);
    EXPECT_EQ(RI_RTR_WRITTEN, rtr(r1));
    EXPECT_EQ(3u, stream()->num_early);
    pump();
    check(r0, s0);
    check(r1, s1);
    check(r2, s2);
    check(post(8, TAG + 2), s3);

    second();
    recv_ptr r = post_seen();
    std::vector<send_ptr> s;
    for (unsigned i = 0; i < 4; ++i) {
        s.push_back(send2(8));
    }
    deliver(m_ab2, 0);
    ASSERT_TRUE(stream2()->stalled);
    deliver(m_ab2, 0);
    ri_rtr_entries_t *entries = stream()->peer->rtr.entries;
    uint32_t rtr              = ri_wire_used_rtr(req(r)->rtr.index,
                                                 entries->entry[req(r)->rtr.index].generation);
    req(r)->rtr.stream        = stream2(); /* as if it were its own */
    deliver_used(stream2()->id, stream2()->next_sn + 7, {rtr});
    req(r)->rtr.stream = stream();
    EXPECT_EQ(3u, stream2()->num_early);
    m_ba->sent.clear();
    deliver(m_ab2, 0);
    EXPECT_FALSE(stream2()->broken);
    m_b->progress();
    check(r, s[0]);
    pump();
    for (unsigned i = 1; i < 4; ++i) {
        check(post(8), s[i]);
    }
}

} // namespace
