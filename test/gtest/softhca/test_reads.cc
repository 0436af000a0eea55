/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Reads and atomics take a place at the responder, which has told how many it has.
 */
#include "hca.h"

#include <memory>

class test_softhca_reads : public softhca_test {};

/* A responder without places for reads and atomics takes none, whatever the requester may send. */
TEST_F(test_softhca_reads, responder_takes_no_reads)
{
    struct ibv_send_wr atomic = {};
    node_params params;

    params.max_rd_atomic = 8;
    for (auto opcode : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
        params.max_dest_rd_atomic = 16;
        node a(params);
        params.max_dest_rd_atomic = 0;
        node b(params);

        connect(a, b);
        fill(b, 0, 100, 1);
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 8, b.address(), 64));
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        if (opcode == IBV_WR_RDMA_READ) {
            ASSERT_EQ(0, a.rdma(opcode, 0, 64, b.address(), 0));
        } else {
            atomic.opcode                = opcode;
            atomic.send_flags            = IBV_SEND_SIGNALED;
            atomic.wr.atomic.remote_addr = b.address().memory;
            atomic.wr.atomic.rkey        = b.address().rkey;
            atomic.wr.atomic.compare_add = 1;
            ASSERT_EQ(0, a.post(atomic, a.sge(0, 8)));
        }
        EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, a.wait().status);
        EXPECT_TRUE(filled(b, 0, 64, 1));
        EXPECT_FALSE(filled(a, 0, 64, 1));
        EXPECT_EQ(IBV_QPS_ERR, a.state());
        EXPECT_EQ(IBV_QPS_ERR, b.state());
        if (on_softhca()) { /* rxe has no event for it */
            b.expect_event(IBV_EVENT_QP_REQ_ERR);
        }
    }
}

/* Post @a count reads of @a params' queue pairs with one call. @return The node that has. */
static std::unique_ptr<node> post_reads(const node_params &params, node &b,
                                        unsigned count)
{
    std::vector<struct ibv_send_wr> wrs(count);
    std::vector<struct ibv_sge> sges(count);
    auto a                  = std::make_unique<node>(params);
    struct ibv_send_wr *bad = nullptr;

    connect(*a, b);
    for (unsigned i = 0; i < count; ++i) {
        sges[i]                    = a->sge(i * 1000, 1000);
        wrs[i]                     = {};
        wrs[i].wr_id               = i;
        wrs[i].opcode              = IBV_WR_RDMA_READ;
        wrs[i].send_flags          = IBV_SEND_SIGNALED;
        wrs[i].sg_list             = &sges[i];
        wrs[i].num_sge             = 1;
        wrs[i].wr.rdma.remote_addr = b.address().memory + i * 1000;
        wrs[i].wr.rdma.rkey        = b.address().rkey;
        wrs[i].next                = (i + 1 < count) ? &wrs[i + 1] : nullptr;
    }
    EXPECT_EQ(0, ibv_post_send(a->qp, wrs.data(), &bad));
    return a;
}

/* A requester that sends more at a time than the responder has places for breaks the connection. */
TEST_F(test_softhca_reads, more_reads_than_the_responder_takes)
{
    SOFTHCA_ONLY("rxe uses its places again");
    node_params params;
    struct ibv_wc wc;

    params.max_rd_atomic      = 8;
    params.max_dest_rd_atomic = 2;
    node b(params);
    fill(b, 0, 8000, 8);
    auto a = post_reads(params, b, 8);
    for (uint64_t i = 0; i < 8; ++i) {
        wc = a->wait();
        EXPECT_EQ(i, wc.wr_id);
        EXPECT_EQ((i < 2)  ? IBV_WC_SUCCESS :
                  (i == 2) ? IBV_WC_REM_INV_REQ_ERR :
                             IBV_WC_WR_FLUSH_ERR,
                  wc.status);
    }
    EXPECT_TRUE(filled(*a, 0, 2000, 8));
    b.expect_event(IBV_EVENT_QP_REQ_ERR);
}

/* As many as it has places for go on for ever. */
TEST_F(test_softhca_reads, as_many_reads_as_the_responder_takes)
{
    node_params params;

    params.max_rd_atomic      = 2;
    params.max_dest_rd_atomic = 2;
    node b(params);
    fill(b, 0, 30000, 8);
    auto a = post_reads(params, b, 30);
    for (uint64_t i = 0; i < 30; ++i) {
        EXPECT_EQ(IBV_WC_SUCCESS, a->wait().status);
    }
    EXPECT_TRUE(filled(*a, 0, 30000, 8));
}

/* rxe uses its places again, if there are any. */
TEST_F(test_softhca_reads, more_reads_than_the_responder_takes_by_rxe)
{
    node_params params;

    set("SOFTHCA_LIKE", "rxe");
    params.max_rd_atomic      = 8;
    params.max_dest_rd_atomic = 2;
    node b(params);
    fill(b, 0, 30000, 8);
    auto a = post_reads(params, b, 30);
    for (uint64_t i = 0; i < 30; ++i) {
        EXPECT_EQ(IBV_WC_SUCCESS, a->wait().status);
    }
    EXPECT_TRUE(filled(*a, 0, 30000, 8));
}
