/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Children by fork() of a process that is in the middle of something: a completion is there, or
 * threads wait for a lock. (More of them are in test_process.cc.)
 */
#include "hca.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

class test_softhca_fork : public softhca_test {
protected:
    void SetUp() override
    {
        softhca_test::SetUp();
        SOFTHCA_ONLY("elsewhere a child has the objects of its parent");
    }
};

/* What is in a queue is for the parent, which it was for: the extended polls are no exception. */
TEST_F(test_softhca_fork, polls_of_the_parents_queue)
{
    struct ibv_cq_init_attr_ex attr = {};
    struct ibv_qp_init_attr init    = {};
    struct ibv_poll_cq_attr poll    = {};
    struct ibv_wc wc;
    node a;

    attr.cqe             = 16;
    struct ibv_cq_ex *cq = ibv_create_cq_ex(a.context, &attr);
    ASSERT_NE(nullptr, cq);
    init.send_cq          = ibv_cq_ex_to_cq(cq);
    init.recv_cq          = ibv_cq_ex_to_cq(cq);
    init.qp_type          = IBV_QPT_RC;
    init.cap.max_recv_wr  = 4;
    init.cap.max_recv_sge = 1;
    struct ibv_qp *qp     = ibv_create_qp(a.pd, &init);
    ASSERT_NE(nullptr, qp);

    /* A receive that is flushed */
    struct ibv_qp_attr state = {};
    struct ibv_recv_wr wr    = {};
    struct ibv_recv_wr *bad  = nullptr;
    state.qp_state           = IBV_QPS_INIT;
    state.port_num           = 1;
    ASSERT_EQ(0, ibv_modify_qp(qp, &state,
                               IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                       IBV_QP_ACCESS_FLAGS));
    ASSERT_EQ(0, ibv_post_recv(qp, &wr, &bad));
    state.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(0, ibv_modify_qp(qp, &state, IBV_QP_STATE));

    EXPECT_TRUE(ended_well(spawn([&] {
        if (ibv_start_poll(cq, &poll) != ENOENT) {
            return false; /* with the lock that the others want */
        }
        EXPECT_EQ(0, ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc));
        EXPECT_EQ(0, ibv_req_notify_cq(ibv_cq_ex_to_cq(cq), 0));
        EXPECT_EQ(ENOENT, ibv_start_poll(cq, &poll)) << "no lock was kept";
        return true;
    })));
    ASSERT_EQ(0, ibv_start_poll(cq, &poll));
    EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, cq->status);
    ibv_end_poll(cq);
    EXPECT_EQ(0, ibv_destroy_qp(qp));
    EXPECT_EQ(0, ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

/* Threads of the parent wait for its agent just then. Those of the child do not, so that who polls there
 * does the agent's work as always. */
TEST_F(test_softhca_fork, while_threads_wait)
{
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    node parent;

    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            while (!stop) {
                ibv_destroy_cq(ibv_create_cq(parent.context, 1, nullptr, nullptr, 0));
            }
        });
    }
    for (int round = 0; (round < 20) && !HasFailure(); ++round) {
        EXPECT_TRUE(ended_well(spawn([&] {
            node a, b;
            struct ibv_wc wc;

            connect(a, b);
            auto end = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(WAIT_MS);
            while ((counters().helps == 0) && (std::chrono::steady_clock::now() < end)) {
                EXPECT_EQ(0, b.recv(0, 8));
                EXPECT_EQ(0, a.send(0, 8));
                for (int got = 0;
                     (got < 2) && (std::chrono::steady_clock::now() < end);) {
                    got += ibv_poll_cq(b.cq, 1, &wc) + ibv_poll_cq(a.cq, 1, &wc);
                }
            }
            EXPECT_LT(0u, counters().helps);
            return true;
        })));
    }
    stop = true;
    for (std::thread &thread : threads) {
        thread.join();
    }
}
