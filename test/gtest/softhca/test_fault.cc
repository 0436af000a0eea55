/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What SOFTHCA_FAULTS asks for, and what breaks with SOFTHCA_LIKE=rxe. Only softhca has these
 * settings. Both sides are nodes of this process, but for a receiver that is stopped. Losses and
 * repetitions are compared with those of another run with the same seed. Losses by kind (ud_lose)
 * and a link that is cut (SOFTHCA_CUT) are not tested here; test_ud_heard.cc and gtest_ucp_cut.test
 * use them.
 */
#include "hca.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

class test_softhca_fault : public softhca_test {
protected:
    void SetUp() override
    {
        softhca_test::SetUp();
        SOFTHCA_ONLY("its settings");
    }

    /* Send datagrams; the numbers of those that come, in the order in which they come. */
    static std::vector<uint32_t> datagrams(uint32_t count)
    {
        std::vector<uint32_t> received;
        node_params params;
        struct ibv_wc wc = {};

        params.type    = IBV_QPT_UD;
        params.recv_wr = 1024;
        params.cqe     = 2048;
        node a(params), b(params);
        connect(a, b);
        struct ibv_ah_attr attr = path_to(b.address());
        struct ibv_ah *ah       = ibv_create_ah(a.pd, &attr);

        for (uint32_t i = 0; i < 2 * count; ++i) {
            EXPECT_EQ(0, b.recv(0, 100));
        }
        for (uint32_t i = 0; i < count; ++i) {
            struct ibv_send_wr wr = {};

            wr.opcode            = IBV_WR_SEND_WITH_IMM;
            wr.imm_data          = i;
            wr.send_flags        = IBV_SEND_SIGNALED;
            wr.wr.ud.ah          = ah;
            wr.wr.ud.remote_qpn  = b.qp->qp_num;
            wr.wr.ud.remote_qkey = TEST_QKEY;
            EXPECT_EQ(0, a.post(wr, a.sge(0, 8)));
            EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        }
        for (int idle = 0; idle < 2;) {
            ++idle;
            while (ibv_poll_cq(b.cq, 1, &wc) == 1) {
                received.push_back(wc.imm_data);
                idle = 0;
            }
            EXPECT_TRUE(a.quiet()); /* time for what is late */
        }
        EXPECT_EQ(0, ibv_destroy_ah(ah));
        return received;
    }

    std::vector<uint32_t> with(const std::string &faults, const std::string &seed)
    {
        set("SOFTHCA_FAULTS", faults);
        set("SOFTHCA_SEED", seed);
        return datagrams(200);
    }
};

/* A receiver that is stopped takes nothing out of its ring: what finds no room there waits, and is
 * not lost besides what the seed says. That is so as well if the datagram was late, and the ring
 * was not full when it was sent. */
class test_softhca_full_ring : public test_softhca_fault,
                               public ::testing::WithParamInterface<const char *> {};

INSTANTIATE_TEST_SUITE_P(faults, test_softhca_full_ring,
                         ::testing::Values("ud_delay=0.0001%/1us", "ud_delay=100%/1us",
                                           "ud_delay=50%/1ms", "ud_reorder=100%/8"));

TEST_P(test_softhca_full_ring, is_no_loss)
{
    const uint32_t COUNT = 300;
    mailbox to_child, to_parent;
    node_params params;
    int status;

    params.type    = IBV_QPT_UD;
    params.send_wr = params.recv_wr = COUNT;
    params.cqe                      = 2 * COUNT;
    params.mtu                      = IBV_MTU_4096;
    set("SOFTHCA_FAULTS", GetParam());
    pid_t pid = spawn([&] {
        node b(params);
        bool well = true;

        b.connect(to_child.get());
        for (uint32_t i = 0; i < COUNT; ++i) {
            b.recv(0, 8192);
        }
        to_parent.put(b.address());
        for (uint32_t i = 0; well && (i < COUNT); ++i) {
            well = b.wait().status == IBV_WC_SUCCESS;
        }
        return well;
    });
    node a(params);

    to_child.put(a.address());
    node_address peer = to_parent.get();
    a.connect(peer);
    struct ibv_ah_attr attr = path_to(peer);
    struct ibv_ah *ah       = ibv_create_ah(a.pd, &attr);

    kill(pid, SIGSTOP);
    ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
    for (uint32_t i = 0; i < COUNT; ++i) {
        EXPECT_EQ(0, a.datagram(ah, peer.qpn, 0, 4096));
    }
    /* Time for those that are late: with less of it the test sees less, and does not fail */
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    kill(pid, SIGCONT);
    for (uint32_t i = 0; i < COUNT; ++i) {
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    }
    EXPECT_TRUE(ended_well(pid));
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

TEST_F(test_softhca_fault, drop)
{
    softhca_counters_t before = counters();
    auto first                = with("ud_drop=20%", "1");

    EXPECT_LT(first.size(), 190u);
    EXPECT_GT(first.size(), 120u);
    EXPECT_TRUE(std::is_sorted(first.begin(), first.end()));
    EXPECT_EQ(200 - first.size(), counters().fault_drops - before.fault_drops);
    EXPECT_EQ(first, with("ud_drop=20%", "1"));
    EXPECT_NE(first, with("ud_drop=20%", "2"));
}

/* What is refused has no effect. */
TEST_F(test_softhca_fault, bad_values)
{
    EXPECT_EQ(200u, with("ud_drop=150%", "1").size());
    EXPECT_EQ(200u, with("ud_drop=-1", "1").size());
    EXPECT_EQ(200u, with("ud_drop", "1").size());
}

TEST_F(test_softhca_fault, dup)
{
    auto first = with("ud_dup=0.2", "1");
    std::set<uint32_t> different(first.begin(), first.end());

    EXPECT_EQ(200u, different.size());
    EXPECT_GT(first.size(), 210u);
    EXPECT_TRUE(std::is_sorted(first.begin(), first.end()));
    EXPECT_EQ(first, with("ud_dup=0.2", "1"));
}

TEST_F(test_softhca_fault, reorder)
{
    auto first = with("ud_reorder=10%/8", "3");
    std::set<uint32_t> different(first.begin(), first.end());

    EXPECT_EQ(200u, first.size());
    EXPECT_EQ(200u, different.size());
    EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
}

TEST_F(test_softhca_fault, delay)
{
    auto first = with("ud_delay=10%/2ms", "3");
    std::set<uint32_t> different(first.begin(), first.end());

    EXPECT_EQ(200u, first.size());
    EXPECT_EQ(200u, different.size());
}

/* Of the datagrams of a length, a number in a row get lost, and then one comes. */
TEST_F(test_softhca_fault, lose_by_size)
{
    std::vector<uint32_t> third;

    for (uint32_t i = 2; i < 200; i += 3) {
        third.push_back(i);
    }
    softhca_counters_t before = counters();
    EXPECT_EQ(third, with("ud_lose_size=8/2", "1"));
    EXPECT_EQ(200 - third.size(), counters().fault_drops - before.fault_drops);
    EXPECT_EQ(200u, with("ud_lose_size=9/2", "1").size());
    EXPECT_EQ(100u, with("ud_lose_size=8", "1").size());
}

TEST_F(test_softhca_fault, kill_a_connection)
{
    set("SOFTHCA_FAULTS", "rc_kill_after=5");
    node a, b;
    uint64_t i;

    connect(a, b);
    for (i = 0; i < 8; ++i) {
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 8, b.address(), 0, i));
    }
    for (i = 0; i < 8; ++i) {
        struct ibv_wc wc = a.wait();

        EXPECT_EQ(i, wc.wr_id);
        EXPECT_EQ((i < 5)  ? IBV_WC_SUCCESS :
                  (i == 5) ? IBV_WC_RETRY_EXC_ERR :
                             IBV_WC_WR_FLUSH_ERR,
                  wc.status);
    }
    EXPECT_EQ(IBV_QPS_ERR, a.state());
    EXPECT_EQ(IBV_QPS_RTS, b.state());
}

TEST_F(test_softhca_fault, kill_with_a_status)
{
    set("SOFTHCA_FAULTS", "rc_kill=1,rc_status=10");
    node a, b;

    connect(a, b);
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, a.wait().status);
}

/* Events are told of as if something had failed. */
TEST_F(test_softhca_fault, event)
{
    for (int type : {IBV_EVENT_QP_FATAL, IBV_EVENT_DEVICE_FATAL, IBV_EVENT_PORT_ERR}) {
        SCOPED_TRACE(type);
        set("SOFTHCA_FAULTS", "event_after=2/" + std::to_string(type));
        struct ibv_async_event event;
        node a, b;
        int fd = a.context->async_fd;

        connect(a, b);
        ASSERT_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
        for (uint64_t i = 0; i < 5; ++i) {
            ASSERT_EQ(0, b.recv(0, 8, i));
            ASSERT_EQ(0, a.send(0, 8, i));
            EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
            EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
            ASSERT_EQ((i == 2) ? 0 : -1, ibv_get_async_event(a.context, &event)) << i;
            if (i == 2) {
                EXPECT_EQ(type, (int)event.event_type);
                if (type == IBV_EVENT_QP_FATAL) {
                    EXPECT_EQ(a.qp, event.element.qp);
                } else {
                    EXPECT_EQ(1, event.element.port_num);
                }
                ibv_ack_async_event(&event);
            }
        }
    }
}

/* A port that moves: it says so, is not found at its old address, and is at the new one. */
TEST_F(test_softhca_fault, move)
{
    for (const char *layer : {"infiniband", "ethernet", "ethernet_ipv4"}) {
        SCOPED_TRACE(layer);
        set("SOFTHCA_LINK_LAYER", layer);
        set("SOFTHCA_FAULTS", "move_after=2");
        bool is_ib = (std::string(layer) == "infiniband");
        node_params params;

        params.type = IBV_QPT_UD;
        node a(params), b(params);
        connect(a, b);
        node_address before     = a.address();
        struct ibv_ah_attr to_b = path_to(b.address()), to_old = path_to(before);
        struct ibv_ah *ah          = ibv_create_ah(a.pd, &to_b);
        struct ibv_ah *old         = ibv_create_ah(b.pd, &to_old);
        softhca_counters_t counted = counters();

        for (uint64_t i = 0; i < 3; ++i) {
            EXPECT_TRUE(a.no_event());
            ASSERT_EQ(0, b.recv(0, 100, i));
            ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 8));
            EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
            EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
        }
        a.expect_event(is_ib ? IBV_EVENT_LID_CHANGE : IBV_EVENT_GID_CHANGE);
        node_address after = a.address();
        EXPECT_EQ(is_ib, before.lid != after.lid);
        EXPECT_EQ(is_ib, !memcmp(&before.gid, &after.gid, sizeof(after.gid)));

        struct ibv_ah_attr to_new = path_to(after);
        struct ibv_ah *found      = ibv_create_ah(b.pd, &to_new);
        ASSERT_EQ(0, a.recv(0, 100));
        ASSERT_EQ(0, b.datagram(old, a.qp->qp_num, 0, 8));
        EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
        EXPECT_TRUE(a.quiet());
        EXPECT_EQ(counted.ud_drops + 1, counters().ud_drops);
        ASSERT_EQ(0, b.datagram(found, a.qp->qp_num, 0, 8));
        EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        for (struct ibv_ah *each : {ah, old, found}) {
            EXPECT_EQ(0, ibv_destroy_ah(each));
        }
    }
    set("SOFTHCA_LINK_LAYER", "infiniband");
}

/* ... also for queue pairs that are connected, and what these send from it is not taken, either. */
TEST_F(test_softhca_fault, move_of_a_connection)
{
    set("SOFTHCA_FAULTS", "move_after=2");
    softhca_counters_t before = counters();
    node a, b;

    connect(a, b);
    for (uint64_t i = 0; i < 2; ++i) {
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 8, b.address(), 0, i));
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    }
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 8, b.address(), 0));
    ASSERT_EQ(0, b.rdma(IBV_WR_RDMA_WRITE, 0, 8, a.address(), 0));
    EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, a.wait().status);
    EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, b.wait().status);
    EXPECT_GT(counters().retries, before.retries);
    a.expect_event(IBV_EVENT_LID_CHANGE);
}

/* Refused many times, everything comes in the end, and in order. */
TEST_F(test_softhca_fault, rnr_storm)
{
    set("SOFTHCA_FAULTS", "rnr=30%");
    softhca_counters_t before = counters();
    node a, b;

    connect(a, b);
    for (uint64_t i = 0; i < 50; ++i) {
        ASSERT_EQ(0, b.recv(0, 8, i));
        ASSERT_EQ(0, a.send(0, 8, i));
    }
    for (uint64_t i = 0; i < 50; ++i) {
        ASSERT_EQ(i, b.wait().wr_id);
        ASSERT_EQ(i, a.wait().wr_id);
    }
    EXPECT_GT(counters().fault_rnrs, before.fault_rnrs);
    EXPECT_GT(counters().retries, before.retries);
}

/* What programs must bear on rxe: completions of a QP that was reset stay, and a datagram that
 * is too long for its receive, or whose receive is wrong, breaks the QP. */
TEST_F(test_softhca_fault, like_rxe)
{
    node_params params;
    struct ibv_ah *ah;
    struct ibv_wc wc;

    set("SOFTHCA_LIKE", "rxe");
    params.type = IBV_QPT_UD;
    node a(params), b(params);
    connect(a, b);
    struct ibv_ah_attr attr = path_to(b.address());
    ah                      = ibv_create_ah(a.pd, &attr);

    ASSERT_EQ(0, b.recv(0, 100, 1));
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    usleep(10000); /* it arrives */
    b.set_state(IBV_QPS_RESET);
    wc = b.wait();
    EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    EXPECT_EQ(1u, wc.wr_id);

    a.set_state(IBV_QPS_RESET);
    connect(a, b);
    ASSERT_EQ(0, b.recv(0, 40 + 7, 2));
    ASSERT_EQ(0, b.recv(0, 100, 3));
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 8));
    wc = b.wait();
    EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, wc.status);
    EXPECT_EQ(2u, wc.wr_id);
    for (int i = 0; i < 2; ++i) {
        wc = b.wait();
        EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
        EXPECT_EQ(3u, wc.wr_id);
    }
    EXPECT_EQ(IBV_QPS_ERR, b.state());
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}
