/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests share: nodes that talk to each other, children, and the variables of softhca. Each
 * node opens the device anew, but all nodes of a process have softhca's agent and its place in the
 * fabric in common. Nothing of softhca is linked: its counters are found at run time, and the same
 * program runs on other devices. The waits of nodes and mailboxes end after WAIT_MS.
 */
#ifndef TEST_SOFTHCA_HCA_H_
#define TEST_SOFTHCA_HCA_H_

#include "softhca/softhca.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/* Whether the software HCA is preloaded; else the device that is there is used. */
bool on_softhca();

/* A test that is not for other devices, and why. What the kernel's rxe does otherwise is in
 * test/softhca/README.md. */
#define SOFTHCA_ONLY(_why) \
    if (!on_softhca()) { \
        GTEST_SKIP() << "only for softhca: " << _why; \
    }

/* Long enough for a loaded machine; nothing takes that long unless it hangs. */
constexpr int WAIT_MS = 20000;

/* How to make a node; what is not set is good for most tests. */
struct node_params {
    enum ibv_qp_type type = IBV_QPT_RC;
    uint32_t send_wr      = 64;
    uint32_t recv_wr      = 64;
    uint32_t sge          = 4;
    uint32_t inline_data  = 64;
    int cqe               = 256;
    bool channel          = false;
    bool srq              = false;
    bool sig_all          = false;
    size_t size           = 65536; /* of the memory */
    int access            = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    int qp_access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                    IBV_ACCESS_REMOTE_ATOMIC;
    uint8_t timeout            = 10; /* 4 ms */
    uint8_t retry_cnt          = 2;
    uint8_t rnr_retry          = 7;
    uint8_t min_rnr_timer      = 1;
    uint8_t max_rd_atomic      = 4;
    uint8_t max_dest_rd_atomic = 16;
    uint8_t gid_index          = 0;
    enum ibv_mtu mtu           = IBV_MTU_1024;
};

/* What another node has to know. Its LID is 0 on RoCE. */
struct node_address {
    uint32_t qpn;
    uint32_t psn;
    uint16_t lid;
    union ibv_gid gid;
    uint8_t gid_index; /* of both, as they are on one host */
    uint64_t memory;
    uint32_t rkey;
};

/* How to get there: by its LID if it has one and @a global does not say otherwise. */
struct ibv_ah_attr path_to(const node_address &address, bool global = false,
                           uint8_t hop_limit = 64);

constexpr uint32_t TEST_QKEY = 0x11111111;

/* A context with one QP and one region of memory. */
class node {
public:
    explicit node(const node_params &params = node_params());
    ~node();
    node(const node &)            = delete;
    node &operator=(const node &) = delete;

    node_address address() const;
    void to_init();
    void to_rtr(const node_address &peer);
    void to_rts();
    void connect(const node_address &peer);

    struct ibv_sge sge(size_t offset, uint32_t length) const;
    char *at(size_t offset) { return m_memory.data() + offset; }

    /* Post one request; the result of the call. */
    int post(struct ibv_send_wr wr, struct ibv_sge sge);
    int send(size_t offset, uint32_t length, uint64_t id = 1,
             unsigned flags = IBV_SEND_SIGNALED);
    int recv(size_t offset, uint32_t length, uint64_t id = 2);
    int rdma(enum ibv_wr_opcode opcode, size_t offset, uint32_t length,
             const node_address &peer, size_t remote_offset, uint64_t id = 3,
             unsigned flags = IBV_SEND_SIGNALED);
    /* Add to the 8 bytes of a peer; what was there comes to the offset. */
    int fetch_and_add(size_t offset, const node_address &peer, size_t remote_offset,
                      uint64_t value);
    int datagram(struct ibv_ah *ah, uint32_t qpn, size_t offset, uint32_t length,
                 uint32_t qkey = TEST_QKEY, uint64_t id = 4);

    /* Wait for one completion; its status is IBV_WC_GENERAL_ERR if none came. */
    struct ibv_wc wait();
    /* Whether there is none, also after a while. */
    bool quiet();
    /* Wait for an event; fails the test if another or none comes. */
    void expect_event(enum ibv_event_type type);
    bool no_event();
    enum ibv_qp_state state() const;
    void set_state(enum ibv_qp_state state);

    struct ibv_context *context      = nullptr;
    struct ibv_pd *pd                = nullptr;
    struct ibv_comp_channel *channel = nullptr;
    struct ibv_cq *cq                = nullptr;
    struct ibv_srq *srq              = nullptr;
    struct ibv_qp *qp                = nullptr;
    struct ibv_mr *mr                = nullptr;
    struct ibv_qp_init_attr granted  = {};

private:
    node_params m_params;
    std::vector<char> m_memory;
    uint32_t m_psn = 0;
};

void connect(node &a, node &b);

/* Bytes that depend on the seed, and whether they are there. */
void fill(node &n, size_t offset, size_t length, int seed);
bool filled(node &n, size_t offset, size_t length, int seed);

/* Open the first device. */
struct ibv_context *open_device();

/* All 0 on other devices. */
softhca_counters_t counters();

/* Sets the variables of a test and removes them after it; nothing may be open before. */
class softhca_test : public ::testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;
    void set(const std::string &name, const std::string &value);

    /* Run in a child, which does not use what is open here; it ends well if @a body returns
     * true. @return Its pid. */
    static pid_t spawn(const std::function<bool()> &body);
    /* Wait for a child. @return Whether it ended well. */
    static bool ended_well(pid_t pid);

private:
    std::vector<std::string> m_names;
};

/* A pipe that carries addresses between a test and its child. */
class mailbox {
public:
    mailbox();
    ~mailbox();
    void put(const node_address &address) const;
    node_address get() const;

private:
    int m_fds[2];
};

#endif
