/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Control messages: each handler with those in order, repeated, too late, too early and hostile.
 * The test plays the peer. How the two sides get to know each other (test_control_conn.cc), rings,
 * ends, and a stock without memory are in files of their own. (src/ucp/in/control_in.c,
 * src/ucp/link/control.c)
 */

#include "unit/common/control_test.h"

namespace {

class test_control : public control_test {};

/* Addresses that lead nowhere, for every type that has one */

TEST_F(test_control, to_nobody)
{
    const ri_wire_type_t types[] = {
            RI_WIRE_CONN_ACK,  RI_WIRE_SYNC_ACK,  RI_WIRE_RING_OFFER, RI_WIRE_RING_REFUSE,
            RI_WIRE_RING_STOP, RI_WIRE_BYE,       RI_WIRE_ORDER_REQ,  RI_WIRE_ORDER_ACK,
            RI_WIRE_RESET,     RI_WIRE_PLANE_REQ, RI_WIRE_PLANE_ACK,  RI_WIRE_FIN,
            RI_WIRE_NACK,      RI_WIRE_RNDV_DATA, RI_WIRE_WRITTEN,    RI_WIRE_RING_REQ};
    uint32_t conn_id    = m_conn->id;
    ri_stream_t *stream = stream_with_ring();
    uint32_t stream_id  = stream->id;
    unsigned count      = 0;

    m_ep->sent.clear();
    ri_ring_life_free(stream);
    control(RI_WIRE_BYE, stream_id, ri_config.ring_after);
    for (uint32_t sn = 1; sn <= ri_config.ring_after; ++sn) {
        m_node->recv(0, 0, 8);
    }
    EXPECT_TRUE(ucs_list_is_empty(&worker()->streams));
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);

    /* Objects that are gone, other generations, indices that never were */
    for (ri_wire_type_t type : types) {
        for (uint32_t id :
             {conn_id, stream_id, conn_id ^ (1u << 20), 0xfffffu, 0xffffffu, 17u}) {
            wire_msg msg(type, id, 1);

            msg.uid       = REMOTE;
            msg.stream_id = 1;
            m_node->deliver(msg);
            ++count;
        }
    }
    EXPECT_EQ(count, stale());
    EXPECT_EQ(0u, malformed());
    EXPECT_TRUE(m_ep->sent.empty());
}

TEST_F(test_control, to_a_later_object_of_the_same_index)
{
    uint32_t old_id = m_conn->id;

    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    /* Slots are re-used in turn: all others come first */
    std::vector<ri_conn_t *> conns;
    do {
        endpoint *ep = m_node->new_endpoint(nullptr);

        conns.push_back(m_node->connect(ep, REMOTE));
        ASSERT_LT(conns.size(), 1000u);
    } while ((conns.back()->id & 0xfffff) != (old_id & 0xfffff));
    EXPECT_NE(old_id, conns.back()->id);

    wire_msg ack(RI_WIRE_CONN_ACK, old_id, 5);
    ack.uid = REMOTE;
    m_node->deliver(ack);
    EXPECT_EQ(1u, stale());
    EXPECT_EQ(0u, conns.back()->remote_id);
}

TEST_F(test_control, ring_close_is_no_active_message)
{
    control(RI_WIRE_RING_CLOSE, m_conn->id, 0);
    EXPECT_EQ(1u, malformed());
}

/* SYNC_ACK */

TEST_F(test_control, sync_ack_completes)
{
    send_ptr op = m_node->send(m_conn, pattern(1, 8), 1, true);
    uint32_t id = m_ep->take(RI_WIRE_EAGER_SYNC).parse().req_id;

    EXPECT_FALSE(op->done);
    control(RI_WIRE_SYNC_ACK, m_conn->id, id);
    EXPECT_TRUE(op->done);
    EXPECT_EQ(UCS_OK, op->status);
}

TEST_F(test_control, sync_ack_repeated)
{
    send_ptr op   = m_node->send(m_conn, pattern(1, 8), 1, true);
    send_ptr next = m_node->send(m_conn, pattern(2, 8), 1, true);
    uint32_t id   = m_ep->take(RI_WIRE_EAGER_SYNC).parse().req_id;
    uint32_t id2  = m_ep->take(RI_WIRE_EAGER_SYNC).parse().req_id;

    control(RI_WIRE_SYNC_ACK, m_conn->id, id);
    m_node->release_done();
    control(RI_WIRE_SYNC_ACK, m_conn->id, id);
    EXPECT_EQ(1u, stale());
    EXPECT_FALSE(next->done);
    control(RI_WIRE_SYNC_ACK, m_conn->id, id2);
    EXPECT_TRUE(next->done);
}

TEST_F(test_control, sync_ack_of_another_conn)
{
    endpoint *ep     = m_node->new_endpoint(nullptr);
    ri_conn_t *other = m_node->connect(ep, STRANGER);
    send_ptr op      = m_node->send(m_conn, pattern(1, 8), 1, true);
    uint32_t id      = m_ep->take(RI_WIRE_EAGER_SYNC).parse().req_id;

    control(RI_WIRE_SYNC_ACK, other->id, id);
    EXPECT_FALSE(op->done);
    for (uint32_t bad : {0u, id + 1, id ^ (1u << 24), ~0u}) {
        control(RI_WIRE_SYNC_ACK, m_conn->id, bad);
    }
    EXPECT_FALSE(op->done);
    EXPECT_EQ(5u, stale());
    control(RI_WIRE_SYNC_ACK, m_conn->id, id);
    EXPECT_TRUE(op->done);
}

TEST_F(test_control, sync_ack_before_stock_has_finished)
{
    m_ucx->send_mode = LATER;
    send_ptr op      = m_node->send(m_conn, pattern(1, 8), 1, true);
    uint32_t id      = m_ep->take(RI_WIRE_EAGER_SYNC).parse().req_id;

    control(RI_WIRE_SYNC_ACK, m_conn->id, id);
    EXPECT_FALSE(op->done);
    control(RI_WIRE_SYNC_ACK, m_conn->id, id);
    EXPECT_EQ(1u, stale());
    m_ucx->complete();
    EXPECT_TRUE(op->done);
}

TEST_F(test_control, sync_ack_never_comes)
{
    m_ucx->send_mode = LATER;
    send_ptr first   = m_node->send(m_conn, pattern(1, 8), 1, true);
    m_ucx->send_mode = AT_ONCE;
    send_ptr second  = m_node->send(m_conn, pattern(2, 8), 1, true);

    ri_conn_fail(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_FALSE(first->done); /* stock still has it */
    ASSERT_TRUE(second->done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, second->status);
    m_ucx->complete(UCS_ERR_ENDPOINT_TIMEOUT);
    ASSERT_TRUE(first->done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, first->status);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, m_node->send(m_conn, bytes(8), 1)->status);
}

TEST_F(test_control, sync_ack_is_owed_until_there_is_a_way)
{
    endpoint *ep = m_node->new_endpoint(nullptr);
    wire_msg msg(RI_WIRE_EAGER_SYNC, 0, 1);

    msg.req_id = 0x99;
    msg.hello(STRANGER, REMOTE_CONN);
    m_node->deliver(msg, bytes(8));
    EXPECT_TRUE(m_node->recv(0, 0, 8)->done);
    m_node->connect(ep, STRANGER);
    ASSERT_EQ(1u, ep->count(RI_WIRE_SYNC_ACK));
    ri_wire_msg_t ack = ep->take(RI_WIRE_SYNC_ACK).parse();
    EXPECT_EQ(REMOTE_CONN, ack.id);
    EXPECT_EQ(0x99u, ack.value);

    /* What is never paid is freed at the end */
    msg.hello(STRANGER + 1, REMOTE_CONN);
    m_node->deliver(msg, bytes(8));
    EXPECT_TRUE(m_node->recv(0, 0, 8)->done);
}

/* A server sees many clients come and go */
TEST_F(test_control, peers_are_forgotten)
{
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    EXPECT_EQ(0u, worker()->peers.live);

    for (uint64_t uid = 100; uid < 200; ++uid) {
        endpoint *ep    = m_node->new_endpoint(nullptr);
        ri_conn_t *conn = m_node->connect(ep, uid);
        wire_msg msg(RI_WIRE_EAGER_SYNC, 0, 1);

        msg.req_id = 0x99;
        m_node->deliver(msg.hello(uid, REMOTE_CONN), bytes(8));
        m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(uid, REMOTE_CONN));
        uint32_t stream_id = ep->take(RI_WIRE_CONN_ACK).parse().value;
        EXPECT_EQ(1u, worker()->peers.live);
        ri_conn_t *stranger = m_node->connect(m_node->new_endpoint(nullptr), uid + 1000);
        EXPECT_EQ(2u, worker()->peers.live);

        /* The conn goes first, the stream first; something is owed */
        if (uid % 2) {
            ri_conn_destroy(conn, UCS_ERR_CANCELED);
            EXPECT_EQ(2u, worker()->peers.live);
        }
        EXPECT_TRUE(m_node->recv(0, 0, 8)->done);
        control(RI_WIRE_BYE, stream_id, 1);
        if (!(uid % 2)) {
            EXPECT_EQ(2u, worker()->peers.live);
            EXPECT_EQ(1u, ep->count(RI_WIRE_SYNC_ACK));
            ri_conn_destroy(conn, UCS_ERR_CANCELED);
        }
        EXPECT_EQ(1u, worker()->peers.live);
        ri_conn_destroy(stranger, UCS_ERR_CANCELED);
        EXPECT_EQ(0u, worker()->peers.live);
    }
}

TEST_F(test_control, endpoint_of_another_worker_before)
{
    node other(LOCAL + 1);

    EXPECT_EQ(other.worker(), other.connect(m_ep, REMOTE)->worker);
}

/* ORDER_REQ, ORDER_ACK */

TEST_F(test_control, order_req_is_answered)
{
    ri_stream_t *stream = stream_with_ring();

    control(RI_WIRE_ORDER_REQ, stream->id, 0x1234);
    control(RI_WIRE_ORDER_REQ, stream->id, 0x1234);
    EXPECT_EQ(2u, m_ep->count(RI_WIRE_ORDER_ACK));
    ri_wire_msg_t ack = m_ep->take(RI_WIRE_ORDER_ACK).parse();
    EXPECT_EQ(REMOTE_CONN, ack.id);
    EXPECT_EQ(0x1234u, ack.value);
}

TEST_F(test_control, order_ack_unasked)
{
    control(RI_WIRE_ORDER_ACK, m_conn->id, 0);
    EXPECT_EQ(1u, stale());
}

TEST_F(test_control, order_ack_opens_the_ring_again)
{
    m_node->deliver(offer(m_conn));
    m_node->send(m_conn, pattern(1, 8), 7);
    EXPECT_EQ((unsigned)RI_WIRE_EAGER, next_record());

    ri_rma_note_unknown(m_conn);
    m_node->send(m_conn, pattern(2, 8), 8);
    m_node->send(m_conn, pattern(3, 8), 9);
    EXPECT_EQ(0u, next_record());
    EXPECT_EQ(2u, m_ep->count(RI_WIRE_EAGER));
    ASSERT_EQ(1u, m_ep->count(RI_WIRE_ORDER_REQ));
    uint32_t first = m_ep->take(RI_WIRE_ORDER_REQ).parse().value;

    /* Another operation since: the answer is too old, and it is asked again */
    ri_rma_note_unknown(m_conn);
    control(RI_WIRE_ORDER_ACK, m_conn->id, first);
    m_node->send(m_conn, pattern(4, 8), 10);
    EXPECT_EQ(0u, next_record());
    ASSERT_EQ(1u, m_ep->count(RI_WIRE_ORDER_REQ));
    uint32_t second = m_ep->take(RI_WIRE_ORDER_REQ).parse().value;
    EXPECT_NE(first, second);
    control(RI_WIRE_ORDER_ACK, m_conn->id, second);
    control(RI_WIRE_ORDER_ACK, m_conn->id, second);
    EXPECT_EQ(1u, stale());

    m_node->send(m_conn, pattern(5, 8), 11);
    EXPECT_EQ((unsigned)RI_WIRE_EAGER, next_record());
}

} // namespace
