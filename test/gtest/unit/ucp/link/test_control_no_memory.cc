/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/link/control.c: stock has no memory for a control message. The other side may
 * wait for it, so it is sent as soon as there is some, once and in order.
 */

#include "unit/common/control_test.h"

namespace {

class test_control_no_memory : public control_test {
protected:
    void no_memory() { m_ucx->memory = 0; }

    void expect_waits(endpoint *ep)
    {
        EXPECT_TRUE(ep->sent.empty());
        EXPECT_TRUE(ri_worker_has_work(worker())) << "the application may sleep";
        m_node->progress();
        m_node->progress();
        EXPECT_TRUE(ep->sent.empty());
    }

    /* @return The one message that is sent now. */
    ri_wire_msg_t expect_sent(endpoint *ep, ri_wire_type_t type)
    {
        m_ucx->memory = -1;
        m_node->progress();
        EXPECT_EQ(1u, ep->sent.size());
        EXPECT_EQ(1u, ep->count(type));
        EXPECT_FALSE(ri_worker_has_work(worker()));
        m_node->progress();
        EXPECT_EQ(0, worker()->attention);
        return ep->take(type).parse();
    }
};

TEST_F(test_control_no_memory, conn_req)
{
    m_ucx->memory = 1;
    m_node->send(m_conn, bytes(8), 1, true);
    m_ep->take(RI_WIRE_EAGER_SYNC);
    expect_waits(m_ep);
    EXPECT_TRUE(expect_sent(m_ep, RI_WIRE_CONN_REQ).has_hello);
    EXPECT_EQ(1u, m_conn->counters.tx_control);
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED); /* ends the send */
}

TEST_F(test_control_no_memory, conn_req_asks_for_a_reply)
{
    m_ucx->memory = 1;
    m_node->send(m_conn, bytes(8), 1, true);
    m_ucx->memory = -1;
    m_node->progress();
    EXPECT_TRUE(m_ep->take(RI_WIRE_CONN_REQ).reply);
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
}

TEST_F(test_control_no_memory, conn_ack)
{
    no_memory();
    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(REMOTE, REMOTE_CONN));
    expect_waits(m_ep);
    EXPECT_EQ(REMOTE_CONN, expect_sent(m_ep, RI_WIRE_CONN_ACK).id);
}

TEST_F(test_control_no_memory, sync_ack)
{
    wire_msg msg(RI_WIRE_EAGER_SYNC, 0, 1);

    msg.req_id = 0x99;
    m_node->recv(0, 0, 8);
    no_memory();
    m_node->deliver(msg.hello(REMOTE, REMOTE_CONN), bytes(8));
    expect_waits(m_ep);
    EXPECT_EQ(0x99u, expect_sent(m_ep, RI_WIRE_SYNC_ACK).value);
}

TEST_F(test_control_no_memory, ring_offer_stop_and_refuse)
{
    no_memory();
    ri_stream_t *stream = stream_with_ring();
    expect_waits(m_ep);
    ri_control_stop_ring(m_conn, stream);
    m_node->deliver(wire_msg(RI_WIRE_ORDER_REQ, stream->id, 7));
    wire_msg bad_offer = offer(m_conn);
    bad_offer.cookie   = 0;
    m_node->deliver(bad_offer);

    /* What is sent meanwhile stays behind */
    m_ucx->memory = 2;
    m_node->progress();
    EXPECT_EQ(2u, m_ep->sent.size());
    m_ucx->memory = -1;
    m_node->deliver(wire_msg(RI_WIRE_ORDER_REQ, stream->id, 8));
    EXPECT_EQ(2u, m_ep->sent.size());
    m_node->progress();

    std::vector<ri_wire_type_t> types;
    for (const packet &p : m_ep->sent) {
        types.push_back(p.type());
    }
    EXPECT_EQ((std::vector<ri_wire_type_t>{RI_WIRE_CONN_ACK, RI_WIRE_RING_OFFER,
                                           RI_WIRE_RING_STOP, RI_WIRE_ORDER_ACK,
                                           RI_WIRE_RING_REFUSE, RI_WIRE_ORDER_ACK}),
              types);
    EXPECT_EQ(8u, m_ep->sent.back().parse().value);
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(m_node->recv(0, 0, 8)->done);
    }
}

TEST_F(test_control_no_memory, order_req)
{
    m_node->deliver(offer(m_conn));
    ri_rma_note_unknown(m_conn);
    m_ucx->memory = 1;
    m_node->send(m_conn, bytes(8), 1);
    m_ep->take(RI_WIRE_EAGER);
    expect_waits(m_ep);
    EXPECT_EQ(REMOTE_STREAM, expect_sent(m_ep, RI_WIRE_ORDER_REQ).id);
}

TEST_F(test_control_no_memory, bye)
{
    ucp_request_param_t param = {};

    conn_ack(m_conn, REMOTE_STREAM);
    m_conn->flags |= RI_CONN_PEER_MODE;
    m_node->send(m_conn, bytes(8), 1);
    m_ep->sent.clear();
    no_memory();
    ucs_status_ptr_t close = ri_ep_close(m_conn, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(close));
    expect_waits(m_ep);
    EXPECT_FALSE(m_ep->closed);
    EXPECT_EQ(1u, expect_sent(m_ep, RI_WIRE_BYE).value);
    EXPECT_TRUE(m_ep->closed);
    EXPECT_TRUE(ri_req_flags(ri_req_of_handle(close)) & RI_REQ_COMPLETED);
    ri_req_put(ri_req_of_handle(close));
}

TEST_F(test_control_no_memory, and_then_another_way_out)
{
    endpoint *other = m_node->new_endpoint(nullptr);

    m_node->connect(other, REMOTE);
    no_memory();
    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(REMOTE, REMOTE_CONN));
    ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(REMOTE, REMOTE_CONN + 1));
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    expect_waits(other);
    m_ucx->memory = -1;
    m_node->progress();
    ASSERT_EQ(2u, other->count(RI_WIRE_CONN_ACK));
    EXPECT_EQ(REMOTE_CONN, other->take(RI_WIRE_CONN_ACK).parse().id);
    EXPECT_EQ(REMOTE_CONN + 1, other->take(RI_WIRE_CONN_ACK).parse().id);
}

TEST_F(test_control_no_memory, and_then_no_way_out)
{
    endpoint *other = m_node->new_endpoint(nullptr);

    no_memory();
    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(REMOTE, REMOTE_CONN));
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    m_ucx->memory = -1;
    m_node->progress();
    EXPECT_FALSE(ri_worker_has_work(worker()));
    EXPECT_TRUE(m_ep->sent.empty());
    m_node->connect(other, REMOTE);
    EXPECT_EQ(1u, other->count(RI_WIRE_CONN_ACK));
}

TEST_F(test_control_no_memory, and_then_the_asking_endpoint_is_gone)
{
    endpoint *other = m_node->new_endpoint(nullptr);

    m_node->connect(other, REMOTE);
    m_ucx->memory = 1;
    m_node->send(m_conn, bytes(8), 1, true);
    EXPECT_TRUE(ri_worker_has_work(worker()));
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    m_ucx->memory = -1;
    m_node->progress();
    EXPECT_FALSE(ri_worker_has_work(worker()));
    EXPECT_TRUE(other->sent.empty()) << "a question about another endpoint";
}

TEST_F(test_control_no_memory, until_the_worker_ends)
{
    no_memory();
    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(REMOTE, REMOTE_CONN));
    EXPECT_TRUE(ri_worker_has_work(worker()));
}

} // namespace
