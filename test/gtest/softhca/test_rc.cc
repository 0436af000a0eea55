/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations of RC between two nodes of this process, on softhca and mostly on rxe: data,
 * completions and their order, lists, inline data, full queues, and shared receive queues. The
 * longest message has 23 MB; the limit of 2 GB is not reached. What breaks a connection is in
 * test_error.cc, the places for reads and atomics in test_reads.cc, and several processes in
 * test_process.cc.
 */
#include "hca.h"

#include <cerrno>
#include <cstring>
#include <numeric>

class test_softhca_rc : public softhca_test {};

TEST_F(test_softhca_rc, send_and_receive)
{
    node a, b;

    connect(a, b);
    for (uint32_t length : {0u, 1u, 7u, 8u, 4096u, 4097u, 60000u}) {
        struct ibv_wc wc;

        fill(a, 0, length, 1);
        ASSERT_EQ(0, b.recv(0, 65536, 17));
        ASSERT_EQ(0, a.send(0, length, 18));
        wc = a.wait();
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
        EXPECT_EQ(IBV_WC_SEND, wc.opcode);
        EXPECT_EQ(18u, wc.wr_id);
        EXPECT_EQ(a.qp->qp_num, wc.qp_num);
        wc = b.wait();
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
        EXPECT_EQ(IBV_WC_RECV, wc.opcode);
        EXPECT_EQ(17u, wc.wr_id);
        EXPECT_EQ(length, wc.byte_len);
        EXPECT_EQ(0u, wc.wc_flags & IBV_WC_WITH_IMM);
        EXPECT_EQ(b.qp->qp_num, wc.qp_num);
        EXPECT_TRUE(filled(b, 0, length, 1));
    }
}

/* A QP can be connected to itself. */
TEST_F(test_softhca_rc, loopback)
{
    node a;

    a.connect(a.address());
    fill(a, 0, 1000, 3);
    ASSERT_EQ(0, a.recv(2000, 1000));
    ASSERT_EQ(0, a.send(0, 1000));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_TRUE(filled(a, 2000, 1000, 3));
}

TEST_F(test_softhca_rc, immediate)
{
    struct ibv_send_wr wr = {};
    node a, b;
    struct ibv_wc wc;

    connect(a, b);
    ASSERT_EQ(0, b.recv(0, 100));
    wr.opcode     = IBV_WR_SEND_WITH_IMM;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.imm_data   = 0xabcdef01;
    ASSERT_EQ(0, a.post(wr, a.sge(0, 10)));
    wc = b.wait();
    EXPECT_EQ(IBV_WC_RECV, wc.opcode);
    /* All that comes by RoCE has a global header */
    EXPECT_EQ(IBV_WC_WITH_IMM | ((a.address().lid == 0) ? IBV_WC_GRH : 0),
              static_cast<int>(wc.wc_flags));
    EXPECT_EQ(0xabcdef01, wc.imm_data);
    EXPECT_EQ(10u, wc.byte_len);
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
}

TEST_F(test_softhca_rc, rdma_write)
{
    node a, b;
    struct ibv_wc wc;

    connect(a, b);
    fill(a, 0, 60000, 5);
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 60000, b.address(), 3));
    wc = a.wait();
    EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    EXPECT_EQ(IBV_WC_RDMA_WRITE, wc.opcode);
    EXPECT_TRUE(filled(b, 3, 60000, 5));
    EXPECT_EQ(0, *b.at(2));
    EXPECT_EQ(0, *b.at(60003));
    EXPECT_TRUE(b.quiet());
}

TEST_F(test_softhca_rc, rdma_write_of_all_lengths_and_places)
{
    node a, b;

    connect(a, b);
    fill(a, 0, 100, 9);
    for (uint32_t length = 1; length < 40; ++length) {
        for (size_t offset = 0; offset < 9; ++offset) {
            memset(b.at(0), 0x55, 100);
            ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, length, b.address(), 8 + offset));
            ASSERT_EQ(IBV_WC_SUCCESS, a.wait().status);
            ASSERT_TRUE(filled(b, 8 + offset, length, 9)) << length << " " << offset;
            ASSERT_EQ(0x55, *b.at(8 + offset - 1));
            ASSERT_EQ(0x55, *b.at(8 + offset + length));
        }
    }
}

TEST_F(test_softhca_rc, rdma_write_with_immediate)
{
    node a, b;
    struct ibv_wc wc;

    connect(a, b);
    fill(a, 0, 5000, 6);
    ASSERT_EQ(0, b.recv(0, 0, 77));
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE_WITH_IMM, 0, 5000, b.address(), 1000));
    wc = b.wait();
    EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, wc.opcode);
    EXPECT_EQ(77u, wc.wr_id);
    EXPECT_EQ(5000u, wc.byte_len);
    EXPECT_EQ(0x12345678u, wc.imm_data);
    EXPECT_NE(0u, wc.wc_flags & IBV_WC_WITH_IMM);
    EXPECT_TRUE(filled(b, 1000, 5000, 6));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
}

TEST_F(test_softhca_rc, rdma_read)
{
    node a, b;
    struct ibv_wc wc;

    connect(a, b);
    fill(b, 10, 60000, 8);
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_READ, 0, 60000, b.address(), 10));
    wc = a.wait();
    EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    EXPECT_EQ(IBV_WC_RDMA_READ, wc.opcode);
    EXPECT_EQ(60000u, wc.byte_len);
    EXPECT_TRUE(filled(a, 0, 60000, 8));
}

/* More reads than may be under way wait for their turn; all are right and in order. */
TEST_F(test_softhca_rc, many_reads)
{
    node a, b;

    connect(a, b);
    fill(b, 0, 60000, 8);
    for (uint64_t i = 0; i < 50; ++i) {
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_READ, i * 1000, 1000, b.address(), i * 1000, i));
    }
    for (uint64_t i = 0; i < 50; ++i) {
        struct ibv_wc wc = a.wait();

        ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
        EXPECT_EQ(i, wc.wr_id);
    }
    EXPECT_TRUE(filled(a, 0, 50000, 8));
}

TEST_F(test_softhca_rc, reads_need_a_limit)
{
    SOFTHCA_ONLY("rxe lets such a read wait for ever");
    node_params params;

    params.max_rd_atomic = 0;
    node a(params), b;
    connect(a, b);
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_READ, 0, 8, b.address(), 0));
    EXPECT_EQ(IBV_WC_LOC_QP_OP_ERR, a.wait().status);
}

TEST_F(test_softhca_rc, atomics)
{
    struct ibv_send_wr wr = {};
    uint64_t *word, *old;
    struct ibv_wc wc;
    node a, b;

    connect(a, b);
    word  = reinterpret_cast<uint64_t *>(b.at(64));
    old   = reinterpret_cast<uint64_t *>(a.at(0));
    *word = 100;

    wr.opcode                = IBV_WR_ATOMIC_FETCH_AND_ADD;
    wr.send_flags            = IBV_SEND_SIGNALED;
    wr.wr.atomic.remote_addr = b.address().memory + 64;
    wr.wr.atomic.rkey        = b.address().rkey;
    wr.wr.atomic.compare_add = 5;
    ASSERT_EQ(0, a.post(wr, a.sge(0, 8)));
    wc = a.wait();
    EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    EXPECT_EQ(IBV_WC_FETCH_ADD, wc.opcode);
    EXPECT_EQ(8u, wc.byte_len);
    EXPECT_EQ(100u, *old);
    EXPECT_EQ(105u, *word);

    wr.opcode                = IBV_WR_ATOMIC_CMP_AND_SWP;
    wr.wr.atomic.compare_add = 104;
    wr.wr.atomic.swap        = 1;
    ASSERT_EQ(0, a.post(wr, a.sge(0, 8)));
    wc = a.wait();
    EXPECT_EQ(IBV_WC_COMP_SWAP, wc.opcode);
    EXPECT_EQ(105u, *old);
    EXPECT_EQ(105u, *word);
    wr.wr.atomic.compare_add = 105;
    ASSERT_EQ(0, a.post(wr, a.sge(0, 8)));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_EQ(105u, *old);
    EXPECT_EQ(1u, *word);
}

TEST_F(test_softhca_rc, atomics_are_checked)
{
    struct ibv_send_wr wr = {};
    node a, b;

    connect(a, b);
    wr.opcode                = IBV_WR_ATOMIC_FETCH_AND_ADD;
    wr.send_flags            = IBV_SEND_SIGNALED;
    wr.wr.atomic.remote_addr = b.address().memory + 4;
    wr.wr.atomic.rkey        = b.address().rkey;
    EXPECT_EQ(EINVAL, a.post(wr, a.sge(0, 4)));
    if (!on_softhca()) {
        /* Its library looks at the address already */
        EXPECT_EQ(EINVAL, a.post(wr, a.sge(0, 8)));
        return;
    }
    ASSERT_EQ(0, a.post(wr, a.sge(0, 8)));
    EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, a.wait().status);
    b.expect_event(IBV_EVENT_QP_REQ_ERR);
}

TEST_F(test_softhca_rc, inline_data)
{
    struct ibv_send_wr wr = {};
    char text[]           = "on the stack";
    node a, b;
    struct ibv_sge sge = {};

    connect(a, b);
    sge.addr      = reinterpret_cast<uintptr_t>(text);
    sge.length    = sizeof(text);
    sge.lkey      = 0xdead; /* not looked at */
    wr.opcode     = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    ASSERT_EQ(0, a.post(wr, sge));
    memset(text, 'x', sizeof(text) - 1); /* it is copied already */
    ASSERT_EQ(0, b.recv(0, 100));
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    EXPECT_STREQ("on the stack", b.at(0));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);

    wr.opcode              = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = b.address().memory + 500;
    wr.wr.rdma.rkey        = b.address().rkey;
    ASSERT_EQ(0, a.post(wr, sge));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_STREQ("xxxxxxxxxxxx", b.at(500));

    EXPECT_EQ(EINVAL, a.post(wr, a.sge(0, a.granted.cap.max_inline_data + 1)));
    if (on_softhca()) {
        wr.opcode = IBV_WR_RDMA_READ;
        EXPECT_EQ(EINVAL, a.post(wr, a.sge(0, 8)));
    }
}

TEST_F(test_softhca_rc, lists)
{
    struct ibv_send_wr wr = {}, *bad_send = nullptr;
    struct ibv_recv_wr recv = {}, *bad_recv = nullptr;
    node a, b;

    connect(a, b);
    fill(a, 0, 600, 2);
    struct ibv_sge from[4] = {a.sge(0, 100), a.sge(100, 0), a.sge(100, 300),
                              a.sge(400, 200)};
    struct ibv_sge to[4]   = {b.sge(1000, 1), b.sge(2000, 250), b.sge(3000, 349),
                              b.sge(4000, 100)};
    recv.sg_list           = to;
    recv.num_sge           = 4;
    ASSERT_EQ(0, ibv_post_recv(b.qp, &recv, &bad_recv));
    wr.sg_list    = from;
    wr.num_sge    = 4;
    wr.opcode     = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    ASSERT_EQ(0, ibv_post_send(a.qp, &wr, &bad_send));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_EQ(600u, b.wait().byte_len);
    memmove(b.at(100), b.at(1000), 1);
    memmove(b.at(101), b.at(2000), 250);
    memmove(b.at(351), b.at(3000), 349);
    EXPECT_TRUE(filled(b, 100, 600, 2));
    EXPECT_EQ(0, *b.at(4000));

    wr.num_sge = static_cast<int>(a.granted.cap.max_send_sge) + 1;
    EXPECT_EQ(EINVAL, ibv_post_send(a.qp, &wr, &bad_send));
    EXPECT_EQ(&wr, bad_send);
}

/* A chain is one call; what is before a wrong request is executed. */
TEST_F(test_softhca_rc, chain)
{
    SOFTHCA_ONLY("rxe takes any opcode");
    struct ibv_send_wr wr[4] = {}, *bad = nullptr;
    struct ibv_sge sge[4];
    softhca_counters_t before, after;
    node a, b;

    connect(a, b);
    for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(0, b.recv(0, 100, static_cast<uint64_t>(i)));
        sge[i]           = a.sge(0, 10 + static_cast<uint32_t>(i));
        wr[i].wr_id      = static_cast<uint64_t>(i);
        wr[i].next       = (i < 3) ? &wr[i + 1] : nullptr;
        wr[i].sg_list    = &sge[i];
        wr[i].num_sge    = 1;
        wr[i].opcode     = IBV_WR_SEND;
        wr[i].send_flags = IBV_SEND_SIGNALED;
    }
    before       = counters();
    wr[2].opcode = IBV_WR_TSO;
    EXPECT_EQ(EOPNOTSUPP, ibv_post_send(a.qp, wr, &bad));
    EXPECT_EQ(&wr[2], bad);
    wr[2].opcode = IBV_WR_SEND;
    EXPECT_EQ(0, ibv_post_send(a.qp, &wr[2], &bad));
    for (uint64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(i, a.wait().wr_id);
        EXPECT_EQ(10u + i, b.wait().byte_len);
    }
    after = counters();
    if (on_softhca()) {
        EXPECT_EQ(before.post_send + 2, after.post_send);
        EXPECT_EQ(before.wr_send + 4, after.wr_send);
        EXPECT_EQ(before.messages + 4, after.messages);
        EXPECT_EQ(before.bytes + 46, after.bytes);
        EXPECT_EQ(before.copies + 4, after.copies);
    }
}

TEST_F(test_softhca_rc, unsignalled)
{
    node a, b;

    connect(a, b);
    for (uint64_t i = 0; i < 10; ++i) {
        ASSERT_EQ(0, b.recv(0, 8));
        ASSERT_EQ(0, a.send(0, 8, i, (i == 9) ? IBV_SEND_SIGNALED : 0));
    }
    EXPECT_EQ(9u, a.wait().wr_id);
    EXPECT_TRUE(a.quiet());
}

TEST_F(test_softhca_rc, all_signalled)
{
    node_params params;

    params.sig_all = true;
    node a(params), b;
    connect(a, b);
    ASSERT_EQ(0, b.recv(0, 8));
    ASSERT_EQ(0, a.send(0, 8, 5, 0));
    EXPECT_EQ(5u, a.wait().wr_id);
}

/* The send queue has room again when a completion has been polled, not before. */
TEST_F(test_softhca_rc, full_send_queue)
{
    SOFTHCA_ONLY("rxe has more room than it says");
    node a, b;

    connect(a, b);
    uint32_t depth = a.granted.cap.max_send_wr;

    for (uint32_t i = 0; i < depth; ++i) {
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 8, b.address(), 0, i,
                            (i + 1 == depth) ? IBV_SEND_SIGNALED : 0));
    }
    EXPECT_EQ(ENOMEM, a.rdma(IBV_WR_RDMA_WRITE, 0, 8, b.address(), 0));
    EXPECT_EQ(depth - 1, a.wait().wr_id);
    EXPECT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 8, b.address(), 0));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
}

TEST_F(test_softhca_rc, full_receive_queue)
{
    SOFTHCA_ONLY("rxe has more room than it says");
    node n;

    n.to_init();
    for (uint32_t i = 0; i < n.granted.cap.max_recv_wr; ++i) {
        ASSERT_EQ(0, n.recv(0, 8));
    }
    EXPECT_EQ(ENOMEM, n.recv(0, 8));
}

/* A fenced write carries what the read before it brought. */
TEST_F(test_softhca_rc, fence)
{
    node a, b;

    connect(a, b);
    fill(b, 0, 30000, 4);
    for (int i = 0; i < 20; ++i) {
        memset(a.at(0), 0, 30000);
        memset(b.at(30000), 0, 30000);
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_READ, 0, 30000, b.address(), 0, 1, 0));
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 30000, b.address(), 30000, 2,
                            IBV_SEND_SIGNALED | IBV_SEND_FENCE));
        ASSERT_EQ(2u, a.wait().wr_id);
        ASSERT_TRUE(filled(b, 30000, 30000, 4));
    }
}

TEST_F(test_softhca_rc, many_messages_in_order)
{
    uint32_t sent = 0, received = 0;
    node a, b;

    connect(a, b);
    while (received < 2000) {
        struct ibv_wc wc;

        while ((sent - received < 32) && (sent < 2000)) {
            uint32_t slot = (sent % 64) * 8;

            memcpy(a.at(slot), &sent, sizeof(sent));
            ASSERT_EQ(0, b.recv(1024 + slot, 8));
            ASSERT_EQ(0, a.send(slot, 8, sent, IBV_SEND_SIGNALED));
            ++sent;
        }
        wc = b.wait();
        ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
        ASSERT_EQ(0, memcmp(b.at(1024 + (received % 64) * 8), &received, 4));
        ASSERT_EQ(received, a.wait().wr_id);
        ++received;
    }
}

TEST_F(test_softhca_rc, large)
{
    node_params params;

    params.size = 24 << 20;
    node a(params), b(params);
    connect(a, b);
    fill(a, 1, 23 << 20, 11);
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 1, 23 << 20, b.address(), 5));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_TRUE(filled(b, 5, 23 << 20, 11));
}

TEST_F(test_softhca_rc, srq)
{
    node_params params;

    params.srq = true;
    node a, b(params);
    connect(a, b);
    if (on_softhca()) {
        EXPECT_EQ(0u, b.granted.cap.max_recv_wr);
    }
    fill(a, 0, 500, 12);
    ASSERT_EQ(0, b.recv(0, 500, 31));
    ASSERT_EQ(0, a.send(0, 500));
    struct ibv_wc wc = b.wait();
    EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    EXPECT_EQ(31u, wc.wr_id);
    EXPECT_TRUE(filled(b, 0, 500, 12));

    struct ibv_recv_wr recv = {}, *bad = nullptr;
    EXPECT_NE(0, ibv_post_recv(b.qp, &recv, &bad));
}

TEST_F(test_softhca_rc, srq_limit)
{
    struct ibv_srq_attr attr = {};
    node_params params;

    params.srq = true;
    node a, b(params);
    connect(a, b);
    for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(0, b.recv(0, 8));
    }
    attr.srq_limit = 3;
    ASSERT_EQ(0, ibv_modify_srq(b.srq, &attr, IBV_SRQ_LIMIT));
    ASSERT_EQ(0, ibv_query_srq(b.srq, &attr));
    EXPECT_EQ(3u, attr.srq_limit);
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    EXPECT_TRUE(b.no_event());
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    b.expect_event(IBV_EVENT_SRQ_LIMIT_REACHED);
    ASSERT_EQ(0, ibv_query_srq(b.srq, &attr));
    EXPECT_EQ(0u, attr.srq_limit);
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    EXPECT_TRUE(b.no_event());
}

TEST_F(test_softhca_rc, srq_resize)
{
    SOFTHCA_ONLY("rxe drops receives");
    struct ibv_srq_attr attr = {};
    node_params params;

    params.srq = true;
    node a, b(params);
    connect(a, b);
    for (uint64_t i = 0; i < 10; ++i) {
        ASSERT_EQ(0, b.recv(0, 8, i));
    }
    attr.max_wr = 9;
    EXPECT_EQ(EINVAL, ibv_modify_srq(b.srq, &attr, IBV_SRQ_MAX_WR));
    attr.max_wr = 1000;
    ASSERT_EQ(0, ibv_modify_srq(b.srq, &attr, IBV_SRQ_MAX_WR));
    for (uint64_t i = 10; i < 1000; ++i) {
        ASSERT_EQ(0, b.recv(0, 8, i));
    }
    for (uint64_t i = 0; i < 100; ++i) {
        ASSERT_EQ(0, a.send(0, 8));
        EXPECT_EQ(i, b.wait().wr_id);
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    }
}
