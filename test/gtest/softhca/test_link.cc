/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The link model of softhca. Both ends are in this process, which is a single host to the model:
 * what is sent leaves and comes in by the same port. How late messages are, and processes with a
 * link each, are measured by test/bench/verbs_ping.c; here only made_ready_meanwhile has an upper
 * limit, for the best of three tries.
 */
#include "hca.h"

#include <chrono>
#include <thread>

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::steady_clock;

/* Nothing comes earlier than the link allows. That it does not come much later cannot be
 * asserted on a machine that does other things as well; where something has to happen while
 * a message is under way, the message takes half a second or more. */
class test_softhca_link : public softhca_test {
protected:
    void SetUp() override
    {
        softhca_test::SetUp();
        SOFTHCA_ONLY("its settings");
    }

    static long since(steady_clock::time_point begin)
    {
        return duration_cast<microseconds>(steady_clock::now() - begin).count();
    }

    /* Spin: the moment matters. */
    static struct ibv_wc spin(node &n)
    {
        auto begin       = steady_clock::now();
        struct ibv_wc wc = {};

        wc.status = IBV_WC_GENERAL_ERR;
        while ((ibv_poll_cq(n.cq, 1, &wc) == 0) && (since(begin) < WAIT_MS * 1000L)) {}
        return wc;
    }
};

TEST_F(test_softhca_link, latency)
{
    set("SOFTHCA_LINK", "latency=5ms");
    node a, b;

    connect(a, b);
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(0, b.recv(0, 8));
        auto begin = steady_clock::now();
        ASSERT_EQ(0, a.send(0, 8));
        EXPECT_EQ(IBV_WC_SUCCESS, spin(b).status);
        EXPECT_GE(since(begin), 5000);
        EXPECT_EQ(IBV_WC_SUCCESS, spin(a).status);
        EXPECT_GE(since(begin), 10000);
    }
}

TEST_F(test_softhca_link, bandwidth)
{
    node_params params;

    set("SOFTHCA_LINK", "bandwidth=100MB/s");
    params.size = 2 << 20;
    node a(params), b(params);
    connect(a, b);
    *a.at((1 << 20) - 1) = 'e';
    auto begin           = steady_clock::now();
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 1 << 20, b.address(), 0));
    while ((*static_cast<volatile char *>(b.at((1 << 20) - 1)) != 'e') &&
           (since(begin) < WAIT_MS * 1000L)) {}
    EXPECT_GE(since(begin), 10485) << "the last byte was seen too early";
    EXPECT_EQ(IBV_WC_SUCCESS, spin(a).status);

    begin = steady_clock::now();
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_READ, 0, 1 << 20, b.address(), 0));
    EXPECT_EQ(IBV_WC_SUCCESS, spin(a).status);
    EXPECT_GE(since(begin), 10485);
}

/* Messages queue on the sender's link. */
TEST_F(test_softhca_link, queue)
{
    set("SOFTHCA_LINK", "message=1ms");
    node a, b;

    connect(a, b);
    for (uint64_t i = 0; i < 10; ++i) {
        ASSERT_EQ(0, b.recv(0, 8, i));
    }
    auto begin = steady_clock::now();
    for (int i = 0; i < 10; ++i) {
        ASSERT_EQ(0, a.send(0, 8));
    }
    for (long i = 0; i < 10; ++i) {
        struct ibv_wc wc = spin(b);

        ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
        EXPECT_EQ(static_cast<uint64_t>(i), wc.wr_id);
        EXPECT_GE(since(begin), (i + 1) * 1000);
    }
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(IBV_WC_SUCCESS, spin(a).status);
    }
}

/* The adapter makes one ready while the one before it leaves: of ten, only the first one waits. */
TEST_F(test_softhca_link, made_ready_meanwhile)
{
    node_params params;
    long shortest = WAIT_MS * 1000L;

    set("SOFTHCA_LINK", "message=20ms,bandwidth=100KB/s");
    params.size = 3000;
    node a(params), b(params);
    connect(a, b);
    for (int turn = 0; turn < 3; ++turn) {
        for (int i = 0; i < 10; ++i) {
            ASSERT_EQ(0, b.recv(0, 3000));
        }
        auto begin = steady_clock::now();
        for (int i = 0; i < 10; ++i) {
            ASSERT_EQ(0, a.send(0, 3000));
        }
        for (int i = 0; i < 10; ++i) {
            ASSERT_EQ(IBV_WC_SUCCESS, spin(b).status);
        }
        EXPECT_GE(since(begin), 20000 + 10 * 30000);
        shortest = std::min(shortest, since(begin));
        for (int i = 0; i < 10; ++i) {
            EXPECT_EQ(IBV_WC_SUCCESS, spin(a).status);
        }
    }
    EXPECT_LT(shortest, 10 * 50000) << "each one waited";
}

/* A message of one packet goes between those of a longer one of another QP, but not of its own. */
TEST_F(test_softhca_link, packets_in_turn)
{
    const uint32_t length = 500000;
    struct ibv_wc wc;
    node_params params;

    set("SOFTHCA_LINK", "bandwidth=1MB/s");
    params.size = length;
    node a(params), b(params), c, d;
    connect(a, b);
    connect(c, d);
    *a.at(length - 1) = 'e';
    *b.at(length - 1) = 0;
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, length, b.address(), 0));
    ASSERT_EQ(0, d.recv(0, 8));
    ASSERT_EQ(0, c.send(0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, spin(d).status);
    EXPECT_EQ(IBV_WC_SUCCESS, spin(c).status);
    EXPECT_NE('e', *static_cast<volatile char *>(b.at(length - 1)));
    EXPECT_EQ(0, ibv_poll_cq(a.cq, 1, &wc));

    ASSERT_EQ(0, b.recv(0, 8));
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, spin(b).status);
    EXPECT_EQ('e', *static_cast<volatile char *>(b.at(length - 1)));
    EXPECT_EQ(IBV_WC_SUCCESS, spin(a).status);
    EXPECT_EQ(IBV_WC_SUCCESS, spin(a).status);
}

/* Reads, sends and writes of different sizes, with the answers in the requests' order. */
TEST_F(test_softhca_link, mixed)
{
    node_params params;

    set("SOFTHCA_LINK", "ddr");
    params.size = 1 << 20;
    node a(params), b(params);
    connect(a, b);
    for (int round = 0; round < 20; ++round) {
        for (uint64_t i = 0; i < 12; ++i) {
            uint32_t length = (i % 3 == 0) ? 300000 : 10 + static_cast<uint32_t>(i);

            switch (i % 4) {
            case 0:
                ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_READ, 0, length, b.address(), 400000, i));
                break;
            case 1:
                ASSERT_EQ(0, b.recv(0, 300000, i));
                ASSERT_EQ(0, a.send(0, length, i));
                break;
            case 2:
                ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, length, b.address(), 0, i));
                break;
            default:
                ASSERT_EQ(0, b.recv(0, 0, i));
                ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE_WITH_IMM, 0, length, b.address(), 0,
                                    i));
                break;
            }
        }
        for (uint64_t i = 0; i < 12; ++i) {
            struct ibv_wc wc = a.wait();

            ASSERT_EQ(IBV_WC_SUCCESS, wc.status) << ibv_wc_status_str(wc.status);
            ASSERT_EQ(i, wc.wr_id);
            if (i % 2) {
                ASSERT_EQ(i, b.wait().wr_id);
            }
        }
    }
}

/* A QP that goes while its messages are under way takes them with it. */
TEST_F(test_softhca_link, destroyed_under_way)
{
    set("SOFTHCA_LINK", "latency=500ms,bandwidth=100MB/s");
    node a;
    {
        node b;

        connect(a, b);
        for (int i = 0; i < 4; ++i) {
            ASSERT_EQ(0, b.recv(0, 65536));
            ASSERT_EQ(0, a.send(0, 65536));
            ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_READ, 0, 60000, b.address(), 0));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(502));
    }
    struct ibv_wc wc;

    do {
        wc = a.wait();
    } while (wc.status == IBV_WC_SUCCESS);
    EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, wc.status);
}

/* A receive that a message was coming into is flushed once. */
TEST_F(test_softhca_link, error_under_way)
{
    set("SOFTHCA_LINK", "bandwidth=50KB/s");
    node a, b;

    connect(a, b);
    for (uint64_t i = 0; i < 3; ++i) {
        ASSERT_EQ(0, b.recv(0, 65536, i));
        ASSERT_EQ(0, a.send(0, 65536));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    b.set_state(IBV_QPS_ERR);
    for (uint64_t i = 0; i < 3; ++i) {
        struct ibv_wc wc = b.wait();

        EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
        EXPECT_EQ(i, wc.wr_id);
    }
    EXPECT_TRUE(b.quiet());
    EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, a.wait().status);
}

TEST_F(test_softhca_link, datagrams)
{
    node_params params;

    set("SOFTHCA_LINK", "latency=3ms,message=1ms");
    params.type = IBV_QPT_UD;
    node a(params), b(params);
    connect(a, b);
    struct ibv_ah_attr attr = path_to(b.address());
    struct ibv_ah *ah       = ibv_create_ah(a.pd, &attr);
    ASSERT_EQ(0, b.recv(0, 100));
    ASSERT_EQ(0, b.recv(0, 100));
    auto begin = steady_clock::now();
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 8));
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, spin(a).status);
    EXPECT_GE(since(begin), 1000);
    EXPECT_EQ(IBV_WC_SUCCESS, spin(b).status);
    EXPECT_GE(since(begin), 4000);
    EXPECT_EQ(IBV_WC_SUCCESS, spin(b).status);
    EXPECT_GE(since(begin), 5000);
    EXPECT_EQ(IBV_WC_SUCCESS, spin(a).status);
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}
