/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/ep_op.c: operations that wait */

#include "unit/ucp/proto/pool/pool_send_test.h"

#include <thread>

namespace {

class test_ep_op : public pool_send_test {};

/* A flush of the worker that still waits when the worker ends */
TEST_F(test_ep_op, worker_flush_ends_with_its_worker)
{
    ucp_request_param_t param = {};
    ucs_status_t status       = UCS_INPROGRESS;
    ri_worker_t *worker       = m_a->worker();

    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data    = &status;
    param.cb.send      = [](void *request, ucs_status_t how, void *arg) {
        *static_cast<ucs_status_t *>(arg) = how;
        ri_req_put(ri_req_of_handle(request));
    };
    ri_conn_queue_pending(m_conn); /* something waits for room */
    ASSERT_TRUE(UCS_PTR_IS_PTR(ri_ep_flush_worker(worker, &param)));
    m_a->may_end_open = true;
    stop();
    EXPECT_EQ(UCS_ERR_CANCELED, status);
}

/* Memory of the application in which a request of the library was. What stock is asked for there is
 * stock's, and is not taken for the library's any more. */
class test_ep_op_memory : public pool_send_test {
protected:
    void SetUp() override
    {
        pool_send_test::SetUp();
        ri_req_headroom                         = sizeof(m_memory) / 2;
        m_param.op_attr_mask                    = UCP_OP_ATTR_FIELD_REQUEST;
        m_param.request                         = m_memory + sizeof(m_memory) / 2;
        ri_req_of_handle(m_param.request)->mark = RI_REQ_MARK;
    }

    bool is_ours() const { return ri_req_is_own(m_param.request); }

    setting<size_t> m_headroom{ri_req_headroom, ri_req_headroom};
    alignas(64) uint8_t m_memory[4096] = {};
    ucp_request_param_t m_param        = {};
};

TEST_F(test_ep_op_memory, flush)
{
    EXPECT_TRUE(is_ours());
    ri_ep_flush(m_conn, &m_param);
    EXPECT_FALSE(is_ours());
}

TEST_F(test_ep_op_memory, flush_of_the_worker)
{
    ri_ep_flush_worker(m_a->worker(), &m_param);
    EXPECT_FALSE(is_ours());
}

TEST_F(test_ep_op_memory, close)
{
    ri_ep_close(m_conn, &m_param);
    EXPECT_FALSE(is_ours());
}

/* What stock calls when a flush has ended lets go of the worker. */
TEST_F(test_ep_op, unlocked_behind_stocks_flush)
{
    ri_worker_t *worker       = m_a->worker();
    ucp_request_param_t param = {};
    int locked                = -1;
    ri_rma_op_t *op           = ri_rma_op_get(worker);

    ASSERT_NE(nullptr, op);
    ri_rma_started(m_conn, op, RI_RMA_PUT, nullptr, 0);
    worker->multi        = 1;
    m_ucx->flush_mode    = LATER;
    ucs_status_ptr_t ret = ri_ep_flush(m_conn, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(ret));
    m_ucx->complete();
    EXPECT_TRUE(ri_req_flags(ri_req_of_handle(ret)) & RI_REQ_COMPLETED);
    std::thread([&] {
        locked = pthread_mutex_trylock(&worker->lock);
        if (locked == 0) {
            pthread_mutex_unlock(&worker->lock);
        }
    }).join();
    EXPECT_EQ(0, locked);
    worker->multi = 0;
    ri_req_put(ri_req_of_handle(ret));
}

/* Puts that were posted and are lost fail the close that has to flush them. */
class test_ep_op_close : public pool_send_test {
protected:
    void SetUp() override
    {
        pool_send_test::SetUp();
        m_reach.users        = 2; /* so it is not freed */
        m_reach.lost         = UCS_ERR_UNREACHABLE;
        m_conn->rma.reach    = &m_reach;
        m_param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        m_param.user_data    = &m_status;
        m_param.cb.send      = [](void *request, ucs_status_t how, void *arg) {
            *static_cast<ucs_status_t *>(arg) = how;
            ri_req_put(ri_req_of_handle(request));
        };
    }

    void TearDown() override
    {
        m_a->may_end_open = true;
        pool_send_test::TearDown();
        EXPECT_EQ(1u, m_reach.users) << "it is given back once";
    }

    ucs_status_ptr_t close(uint32_t flags = 0)
    {
        m_param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        m_param.flags = flags;
        return ri_ep_close(m_conn, &m_param);
    }

    ri_reach_t m_reach          = {};
    ucp_request_param_t m_param = {};
    ucs_status_t m_status       = UCS_INPROGRESS;
};

TEST_F(test_ep_op_close, fails_at_once)
{
    unsigned closed = ucx::get()->num_closed;

    EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_CONNECTION_RESET), close());
    EXPECT_EQ(closed + 1, ucx::get()->num_closed);
    EXPECT_EQ(UCS_INPROGRESS, m_status) << "there is no callback then";
}

TEST_F(test_ep_op_close, fails_later)
{
    unsigned closed = ucx::get()->num_closed;
    ucs_list_link_t something; /* that waits for room */

    ucs_list_add_tail(&m_conn->pending, &something);
    ASSERT_TRUE(UCS_PTR_IS_PTR(close()));
    EXPECT_EQ(closed, ucx::get()->num_closed);
    ucs_list_del(&something);
    ri_ep_ops_progress(m_a->worker());
    EXPECT_EQ(closed + 1, ucx::get()->num_closed);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_status);
}

} // namespace
