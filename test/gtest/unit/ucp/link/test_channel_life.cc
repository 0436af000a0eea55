/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The eager channel through a network: who has one, and what goes by it.
 * (src/ucp/link/channel_life.c) The tests run src/ucp/link/channel_memory.c and
 * src/ucp/link/channel_out.c, too.
 */

#include "channel_life_test.h"

namespace {

class test_channel_life : public channel_life_test {};

TEST_F(test_channel_life, used)
{
    open();
    uint64_t before = by_channel();
    unsigned writes = m_a_rdma->writes;
    for (size_t length : {0, 1, 31, 32, 33, 100, 992}) {
        exchange(length);
    }
    EXPECT_EQ(before + 7, by_channel());
    EXPECT_LE(writes + 7, m_a_rdma->writes);
    EXPECT_EQ(by_channel(), m_b->counters().streams.rx_eager_rdma);
    exchange(993); /* too long for it */
    EXPECT_EQ(before + 7, by_channel());
    EXPECT_EQ(1u, m_b->counters().channels_active);
    EXPECT_EQ(0u, malformed());
}

/* What is not in one piece goes by it, too, and what is synchronous. */
TEST_F(test_channel_life, slow_path)
{
    open();
    uint64_t before = by_channel();
    for (shape_t shape : {IOV_1, IOV_16, IOV_EMPTY, PACKED}) {
        bytes content = pattern(shape, 500);
        memory from(shape, 500, content), to(shape, 500);
        recv_ptr r = recv(to, 3);
        rndv_ptr s = send(from, 3);

        pump();
        check(r, to, content, 3);
        EXPECT_TRUE(s->done);
    }
    EXPECT_EQ(before + 4, by_channel());
    recv_ptr r = m_b->recv(3, ~0ul, 8);
    send_ptr s = m_a->send(m_conn, bytes(8), 3, true);
    EXPECT_FALSE(s->done);
    pump();
    EXPECT_TRUE(r->done && s->done);
    EXPECT_EQ(before + 5, by_channel());
    exchange();
    EXPECT_EQ(before + 6, by_channel());
}

/* Credits come back; without them messages go on by active message, in order. */
TEST_F(test_channel_life, no_credits)
{
    open();
    m_b_rdma->holds = true; /* no credit is written */
    std::vector<recv_ptr> receives;
    for (int i = 0; i < 200; ++i) {
        receives.push_back(m_b->recv(7, ~0ul, 8));
        m_a->send(m_conn, pattern(i, 8), 7);
        m_a->progress();
        m_b->progress();
    }
    EXPECT_GT(m_ab->count(RI_WIRE_EAGER) + m_ab->count(RI_WIRE_EAGER_SAME), 100u);
    pump();
    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(receives[i]->done);
        EXPECT_TRUE(receives[i]->buffer == pattern(i, 8)) << i;
    }
    uint64_t before = by_channel();
    exchange();
    EXPECT_EQ(before, by_channel());
    m_b_rdma->holds = false;
    pump();
    for (int i = 0; i < 1000; ++i) {
        exchange();
    }
    EXPECT_EQ(before + 1000, by_channel());
    EXPECT_EQ(0u, malformed());
}

/* A message that was overtaken keeps its turn, by whatever way it comes. */
TEST_F(test_channel_life, one_sequence)
{
    open();
    recv_ptr r1 = m_b->recv(7, ~0ul, 2000), r2 = m_b->recv(7, ~0ul, 2000);
    m_a->send(m_conn, pattern(1, 2000), 7); /* by active message */
    m_a->send(m_conn, pattern(2, 100), 7);
    progress_both(5);
    EXPECT_FALSE(r1->done || r2->done) << "early";
    pump();
    ASSERT_TRUE(r1->done && r2->done);
    EXPECT_EQ(2000u, r1->info.length);
    EXPECT_EQ(100u, r2->info.length);
}

/* What is far ahead is left in the buffer, and holds the sender up there. */
TEST_F(test_channel_life, window)
{
    open();
    ri_config.reorder_window = 3;
    std::vector<recv_ptr> receives;
    for (int i = 0; i < 10; ++i) {
        receives.push_back(m_b->recv(7, ~0ul, 2000));
        m_a->send(m_conn, pattern(i, (i == 0) ? 2000 : 10), 7);
    }
    progress_both(5);
    EXPECT_EQ(3u, stream()->num_early);
    pump();
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(receives[i]->done);
        EXPECT_EQ((i == 0) ? 2000u : 10u, receives[i]->info.length);
    }
}

/* Numbers of the past are malformed, as everywhere. */
TEST_F(test_channel_life, repeated_number)
{
    open();
    --m_conn->tx_sn;
    m_a->send(m_conn, bytes(8), 7);
    progress_both(5);
    EXPECT_EQ(1u, m_b->counters().rx_malformed);
    exchange();
}

TEST_F(test_channel_life, early_number_twice)
{
    open();
    recv_ptr r = m_b->recv(7, ~0ul, 8);
    m_conn->tx_sn += 1;
    m_a->send(m_conn, bytes(8), 7);
    m_conn->tx_sn -= 1;
    m_a->send(m_conn, bytes(8), 7);
    progress_both(5);
    EXPECT_EQ(1u, m_b->counters().rx_malformed);
    EXPECT_FALSE(r->done);
    m_conn->tx_sn -= 2;
    m_a->send(m_conn, bytes(8), 8);
    progress_both(5);
    EXPECT_TRUE(r->done);
}

/* A record of another type breaks the stream, and ends the way by which it came. */
TEST_F(test_channel_life, malformed_record)
{
    open();
    ri_channel_record_t *record = ri_channel_tx_next(&out()->tx);
    record->length              = 8;
    record->type                = RI_WIRE_RTS;
    record->value               = m_conn->tx_sn + 1;
    size_t length               = ri_channel_tx_seal(&out()->tx, record);
    memcpy(in()->memory, out()->memory, in()->size);
    EXPECT_EQ(40u, length);
    pump();
    EXPECT_EQ(1u, m_b->counters().rx_malformed);
    EXPECT_TRUE(ucs_list_is_empty(&m_b->worker()->streams));
    EXPECT_EQ(0u, m_b->worker()->num_channel_ends);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_conn->status);
    EXPECT_EQ(nullptr, out());
    check_idle();
}

/* For control messages alone: short messages go by UCP, also behind one-sided operations. */
TEST_F(test_channel_life, control_only)
{
    with_channels();
    ri_config.ib_eager_max = 0;
    exchange(LONG); /* by UCP, which asks for the way */
    open();
    for (size_t length : {0, 1, 100}) {
        exchange(length);
    }
    EXPECT_EQ(0u, by_channel());
    EXPECT_EQ(0u, m_conn->counters.tx_channel);
    exchange(LONG);
    EXPECT_EQ(1u, m_conn->counters.tx_channel);
    ri_rma_note_unknown(m_conn);
    exchange(8);
    EXPECT_FALSE(m_conn->flags & RI_CONN_BEHIND_RMA) << "it has asked";
}

/* ... nor does a pair that sends nothing else have a queue pair for it. */
TEST_F(test_channel_life, control_only_needs_long_messages)
{
    with_channels();
    ri_config.ib_eager_max = 0;
    for (int i = 0; i < 50; ++i) {
        exchange();
    }
    EXPECT_EQ(0u, m_b->counters().qp_created);
    EXPECT_EQ(0u, m_b->counters().channels_offered);
    exchange(LONG); /* asks for the way */
    for (int i = 0; i < 50; ++i) {
        exchange();
    }
    EXPECT_EQ(1u, m_b->counters().channels_offered);
}

/* A queue pair sends in order: what would wait there is sooner as an active message. */
TEST_F(test_channel_life, behind_long_writes)
{
    open();
    uint64_t before                   = by_channel();
    m_conn->peer->way.ep->long_writes = 1;
    exchange();
    EXPECT_EQ(before, by_channel());
    m_conn->peer->way.ep->long_writes = 0;
    exchange();
    EXPECT_EQ(before + 1, by_channel());
}

/* Active messages overtake what is long, so they are looked for as often as without a channel. */
TEST_F(test_channel_life, stock_progress_is_not_skipped)
{
    ri_config.progress_skip = 8;
    open();
    exchange();
    EXPECT_EQ(0u, m_a->counters().stock_skipped);
    EXPECT_EQ(0u, m_b->counters().stock_skipped);
}

TEST_F(test_channel_life, off)
{
    with_channels(0);
    for (int i = 0; i < 50; ++i) {
        exchange();
    }
    EXPECT_EQ(0u, m_b->counters().channels_offered);
    EXPECT_EQ(0u, m_b->counters().qp_created) << "asked for nothing";
}

/* Nothing is offered where the receiver sleeps, or the endpoint wants to hear of failures. */
TEST_F(test_channel_life, not_in_mode_peer)
{
    m_back->flags |= RI_CONN_PEER_MODE;
    for (int i = 0; i < 50; ++i) {
        exchange();
    }
    EXPECT_EQ(0u, m_b->counters().channels_offered);
    m_back->flags &= ~RI_CONN_PEER_MODE;
    m_conn->flags |= RI_CONN_PEER_MODE;
    for (int i = 0; i < 50; ++i) {
        exchange();
    }
    EXPECT_GT(m_b->counters().channels_refused, 0u);
    EXPECT_LT(m_b->counters().channels_refused, 5u) << "asks again and again";
    EXPECT_EQ(nullptr, out());
}

TEST_F(test_channel_life, no_memory)
{
    m_b_rdma->reg_status = UCS_ERR_NO_MEMORY;
    for (int i = 0; i < 30; ++i) {
        exchange();
    }
    EXPECT_EQ(0u, m_b->counters().channels_offered);
    m_b_rdma->reg_status = UCS_OK;
    m_a_rdma->reg_status = UCS_ERR_NO_MEMORY;
    for (int i = 0; i < 30; ++i) {
        exchange();
    }
    EXPECT_GT(m_b->counters().channels_refused, 0u);
    EXPECT_EQ(nullptr, in());
    m_a_rdma->reg_status = UCS_OK;
    open();
}

/* One-sided operations are not overtaken. */
TEST_F(test_channel_life, behind_one_sided)
{
    open();
    uint64_t before = by_channel();
    ri_rma_note_unknown(m_conn);
    recv_ptr r = m_b->recv(7, ~0ul, 8);
    m_a->send(m_conn, bytes(8), 7);
    EXPECT_EQ(before, by_channel());
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_ORDER_REQ));
    pump();
    EXPECT_TRUE(r->done);
    exchange();
    EXPECT_EQ(before + 1, by_channel());
}

/* The least recently active one is asked back. */
TEST_F(test_channel_life, given_back)
{
    open();
    uint64_t before = by_channel();
    wire_msg msg    = about(RI_WIRE_CHANNEL_STOP);
    msg.serial      = in()->serial;
    m_a_rdma->holds = true;
    recv_ptr r      = m_b->recv(7, ~0ul, 8);
    m_a->send(m_conn, bytes(8), 7);
    m_a->deliver(msg);
    EXPECT_NE(nullptr, out()) << "something is under way";
    recv_ptr r2 = m_b->recv(7, ~0ul, 8);
    m_a->send(m_conn, bytes(8), 7);
    EXPECT_EQ(before + 1, by_channel());
    m_a_rdma->holds = false;
    pump();
    EXPECT_TRUE(r->done && r2->done);
    EXPECT_EQ(nullptr, out());
    EXPECT_EQ(nullptr, in());
    check_idle();
    EXPECT_EQ(1u, m_a_rdma->ends()) << "the way stays";
    open();
}

/* A credit that is under way when the sender gives the channel back finds the memory that it is
 * for. Then the memory goes, while the way stays. */
TEST_F(test_channel_life, given_back_before_a_credit)
{
    open();
    exchange(500); /* the sender has said all, and has nothing under way */
    wire_msg msg            = about(RI_WIRE_CHANNEL_STOP);
    msg.serial              = in()->serial;
    ri_plane_memory_t *keys = &out()->keys;
    uint32_t key            = keys->local_key;
    m_b_rdma->holds         = true;
    for (int i = 0; (i < 100) && (m_b_rdma->under_way() == 0); ++i) {
        exchange(500);
    }
    ASSERT_EQ(1u, m_b_rdma->under_way());
    m_a->deliver(msg);
    EXPECT_EQ(nullptr, out());
    pump();
    EXPECT_NE(nullptr, in()) << "its credit is under way";
    EXPECT_TRUE(m_a_rdma->is_registered(key));
    m_b_rdma->holds = false;
    pump();
    EXPECT_EQ(nullptr, in());
    EXPECT_FALSE(m_a_rdma->is_registered(key));
    EXPECT_EQ(1u, m_a_rdma->ends()) << "the way stays";
    EXPECT_EQ(0u, m_a->counters().rx_stale);
    check_idle();
    open();
}

/* The same with a conn that closes, and another one that has the way, too. */
TEST_F(test_channel_life, conn_closes_before_a_credit)
{
    open();
    uint32_t key    = out()->keys.local_key;
    m_b_rdma->holds = true;
    for (int i = 0; (i < 100) && (m_b_rdma->under_way() == 0); ++i) {
        exchange(500);
    }
    ASSERT_EQ(1u, m_b_rdma->under_way());
    m_ab2   = m_a->new_endpoint(m_b.get());
    m_conn2 = m_a->connect(m_ab2, RECEIVER);
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    EXPECT_TRUE(m_a_rdma->is_registered(key));
    m_b_rdma->holds = false;
    pump();
    m_conn = m_conn2;
    exchange();
}

TEST_F(test_channel_life, evicted)
{
    with_channels(1);
    open();
    m_ab2   = m_a->new_endpoint(m_b.get());
    m_conn2 = m_a->connect(m_ab2, RECEIVER);
    for (int i = 0; (i < 2000) && (m_conn2->channel == nullptr); ++i) {
        recv_ptr r = m_b->recv(9, ~0ul, 8);

        m_a->send(m_conn2, bytes(8), 9);
        pump();
        ASSERT_TRUE(r->done);
    }
    EXPECT_NE(nullptr, m_conn2->channel);
    EXPECT_EQ(nullptr, m_conn->channel);
    EXPECT_EQ(1u, m_b->counters().channels_given_back);
    EXPECT_EQ(1u, m_b->counters().channels_active);
    exchange();
}

/* Its conn is gone: what it wrote is taken, and the memory is not used again before nobody can
 * write it. */
TEST_F(test_channel_life, conn_is_gone)
{
    open();
    recv_ptr r = m_b->recv(7, ~0ul, 8);
    m_a->send(m_conn, bytes(8), 7);
    while (ri_channel_send_is_busy(m_conn)) {
        m_a->progress();
    }
    wire_msg msg = about(RI_WIRE_CHANNEL_STOP);
    msg.serial   = in()->serial;
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    m_ab2   = m_a->new_endpoint(m_b.get());
    m_conn2 = m_a->connect(m_ab2, RECEIVER);
    EXPECT_NE(nullptr, in());
    m_a->deliver(msg);
    pump();
    EXPECT_TRUE(r->done);
    EXPECT_EQ(nullptr, in());
    EXPECT_EQ(0u, m_b_rdma->ends());
    m_conn = m_conn2;
    check_idle();
}

/* Closing waits for what the device has not acknowledged. */
TEST_F(test_channel_life, close_waits)
{
    open();
    m_a_rdma->holds           = true;
    recv_ptr r                = m_b->recv(7, ~0ul, 8);
    ucp_request_param_t param = {};
    m_a->send(m_conn, bytes(8), 7);
    ucs_status_ptr_t flush = ri_ep_flush(m_conn, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(flush));
    ucs_status_ptr_t all = ri_ep_flush_worker(m_a->worker(), &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(all));
    ucs_status_ptr_t close = ri_ep_close(m_conn, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(close));
    progress_both(10);
    EXPECT_EQ(0u, m_ucx->num_closed);
    m_a_rdma->holds = false;
    progress_both(10);
    pump();
    EXPECT_EQ(1u, m_ucx->num_closed);
    EXPECT_TRUE(r->done);
    for (ucs_status_ptr_t op : {flush, all, close}) {
        EXPECT_EQ(UCS_OK, ri_req_of_handle(op)->status);
        ri_req_put(ri_req_of_handle(op));
    }
}

} // namespace
