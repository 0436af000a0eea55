/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/flush.h: which flushes stock is asked for. How flushes wait is in test_close.cc and
 * core/test_rma_order_ring.cc. */

#include "unit/common/control_test.h"
#include "unit/ucp/rma/mail_head.h"

namespace {

class test_flush : public control_test {
protected:
    void SetUp() override
    {
        control_test::SetUp();
        worker()->context->features = UCP_FEATURE_RMA; /* there are no messages */
    }

    void TearDown() override
    {
        worker()->context->features = UCP_FEATURE_TAG;
        control_test::TearDown();
    }

    /* A put of stock that has ended here. */
    void put()
    {
        ri_rma_op_t *op = ri_rma_op_get(worker());

        ASSERT_NE(nullptr, op);
        ri_rma_started(m_conn, op, RI_RMA_PUT, nullptr, 0);
    }

    ucs_status_ptr_t flush(ri_conn_t *conn, uint32_t mask = 0)
    {
        ucp_request_param_t param = {};

        param.op_attr_mask = mask;
        return (conn != nullptr) ? ri_ep_flush(conn, &param) :
                                   ri_ep_flush_worker(worker(), &param);
    }

    /* Whether stock was asked since the latest call. */
    bool asked()
    {
        bool more = (m_ucx->num_flushed > m_flushed);

        m_flushed = m_ucx->num_flushed;
        return more;
    }

    unsigned m_flushed = 0;
};

/* Stock is asked only if it may be at something. */
TEST_F(test_flush, without_messages)
{
    asked();
    for (ri_conn_t *conn : {m_conn, (ri_conn_t *)nullptr}) {
        EXPECT_EQ(nullptr, flush(conn));
        EXPECT_FALSE(asked());
        put();
        EXPECT_EQ(nullptr, flush(conn));
        EXPECT_TRUE(asked());
        EXPECT_EQ(nullptr, flush(conn));
        EXPECT_FALSE(asked());
    }
}

/* Who wants to be told later is told by stock. */
TEST_F(test_flush, not_within_its_call)
{
    asked();
    EXPECT_EQ(nullptr,
              flush(m_conn, UCP_OP_ATTR_FLAG_NO_IMM_CMPL)); /* as the fake has it */
    EXPECT_TRUE(asked());
}

TEST_F(test_flush, with_messages)
{
    asked();
    worker()->context->features = UCP_FEATURE_RMA | UCP_FEATURE_AM;
    EXPECT_EQ(nullptr, flush(m_conn));
    EXPECT_TRUE(asked());
    EXPECT_EQ(nullptr, flush(nullptr));
    EXPECT_TRUE(asked());
}

/* Stock may still be at what an endpoint has put that is gone, until the whole worker was flushed. */
TEST_F(test_flush, of_an_endpoint_that_is_gone)
{
    put();
    ri_rma_conn_ends(m_conn);
    asked();
    EXPECT_EQ(nullptr, flush(nullptr));
    EXPECT_TRUE(asked());
    EXPECT_EQ(nullptr, flush(nullptr));
    EXPECT_FALSE(asked());
}

/* A flush that asks stock for nothing serves others, who may wait for this process. */
TEST_F(test_flush, serves_others)
{
    const ucp_mem_h handle = reinterpret_cast<ucp_mem_h>(this);
    uint64_t word          = 0;
    const uint64_t value   = 4711;
    int fd                 = ri_serve_start();
    ri_mailbox_tx_t tx     = {};
    ri_region_t region;

    ASSERT_GE(fd, 0);
    ASSERT_EQ(UCS_OK, ri_mailbox_tx_open(&tx, getpid(), fd));
    ri_region_add(handle, &word, sizeof(word));
    ASSERT_TRUE(ri_region_find(handle, &region));
    ri_mailbox_head_t head = mail_head(RI_SERVE_PUT, region.number, (uintptr_t)&word,
                                       sizeof(word), sizeof(word));
    uint32_t entry         = ri_mailbox_tx_post(&tx, &head, &value);

    EXPECT_EQ(nullptr, flush(m_conn));
    EXPECT_EQ(RI_MAILBOX_DONE, ri_mailbox_tx_state(&tx, entry));
    EXPECT_EQ(value, word);
    ri_mailbox_tx_free(&tx, entry);
    ri_region_remove(handle);
    ri_mailbox_tx_close(&tx);
}

} // namespace
