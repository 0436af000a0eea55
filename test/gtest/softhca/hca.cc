/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * While wait() has nothing to take it sleeps between its polls. So its thread does not count as one
 * that polls, and the agents of softhca are woken; tests of threads that poll have loops of their
 * own. That nothing happens is watched for 30 ms only: on a slow machine a test may miss what comes
 * later, but does not fail. Both processes keep both ends of a mailbox open, so the death of the
 * other one shows only when the time is over.
 */
#include "hca.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/* Nothing is expected to happen: so long it is waited for. */
static constexpr int QUIET_MS = 30;

bool on_softhca()
{
    return dlsym(RTLD_DEFAULT, "softhca_get_counters") != nullptr;
}

struct ibv_ah_attr path_to(const node_address &address, bool global, uint8_t hop_limit)
{
    struct ibv_ah_attr attr = {};

    attr.dlid           = address.lid;
    attr.port_num       = 1;
    attr.is_global      = global || (address.lid == 0);
    attr.grh.dgid       = address.gid;
    attr.grh.sgid_index = address.gid_index;
    attr.grh.hop_limit  = hop_limit;
    return attr;
}

struct ibv_context *open_device()
{
    int count                 = 0;
    struct ibv_device **list  = ibv_get_device_list(&count);
    struct ibv_context *first = ((list != nullptr) && (count > 0)) ?
                                        ibv_open_device(list[0]) :
                                        nullptr;

    ibv_free_device_list(list);
    return first;
}

node::node(const node_params &params) : m_params(params), m_memory(params.size)
{
    static uint32_t psn = 0xfffff0; /* the numbers wrap soon */

    context = open_device();
    if (context == nullptr) {
        throw std::runtime_error("no device");
    }
    pd = ibv_alloc_pd(context);
    if (params.channel) {
        channel = ibv_create_comp_channel(context);
    }
    cq = ibv_create_cq(context, params.cqe, this, channel, 0);
    if (params.srq) {
        struct ibv_srq_init_attr attr = {};

        attr.attr.max_wr  = params.recv_wr;
        attr.attr.max_sge = params.sge;
        srq               = ibv_create_srq(pd, &attr);
    }
    granted.send_cq             = cq;
    granted.recv_cq             = cq;
    granted.srq                 = srq;
    granted.qp_type             = params.type;
    granted.sq_sig_all          = params.sig_all;
    granted.cap.max_send_wr     = params.send_wr;
    granted.cap.max_recv_wr     = params.recv_wr;
    granted.cap.max_send_sge    = params.sge;
    granted.cap.max_recv_sge    = params.sge;
    granted.cap.max_inline_data = params.inline_data;
    qp                          = ibv_create_qp(pd, &granted);
    mr                          = ibv_reg_mr_iova2(pd, m_memory.data(), m_memory.size(),
                                                   reinterpret_cast<uintptr_t>(m_memory.data()),
                                                   static_cast<unsigned>(params.access));
    if ((qp == nullptr) || (mr == nullptr)) {
        throw std::runtime_error("no QP or no region");
    }
    m_psn = (psn += 5) & 0xffffff;
}

node::~node()
{
    if (qp != nullptr) {
        EXPECT_EQ(0, ibv_destroy_qp(qp));
    }
    if (srq != nullptr) {
        EXPECT_EQ(0, ibv_destroy_srq(srq));
    }
    if (cq != nullptr) {
        EXPECT_EQ(0, ibv_destroy_cq(cq));
    }
    if (channel != nullptr) {
        EXPECT_EQ(0, ibv_destroy_comp_channel(channel));
    }
    if (mr != nullptr) {
        EXPECT_EQ(0, ibv_dereg_mr(mr));
    }
    EXPECT_EQ(0, ibv_dealloc_pd(pd));
    EXPECT_EQ(0, ibv_close_device(context));
}

node_address node::address() const
{
    struct ibv_port_attr port = {};
    node_address address      = {};

    ibv_query_port(context, 1, &port);
    ibv_query_gid(context, 1, m_params.gid_index, &address.gid);
    address.gid_index = m_params.gid_index;
    address.qpn       = qp->qp_num;
    address.psn       = m_psn;
    address.lid       = port.lid;
    address.memory    = reinterpret_cast<uintptr_t>(m_memory.data());
    address.rkey      = mr->rkey;
    return address;
}

void node::to_init()
{
    struct ibv_qp_attr attr = {};
    int mask                = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

    attr.qp_state        = IBV_QPS_INIT;
    attr.port_num        = 1;
    attr.qkey            = TEST_QKEY;
    attr.qp_access_flags = static_cast<unsigned>(m_params.qp_access);
    mask |= (m_params.type == IBV_QPT_UD) ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    ASSERT_EQ(0, ibv_modify_qp(qp, &attr, mask));
}

void node::to_rtr(const node_address &peer)
{
    struct ibv_qp_attr attr = {};
    int mask                = IBV_QP_STATE;

    attr.qp_state = IBV_QPS_RTR;
    if (m_params.type == IBV_QPT_RC) {
        attr.path_mtu           = m_params.mtu;
        attr.dest_qp_num        = peer.qpn;
        attr.rq_psn             = peer.psn;
        attr.max_dest_rd_atomic = m_params.max_dest_rd_atomic;
        attr.min_rnr_timer      = m_params.min_rnr_timer;
        attr.ah_attr            = path_to(peer);
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    ASSERT_EQ(0, ibv_modify_qp(qp, &attr, mask));
}

void node::to_rts()
{
    struct ibv_qp_attr attr = {};
    int mask                = IBV_QP_STATE | IBV_QP_SQ_PSN;

    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn   = m_psn;
    if (m_params.type == IBV_QPT_RC) {
        attr.timeout       = m_params.timeout;
        attr.retry_cnt     = m_params.retry_cnt;
        attr.rnr_retry     = m_params.rnr_retry;
        attr.max_rd_atomic = m_params.max_rd_atomic;
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                IBV_QP_MAX_QP_RD_ATOMIC;
    }
    ASSERT_EQ(0, ibv_modify_qp(qp, &attr, mask));
}

void node::connect(const node_address &peer)
{
    to_init();
    to_rtr(peer);
    to_rts();
}

struct ibv_sge node::sge(size_t offset, uint32_t length) const
{
    struct ibv_sge sge = {};

    sge.addr   = reinterpret_cast<uintptr_t>(m_memory.data() + offset);
    sge.length = length;
    sge.lkey   = mr->lkey;
    return sge;
}

int node::post(struct ibv_send_wr wr, struct ibv_sge sge)
{
    struct ibv_send_wr *bad = nullptr;

    wr.sg_list = &sge;
    wr.num_sge = 1;
    return ibv_post_send(qp, &wr, &bad);
}

int node::send(size_t offset, uint32_t length, uint64_t id, unsigned flags)
{
    struct ibv_send_wr wr = {};

    wr.wr_id      = id;
    wr.opcode     = IBV_WR_SEND;
    wr.send_flags = flags;
    return post(wr, sge(offset, length));
}

int node::recv(size_t offset, uint32_t length, uint64_t id)
{
    struct ibv_recv_wr wr   = {};
    struct ibv_recv_wr *bad = nullptr;
    struct ibv_sge list     = sge(offset, length);

    wr.wr_id   = id;
    wr.sg_list = &list;
    wr.num_sge = 1;
    return (srq != nullptr) ? ibv_post_srq_recv(srq, &wr, &bad) :
                              ibv_post_recv(qp, &wr, &bad);
}

int node::rdma(enum ibv_wr_opcode opcode, size_t offset, uint32_t length,
               const node_address &peer, size_t remote_offset, uint64_t id,
               unsigned flags)
{
    struct ibv_send_wr wr = {};

    wr.wr_id               = id;
    wr.opcode              = opcode;
    wr.send_flags          = flags;
    wr.imm_data            = 0x12345678;
    wr.wr.rdma.remote_addr = peer.memory + remote_offset;
    wr.wr.rdma.rkey        = peer.rkey;
    return post(wr, sge(offset, length));
}

int node::fetch_and_add(size_t offset, const node_address &peer, size_t remote_offset,
                        uint64_t value)
{
    struct ibv_send_wr wr = {};

    wr.opcode                = IBV_WR_ATOMIC_FETCH_AND_ADD;
    wr.send_flags            = IBV_SEND_SIGNALED;
    wr.wr.atomic.remote_addr = peer.memory + remote_offset;
    wr.wr.atomic.rkey        = peer.rkey;
    wr.wr.atomic.compare_add = value;
    return post(wr, sge(offset, 8));
}

int node::datagram(struct ibv_ah *ah, uint32_t qpn, size_t offset, uint32_t length,
                   uint32_t qkey, uint64_t id)
{
    struct ibv_send_wr wr = {};

    wr.wr_id             = id;
    wr.opcode            = IBV_WR_SEND_WITH_IMM;
    wr.send_flags        = IBV_SEND_SIGNALED;
    wr.imm_data          = 0x12345678;
    wr.wr.ud.ah          = ah;
    wr.wr.ud.remote_qpn  = qpn;
    wr.wr.ud.remote_qkey = qkey;
    return post(wr, sge(offset, length));
}

struct ibv_wc node::wait()
{
    auto end         = steady_clock::now() + milliseconds(WAIT_MS);
    struct ibv_wc wc = {};

    while (ibv_poll_cq(cq, 1, &wc) == 0) {
        if (steady_clock::now() > end) {
            wc.status = IBV_WC_GENERAL_ERR;
            break;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return wc;
}

bool node::quiet()
{
    struct ibv_wc wc = {};

    std::this_thread::sleep_for(milliseconds(QUIET_MS));
    return ibv_poll_cq(cq, 1, &wc) == 0;
}

void node::expect_event(enum ibv_event_type type)
{
    struct pollfd pollfd         = {context->async_fd, POLLIN, 0};
    struct ibv_async_event event = {};

    ASSERT_EQ(1, ::poll(&pollfd, 1, WAIT_MS)) << ibv_event_type_str(type);
    ASSERT_EQ(0, ibv_get_async_event(context, &event));
    EXPECT_EQ(type, event.event_type) << ibv_event_type_str(event.event_type);
    ibv_ack_async_event(&event);
}

bool node::no_event()
{
    struct pollfd pollfd = {context->async_fd, POLLIN, 0};

    return ::poll(&pollfd, 1, QUIET_MS) == 0;
}

enum ibv_qp_state node::state() const
{
    struct ibv_qp_init_attr init = {};
    struct ibv_qp_attr attr      = {};

    EXPECT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
    return attr.qp_state;
}

void node::set_state(enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {};

    attr.qp_state = state;
    ASSERT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
}

void connect(node &a, node &b)
{
    a.connect(b.address());
    b.connect(a.address());
}

void fill(node &n, size_t offset, size_t length, int seed)
{
    for (size_t i = 0; i < length; ++i) {
        *n.at(offset + i) =
                static_cast<char>(i * 7 + i / 251 + static_cast<size_t>(seed));
    }
}

bool filled(node &n, size_t offset, size_t length, int seed)
{
    for (size_t i = 0; i < length; ++i) {
        if (*n.at(offset + i) !=
            static_cast<char>(i * 7 + i / 251 + static_cast<size_t>(seed))) {
            return false;
        }
    }
    return true;
}

softhca_counters_t counters()
{
    auto func = reinterpret_cast<decltype(&softhca_get_counters)>(
            dlsym(RTLD_DEFAULT, "softhca_get_counters"));
    softhca_counters_t counters = {};

    if (func != nullptr) {
        func(&counters, sizeof(counters));
    }
    return counters;
}

void softhca_test::SetUp()
{
    /* Tests of other processes must not meet these */
    set("SOFTHCA_FABRIC", "gtest" + std::to_string(getpid()));
}

void softhca_test::TearDown()
{
    for (const auto &name : m_names) {
        unsetenv(name.c_str());
    }
}

void softhca_test::set(const std::string &name, const std::string &value)
{
    setenv(name.c_str(), value.c_str(), 1);
    m_names.push_back(name);
}

pid_t softhca_test::spawn(const std::function<bool()> &body)
{
    pid_t pid = fork();

    if (pid == 0) {
        bool well = false;

        try {
            well = body();
        } catch (const std::exception &e) {
            fprintf(stderr, "child: %s\n", e.what());
        }
        _exit((well && !::testing::Test::HasFailure()) ? 0 : 1);
    }
    return pid;
}

bool softhca_test::ended_well(pid_t pid)
{
    int status = -1;

    return (waitpid(pid, &status, 0) == pid) && WIFEXITED(status) &&
           (WEXITSTATUS(status) == 0);
}

mailbox::mailbox()
{
    if (pipe(m_fds) != 0) {
        throw std::runtime_error("no pipe");
    }
}

mailbox::~mailbox()
{
    close(m_fds[0]);
    close(m_fds[1]);
}

void mailbox::put(const node_address &address) const
{
    if (write(m_fds[1], &address, sizeof(address)) != sizeof(address)) {
        throw std::runtime_error("cannot write");
    }
}

node_address mailbox::get() const
{
    struct pollfd pollfd = {m_fds[0], POLLIN, 0};
    node_address address = {};

    if ((::poll(&pollfd, 1, WAIT_MS) != 1) ||
        (read(m_fds[0], &address, sizeof(address)) != sizeof(address))) {
        throw std::runtime_error("nothing came from the other process");
    }
    return address;
}
