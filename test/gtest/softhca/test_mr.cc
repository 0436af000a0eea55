/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory regions: registration with its rights and limits, and what a remote requester can do with
 * a region. Requester and target are two nodes of this process, on softhca and mostly on rxe. Each
 * access has nodes of its own, as one that is refused breaks the connection. Pages that are
 * replaced under a region are in test_pages.cc. Keys of another process are not tried.
 */
#include "hca.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

class test_softhca_mr : public softhca_test {
protected:
    void SetUp() override
    {
        softhca_test::SetUp();
        m_context = open_device();
        m_pd      = ibv_alloc_pd(m_context);
    }
    void TearDown() override
    {
        EXPECT_EQ(0, ibv_dealloc_pd(m_pd));
        EXPECT_EQ(0, ibv_close_device(m_context));
        softhca_test::TearDown();
    }

    struct ibv_context *m_context = nullptr;
    struct ibv_pd *m_pd           = nullptr;
    char m_memory[8192]           = {};
};

TEST_F(test_softhca_mr, access_flags)
{
    int wrong[] = {IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_ATOMIC,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND};

    for (int access : wrong) {
        if ((access & IBV_ACCESS_MW_BIND) && !on_softhca()) {
            continue; /* rxe has memory windows */
        }
        errno = 0;
        EXPECT_EQ(nullptr, ibv_reg_mr(m_pd, m_memory, sizeof(m_memory), access));
        EXPECT_EQ(EINVAL, errno);
    }
    for (int access : {0, static_cast<int>(IBV_ACCESS_REMOTE_READ),
                       static_cast<int>(IBV_ACCESS_LOCAL_WRITE)}) {
        struct ibv_mr *mr = ibv_reg_mr(m_pd, m_memory, sizeof(m_memory), access);

        ASSERT_NE(nullptr, mr);
        EXPECT_EQ(m_memory, mr->addr);
        EXPECT_EQ(sizeof(m_memory), mr->length);
        EXPECT_EQ(0, ibv_dereg_mr(mr));
    }
}

TEST_F(test_softhca_mr, keys_do_not_come_back_at_once)
{
    struct ibv_mr *mr = ibv_reg_mr(m_pd, m_memory, 100, IBV_ACCESS_REMOTE_READ);
    uint32_t first    = mr->rkey;

    EXPECT_NE(0u, first);
    EXPECT_EQ(0, ibv_dereg_mr(mr));
    mr = ibv_reg_mr(m_pd, m_memory, 100, IBV_ACCESS_REMOTE_READ);
    EXPECT_NE(first, mr->rkey);
    EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(test_softhca_mr, no_memory_there)
{
    void *memory = mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ASSERT_EQ(0, munmap(memory, 8192));
    errno = 0;
    EXPECT_EQ(nullptr, ibv_reg_mr(m_pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE));
    EXPECT_EQ(EFAULT, errno);
}

TEST_F(test_softhca_mr, read_only_memory)
{
    void *memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr *mr;

    EXPECT_EQ(nullptr, ibv_reg_mr(m_pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE));
    mr = ibv_reg_mr(m_pd, memory, 4096, IBV_ACCESS_REMOTE_READ);
    EXPECT_NE(nullptr, mr);
    EXPECT_EQ(0, ibv_dereg_mr(mr));
    munmap(memory, 4096);
}

TEST_F(test_softhca_mr, pd_in_use)
{
    struct ibv_mr *mr = ibv_reg_mr(m_pd, m_memory, 100, IBV_ACCESS_LOCAL_WRITE);

    EXPECT_EQ(EBUSY, ibv_dealloc_pd(m_pd));
    EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(test_softhca_mr, counters)
{
    SOFTHCA_ONLY("its counters");
    softhca_counters_t before = counters(), after;
    struct ibv_mr *mr;

    mr    = ibv_reg_mr(m_pd, m_memory, 1000, IBV_ACCESS_LOCAL_WRITE);
    after = counters();
    EXPECT_EQ(before.mr_regs + 1, after.mr_regs);
    EXPECT_EQ(before.mr_bytes + 1000, after.mr_bytes);
    EXPECT_EQ(0, ibv_dereg_mr(mr));
    after = counters();
    EXPECT_EQ(before.mr_deregs + 1, after.mr_deregs);
    EXPECT_EQ(before.mr_bytes, after.mr_bytes);
}

TEST_F(test_softhca_mr, rereg)
{
    SOFTHCA_ONLY("rxe of Linux 6.1 cannot do it");
    struct ibv_mr *mr = ibv_reg_mr(m_pd, m_memory, 1000, IBV_ACCESS_LOCAL_WRITE);
    uint32_t old      = mr->rkey;

    EXPECT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                              m_memory + 4096, 2000, 0));
    EXPECT_EQ(m_memory + 4096, mr->addr);
    EXPECT_EQ(2000u, mr->length);
    EXPECT_NE(old, mr->rkey);
    EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
              ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                           IBV_ACCESS_REMOTE_WRITE));
    EXPECT_EQ(0, ibv_dereg_mr(mr));
}

class test_softhca_mr_limit : public softhca_test {};

TEST_F(test_softhca_mr_limit, max_reg)
{
    SOFTHCA_ONLY("its settings");
    std::vector<char> memory(10000);
    struct ibv_context *context;
    struct ibv_mr *first;
    struct ibv_pd *pd;

    set("SOFTHCA_MAX_REG", "15KB");
    context = open_device();
    pd      = ibv_alloc_pd(context);
    first   = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    ASSERT_NE(nullptr, first);
    errno = 0;
    EXPECT_EQ(nullptr, ibv_reg_mr(pd, memory.data(), memory.size(), 0));
    EXPECT_EQ(ENOMEM, errno);
    EXPECT_EQ(0, ibv_dereg_mr(first));
    first = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    EXPECT_NE(nullptr, first);
    EXPECT_EQ(0, ibv_dereg_mr(first));
    EXPECT_EQ(0, ibv_dealloc_pd(pd));
    EXPECT_EQ(0, ibv_close_device(context));
}

/* Bounds and rights as a requester meets them. */
class test_softhca_mr_remote : public softhca_test {
protected:
    /* The status of a write or read of @a length bytes at @a offset, with other changes. */
    enum ibv_wc_status access(enum ibv_wr_opcode opcode, int64_t offset, uint32_t length,
                              const node_params &params = node_params(),
                              uint32_t key_change       = 0)
    {
        node a, b(params);
        node_address target = b.address();

        connect(a, b);
        target.rkey ^= key_change;
        target.memory += static_cast<uint64_t>(offset);
        EXPECT_EQ(0, a.rdma(opcode, 0, length, target, 0));
        m_status = a.wait().status;
        if (m_status != IBV_WC_SUCCESS) {
            if (on_softhca()) { /* rxe has no event for it */
                b.expect_event((m_status == IBV_WC_REM_INV_REQ_ERR) ?
                                       IBV_EVENT_QP_REQ_ERR :
                                       IBV_EVENT_QP_ACCESS_ERR);
            }
            EXPECT_EQ(IBV_QPS_ERR, b.state());
            EXPECT_EQ(IBV_QPS_ERR, a.state());
        }
        return m_status;
    }

    enum ibv_wc_status m_status = IBV_WC_SUCCESS;
};

TEST_F(test_softhca_mr_remote, bounds)
{
    for (auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
        EXPECT_EQ(IBV_WC_SUCCESS, access(opcode, 0, 65536));
        EXPECT_EQ(IBV_WC_SUCCESS, access(opcode, 65535, 1));
        EXPECT_EQ(IBV_WC_SUCCESS, access(opcode, 1000000, 0)) << "no bytes, no key";
        EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access(opcode, 1, 65536));
        EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access(opcode, -1, 1));
        EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access(opcode, 65536, 1));
    }
}

TEST_F(test_softhca_mr_remote, wrong_key)
{
    EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
              access(IBV_WR_RDMA_WRITE, 0, 8, node_params(), 0x01));
    EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
              access(IBV_WR_RDMA_READ, 0, 8, node_params(), 0x80000000));
}

TEST_F(test_softhca_mr_remote, rights_of_the_region)
{
    node_params params;

    params.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
    EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access(IBV_WR_RDMA_WRITE, 0, 8, params));
    EXPECT_EQ(IBV_WC_SUCCESS, access(IBV_WR_RDMA_READ, 0, 8, params));
    params.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    EXPECT_EQ(IBV_WC_SUCCESS, access(IBV_WR_RDMA_WRITE, 0, 8, params));
    EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access(IBV_WR_RDMA_READ, 0, 8, params));
}

TEST_F(test_softhca_mr_remote, rights_of_the_qp)
{
    node_params params;

    params.qp_access = IBV_ACCESS_REMOTE_READ;
    EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, access(IBV_WR_RDMA_WRITE, 0, 8, params));
    params.qp_access = IBV_ACCESS_REMOTE_WRITE;
    EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, access(IBV_WR_RDMA_READ, 0, 8, params));
}

TEST_F(test_softhca_mr_remote, deregistered)
{
    node a, b;
    node_address target = b.address();

    connect(a, b);
    ASSERT_EQ(0, ibv_dereg_mr(b.mr));
    b.mr = nullptr;
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 8, target, 0));
    EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, a.wait().status);
}

/* A region of another domain is not for this QP. */
TEST_F(test_softhca_mr_remote, other_pd)
{
    node a, b, other;
    node_address target = b.address();

    connect(a, b);
    target.memory = other.address().memory;
    target.rkey   = other.address().rkey;
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 8, target, 0));
    EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, a.wait().status);
}

/* The address on the wire is the one that was asked for, not that of the memory, but both
 * are at the same place of a page. */
TEST_F(test_softhca_mr_remote, iova)
{
    alignas(4096) char memory[4096] = {};
    node a, b;
    node_address target = b.address();

    errno = 0;
    EXPECT_EQ(nullptr,
              ibv_reg_mr_iova(b.pd, memory + 8, 64, 0x10000, IBV_ACCESS_LOCAL_WRITE));
    EXPECT_EQ(EINVAL, errno);
    struct ibv_mr *mr = ibv_reg_mr_iova(b.pd, memory, sizeof(memory), 0x10000,
                                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

    ASSERT_NE(nullptr, mr);
    connect(a, b);
    strcpy(a.at(0), "hello");
    target.memory = 0x10008;
    target.rkey   = mr->rkey;
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 6, target, 0));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_STREQ("hello", memory + 8);
    EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* Memory that was unmapped under its registration is an error, not a crash. */
TEST_F(test_softhca_mr_remote, unmapped)
{
    SOFTHCA_ONLY("rxe holds the pages");
    void *memory = mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    node a, b;
    node_address target = b.address();
    struct ibv_mr *mr   = ibv_reg_mr(b.pd, memory, 8192,
                                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

    connect(a, b);
    target.memory = reinterpret_cast<uintptr_t>(memory);
    target.rkey   = mr->rkey;
    ASSERT_EQ(0, munmap(memory, 8192));
    ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 8192, target, 0));
    EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, a.wait().status);
    EXPECT_EQ(0, ibv_dereg_mr(mr));
}
