/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/ep_op.c: operations that wait */

#include "unit/ucp/proto/pool/pool_send_test.h"

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

} // namespace
