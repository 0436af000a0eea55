/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Completion channels, reading of events with and without blocking, resizing of a completion queue,
 * and the extended poll; all between nodes of this process, on softhca and mostly on rxe. An event
 * that must not come is waited for during 30 ms. Asynchronous events are tested with what causes
 * them, as in test_error.cc; here only an empty list of them is read. What wakes a process that
 * sleeps is in test_wake.cc.
 */
#include "hca.h"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <thread>

class test_softhca_event : public softhca_test {
protected:
    static node_params with_channel()
    {
        node_params params;

        params.channel = true;
        return params;
    }

    static bool readable(const node &n, int timeout)
    {
        struct pollfd pollfd = {n.channel->fd, POLLIN, 0};

        return ::poll(&pollfd, 1, timeout) == 1;
    }

    static void take(node &n)
    {
        struct ibv_cq *cq = nullptr;
        void *context     = nullptr;

        ASSERT_EQ(0, ibv_get_cq_event(n.channel, &cq, &context));
        EXPECT_EQ(n.cq, cq);
        EXPECT_EQ(&n, context);
        ibv_ack_cq_events(cq, 1);
    }

    static void exchange(node &a, node &b, unsigned flags)
    {
        ASSERT_EQ(0, b.recv(0, 8));
        ASSERT_EQ(0, a.send(0, 8, 1, flags));
    }
};

/* One event for one arming. */
TEST_F(test_softhca_event, armed)
{
    node a, b(with_channel());

    connect(a, b);
    exchange(a, b, 0);
    EXPECT_FALSE(readable(b, 30)) << "not armed";
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    ASSERT_EQ(0, ibv_req_notify_cq(b.cq, 0));
    EXPECT_FALSE(readable(b, 30)) << "what has been polled does not count";
    exchange(a, b, 0);
    EXPECT_TRUE(readable(b, WAIT_MS));
    exchange(a, b, 0);
    take(b);
    EXPECT_FALSE(readable(b, 30));
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    }
}

/* What came between the last poll and the arming is not missed. */
TEST_F(test_softhca_event, armed_late)
{
    SOFTHCA_ONLY("rxe arms for what comes later");
    node a, b(with_channel());

    connect(a, b);
    exchange(a, b, IBV_SEND_SIGNALED);
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status); /* so b has it as well */
    ASSERT_EQ(0, ibv_req_notify_cq(b.cq, 1));
    EXPECT_FALSE(readable(b, 30)) << "not solicited";
    ASSERT_EQ(0, ibv_req_notify_cq(b.cq, 0));
    EXPECT_TRUE(readable(b, 0));
    take(b);
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
}

/* With rxe, or as it does, it is: one has to poll again. */
TEST_F(test_softhca_event, armed_late_by_rxe)
{
    set("SOFTHCA_LIKE", "rxe");
    node a, b(with_channel());
    connect(a, b);
    exchange(a, b, IBV_SEND_SIGNALED);
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    ASSERT_EQ(0, ibv_req_notify_cq(b.cq, 0));
    EXPECT_FALSE(readable(b, 30)) << "it was there before";
    exchange(a, b, IBV_SEND_SIGNALED);
    EXPECT_TRUE(readable(b, WAIT_MS));
    take(b);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    }
}

TEST_F(test_softhca_event, solicited)
{
    node a, b(with_channel());

    connect(a, b);
    ASSERT_EQ(0, ibv_req_notify_cq(b.cq, 1));
    exchange(a, b, 0);
    EXPECT_FALSE(readable(b, 30));
    exchange(a, b, IBV_SEND_SOLICITED);
    EXPECT_TRUE(readable(b, WAIT_MS));
    take(b);
    /* An error counts as solicited */
    ASSERT_EQ(0, ibv_req_notify_cq(b.cq, 1));
    ASSERT_EQ(0, b.recv(0, 8));
    b.set_state(IBV_QPS_ERR);
    EXPECT_TRUE(readable(b, WAIT_MS));
    take(b);
}

TEST_F(test_softhca_event, not_blocking)
{
    node n(with_channel());
    struct ibv_cq *cq;
    void *context;

    ASSERT_EQ(0, fcntl(n.channel->fd, F_SETFL, O_NONBLOCK));
    errno = 0;
    EXPECT_EQ(-1, ibv_get_cq_event(n.channel, &cq, &context));
    EXPECT_EQ(EAGAIN, errno);

    struct ibv_async_event event;
    ASSERT_EQ(0, fcntl(n.context->async_fd, F_SETFL, O_NONBLOCK));
    errno = 0;
    EXPECT_EQ(-1, ibv_get_async_event(n.context, &event));
    EXPECT_EQ(EAGAIN, errno);
}

TEST_F(test_softhca_event, blocking)
{
    node a, b(with_channel());

    connect(a, b);
    ASSERT_EQ(0, ibv_req_notify_cq(b.cq, 0));
    std::thread sender([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        exchange(a, b, 0);
    });
    take(b);
    sender.join();
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
}

/* A channel goes behind its queue, which may be armed. */
TEST_F(test_softhca_event, destroyed_while_armed)
{
    struct ibv_comp_channel *channel;
    struct ibv_context *context = open_device();
    struct pollfd pollfd        = {};

    channel       = ibv_create_comp_channel(context);
    pollfd.fd     = channel->fd;
    pollfd.events = POLLIN;
    {
        struct ibv_cq *cq = ibv_create_cq(context, 10, nullptr, channel, 0);

        EXPECT_EQ(EBUSY, ibv_destroy_comp_channel(channel));
        ASSERT_EQ(0, ibv_req_notify_cq(cq, 0));
        EXPECT_EQ(0, ibv_destroy_cq(cq));
    }
    EXPECT_EQ(0, ::poll(&pollfd, 1, 0));
    EXPECT_EQ(0, ibv_destroy_comp_channel(channel));
    EXPECT_EQ(0, ibv_close_device(context));
}

TEST_F(test_softhca_event, resize)
{
    node_params params;

    params.cqe = 7;
    node a(params), b;
    connect(a, b);
    EXPECT_EQ(0, ibv_resize_cq(a.cq, 50));
    EXPECT_GE(a.cq->cqe, 50);
    for (uint64_t i = 0; i < 50; ++i) {
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 8, b.address(), 0, i));
    }
    for (uint64_t i = 0; i < 20; ++i) {
        EXPECT_EQ(i, a.wait().wr_id);
    }
    EXPECT_FALSE(a.quiet());
    EXPECT_EQ(EINVAL, ibv_resize_cq(a.cq, 5));
    EXPECT_EQ(0, ibv_resize_cq(a.cq, 31));
    for (uint64_t i = 21; i < 50; ++i) {
        EXPECT_EQ(i, a.wait().wr_id);
    }
}

TEST_F(test_softhca_event, extended_poll)
{
    SOFTHCA_ONLY("rxe flushes a moment later");
    struct ibv_cq_init_attr_ex attr = {};
    struct ibv_poll_cq_attr poll    = {};
    struct ibv_qp_init_attr init    = {};
    node a;
    struct ibv_cq_ex *cq;
    struct ibv_qp *qp;

    attr.cqe      = 10;
    attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    EXPECT_EQ(nullptr, ibv_create_cq_ex(a.context, &attr));
    attr.wc_flags = IBV_WC_STANDARD_FLAGS;
    cq            = ibv_create_cq_ex(a.context, &attr);
    ASSERT_NE(nullptr, cq);
    EXPECT_EQ(ENOENT, ibv_start_poll(cq, &poll));

    init.send_cq          = ibv_cq_ex_to_cq(cq);
    init.recv_cq          = init.send_cq;
    init.qp_type          = IBV_QPT_RC;
    init.cap.max_recv_wr  = 4;
    init.cap.max_recv_sge = 1;
    qp                    = ibv_create_qp(a.pd, &init);
    ASSERT_NE(nullptr, qp);

    struct ibv_qp_attr state = {};
    struct ibv_recv_wr wr = {}, *bad = nullptr;
    state.qp_state = IBV_QPS_INIT;
    state.port_num = 1;
    ASSERT_EQ(0, ibv_modify_qp(qp, &state,
                               IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                       IBV_QP_ACCESS_FLAGS));
    state.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(0, ibv_modify_qp(qp, &state, IBV_QP_STATE));
    for (uint64_t i = 1; i <= 2; ++i) {
        wr.wr_id = i;
        ASSERT_EQ(0, ibv_post_recv(qp, &wr, &bad));
    }
    ASSERT_EQ(0, ibv_start_poll(cq, &poll));
    EXPECT_EQ(1u, cq->wr_id);
    EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, cq->status);
    EXPECT_EQ(IBV_WC_RECV, ibv_wc_read_opcode(cq));
    EXPECT_EQ(qp->qp_num, ibv_wc_read_qp_num(cq));
    EXPECT_EQ(0, ibv_next_poll(cq));
    EXPECT_EQ(2u, cq->wr_id);
    EXPECT_EQ(ENOENT, ibv_next_poll(cq));
    ibv_end_poll(cq);
    EXPECT_EQ(0, ibv_destroy_qp(qp));
    EXPECT_EQ(0, ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}
