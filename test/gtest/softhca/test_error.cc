/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RC connections that break, between two nodes of this process: completions, states and events of
 * both sides. Where rxe behaves otherwise, a test is skipped there. Tests with by_rxe expect rxe's
 * way of rxe itself and of softhca with SOFTHCA_LIKE=rxe. A timeout comes from a peer that does not
 * listen, is not there, or expects other numbers. softhca has no packets, so one that gets lost or
 * is damaged cannot be tested. Rights and bounds of remote memory are in test_mr.cc, the death of a
 * process in test_process.cc.
 */
#include "hca.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

/* What goes wrong on a connection, and what both sides are told. */
class test_softhca_error : public softhca_test {};

/* All that was posted comes back, in order, also what was not signalled. */
TEST_F(test_softhca_error, flush)
{
    node_params params;

    params.timeout = 20;
    node a(params), b;
    a.connect(b.address()); /* b does not listen */
    for (uint64_t i = 0; i < 5; ++i) {
        ASSERT_EQ(0, a.recv(0, 8, 100 + i));
        ASSERT_EQ(0, a.send(0, 8, i, 0));
    }
    a.set_state(IBV_QPS_ERR);
    /* Which queue is flushed first is the device's choice */
    for (uint64_t i = 0, sends = 0, recvs = 100; i < 10; ++i) {
        struct ibv_wc wc = a.wait();

        EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
        EXPECT_EQ((wc.wr_id < 100) ? sends++ : recvs++, wc.wr_id);
    }
    EXPECT_TRUE(a.quiet());
}

TEST_F(test_softhca_error, wrong_local_key)
{
    SOFTHCA_ONLY("rxe flushes the wrong request, too, if it has others");
    struct ibv_send_wr wr = {};
    struct ibv_sge sge;
    node a, b;

    connect(a, b);
    ASSERT_EQ(0, b.recv(0, 100));
    ASSERT_EQ(0, b.recv(0, 100));
    ASSERT_EQ(0, a.send(0, 8, 1, 0));
    sge = a.sge(0, 8);
    sge.lkey ^= 1;
    wr.opcode = IBV_WR_SEND;
    wr.wr_id  = 2;
    ASSERT_EQ(0, a.post(wr, sge));
    ASSERT_EQ(0, a.send(0, 8, 3, 0));
    struct ibv_wc wc = a.wait();
    EXPECT_EQ(IBV_WC_LOC_PROT_ERR, wc.status);
    EXPECT_EQ(2u, wc.wr_id);
    wc = a.wait();
    EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
    EXPECT_EQ(3u, wc.wr_id);
    EXPECT_EQ(IBV_QPS_ERR, a.state());
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    EXPECT_TRUE(b.quiet());
}

TEST_F(test_softhca_error, local_bounds)
{
    /* rxe sends as much as is there of the last one, which waits for a receive */
    for (int i = 0; i < (on_softhca() ? 3 : 2); ++i) {
        struct ibv_send_wr wr = {};
        struct ibv_sge sge;
        node a, b;

        connect(a, b);
        sge = a.sge(0, 8);
        switch (i) {
        case 0:
            sge.addr -= 1;
            break;
        case 1:
            sge.addr += 65536 - 7;
            break;
        default:
            sge.length = 65537;
            break;
        }
        wr.opcode = IBV_WR_SEND;
        ASSERT_EQ(0, a.post(wr, sge));
        EXPECT_EQ(IBV_WC_LOC_PROT_ERR, a.wait().status) << i;
    }
}

/* A read needs the right to write locally. */
TEST_F(test_softhca_error, read_into_read_only_region)
{
    node_params params;

    params.access = IBV_ACCESS_REMOTE_READ;
    node a(params), b;
    connect(a, b);
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_READ, 0, 8, b.address(), 0));
    EXPECT_EQ(IBV_WC_LOC_PROT_ERR, a.wait().status);
}

TEST_F(test_softhca_error, unmapped_source)
{
    SOFTHCA_ONLY("rxe holds the pages");
    void *memory          = mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_send_wr wr = {};
    struct ibv_sge sge    = {};
    node a, b;
    struct ibv_mr *mr = ibv_reg_mr(a.pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE);

    connect(a, b);
    ASSERT_EQ(0, b.recv(0, 8192, 9));
    ASSERT_EQ(0, munmap(memory, 8192));
    sge.addr   = reinterpret_cast<uintptr_t>(memory);
    sge.length = 8192;
    sge.lkey   = mr->lkey;
    wr.opcode  = IBV_WR_SEND;
    ASSERT_EQ(0, a.post(wr, sge));
    EXPECT_EQ(IBV_WC_LOC_PROT_ERR, a.wait().status);
    EXPECT_EQ(IBV_QPS_ERR, a.state());
    /* Nothing has come in there */
    EXPECT_TRUE(b.quiet());
    b.set_state(IBV_QPS_ERR);
    EXPECT_EQ(9u, b.wait().wr_id);
    EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(test_softhca_error, message_too_long)
{
    SOFTHCA_ONLY("rxe says REM_OP_ERR there, and flushes here");
    node a, b;
    struct ibv_wc wc;

    connect(a, b);
    ASSERT_EQ(0, b.recv(0, 99, 1));
    ASSERT_EQ(0, b.recv(0, 99, 2));
    ASSERT_EQ(0, a.send(0, 100, 3));
    EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, a.wait().status);
    wc = b.wait();
    EXPECT_EQ(IBV_WC_LOC_LEN_ERR, wc.status);
    EXPECT_EQ(1u, wc.wr_id);
    wc = b.wait();
    EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
    EXPECT_EQ(2u, wc.wr_id);
    EXPECT_EQ(IBV_QPS_ERR, a.state());
    EXPECT_EQ(IBV_QPS_ERR, b.state());
}

/* The same by rxe, or as it does: the receive fails, or is flushed in some cases, but nobody says
 * why. It may come more than once. */
static bool is_vague(const struct ibv_wc &wc)
{
    return (wc.status == IBV_WC_LOC_QP_OP_ERR) || (wc.status == IBV_WC_WR_FLUSH_ERR);
}

TEST_F(test_softhca_error, message_too_long_by_rxe)
{
    struct ibv_wc wc;

    set("SOFTHCA_LIKE", "rxe");
    node a, b;
    connect(a, b);
    ASSERT_EQ(0, b.recv(0, 99, 1));
    ASSERT_EQ(0, b.recv(0, 99, 2));
    ASSERT_EQ(0, a.send(0, 100, 3));
    EXPECT_EQ(IBV_WC_REM_OP_ERR, a.wait().status);
    for (uint64_t first = 0; first != 2;) {
        wc = b.wait();
        ASSERT_TRUE(is_vague(wc)) << wc.status;
        ASSERT_TRUE((wc.wr_id == 1) || ((wc.wr_id == 2) && (first == 1)));
        first = wc.wr_id;
    }
    EXPECT_EQ(IBV_QPS_ERR, a.state());
    EXPECT_EQ(IBV_QPS_ERR, b.state());
}

/* A message meets a receive whose key is wrong. */
static void send_to_wrong_key(node &a, node &b)
{
    struct ibv_recv_wr wr = {}, *bad = nullptr;
    struct ibv_sge sge = b.sge(0, 100);

    sge.lkey ^= 1;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ASSERT_EQ(0, ibv_post_recv(b.qp, &wr, &bad));
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_EQ(IBV_WC_REM_OP_ERR, a.wait().status);
}

TEST_F(test_softhca_error, wrong_key_of_a_receive_by_rxe)
{
    set("SOFTHCA_LIKE", "rxe");
    node a, b;
    connect(a, b);
    send_to_wrong_key(a, b);
    EXPECT_TRUE(is_vague(b.wait()));
}

/* What adapters tell, and rxe does not: whoever waits for it waits for ever. */
TEST_F(test_softhca_error, no_events_by_rxe)
{
    node_params params;

    set("SOFTHCA_LIKE", "rxe");
    params.srq = true;
    node a, b, c, d(params);
    a.connect(b.address());
    b.to_init();
    ASSERT_EQ(0, b.recv(0, 8));
    b.to_rtr(a.address());
    ASSERT_EQ(0, a.send(0, 8, 1));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    EXPECT_TRUE(b.no_event()) << "of a connection";

    connect(c, d);
    ASSERT_EQ(0, c.rdma(IBV_WR_RDMA_WRITE, 0, 8, d.address(), d.address().memory));
    EXPECT_NE(IBV_WC_SUCCESS, c.wait().status);
    EXPECT_TRUE(d.no_event()) << "of a write outside of the memory";
    d.set_state(IBV_QPS_ERR);
    EXPECT_TRUE(d.no_event()) << "of the last receive";
}

TEST_F(test_softhca_error, wrong_key_of_a_receive)
{
    SOFTHCA_ONLY("rxe flushes the receive");
    node a, b;

    connect(a, b);
    send_to_wrong_key(a, b);
    EXPECT_EQ(IBV_WC_LOC_PROT_ERR, b.wait().status);
}

TEST_F(test_softhca_error, receiver_not_ready_waits)
{
    softhca_counters_t before = counters();
    node a, b;

    connect(a, b);
    for (uint64_t i = 0; i < 5; ++i) {
        ASSERT_EQ(0, a.send(0, 8, i));
    }
    EXPECT_TRUE(a.quiet());
    if (on_softhca()) {
        EXPECT_LT(before.rnr_naks, counters().rnr_naks);
    }
    for (uint64_t i = 0; i < 5; ++i) {
        ASSERT_EQ(0, b.recv(0, 8, i));
        struct ibv_wc wc = b.wait();
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
        EXPECT_EQ(i, wc.wr_id);
        EXPECT_EQ(i, a.wait().wr_id);
    }
}

TEST_F(test_softhca_error, receiver_not_ready_for_too_long)
{
    node_params params;

    params.rnr_retry = 2;
    node a(params), b;
    connect(a, b);
    ASSERT_EQ(0, a.send(0, 8, 1));
    EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, a.wait().status);
    EXPECT_EQ(IBV_QPS_ERR, a.state());
    EXPECT_EQ(IBV_QPS_RTS, b.state());
}

TEST_F(test_softhca_error, immediate_needs_a_receive)
{
    node_params params;

    params.rnr_retry = 0;
    node a(params), b;
    connect(a, b);
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, b.address(), 0));
    EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, a.wait().status);
}

TEST_F(test_softhca_error, nobody_there)
{
    node a, b;
    node_address wrong = b.address();

    wrong.qpn = 0xff00ff;
    a.connect(wrong);
    ASSERT_EQ(0, a.send(0, 8, 1));
    ASSERT_EQ(0, a.send(0, 8, 2));
    EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, a.wait().status);
    EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, a.wait().status);
}

/* A retry count of 7 is one as well, but not with rxe. */
TEST_F(test_softhca_error, retries_without_end)
{
    node_params params;

    params.retry_cnt = 7;
    set("SOFTHCA_FAULTS", "retry_always");
    node a(params), b;
    a.connect(b.address()); /* which does not listen */
    ASSERT_EQ(0, a.send(0, 8, 1));
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(a.quiet()) << "seven times are over after 32 ms";
    }
    b.connect(a.address());
    ASSERT_EQ(0, b.recv(0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
}

TEST_F(test_softhca_error, peer_not_ready_yet)
{
    SOFTHCA_ONLY("rxe has no event for it");
    node_params params;

    params.timeout   = 12;
    params.retry_cnt = 7;
    node a(params), b;
    a.connect(b.address());
    ASSERT_EQ(0, a.send(0, 8, 1));
    EXPECT_TRUE(a.quiet());
    b.to_init();
    ASSERT_EQ(0, b.recv(0, 8));
    b.to_rtr(a.address());
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    b.expect_event(IBV_EVENT_COMM_EST);
}

TEST_F(test_softhca_error, wrong_numbers)
{
    node a, b;
    node_address other = a.address();

    a.connect(b.address());
    other.psn += 10;
    b.connect(other);
    ASSERT_EQ(0, b.recv(0, 8));
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, a.wait().status);
    EXPECT_TRUE(b.quiet());
}

TEST_F(test_softhca_error, peer_in_error)
{
    node a, b;

    connect(a, b);
    b.set_state(IBV_QPS_ERR);
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, a.wait().status);
}

TEST_F(test_softhca_error, last_wqe_of_a_shared_queue)
{
    SOFTHCA_ONLY("rxe has no event for it");
    node_params params;

    params.srq = true;
    node a, b(params);
    connect(a, b);
    ASSERT_EQ(0, b.recv(0, 8));
    b.set_state(IBV_QPS_ERR);
    b.expect_event(IBV_EVENT_QP_LAST_WQE_REACHED);
    EXPECT_TRUE(b.quiet()) << "the receive stays in the shared queue";
}

TEST_F(test_softhca_error, completion_queue_overruns)
{
    SOFTHCA_ONLY("rxe leaves the QP as it is");
    node_params params;

    params.cqe = 3;
    node a(params), b;
    connect(a, b);
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 8, b.address(), 0));
    }
    a.expect_event(IBV_EVENT_CQ_ERR);
    a.expect_event(IBV_EVENT_QP_FATAL);
    EXPECT_EQ(IBV_QPS_ERR, a.state());
}

/* Destroying a QP takes its completions away and leaves the other side waiting only as long
 * as its retries last. */
TEST_F(test_softhca_error, destroyed)
{
    SOFTHCA_ONLY("rxe leaves its completions");
    node a, b;

    connect(a, b);
    ASSERT_EQ(0, b.recv(0, 8));
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    ASSERT_EQ(0, ibv_destroy_qp(b.qp));
    b.qp = nullptr;
    EXPECT_TRUE(b.quiet());
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, a.wait().status);
}
