/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Closes that have to wait, and messages that keep them waiting.
 */
#ifndef RI_TEST_CLOSE_TEST_H
#define RI_TEST_CLOSE_TEST_H

#include "unit/ucp/proto/pool/pool_send_test.h"

namespace {

class close_test : public pool_send_test {
protected:
    /* A message whose send may end with the worker only */
    send_ptr send_for_good(const bytes &content, uint64_t tag)
    {
        send_ptr s = m_a->send(m_conn, content, tag);

        m_a->may_end_open = true;
        pump();
        return s;
    }

    /* A close that has to wait */
    static ucs_status_ptr_t start_close(ri_conn_t *conn)
    {
        ucp_request_param_t param = {};
        ucs_status_ptr_t ret      = ri_ep_close(conn, &param);

        EXPECT_TRUE(UCS_PTR_IS_PTR(ret));
        return ret;
    }

    static bool has_ended(ucs_status_ptr_t ret)
    {
        return ri_req_flags(ri_req_of_handle(ret)) & RI_REQ_COMPLETED;
    }

    static void end(ucs_status_ptr_t ret)
    {
        EXPECT_TRUE(has_ended(ret));
        ri_req_put(ri_req_of_handle(ret));
    }
};

} // namespace

#endif
