/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* A worker with one-sided operations that the test makes in place of stock: it says when they end,
 * and when a flush does. */
#ifndef RI_TEST_RMA_ORDER_TEST_H
#define RI_TEST_RMA_ORDER_TEST_H

#include "unit/common/control_test.h"

namespace {

class rma_order_test : public control_test {
protected:
    /* One that stock has not ended */
    struct pending {
        ucp_request_param_t param;
        request *req;
    };

    void *any() { return &m_any; }

    bool behind(ri_conn_t *conn = nullptr)
    {
        return !!(((conn == nullptr) ? m_conn : conn)->flags & RI_CONN_BEHIND_RMA);
    }

    void at_once(ri_rma_kind_t kind, ri_conn_t *conn)
    {
        ri_rma_op_t *op = ri_rma_op_get(worker());

        ASSERT_NE(nullptr, op);
        ri_rma_started(conn, op, kind, nullptr, 0);
    }

    void at_once(ri_rma_kind_t kind) { at_once(kind, m_conn); }

    pending start(ri_rma_kind_t kind, ri_conn_t *conn = nullptr)
    {
        ri_rma_op_t *started = ri_rma_op_get(worker());
        pending op           = {started->param, new request()};

        ri_rma_started((conn == nullptr) ? m_conn : conn, started, kind, op.req, 0);
        return op;
    }

    void end(const pending &op, ucs_status_t status = UCS_OK)
    {
        op.param.cb.send(op.req, status, op.param.user_data);
        EXPECT_TRUE(op.req->freed);
        delete op.req;
    }

    ucs_status_ptr_t flush(ri_conn_t *conn)
    {
        ucp_request_param_t param = {};

        return (conn != nullptr) ? ri_ep_flush(conn, &param) :
                                   ri_ep_flush_worker(worker(), &param);
    }

    static bool is_done(ucs_status_ptr_t handle)
    {
        return !!(ri_req_flags(ri_req_of_handle(handle)) & RI_REQ_COMPLETED);
    }

    static void give_back(ucs_status_ptr_t handle)
    {
        ASSERT_TRUE(UCS_PTR_IS_PTR(handle) && is_done(handle));
        ri_req_put(ri_req_of_handle(handle));
    }

    char m_any;
};

} // namespace

#endif
