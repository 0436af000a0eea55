/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * States of an RC queue pair with the attributes of each step, posting in each state, and limits;
 * most tests need one node of this process only. Each attribute that a step requires is left out
 * once. Of the optional ones only some are tried. The steps of a UD queue pair have no tests of
 * their own; its send queue error is in test_ud.cc. Where rxe behaves otherwise, a test is skipped
 * there.
 */
#include "hca.h"

#include <cerrno>
#include <cstring>

class test_softhca_qp : public softhca_test {
protected:
    static int modify(node &n, enum ibv_qp_state to, int mask)
    {
        struct ibv_qp_attr attr = {};

        attr.qp_state = to;
        attr.port_num = 1;
        attr.path_mtu = IBV_MTU_1024;
        attr.ah_attr  = path_to(n.address());
        return ibv_modify_qp(n.qp, &attr, mask | IBV_QP_STATE);
    }

    static constexpr int INIT = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    static constexpr int RTR  = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                               IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                               IBV_QP_MIN_RNR_TIMER;
    static constexpr int RTS = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                               IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
};

/* Every attribute that a step needs is needed, and none that it does not know is taken. */
TEST_F(test_softhca_qp, steps_of_rc)
{
    struct step {
        enum ibv_qp_state to;
        int mask;
    };
    const step steps[] = {{IBV_QPS_INIT, INIT}, {IBV_QPS_RTR, RTR}, {IBV_QPS_RTS, RTS}};
    node n;

    for (const auto &s : steps) {
        for (int bit = 1; bit < IBV_QP_RATE_LIMIT; bit <<= 1) {
            if (s.mask & bit) {
                EXPECT_EQ(EINVAL, modify(n, s.to, s.mask & ~bit)) << s.to << " " << bit;
            }
        }
        EXPECT_EQ(EINVAL, modify(n, s.to, s.mask | IBV_QP_QKEY));
        EXPECT_EQ(EINVAL, modify(n, s.to, s.mask | IBV_QP_CAP));
        EXPECT_EQ(0, modify(n, s.to, s.mask));
        EXPECT_EQ(s.to, n.state());
    }
}

TEST_F(test_softhca_qp, no_short_cuts)
{
    node n;

    EXPECT_EQ(EINVAL, modify(n, IBV_QPS_RTR, RTR));
    EXPECT_EQ(EINVAL, modify(n, IBV_QPS_RTS, RTS));
    EXPECT_EQ(EINVAL, modify(n, IBV_QPS_SQD, 0));
    EXPECT_EQ(EINVAL, modify(n, IBV_QPS_ERR, 0));
    ASSERT_EQ(0, modify(n, IBV_QPS_INIT, INIT));
    EXPECT_EQ(0, modify(n, IBV_QPS_INIT, IBV_QP_ACCESS_FLAGS));
    EXPECT_EQ(EINVAL, modify(n, IBV_QPS_RTS, RTS));
    ASSERT_EQ(0, modify(n, IBV_QPS_ERR, 0));
    EXPECT_EQ(EINVAL, modify(n, IBV_QPS_INIT, INIT));
    ASSERT_EQ(0, modify(n, IBV_QPS_RESET, 0));
    EXPECT_EQ(0, modify(n, IBV_QPS_INIT, INIT));
}

TEST_F(test_softhca_qp, wrong_values)
{
    SOFTHCA_ONLY("its size");
    struct ibv_qp_attr attr = {};
    node n;

    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 2;
    EXPECT_EQ(EINVAL, ibv_modify_qp(n.qp, &attr, IBV_QP_STATE | INIT));
    attr.port_num   = 1;
    attr.pkey_index = 1;
    EXPECT_EQ(EINVAL, ibv_modify_qp(n.qp, &attr, IBV_QP_STATE | INIT));
    EXPECT_EQ(0, modify(n, IBV_QPS_INIT, INIT));
    attr                    = {};
    attr.qp_state           = IBV_QPS_RTR;
    attr.path_mtu           = IBV_MTU_1024;
    attr.ah_attr.port_num   = 1;
    attr.max_dest_rd_atomic = 16;
    EXPECT_EQ(EINVAL, ibv_modify_qp(n.qp, &attr, IBV_QP_STATE | RTR)) << "no LID";
    attr.ah_attr            = path_to(n.address());
    attr.max_dest_rd_atomic = 17;
    EXPECT_EQ(EINVAL, ibv_modify_qp(n.qp, &attr, IBV_QP_STATE | RTR));
}

TEST_F(test_softhca_qp, current_state)
{
    struct ibv_qp_attr attr = {};
    node n;

    n.connect(n.address());
    attr.qp_state     = IBV_QPS_RTS;
    attr.cur_qp_state = IBV_QPS_RTS;
    EXPECT_EQ(0, ibv_modify_qp(n.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
    attr.cur_qp_state = IBV_QPS_SQD;
    if (on_softhca()) { /* rxe believes it */
        EXPECT_EQ(EINVAL, ibv_modify_qp(n.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
    }
    /* It is not asked for where all states lead to */
    attr.qp_state     = IBV_QPS_ERR;
    attr.cur_qp_state = IBV_QPS_RTS;
    EXPECT_EQ(EINVAL, ibv_modify_qp(n.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
}

TEST_F(test_softhca_qp, limits)
{
    SOFTHCA_ONLY("its size");
    struct ibv_qp_init_attr good = {}, init;
    node n;

    good.send_cq         = n.cq;
    good.recv_cq         = n.cq;
    good.qp_type         = IBV_QPT_RC;
    good.cap.max_send_wr = 10;
    for (int i = 0; i < 6; ++i) {
        init = good;
        switch (i) {
        case 0:
            init.cap.max_send_wr = 16385;
            break;
        case 1:
            init.cap.max_recv_wr = 16385;
            break;
        case 2:
            init.cap.max_send_sge = 31;
            break;
        case 3:
            init.cap.max_recv_sge = 31;
            break;
        case 4:
            init.cap.max_inline_data = 221;
            break;
        default:
            init.send_cq = nullptr;
            break;
        }
        errno = 0;
        EXPECT_EQ(nullptr, ibv_create_qp(n.pd, &init)) << i;
        EXPECT_EQ(EINVAL, errno);
    }
    errno = 0;
    EXPECT_EQ(nullptr, ibv_create_cq(n.context, 65536, nullptr, nullptr, 0));
    EXPECT_EQ(EINVAL, errno);
}

TEST_F(test_softhca_qp, granted)
{
    struct ibv_qp_init_attr init = {};
    struct ibv_qp_attr attr      = {};
    node_params params;

    params.send_wr     = 50;
    params.inline_data = 100;
    node n(params);
    EXPECT_GE(n.granted.cap.max_send_wr, 50u);
    EXPECT_GE(n.granted.cap.max_inline_data, 100u);
    ASSERT_EQ(0, ibv_query_qp(n.qp, &attr, IBV_QP_CAP, &init));
    EXPECT_LE(n.granted.cap.max_send_wr, init.cap.max_send_wr);
    EXPECT_EQ(n.cq, init.send_cq);
}

TEST_F(test_softhca_qp, posting_in_each_state)
{
    SOFTHCA_ONLY("rxe gives a flushed receive back more than once");
    node a, b;

    EXPECT_EQ(EINVAL, a.recv(0, 8));
    EXPECT_EQ(EINVAL, a.send(0, 8));
    a.to_init();
    EXPECT_EQ(0, a.recv(0, 8, 1));
    EXPECT_EQ(EINVAL, a.send(0, 8));
    a.to_rtr(b.address());
    EXPECT_EQ(EINVAL, a.send(0, 8));
    a.set_state(IBV_QPS_ERR);
    EXPECT_EQ(0, a.recv(0, 8, 2));
    EXPECT_EQ(0, a.send(0, 8, 3, 0));
    for (uint64_t id = 1; id <= 3; ++id) {
        struct ibv_wc wc = a.wait();

        EXPECT_EQ(id, wc.wr_id);
        EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
    }
    a.set_state(IBV_QPS_RESET);
    EXPECT_EQ(EINVAL, a.send(0, 8));
}

/* After a reset the QP is as new, and what it had is forgotten. */
TEST_F(test_softhca_qp, reset_and_again)
{
    SOFTHCA_ONLY("rxe leaves its completions");
    node a, b;

    for (int round = 0; round < 3; ++round) {
        connect(a, b);
        ASSERT_EQ(0, b.recv(0, 8));
        ASSERT_EQ(0, b.recv(0, 8));
        ASSERT_EQ(0, a.send(0, 8));
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
        a.set_state(IBV_QPS_ERR);
        b.set_state(IBV_QPS_ERR);
        a.set_state(IBV_QPS_RESET);
        b.set_state(IBV_QPS_RESET);
        EXPECT_TRUE(b.quiet());
    }
}

/* A drained send queue holds what is posted until it goes on. */
TEST_F(test_softhca_qp, sqd)
{
    SOFTHCA_ONLY("rxe does not go on");
    struct ibv_qp_attr attr = {};
    node a, b;

    connect(a, b);
    ASSERT_EQ(0, b.recv(0, 8));
    attr.qp_state            = IBV_QPS_SQD;
    attr.en_sqd_async_notify = 1;
    ASSERT_EQ(0, ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
    a.expect_event(IBV_EVENT_SQ_DRAINED);
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_TRUE(b.quiet());
    a.set_state(IBV_QPS_RTS);
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
}

TEST_F(test_softhca_qp, objects_in_use)
{
    node n;

    EXPECT_EQ(EBUSY, ibv_destroy_cq(n.cq));
    EXPECT_EQ(EBUSY, ibv_dealloc_pd(n.pd));
}
