/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * SOFTHCA_PAGES=check: accesses by a registration whose memory has other pages now. The first tests
 * hold on any device that holds pages, also on rxe of the kernel.
 */
#include "hca.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

static constexpr size_t PAGE = 4096;
static constexpr size_t SIZE = 16 * PAGE;

class test_softhca_pages : public softhca_test {
protected:
    void SetUp() override
    {
        softhca_test::SetUp();
        if (!on_softhca()) {
            return;
        }
        set("SOFTHCA_PAGES", "check");
        if (!can_look()) {
            GTEST_SKIP() << "pages can be compared with CAP_SYS_ADMIN and io_uring only";
        }
    }

    void TearDown() override
    {
        if (m_mr != nullptr) {
            EXPECT_EQ(0, ibv_dereg_mr(m_mr));
        }
        if (m_memory != nullptr) {
            munmap(m_memory, SIZE);
        }
        m_a.reset();
        m_b.reset();
        softhca_test::TearDown();
    }

    /* What the device needs, found out without it */
    static bool can_look()
    {
        struct io_uring_params params = {};
        uint64_t entry                = 0;
        char here                     = 1;
        int map                       = open("/proc/self/pagemap", O_RDONLY);
        int ring = static_cast<int>(syscall(SYS_io_uring_setup, 1, &params));

        if (pread(map, &entry, sizeof(entry),
                  static_cast<off_t>(reinterpret_cast<uintptr_t>(&here) / PAGE * 8)) !=
            8) {
            entry = 0;
        }
        close(map);
        close(ring);
        return (ring >= 0) && ((entry & 0x7fffffffffffff) != 0);
    }

    /* Register memory that is there already with a node, and connect it with another one. */
    void begin(void *memory, int access = IBV_ACCESS_LOCAL_WRITE |
                                          IBV_ACCESS_REMOTE_WRITE |
                                          IBV_ACCESS_REMOTE_READ)
    {
        ASSERT_NE(MAP_FAILED, memory);
        m_memory = static_cast<char *>(memory);
        m_a      = std::make_unique<node>();
        m_b      = std::make_unique<node>();
        connect(*m_a, *m_b);
        m_mr = ibv_reg_mr(m_b->pd, memory, SIZE, access);
        ASSERT_NE(nullptr, m_mr);
        m_before = counters();
    }

    void begin()
    {
        begin(mmap(nullptr, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0));
    }

    /* An operation of the other node on the memory */
    enum ibv_wc_status access(enum ibv_wr_opcode opcode, size_t offset, uint32_t length)
    {
        node_address target = m_b->address();

        target.memory = reinterpret_cast<uintptr_t>(m_memory);
        target.rkey   = m_mr->rkey;
        EXPECT_EQ(0, m_a->rdma(opcode, 0, length, target, offset));
        return m_a->wait().status;
    }

    void write(const char *text, size_t offset)
    {
        strcpy(m_a->at(0), text);
        EXPECT_EQ(IBV_WC_SUCCESS, access(IBV_WR_RDMA_WRITE, offset,
                                         static_cast<uint32_t>(strlen(text) + 1)));
    }

    std::string read(size_t offset, uint32_t length)
    {
        memset(m_a->at(0), 0, length + 1);
        EXPECT_EQ(IBV_WC_SUCCESS, access(IBV_WR_RDMA_READ, offset, length));
        return std::string(m_a->at(0));
    }

    /* As a program does of which nobody is told */
    void replace(size_t offset, size_t length)
    {
        ASSERT_EQ(0, syscall(SYS_munmap, m_memory + offset, length));
        ASSERT_EQ(m_memory + offset,
                  reinterpret_cast<char *>(syscall(
                          SYS_mmap, m_memory + offset, length, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)));
        memset(m_memory + offset, 'n', length);
    }

    uint64_t stale() const { return counters().page_stale - m_before.page_stale; }
    void expect_stale(uint64_t count) const
    {
        if (on_softhca()) {
            EXPECT_EQ(count, stale());
        }
    }

    std::unique_ptr<node> m_a, m_b;
    struct ibv_mr *m_mr         = nullptr;
    char *m_memory              = nullptr;
    softhca_counters_t m_before = {};
};

TEST_F(test_softhca_pages, a_write_does_not_get_into_new_memory)
{
    begin();
    write("old", 0);
    EXPECT_STREQ("old", m_memory);
    expect_stale(0);
    replace(0, SIZE);
    write("late", 0);
    EXPECT_EQ('n', m_memory[0]);
    expect_stale(1);
}

TEST_F(test_softhca_pages, a_read_does_not_bring_new_memory)
{
    begin();
    strcpy(m_memory, "old");
    EXPECT_EQ("old", read(0, 4));
    replace(0, SIZE);
    strcpy(m_memory, "new");
    EXPECT_NE("new", read(0, 4));
    expect_stale(1);
}

TEST_F(test_softhca_pages, unmapped)
{
    begin();
    ASSERT_EQ(0, syscall(SYS_munmap, m_memory, SIZE));
    write("late", 0);
    expect_stale(1);
    m_memory = nullptr;
}

/* The pages beside the new one are still those that were registered. */
TEST_F(test_softhca_pages, one_page)
{
    begin();
    replace(3 * PAGE, PAGE);
    write("before", 3 * PAGE - 7);
    EXPECT_STREQ("before", m_memory + 3 * PAGE - 7);
    write("behind", 4 * PAGE);
    EXPECT_STREQ("behind", m_memory + 4 * PAGE);
    expect_stale(0);
    write("late", 4 * PAGE - 5);
    EXPECT_EQ('n', m_memory[4 * PAGE - 5]);
    expect_stale(1);
}

TEST_F(test_softhca_pages, given_back_and_touched_again)
{
    begin();
    memset(m_memory, 1, SIZE);
    ASSERT_EQ(0, syscall(SYS_madvise, m_memory, SIZE, MADV_DONTNEED));
    m_memory[0] = 'n';
    write("late", 0);
    EXPECT_EQ('n', m_memory[0]);
    expect_stale(1);
}

TEST_F(test_softhca_pages, moved_away)
{
    begin();
    char *other = reinterpret_cast<char *>(
            syscall(SYS_mremap, m_memory, SIZE, 4 * SIZE, MREMAP_MAYMOVE));

    ASSERT_NE(MAP_FAILED, other);
    if (other == m_memory) {
        munmap(other + SIZE, 3 * SIZE);
        GTEST_SKIP() << "it did not have to move";
    }
    write("late", 0);
    expect_stale(1);
    munmap(other, 4 * SIZE);
    m_memory = nullptr;
}

/* The own memory of a request: of a send, of a read's answer, and of a receive. */
TEST_F(test_softhca_pages, of_the_requester)
{
    begin();
    struct ibv_sge sge     = {reinterpret_cast<uintptr_t>(m_memory), 100, m_mr->lkey};
    struct ibv_send_wr wr  = {};
    struct ibv_recv_wr rwr = {}, *bad = nullptr;

    wr.opcode              = IBV_WR_RDMA_WRITE;
    wr.send_flags          = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = m_a->address().memory;
    wr.wr.rdma.rkey        = m_a->address().rkey;
    replace(0, SIZE);
    ASSERT_EQ(0, m_b->post(wr, sge));
    EXPECT_EQ(IBV_WC_SUCCESS, m_b->wait().status);
    EXPECT_NE('n', *m_a->at(0));
    expect_stale(1);
    memset(m_a->at(0), 'o', 200);
    wr.opcode = IBV_WR_RDMA_READ;
    ASSERT_EQ(0, m_b->post(wr, sge));
    EXPECT_EQ(IBV_WC_SUCCESS, m_b->wait().status);
    EXPECT_EQ('n', m_memory[0]);
    expect_stale(2);
    rwr.sg_list = &sge;
    rwr.num_sge = 1;
    ASSERT_EQ(0, ibv_post_recv(m_b->qp, &rwr, &bad));
    ASSERT_EQ(0, m_a->send(0, 100));
    EXPECT_EQ(IBV_WC_SUCCESS, m_a->wait().status);
    EXPECT_EQ(IBV_WC_SUCCESS, m_b->wait().status);
    EXPECT_EQ('n', m_memory[0]);
    expect_stale(3);
}

/* What changes nothing about the pages is no reason to complain. */
TEST_F(test_softhca_pages, what_a_program_may_do)
{
    begin();
    memset(m_memory, 'x', SIZE);
    ASSERT_EQ(0, mprotect(m_memory, SIZE, PROT_NONE));
    ASSERT_EQ(0, mprotect(m_memory, SIZE, PROT_READ | PROT_WRITE));
    madvise(m_memory, SIZE, MADV_HUGEPAGE);
    madvise(m_memory, SIZE, 21 /* MADV_PAGEOUT */);
    memset(m_memory, 'y', SIZE);
    write("good", 100);
    EXPECT_STREQ("good", m_memory + 100);
    madvise(m_memory, SIZE, 21);
    EXPECT_EQ("good", read(100, 5));
    expect_stale(0);
}

/* A child's memory is a copy, whoever writes first. */
TEST_F(test_softhca_pages, fork)
{
    begin();
    memset(m_memory, 'x', SIZE);
    pid_t child = ::fork();

    if (child == 0) {
        memset(m_memory, 'c', SIZE);
        _exit(0);
    }
    memset(m_memory, 'y', SIZE);
    write("good", 100);
    EXPECT_STREQ("good", m_memory + 100);
    int status = -1;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    memset(m_memory, 'z', SIZE);
    write("well", 100);
    EXPECT_STREQ("well", m_memory + 100);
    expect_stale(0);
}

/* The child has no part in the parent's registrations, and ends them without effect. */
TEST_F(test_softhca_pages, fork_and_deregister)
{
    SOFTHCA_ONLY("the kernel's objects are the child's as well");
    begin();
    pid_t child = ::fork();

    if (child == 0) {
        _exit((ibv_dereg_mr(m_mr) == 0) ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    memset(m_memory, 'y', SIZE);
    write("good", 0);
    EXPECT_STREQ("good", m_memory);
    replace(0, SIZE);
    write("late", 0);
    EXPECT_EQ('n', m_memory[0]);
    expect_stale(1);
}

TEST_F(test_softhca_pages, shared_memory)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    ASSERT_EQ(0, ftruncate(fd, SIZE));
    begin(mmap(nullptr, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    write("good", 0);
    EXPECT_STREQ("good", m_memory);
    /* The same pages by another mapping of the same place */
    ASSERT_EQ(m_memory, mmap(m_memory, SIZE, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_FIXED, fd, 0));
    m_memory[0] = 'G';
    EXPECT_EQ("Good", read(0, 5));
    expect_stale(0);
    ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SIZE));
    m_memory[0] = 'n';
    write("late", 0);
    EXPECT_EQ('n', m_memory[0]);
    expect_stale(1);
    close(fd);
}

TEST_F(test_softhca_pages, memory_that_is_only_read)
{
    void *memory = mmap(nullptr, SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(memory, 'x', SIZE);
    ASSERT_EQ(0, mprotect(memory, SIZE, PROT_READ));
    begin(memory, IBV_ACCESS_REMOTE_READ);
    if (on_softhca()) {
        EXPECT_EQ(0u, counters().page_unknown);
    }
    EXPECT_EQ("x", read(PAGE - 1, 1));
    expect_stale(0);
    replace(0, SIZE);
    EXPECT_NE("n", read(0, 1));
    expect_stale(1);
}

TEST_F(test_softhca_pages, a_file)
{
    SOFTHCA_ONLY("rxe does not register a file that may only be read");
    char name[] = "softhca_pages.XXXXXX";
    int fd      = mkstemp(name);

    ASSERT_GE(fd, 0);
    unlink(name);
    ASSERT_EQ(0, ftruncate(fd, SIZE));
    ASSERT_EQ(5, pwrite(fd, "file", 5, 0));
    begin(mmap(nullptr, SIZE, PROT_READ, MAP_SHARED, fd, 0), IBV_ACCESS_REMOTE_READ);
    EXPECT_EQ("file", read(0, 5));
    expect_stale(0);
    if (on_softhca()) {
        EXPECT_EQ(0u, counters().page_unknown);
    }
    replace(0, SIZE);
    EXPECT_NE("nnnn", read(0, 4));
    expect_stale(1);
    close(fd);
}

/* As long as a registration has been changed or is a new one, the pages are those of now. */
TEST_F(test_softhca_pages, registered_again)
{
    begin();
    replace(0, SIZE);
    if (on_softhca()) { /* rxe of Linux 6.1 cannot do it */
        ASSERT_EQ(0, ibv_rereg_mr(m_mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                                  m_memory, SIZE, 0));
        write("good", 0);
        EXPECT_STREQ("good", m_memory);
        replace(0, SIZE);
    }
    ASSERT_EQ(0, ibv_dereg_mr(m_mr));
    m_mr = ibv_reg_mr(m_b->pd, m_memory, SIZE,
                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    ASSERT_NE(nullptr, m_mr);
    write("well", 0);
    EXPECT_STREQ("well", m_memory);
    expect_stale(0);
}

/* Of datagrams: what is sent, at once or fetched later, and what is received. */
class test_softhca_pages_ud : public test_softhca_pages,
                              public ::testing::WithParamInterface<uint32_t> {};

TEST_P(test_softhca_pages_ud, datagrams)
{
    node_params params;
    struct ibv_recv_wr rwr = {}, *bad = nullptr;
    uint32_t length = GetParam();

    params.type = IBV_QPT_UD;
    m_memory    = static_cast<char *>(mmap(nullptr, SIZE, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(MAP_FAILED, static_cast<void *>(m_memory));
    m_a = std::make_unique<node>(params);
    m_b = std::make_unique<node>(params);
    m_a->connect(m_b->address());
    m_b->connect(m_a->address());
    m_mr = ibv_reg_mr(m_b->pd, m_memory, SIZE, IBV_ACCESS_LOCAL_WRITE);
    ASSERT_NE(nullptr, m_mr);
    m_before = counters();
    replace(0, SIZE);

    struct ibv_ah_attr attr = path_to(m_a->address());
    struct ibv_ah *ah       = ibv_create_ah(m_b->pd, &attr);
    struct ibv_sge sge      = {reinterpret_cast<uintptr_t>(m_memory), length, m_mr->lkey};
    struct ibv_send_wr wr   = {};

    wr.opcode            = IBV_WR_SEND;
    wr.send_flags        = IBV_SEND_SIGNALED;
    wr.wr.ud.ah          = ah;
    wr.wr.ud.remote_qpn  = m_a->address().qpn;
    wr.wr.ud.remote_qkey = TEST_QKEY;
    memset(m_a->at(0), 'o', 4096);
    ASSERT_EQ(0, m_a->recv(0, 4096));
    ASSERT_EQ(0, m_b->post(wr, sge));
    EXPECT_EQ(IBV_WC_SUCCESS, m_b->wait().status);
    EXPECT_EQ(IBV_WC_SUCCESS, m_a->wait().status);
    EXPECT_NE('n', *m_a->at(40));
    EXPECT_NE('o', *m_a->at(40));
    if (on_softhca()) {
        EXPECT_LT(0u, stale());
        m_before = counters();
    }
    EXPECT_EQ(0, ibv_destroy_ah(ah));

    sge.length  = 4096;
    rwr.sg_list = &sge;
    rwr.num_sge = 1;
    attr        = path_to(m_b->address());
    ah          = ibv_create_ah(m_a->pd, &attr);
    ASSERT_EQ(0, ibv_post_recv(m_b->qp, &rwr, &bad));
    ASSERT_EQ(0, m_a->datagram(ah, m_b->address().qpn, 0, length));
    EXPECT_EQ(IBV_WC_SUCCESS, m_a->wait().status);
    EXPECT_EQ(IBV_WC_SUCCESS, m_b->wait().status);
    EXPECT_EQ('n', m_memory[40]);
    if (on_softhca()) {
        EXPECT_LT(0u, stale());
    }
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* 600 bytes are fetched by the receiver, 100 travel in the message */
INSTANTIATE_TEST_SUITE_P(sizes, test_softhca_pages_ud, ::testing::Values(100u, 600u));
