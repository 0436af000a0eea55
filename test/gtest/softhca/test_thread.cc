/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads of this process that use the device at the same time, and a child whose thread computes,
 * stops polling or goes to sleep while messages come: no message may be left when the work passes
 * from the thread to softhca's agent. A wrong moment is met by chance only, so polls and pauses
 * have many lengths. ThreadSanitizer cannot help, as softhca is preloaded and not built with it.
 * Whether the agent is woken without need is in test_wake.cc.
 */
#include "hca.h"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <thread>

class test_softhca_thread : public softhca_test {
protected:
    /* Messages both ways between two nodes, in windows. */
    static void traffic(node &a, node &b, int rounds)
    {
        for (int round = 0; round < rounds; ++round) {
            for (uint64_t i = 0; i < 8; ++i) {
                EXPECT_EQ(0, a.recv(4096 + i * 64, 64, 100 + i));
                EXPECT_EQ(0, b.recv(4096 + i * 64, 64, 100 + i));
                EXPECT_EQ(0, a.send(i * 64, 64, i));
                EXPECT_EQ(0, b.send(i * 64, 64, i));
                EXPECT_EQ(0, a.rdma(IBV_WR_RDMA_READ, 8192, 64, b.address(), 0, i));
            }
            for (int i = 0; i < 24; ++i) {
                ASSERT_EQ(IBV_WC_SUCCESS, a.wait().status);
            }
            for (int i = 0; i < 16; ++i) {
                ASSERT_EQ(IBV_WC_SUCCESS, b.wait().status);
            }
        }
    }
};

/* Poll again and again for a while. @return How many completions there were. */
static int poll_for(node &n, int us)
{
    auto end         = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
    struct ibv_wc wc = {};
    int count        = 0;

    do {
        count += ibv_poll_cq(n.cq, 1, &wc);
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    } while (std::chrono::steady_clock::now() < end);
    return count;
}

/* Threads with connections of their own, while others make and destroy objects. */
TEST_F(test_softhca_thread, everything_at_once)
{
    std::vector<std::thread> threads;
    std::atomic<bool> done{false};
    node keeper;

    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([] {
            node a, b;

            connect(a, b);
            traffic(a, b, 40);
        });
    }
    std::thread changer([&] {
        std::vector<char> memory(10000);

        while (!done) {
            node a, b;
            struct ibv_mr *mr = ibv_reg_mr(a.pd, memory.data(), memory.size(),
                                           IBV_ACCESS_LOCAL_WRITE);

            connect(a, b);
            EXPECT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 60000, b.address(), 0));
            EXPECT_EQ(0, ibv_dereg_mr(mr));
        }
    });
    for (auto &thread : threads) {
        thread.join();
    }
    done = true;
    changer.join();
}

/* Several threads post to one QP. */
TEST_F(test_softhca_thread, one_qp)
{
    static constexpr int THREADS = 3, EACH = 100;
    std::vector<std::thread> threads;
    node_params params;

    params.send_wr = params.recv_wr = THREADS * EACH;
    params.cqe                      = 2 * THREADS * EACH;
    node a(params), b(params);
    connect(a, b);
    for (int i = 0; i < THREADS; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < EACH; ++n) {
                EXPECT_EQ(0, b.recv(0, 8));
                EXPECT_EQ(0, a.send(0, 8));
            }
        });
    }
    for (int i = 0; i < THREADS * EACH; ++i) {
        ASSERT_EQ(IBV_WC_SUCCESS, a.wait().status);
        ASSERT_EQ(IBV_WC_SUCCESS, b.wait().status);
    }
    for (auto &thread : threads) {
        thread.join();
    }
}

/* A process that only computes is read, written and sent to. */
TEST_F(test_softhca_thread, nobody_calls_verbs)
{
    mailbox to_child, to_parent;
    pid_t pid = spawn([&] {
        node b;
        volatile char *last = b.at(999);

        to_parent.put(b.address());
        b.connect(to_child.get());
        EXPECT_EQ(0, b.recv(2000, 1000));
        to_parent.put(b.address());
        auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(WAIT_MS);
        while ((*last != 'x') && (std::chrono::steady_clock::now() < end)) {}
        EXPECT_EQ('x', *last);
        return true;
    });
    node a;
    node_address peer = to_parent.get();

    a.connect(peer);
    to_child.put(a.address());
    to_parent.get();
    ASSERT_EQ(0, a.send(0, 1000));
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_READ, 0, 1000, peer, 3000));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    *a.at(999) = 'x';
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 1000, peer, 0));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_TRUE(ended_well(pid));
}

/* Who polls does the work that is there. */
TEST_F(test_softhca_thread, polls_help)
{
    SOFTHCA_ONLY("its counters");
    softhca_counters_t before = counters();
    node a, b;

    connect(a, b);
    for (int i = 0; i < 200; ++i) {
        struct ibv_wc wc = {};
        int got          = 0;

        ASSERT_EQ(0, b.recv(0, 8));
        ASSERT_EQ(0, a.send(0, 8));
        auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(WAIT_MS);
        while ((got < 2) && (std::chrono::steady_clock::now() < end)) {
            got += ibv_poll_cq(b.cq, 1, &wc) + ibv_poll_cq(a.cq, 1, &wc);
            ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
        }
        ASSERT_EQ(2, got);
    }
    EXPECT_LT(before.helps, counters().helps);
}

/* A process that polled and does so no more gets what comes at that moment, and the polls of
 * the other one do not matter. */
TEST_F(test_softhca_thread, polls_end)
{
    static constexpr int ROUNDS = 200;
    mailbox to_child, to_parent;
    pid_t pid = spawn([&] {
        node b;
        volatile char *last = b.at(999);

        to_parent.put(b.address());
        b.connect(to_child.get());
        to_parent.put(b.address());
        for (int i = 1; i <= ROUNDS; ++i) {
            auto end = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(WAIT_MS);

            poll_for(b, i % 50);
            while ((*last != static_cast<char>(i)) &&
                   (std::chrono::steady_clock::now() < end)) {}
            EXPECT_EQ(static_cast<char>(i), *last);
            to_parent.put(b.address());
        }
        return true;
    });
    node a;
    node_address peer = to_parent.get();

    a.connect(peer);
    to_child.put(a.address());
    to_parent.get();
    for (int i = 1; i <= ROUNDS; ++i) {
        int got = poll_for(a, i * 7 % 60);

        EXPECT_EQ(0, got);
        *a.at(999) = static_cast<char>(i);
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 1000, peer, 0));
        if (i % 2) {
            got = poll_for(a, i % 20);
        }
        to_parent.get();
        if (got == 0) {
            EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        }
    }
    EXPECT_TRUE(ended_well(pid));
}

/* Nor is anything missed when it goes to sleep after its polls. */
TEST_F(test_softhca_thread, polls_end_in_sleep)
{
    static constexpr int ROUNDS = 200;
    mailbox to_child, to_parent;
    pid_t pid = spawn([&] {
        node_params params;

        params.channel = true;
        node b(params);
        struct pollfd pollfd = {b.channel->fd, POLLIN, 0};

        to_parent.put(b.address());
        b.connect(to_child.get());
        for (int i = 0; i < ROUNDS; ++i) {
            struct ibv_cq *cq = nullptr;
            void *context     = nullptr;
            int got;

            EXPECT_EQ(0, b.recv(0, 8));
            to_parent.put(b.address());
            got = poll_for(b, i % 60);
            EXPECT_EQ(0, ibv_req_notify_cq(b.cq, 0));
            got += poll_for(b, 0);
            if (got == 0) {
                EXPECT_EQ(1, ::poll(&pollfd, 1, WAIT_MS));
                EXPECT_EQ(0, ibv_get_cq_event(b.channel, &cq, &context));
                ibv_ack_cq_events(cq, 1);
                EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
            } else if (::poll(&pollfd, 1, 0) == 1) {
                /* It was armed, and came then */
                EXPECT_EQ(0, ibv_get_cq_event(b.channel, &cq, &context));
                ibv_ack_cq_events(cq, 1);
            }
        }
        to_parent.put(b.address());
        return true;
    });
    node a;

    a.connect(to_parent.get());
    to_child.put(a.address());
    for (int i = 0; i < ROUNDS; ++i) {
        to_parent.get();
        poll_for(a, i * 7 % 90);
        ASSERT_EQ(0, a.send(0, 8));
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    }
    to_parent.get();
    EXPECT_TRUE(ended_well(pid));
}
