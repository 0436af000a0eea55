/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/core/rma_order.c: when messages may take the ring again after one-sided operations. Stock's
 * operations are made by the test: it says when they end, and when a flush does.
 */

#include "rma_order_test.h"
#include "unit/fakes/fake_malloc.h"

#include <vector>

namespace {

class test_rma_order_ring : public rma_order_test {};

TEST_F(test_rma_order_ring, no_memory)
{
    fake::malloc_fails_after = 0;
    EXPECT_EQ(nullptr, ri_rma_op_new(worker()));
    EXPECT_EQ(-1, fake::malloc_fails_after);
}

TEST_F(test_rma_order_ring, get_that_ends_at_once_changes_nothing)
{
    at_once(RI_RMA_GET);
    ri_rma_note(m_conn, RI_RMA_GET, nullptr);
    EXPECT_FALSE(behind());
}

TEST_F(test_rma_order_ring, get_is_over_when_it_has_ended)
{
    pending first  = start(RI_RMA_GET);
    pending second = start(RI_RMA_GET);

    end(second);
    EXPECT_TRUE(behind());
    end(first);
    EXPECT_FALSE(behind());
}

TEST_F(test_rma_order_ring, put_is_over_when_a_flush_has_ended)
{
    for (ri_conn_t *conn : {m_conn, (ri_conn_t *)nullptr}) {
        for (bool later : {false, true}) {
            m_ucx->flush_mode = later ? LATER : AT_ONCE;
            at_once(RI_RMA_PUT);
            EXPECT_TRUE(behind());
            ucs_status_ptr_t handle = flush(conn);
            EXPECT_EQ(later, UCS_PTR_IS_PTR(handle));
            EXPECT_EQ(later, behind());
            if (later) {
                EXPECT_TRUE(m_ucx->complete());
                EXPECT_FALSE(behind());
                give_back(handle);
            }
        }
    }
}

/* A flush that fails says nothing. */
TEST_F(test_rma_order_ring, flush_fails)
{
    m_ucx->flush_mode = LATER;
    at_once(RI_RMA_PUT);
    ucs_status_ptr_t handle = flush(m_conn);
    EXPECT_TRUE(m_ucx->complete(UCS_ERR_IO_ERROR));
    EXPECT_TRUE(behind());
    give_back(handle);
}

/* Stock's flush would end while fragments of the put wait for room. */
TEST_F(test_rma_order_ring, flush_waits_for_the_end_of_a_put)
{
    for (ri_conn_t *conn : {m_conn, (ri_conn_t *)nullptr}) {
        unsigned before         = m_ucx->num_flushed;
        pending put             = start(RI_RMA_PUT);
        ucs_status_ptr_t handle = flush(conn);
        pending next            = start(RI_RMA_GET);

        m_node->progress();
        EXPECT_EQ(before, m_ucx->num_flushed);
        end(put);
        EXPECT_TRUE(behind());
        m_node->progress();
        EXPECT_EQ(before + 1, m_ucx->num_flushed) << "it waits for what was before it";
        EXPECT_TRUE(behind());
        end(next);
        EXPECT_FALSE(behind());
        give_back(handle);
    }
}

/* What came after the flush began is not flushed by it. */
TEST_F(test_rma_order_ring, put_after_the_flush)
{
    m_ucx->flush_mode = LATER;
    at_once(RI_RMA_PUT);
    ucs_status_ptr_t handle = flush(m_conn);
    at_once(RI_RMA_PUT);
    EXPECT_TRUE(m_ucx->complete());
    EXPECT_TRUE(behind());
    give_back(handle);
    m_ucx->flush_mode = AT_ONCE;
    EXPECT_EQ(nullptr, flush(m_conn));
    EXPECT_FALSE(behind());
}

/* An operation with a handle of the application's: it may end unseen. */
TEST_F(test_rma_order_ring, unknown_end)
{
    ri_rma_note(m_conn, RI_RMA_PUT, any());
    EXPECT_EQ(nullptr, flush(m_conn));
    EXPECT_TRUE(behind());
    ri_rma_ordered(m_conn);
    EXPECT_FALSE(behind());
    ri_rma_note(m_conn, RI_RMA_PUT, nullptr);
    EXPECT_EQ(nullptr, flush(nullptr));
    EXPECT_FALSE(behind());
}

TEST_F(test_rma_order_ring, flush_opens_the_ring)
{
    m_node->deliver(offer(m_conn));
    at_once(RI_RMA_PUT);
    m_node->send(m_conn, pattern(1, 8), 7);
    EXPECT_EQ(0u, next_record());
    EXPECT_EQ(nullptr, flush(nullptr));
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_ORDER_REQ));
    for (int i = 0; i < 2; ++i) {
        at_once(RI_RMA_PUT);
        EXPECT_EQ(nullptr, flush(i ? nullptr : m_conn));
        m_node->send(m_conn, pattern(2, 8), 8);
        EXPECT_EQ((unsigned)RI_WIRE_EAGER, next_record());
    }
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_ORDER_REQ));
}

/* The answer comes when the flush has made it needless. */
TEST_F(test_rma_order_ring, order_ack_after_the_flush)
{
    m_node->deliver(offer(m_conn));
    at_once(RI_RMA_PUT);
    m_node->send(m_conn, pattern(1, 8), 7);
    uint32_t value = m_ep->take(RI_WIRE_ORDER_REQ).parse().value;
    EXPECT_EQ(nullptr, flush(nullptr));
    control(RI_WIRE_ORDER_ACK, m_conn->id, value);
    EXPECT_EQ(0u, stale());
    EXPECT_FALSE(behind());
    at_once(RI_RMA_PUT);
    control(RI_WIRE_ORDER_ACK, m_conn->id, value + 1);
    EXPECT_EQ(1u, stale());
    EXPECT_TRUE(behind());
}

/* The endpoint is closed, or left, while an operation is under way, and a flush: nothing waits for
 * stock to call back, before that or after it. */
TEST_F(test_rma_order_ring, conn_closed)
{
    for (bool left : {false, true}) {
        for (bool at_end : {false, true}) {
            endpoint *ep         = m_node->new_endpoint(nullptr);
            ri_conn_t *other     = m_node->connect(ep, REMOTE);
            pending put          = start(RI_RMA_PUT, other);
            pending mine         = start(RI_RMA_PUT);
            pending get          = start(RI_RMA_GET, other);
            unsigned before      = m_ucx->num_flushed;
            m_ucx->flush_mode    = LATER;
            ucs_status_ptr_t all = flush(nullptr);
            ucs_status_ptr_t one = flush(other);
            auto callbacks       = [&] {
                end(put, UCS_ERR_CANCELED);
                end(get, UCS_ERR_CANCELED);
            };

            if (left) {
                ri_close_leave_conn(other);
            } else {
                ri_conn_destroy(other, UCS_ERR_CANCELED);
            }
            EXPECT_TRUE(is_done(one));
            if (!at_end) {
                callbacks();
            }
            m_node->progress();
            EXPECT_EQ(before, m_ucx->num_flushed);
            end(mine);
            m_node->progress();
            EXPECT_EQ(before + 1, m_ucx->num_flushed);
            EXPECT_TRUE(m_ucx->complete());
            EXPECT_FALSE(behind());
            EXPECT_TRUE(ucs_list_is_empty(&worker()->rma.behind));
            if (left) {
                ri_rma_ordered(other); /* the answer to a question from before */
                ri_conn_destroy(other, UCS_ERR_CANCELED);
            }
            if (at_end) {
                callbacks();
            }
            EXPECT_TRUE(ucs_list_is_empty(&worker()->rma.closed));
            give_back(all);
            give_back(one);
        }
    }
}

/* A close does not cancel the flush before it, which waits for a put. */
TEST_F(test_rma_order_ring, close_behind_a_flush)
{
    endpoint *ep              = m_node->new_endpoint(nullptr);
    ri_conn_t *other          = m_node->connect(ep, REMOTE);
    pending put               = start(RI_RMA_PUT, other);
    ucp_request_param_t param = {};
    ucs_status_ptr_t one      = flush(other);
    ucs_status_ptr_t close    = ri_ep_close(other, &param);

    ASSERT_TRUE(UCS_PTR_IS_PTR(close));
    m_node->progress();
    EXPECT_FALSE(is_done(one));
    EXPECT_FALSE(ep->closed);
    end(put);
    m_node->progress();
    EXPECT_TRUE(is_done(one));
    EXPECT_EQ(UCS_OK, ri_req_of_handle(one)->status);
    EXPECT_TRUE(ep->closed);
    give_back(one);
    give_back(close);
}

/* Stock may have nothing more to say about an endpoint that has failed: neither flush nor close
 * wait. */
TEST_F(test_rma_order_ring, endpoint_has_failed)
{
    endpoint *ep     = m_node->new_endpoint(nullptr);
    ri_conn_t *other = m_node->connect(ep, REMOTE, RI_CONN_USER | RI_CONN_PEER_MODE);
    pending put      = start(RI_RMA_PUT, other);
    ucp_request_param_t param = {};
    ucs_status_ptr_t one      = flush(other);
    ucs_status_ptr_t all      = flush(nullptr);

    ri_conn_endpoint_failed(other, UCS_ERR_CONNECTION_RESET);
    m_node->progress();
    EXPECT_EQ(2u, m_ucx->num_flushed);
    give_back(all);
    EXPECT_EQ(nullptr, flush(other));
    EXPECT_EQ(nullptr, ri_ep_close(other, &param));
    EXPECT_TRUE(ep->closed);
    give_back(one);
    end(put, UCS_ERR_CONNECTION_RESET);
}

/* Stock calls back within an operation's call: others start and end there. */
TEST_F(test_rma_order_ring, operations_within_the_call)
{
    end(start(RI_RMA_GET)); /* one is free */
    ri_rma_op_t *outer = ri_rma_op_get(worker());
    pending inner      = start(RI_RMA_PUT);
    pending get        = start(RI_RMA_GET);
    end(get);
    pending put = {outer->param, new request()};

    ri_rma_started(m_conn, outer, RI_RMA_PUT, put.req, 0);
    ucs_status_ptr_t handle = flush(m_conn);
    for (const pending &op : {put, inner}) {
        m_node->progress();
        EXPECT_EQ(0u, m_ucx->num_flushed);
        EXPECT_TRUE(behind());
        end(op);
    }
    m_node->progress();
    EXPECT_EQ(1u, m_ucx->num_flushed);
    EXPECT_FALSE(behind());
    give_back(handle);
}

/* ... or the endpoint is closed there. */
TEST_F(test_rma_order_ring, conn_closed_within_the_call)
{
    for (bool later : {false, true}) {
        ri_rma_op_t *op = ri_rma_op_get(worker());
        pending put     = {op->param, later ? new request() : nullptr};

        ri_rma_started(nullptr, op, RI_RMA_PUT, put.req, 0);
        EXPECT_EQ(nullptr, flush(nullptr));
        if (later) {
            end(put, UCS_ERR_CANCELED);
        }
        EXPECT_TRUE(ucs_list_is_empty(&worker()->rma.closed));
    }
}

TEST_F(test_rma_order_ring, conn_closed_during_its_flush)
{
    endpoint *ep     = m_node->new_endpoint(nullptr);
    ri_conn_t *other = m_node->connect(ep, REMOTE);

    m_ucx->flush_mode = LATER;
    ri_rma_note(other, RI_RMA_PUT, nullptr);
    ucs_status_ptr_t handle = flush(other);
    ri_conn_destroy(other, UCS_ERR_CANCELED);
    EXPECT_TRUE(m_ucx->complete());
    give_back(handle);
}

TEST_F(test_rma_order_ring, many_at_a_time)
{
    std::vector<pending> ops;

    for (int i = 0; i < 1000; ++i) {
        ops.push_back(start(RI_RMA_GET));
    }
    for (size_t i = 0; i < ops.size(); ++i) {
        EXPECT_TRUE(behind());
        end(ops[i]);
    }
    EXPECT_FALSE(behind());
    EXPECT_GE(256u, worker()->rma.num_free);
}

/* Never ended by stock: its memory goes with the worker. */
TEST_F(test_rma_order_ring, never_ended)
{
    endpoint *ep     = m_node->new_endpoint(nullptr);
    ri_conn_t *other = m_node->connect(ep, REMOTE);

    delete start(RI_RMA_PUT).req;
    delete start(RI_RMA_GET).req;
    delete start(RI_RMA_PUT, other).req;
    ri_conn_destroy(other, UCS_ERR_CANCELED);
}

} // namespace
