/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Control messages: RING_OFFER, RING_STOP and RING_REFUSE. (src/ucp/in/control_in.c) The tests run
 * src/ucp/run/pending.c, too.
 */

#include "unit/common/control_test.h"

namespace {

class test_control_ring : public control_test {};

/* RING_OFFER */

TEST_F(test_control_ring, ring_offer_is_used)
{
    m_node->deliver(offer(m_conn));
    ASSERT_NE(nullptr, m_conn->ring);
    EXPECT_EQ(REMOTE_STREAM, m_conn->remote_id); /* it says that, too */

    bytes data = pattern(1, 100), received;
    EXPECT_TRUE(m_node->send(m_conn, data, 7)->done);
    EXPECT_EQ((unsigned)RI_WIRE_EAGER, next_record(&received));
    EXPECT_EQ(data, received);
    EXPECT_TRUE(m_ep->sent.empty());
}

TEST_F(test_control_ring, ring_offer_repeated)
{
    m_node->deliver(offer(m_conn));
    ri_ring_record_t *lines = m_conn->ring->lines;

    m_node->send(m_conn, pattern(1, 8), 7);
    m_node->deliver(offer(m_conn));
    EXPECT_EQ(1u, stale());
    EXPECT_EQ(lines, m_conn->ring->lines);
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_RING_REFUSE));
    m_node->send(m_conn, pattern(2, 8), 7);
    EXPECT_EQ((unsigned)RI_WIRE_EAGER, next_record());
    EXPECT_EQ((unsigned)RI_WIRE_EAGER, next_record());
}

TEST_F(test_control_ring, ring_offer_that_cannot_be_mapped)
{
    std::vector<wire_msg> offers(8, offer(m_conn));

    offers[0].fd     = ~0u;
    offers[1].pid    = ~0u;
    offers[2].cookie = 0;
    offers[3].value  = RING_SIZE * 2;
    offers[4].value  = 0;
    offers[5].value  = ~0u;
    offers[6].fd     = 0;
    offers[7].pid    = 0;
    for (const wire_msg &msg : offers) {
        m_node->deliver(msg);
        EXPECT_EQ(nullptr, m_conn->ring);
        EXPECT_EQ(REMOTE_STREAM, m_ep->take(RI_WIRE_RING_REFUSE).parse().id);
    }
    m_node->send(m_conn, pattern(1, 8), 7);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_EAGER));
}

TEST_F(test_control_ring, ring_offer_with_a_bad_stream)
{
    for (uint32_t id : {0u, 1u << 24, ~0u}) {
        wire_msg msg = offer(m_conn);

        msg.stream_id = id;
        m_node->deliver(msg);
    }
    EXPECT_EQ(3u, malformed());
    EXPECT_EQ(nullptr, m_conn->ring);
    EXPECT_EQ(0u, m_conn->remote_id);
}

TEST_F(test_control_ring, ring_offer_to_a_conn_that_is_closing_or_failed)
{
    m_conn->flags |= RI_CONN_CLOSING;
    m_node->deliver(offer(m_conn));
    EXPECT_EQ(nullptr, m_conn->ring);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_RING_REFUSE));
    m_conn->flags &= ~RI_CONN_CLOSING;
    ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
    m_node->deliver(offer(m_conn));
    EXPECT_EQ(nullptr, m_conn->ring);
}

/* RING_STOP */

TEST_F(test_control_ring, ring_stop_gives_it_back)
{
    m_node->deliver(offer(m_conn));
    m_node->send(m_conn, pattern(1, 8), 7);
    control(RI_WIRE_RING_STOP, m_conn->id, 0);
    EXPECT_EQ(nullptr, m_conn->ring);
    EXPECT_EQ((unsigned)RI_WIRE_EAGER, next_record());
    EXPECT_EQ((unsigned)RI_WIRE_RING_CLOSE, next_record());
    EXPECT_EQ(0u, next_record());

    m_node->send(m_conn, pattern(2, 8), 7);
    /* The tag is that of the message before, also over both ways */
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_EAGER_SAME));
    ri_wire_msg_t msg = m_ep->take(RI_WIRE_EAGER_SAME).parse();
    EXPECT_EQ(2u, msg.value);
}

TEST_F(test_control_ring, ring_stop_repeated_or_too_early)
{
    control(RI_WIRE_RING_STOP, m_conn->id, 0);
    EXPECT_EQ(1u, stale());
    m_node->deliver(offer(m_conn));
    EXPECT_NE(nullptr, m_conn->ring);
    control(RI_WIRE_RING_STOP, m_conn->id, 0);
    control(RI_WIRE_RING_STOP, m_conn->id, 0);
    EXPECT_EQ(2u, stale());
}

TEST_F(test_control_ring, ring_stop_while_messages_wait)
{
    m_node->deliver(offer(m_conn));
    send_ptr waiting = fill_ring();
    control(RI_WIRE_RING_STOP, m_conn->id, 0);
    control(RI_WIRE_RING_STOP, m_conn->id, 0);
    m_node->progress();
    EXPECT_NE(nullptr, m_conn->ring);

    /* Later messages go another way, and nothing is lost */
    m_node->send(m_conn, pattern(9, 8), 99);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_EAGER));
    uint32_t sn_apart = m_ep->take(RI_WIRE_EAGER).parse().value;

    unsigned messages = 0, type;
    while ((type = next_record()) != 0) {
        messages += (type == RI_WIRE_EAGER);
        m_node->progress();
        if (type == RI_WIRE_RING_CLOSE) {
            break;
        }
    }
    EXPECT_EQ((unsigned)RI_WIRE_RING_CLOSE, type);
    EXPECT_EQ(sn_apart - 1, messages);
    EXPECT_EQ(nullptr, m_conn->ring);
    EXPECT_TRUE(waiting->done);
    EXPECT_TRUE(ucs_list_is_empty(&worker()->pending_conns));

    /* And a new one may be offered */
    ri_ring_rx_close(&m_rx);
    m_node->deliver(offer(m_conn));
    ASSERT_NE(nullptr, m_conn->ring);
    m_node->send(m_conn, pattern(1, 8), 7);
    EXPECT_EQ((unsigned)RI_WIRE_EAGER, next_record());
}

/* RING_REFUSE */

TEST_F(test_control_ring, ring_refuse_frees_it)
{
    ri_stream_t *stream = stream_with_ring();

    ASSERT_NE(nullptr, stream->ring);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_RING_OFFER));
    control(RI_WIRE_RING_REFUSE, stream->id, 0);
    m_node->progress();
    EXPECT_EQ(nullptr, stream->ring);
    EXPECT_EQ(0u, worker()->num_rings);
    EXPECT_EQ(1u, m_node->counters().rings_refused);

    control(RI_WIRE_RING_REFUSE, stream->id, 0);
    EXPECT_EQ(1u, stale());

    /* It is not offered again and again */
    for (uint32_t sn = 0; sn < 100; ++sn) {
        m_node->deliver(wire_msg(RI_WIRE_EAGER, stream->id, stream->next_sn), bytes(8));
    }
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_RING_OFFER));
    while (worker()->match.num_unexpected > 0) {
        EXPECT_TRUE(m_node->recv(0, 0, 8)->done);
    }
}

/* Its sender has gone: what it wrote before that still counts */
TEST_F(test_control_ring, ring_refuse_after_use)
{
    ri_stream_t *stream = stream_with_ring();
    ri_ring_tx_t tx;

    open_offered(&tx);
    for (uint32_t i = 0; i < 2; ++i) {
        ri_ring_record_t *record = ri_ring_tx_reserve(&tx, 0);

        record->type  = RI_WIRE_EAGER;
        record->value = stream->next_sn;
        record->tag   = 5 + i;
        ri_ring_tx_commit(&tx, record, 0);
        if (i == 0) {
            m_node->progress();
        }
    }
    control(RI_WIRE_RING_REFUSE, stream->id, 0);
    m_node->progress();
    m_node->progress();
    EXPECT_EQ(2u, m_node->counters().streams.rx_ring);
    EXPECT_EQ(nullptr, stream->ring);
    EXPECT_EQ(0u, m_node->counters().rings_refused);
    EXPECT_TRUE(m_node->recv(5, ~0ul, 0)->done);
    EXPECT_TRUE(m_node->recv(6, ~0ul, 0)->done);
    ri_ring_tx_close(&tx);
}

/* A conn that is gone cannot use a ring; its owner is told by another one */
TEST_F(test_control_ring, ring_offer_and_stop_to_a_conn_that_is_gone)
{
    uint32_t old_id = m_conn->id;
    wire_msg msg    = offer(m_conn);
    endpoint *other = m_node->new_endpoint(nullptr);

    msg.uid = REMOTE;
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    m_node->deliver(msg); /* there is no way to tell anybody */
    m_node->connect(other, REMOTE);
    m_node->deliver(msg);
    ASSERT_EQ(1u, other->count(RI_WIRE_RING_REFUSE));
    EXPECT_EQ(REMOTE_STREAM, other->take(RI_WIRE_RING_REFUSE).parse().id);

    wire_msg stop(RI_WIRE_RING_STOP, old_id, REMOTE_STREAM + 1);
    stop.uid = REMOTE;
    m_node->deliver(stop);
    ASSERT_EQ(1u, other->count(RI_WIRE_RING_REFUSE));
    EXPECT_EQ(REMOTE_STREAM + 1, other->take(RI_WIRE_RING_REFUSE).parse().id);

    /* Nor is anything sent for what is no stream, or no peer */
    for (uint32_t id : {0u, 1u << 24, ~0u}) {
        stop.value = id;
        m_node->deliver(stop);
        msg.stream_id = id;
        m_node->deliver(msg);
    }
    stop.value = 1;
    for (uint64_t uid : {0ul, 1ul, STRANGER, LOCAL}) {
        stop.uid = uid;
        m_node->deliver(stop);
    }
    EXPECT_EQ(0u, other->count(RI_WIRE_RING_REFUSE));
}

} // namespace
