/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Control messages: BYE, RESET and failures of endpoints. (src/ucp/in/control_in.c)
 */

#include "unit/common/control_test.h"

#include <algorithm>

namespace {

struct errors {
    unsigned calls = 0;
    ucp_ep_h ep    = nullptr;
    ucs_status_t status;
    std::function<void()> action;
};

void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    errors *e = static_cast<errors *>(arg);

    ++e->calls;
    e->ep     = ep;
    e->status = status;
    if (e->action) {
        e->action();
    }
}

class test_control_ends : public control_test {
protected:
    /* A close that waits for a message, on an endpoint that wants to know of failures */
    ucs_status_ptr_t close_behind(send_ptr *op, errors *seen)
    {
        ucp_request_param_t param = {};

        m_conn->flags |= RI_CONN_PEER_MODE;
        m_conn->err_cb  = on_error;
        m_conn->err_arg = seen;
        m_node->deliver(offer(m_conn));
        *op                    = fill_ring();
        ucs_status_ptr_t close = ri_ep_close(m_conn, &param);
        EXPECT_TRUE(UCS_PTR_IS_PTR(close));
        return close;
    }
};

/* BYE; in and before its order: test_deliver */

TEST_F(test_control_ends, bye_repeated)
{
    ri_stream_t *stream = stream_with_ring();

    ri_ring_life_free(stream);
    control(RI_WIRE_BYE, stream->id, 4);
    control(RI_WIRE_BYE, stream->id, 4);
    EXPECT_EQ(1u, ucs_list_length(&worker()->streams));
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(m_node->recv(0, 0, 8)->done);
    }
    EXPECT_TRUE(ucs_list_is_empty(&worker()->streams));
}

TEST_F(test_control_ends, bye_with_an_impossible_number)
{
    ri_stream_t *stream = stream_with_ring();

    ri_ring_life_free(stream);
    for (uint32_t sn : {3u, 0u, 1000000u, ~0u}) {
        control(RI_WIRE_BYE, stream->id, sn);
    }
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(m_node->recv(0, 0, 8)->done);
    }
    m_node->deliver(wire_msg(RI_WIRE_EAGER, stream->id, 5), bytes(8));
    EXPECT_TRUE(m_node->recv(0, 0, 8)->done);
}

TEST_F(test_control_ends, bye_waits_for_the_ring_to_be_closed)
{
    ri_stream_t *stream = stream_with_ring();
    ri_ring_tx_t tx;

    open_offered(&tx);
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(m_node->recv(0, 0, 8)->done);
    }
    control(RI_WIRE_BYE, stream->id, 5);
    EXPECT_EQ(1u, ucs_list_length(&worker()->streams));

    recv_ptr op = m_node->recv(5, ~0ul, 8);
    for (uint8_t type : {(uint8_t)RI_WIRE_EAGER, (uint8_t)RI_WIRE_RING_CLOSE}) {
        ri_ring_record_t *record = ri_ring_tx_reserve(&tx, 0);

        record->type  = type;
        record->value = 5;
        record->tag   = 5;
        ri_ring_tx_commit(&tx, record, 0);
    }
    ri_ring_tx_close(&tx);
    m_node->progress();
    EXPECT_TRUE(op->done);
    EXPECT_TRUE(ucs_list_is_empty(&worker()->streams));
    EXPECT_EQ(0u, worker()->num_rings);
}

/* The peer closed before it had the offer: nobody will ever write into that ring */
TEST_F(test_control_ends, bye_and_a_ring_that_was_never_used)
{
    ri_stream_t *stream = stream_with_ring();

    ASSERT_NE(nullptr, stream->ring);
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(m_node->recv(0, 0, 8)->done);
    }
    control(RI_WIRE_BYE, stream->id, 4);
    m_node->progress();
    EXPECT_TRUE(ucs_list_is_empty(&worker()->streams));
    EXPECT_EQ(0u, worker()->num_rings);
}

/* RESET; who sends it: test_deliver, test_frag, test_ring_life */

TEST_F(test_control_ends, reset_ends_all_that_waits)
{
    ucp_request_param_t param = {};

    conn_ack(m_conn, REMOTE_STREAM);
    m_node->deliver(offer(m_conn));
    send_ptr sync    = m_node->send(m_conn, pattern(1, 8), 1, true);
    send_ptr waiting = fill_ring();

    ucs_status_ptr_t flush = ri_ep_flush(m_conn, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(flush));

    ri_log_level = RI_LOG_LEVEL_ERROR;
    ::testing::internal::CaptureStderr();
    control(RI_WIRE_RESET, m_conn->id, m_conn->serial);
    std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(1, std::count(text.begin(), text.end(), '\n')) << text;
    for (const send_ptr &op : {sync, waiting}) {
        EXPECT_TRUE(op->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, op->status);
    }
    EXPECT_FALSE(
            ri_conn_goes_on(m_conn)); /* the peer receives nothing of what was sent */
    EXPECT_EQ(nullptr, m_conn->ring);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_node->send(m_conn, bytes(8), 1)->status);
    m_node->progress();
    EXPECT_TRUE(ri_req_flags(ri_req_of_handle(flush)) & RI_REQ_COMPLETED);
    EXPECT_EQ(1u, m_ucx->num_flushed);
    ri_req_put(ri_req_of_handle(flush));

    EXPECT_EQ(nullptr, ri_ep_close(m_conn, &param));
    EXPECT_TRUE(m_ep->closed);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_BYE)); /* the answer to RESET, and no other */
}

/* BYE is said as soon as it is known to whom. */
TEST_F(test_control_ends, reset_before_the_conn_has_an_answer)
{
    control(RI_WIRE_RESET, m_conn->id, m_conn->serial);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_conn->status);
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_BYE));
    conn_ack(m_conn, REMOTE_STREAM);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_BYE));
    conn_ack(m_conn, REMOTE_STREAM);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_BYE));
}

TEST_F(test_control_ends, reset_while_closing)
{
    errors seen;
    send_ptr op;
    ucs_status_ptr_t close = close_behind(&op, &seen);

    control(RI_WIRE_RESET, m_conn->id, m_conn->serial);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, op->status);
    m_node->progress();
    EXPECT_TRUE(m_ep->closed);
    EXPECT_TRUE(ri_req_flags(ri_req_of_handle(close)) & RI_REQ_COMPLETED);
    EXPECT_EQ(0u, seen.calls); /* as stock, of an endpoint that is closed */
    ri_req_put(ri_req_of_handle(close));
}

TEST_F(test_control_ends, reset_calls_the_error_handler)
{
    for (uint32_t mode : {0u, (uint32_t)RI_CONN_PEER_MODE}) {
        endpoint *ep    = m_node->new_endpoint(nullptr);
        ri_conn_t *conn = m_node->connect(ep, REMOTE, RI_CONN_USER | mode);
        errors seen;

        conn->err_cb  = on_error;
        conn->err_arg = &seen;
        control(RI_WIRE_RESET, conn->id, conn->serial);
        EXPECT_EQ((mode != 0), seen.calls);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, conn->status);
        if (mode != 0) {
            EXPECT_EQ(ep->handle(), seen.ep);
            EXPECT_EQ(UCS_ERR_CONNECTION_RESET, seen.status);
            EXPECT_EQ(nullptr, conn->err_cb); /* not again if stock fails, too */
        }
        control(RI_WIRE_RESET, conn->id, conn->serial);
        EXPECT_EQ((mode != 0), seen.calls);
        EXPECT_EQ(1u + (mode != 0), stale());
    }
}

TEST_F(test_control_ends, reset_and_an_error_handler_that_closes)
{
    ucp_request_param_t param = {};
    errors seen;
    send_ptr op = m_node->send(m_conn, pattern(1, 8), 1, true);

    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags        = UCP_EP_CLOSE_FLAG_FORCE;
    m_conn->flags |= RI_CONN_PEER_MODE;
    m_conn->err_cb  = on_error;
    m_conn->err_arg = &seen;
    seen.action     = [&]() { ri_ep_close(m_conn, &param); };
    control(RI_WIRE_RESET, m_conn->id, m_conn->serial);
    EXPECT_EQ(1u, seen.calls);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, op->status);
    EXPECT_TRUE(m_ep->closed);
}

/* Stock refuses it, and keeps its own request where one of the library's was. */
TEST_F(test_control_ends, close_by_force_that_stock_refuses)
{
    std::vector<uint64_t> block(ri_req_headroom / sizeof(uint64_t) + 1);
    ucp_request_param_t param = {};

    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_REQUEST;
    param.flags        = UCP_EP_CLOSE_FLAG_FORCE;
    param.request      = &block.back();
    ri_req_of_handle(param.request)->mark = RI_REQ_MARK;
    ri_ep_close(m_conn, &param);
    EXPECT_FALSE(ri_req_is_own(param.request));
    EXPECT_EQ(UCS_OK, m_conn->status);
}

/* Stock reports a failure: as after RESET */

TEST_F(test_control_ends, failure_while_closing)
{
    errors seen;
    send_ptr op;
    ucs_status_ptr_t close = close_behind(&op, &seen);

    ri_conn_endpoint_failed(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, op->status);
    EXPECT_EQ(0u, seen.calls);
    m_node->progress();
    EXPECT_TRUE(m_ep->closed);
    ri_req_put(ri_req_of_handle(close));
}

TEST_F(test_control_ends, failure_and_a_callback_that_closes)
{
    for (bool closes : {false, true}) {
        endpoint *ep              = m_node->new_endpoint(nullptr);
        ri_conn_t *conn           = m_node->connect(ep, REMOTE);
        bytes data                = pattern(1, 8);
        ucp_request_param_t param = {};
        errors seen;

        param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        param.user_data    = closes ? conn : nullptr;
        param.cb.send      = [](void *, ucs_status_t, void *arg) {
            ucp_request_param_t force = {};

            force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
            force.flags        = UCP_EP_CLOSE_FLAG_FORCE;
            if (arg != nullptr) {
                ri_ep_close(static_cast<ri_conn_t *>(arg), &force);
            }
        };
        ucs_status_ptr_t sync = ri_tag_send(conn, data.data(), data.size(), 1, &param, 1);
        ASSERT_TRUE(UCS_PTR_IS_PTR(sync));

        conn->flags |= RI_CONN_PEER_MODE;
        conn->err_cb  = on_error;
        conn->err_arg = &seen;
        ri_conn_endpoint_failed(conn, UCS_ERR_ENDPOINT_TIMEOUT);
        EXPECT_EQ(closes ? 0u : 1u, seen.calls);
        EXPECT_EQ(closes, ep->closed);
        ri_req_put(ri_req_of_handle(sync));
    }
}

TEST_F(test_control_ends, reset_of_another_conn)
{
    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *self = m_node->connect(ep, LOCAL);

    for (uint32_t serial : {0u, m_conn->serial + 1, m_conn->serial - 1, ~0u}) {
        control(RI_WIRE_RESET, m_conn->id, serial); /* of one that had the same id */
    }
    control(RI_WIRE_RESET, self->id, self->serial);
    EXPECT_EQ(5u, stale());
    EXPECT_EQ(UCS_OK, m_conn->status);
    EXPECT_EQ(UCS_OK, self->status);
    EXPECT_TRUE(m_node->send(m_conn, pattern(1, 8), 1)->done);
}

} // namespace
