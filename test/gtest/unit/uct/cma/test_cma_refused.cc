/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the plane cma cannot or may not reach: processes that have ended or are others, and
 * systems that forbid it. (src/uct/cma/cma.c)
 */

#include "cma_test.h"

#include <algorithm>

namespace {

class test_cma_refused : public cma_test {};

TEST_F(test_cma_refused, remote_has_ended)
{
    shared_memory map(PAGE);
    uint64_t value = 3;

    start();
    connect();
    m_remote->become_zombie();
    EXPECT_EQ(UCS_ERR_UNREACHABLE,
              read({segment(&value, 8)}, {segment(map.data(), 8)}, 0, 8));
    EXPECT_EQ(UCS_ERR_UNREACHABLE,
              write({segment(&value, 8)}, {segment(map.data(), 8)}, 0, 8));
    EXPECT_NE(std::string::npos, refused(m_address).find("has ended"));

    m_remote->end();
    EXPECT_EQ(UCS_ERR_UNREACHABLE,
              read({segment(&value, 8)}, {segment(map.data(), 8)}, 0, 8));
    EXPECT_NE(std::string::npos, refused(m_address).find("has ended"));
    EXPECT_EQ(3u, value);
}

/* Whether a process may still be in a copy */
TEST_F(test_cma_refused, check)
{
    start();
    connect();
    EXPECT_EQ(UCS_OK, ri_plane_cma.check(m_ep));
    EXPECT_EQ(UCS_OK, ri_plane_cma.check(m_ep));
    m_remote->become_zombie();
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_cma.check(m_ep));
    m_remote->end();
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_cma.check(m_ep));
}

/* A process that can open no file finds the others as alive as they are. */
TEST_F(test_cma_refused, check_without_descriptors)
{
    struct rlimit before, none;

    start();
    connect();
    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
    none          = before;
    none.rlim_cur = 0;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
    uint64_t own        = ri_host_process_start(getpid());
    ucs_status_t status = ri_plane_cma.check(m_ep);
    m_remote->become_zombie();
    ucs_status_t ended = ri_plane_cma.check(m_ep);
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
    EXPECT_EQ(0u, own) << "there are descriptors";
    EXPECT_EQ(UCS_OK, status);
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ended);
}

/* Nobody could tell it from another process with its number. */
TEST_F(test_cma_refused, open_without_descriptors)
{
    ri_plane_t *plane = nullptr;
    struct rlimit before, none;

    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
    none          = before;
    none.rlim_cur = 0;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
    ucs_status_t status = ri_plane_cma.open(&plane);
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, status);
    EXPECT_EQ(nullptr, plane);
    if (plane != nullptr) {
        ri_plane_cma.close(plane);
    }
}

TEST_F(test_cma_refused, malformed_address)
{
    start();
    for (size_t length = 0; length < sizeof(m_address); ++length) {
        if ((length != 0) && (length != sizeof(ri_host_process_t))) {
            EXPECT_NE(std::string::npos,
                      refused(m_address, length).find("a malformed address"));
        }
    }
    EXPECT_NE("", refused(m_address, sizeof(m_address) + 1));
    for_seeds(200, [this](rng &random) {
        ri_cma_address_t address;

        fill(random, (uint8_t *)&address, sizeof(address));
        refused(address);
        address.host = m_address.host;
        EXPECT_NE("", refused(address));
        address.pid = m_address.pid;
        EXPECT_NE("", refused(address));
        address.start = m_address.start;
        EXPECT_NE("", refused(address));
    });
}

/* One that makes no direct copies itself tells who it is, or nothing. */
TEST_F(test_cma_refused, process_without_direct_copies)
{
    start();
    std::string text = refused(m_address, sizeof(ri_host_process_t));
    EXPECT_NE(std::string::npos, text.find("process " + std::to_string(m_address.pid)))
            << text;
    EXPECT_NE(std::string::npos, text.find("UCXRI_CMA=n")) << text;
    EXPECT_EQ(std::string::npos, text.find("address")) << text;

    text = refused(m_address, 0);
    EXPECT_NE(std::string::npos, text.find("/proc")) << text;
    EXPECT_EQ(std::string::npos, text.find("address")) << text;
}

TEST_F(test_cma_refused, another_host)
{
    start();
    ri_cma_address_t address = m_address;
    address.host ^= 2;
    EXPECT_EQ("", refused(address)) << "as usual as that is";
    address.host = 0;
    EXPECT_EQ("", refused(address));
}

/* The number of a process that has ended is used anew. */
TEST_F(test_cma_refused, another_process_with_its_number)
{
    ri_cma_address_t address;

    start();
    address = m_address;
    address.start -= 1;
    EXPECT_NE(std::string::npos, refused(address).find("has ended"));
    address = m_address;
    address.cookie ^= 1;
    EXPECT_NE(std::string::npos, refused(address).find("not the one"));
    address = m_address;
    address.cookie_address += 8;
    EXPECT_NE(std::string::npos, refused(address).find("not the one"));
    address.cookie_address = 0;
    EXPECT_NE(std::string::npos, refused(address).find("not the one"));

    /* Right for this process, but it is that one's memory that counts */
    auto *cookie = (volatile uint64_t *)(uintptr_t)m_own.cookie_address;
    *cookie ^= 1;
    address        = m_own;
    address.pid    = m_address.pid;
    address.start  = m_address.start;
    address.cookie = *cookie;
    EXPECT_NE(std::string::npos, refused(address).find("not the one"));
}

TEST_F(test_cma_refused, closed_plane)
{
    ri_cma_address_t address;
    ri_plane_t *other;

    ASSERT_EQ(UCS_OK, ri_plane_cma.open(&other));
    ri_plane_cma.address(other, &address);
    ri_plane_cma.close(other);
    EXPECT_NE("", refused(address));
}

/*
 * What follows runs in processes that the kernel refuses. They end with 0 if all is as
 * expected.
 */

/* A system call fails from now on. @return 0 if the kernel has no filters. */
bool forbid(int nr, int error)
{
    struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    return (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) &&
           (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

const int NO_FILTERS = 77; /* exit code */

TEST_F(test_cma_refused, open_where_calls_are_forbidden)
{
    for (int error : {EPERM, ENOSYS}) {
        process p([error]() {
            ri_plane_t *plane = nullptr;

            ri_log_level = RI_LOG_LEVEL_INFO;
            if (!forbid(__NR_process_vm_readv, error)) {
                return NO_FILTERS;
            }
            return (ri_plane_cma.open(&plane) == UCS_ERR_UNSUPPORTED) ? 0 : 1;
        });
        int ret = p.end();
        if (ret == NO_FILTERS) {
            GTEST_SKIP() << "no seccomp filters here";
        }
        EXPECT_EQ(0, ret);
        EXPECT_NE(std::string::npos, p.messages().find("process_vm_readv"));
        EXPECT_NE(std::string::npos, p.messages().find(strerror(error)));
        EXPECT_NE(std::string::npos, p.messages().find("seccomp"));
        EXPECT_EQ(std::string::npos, p.messages().find("ptrace_scope"))
                << "not for the own memory";
        EXPECT_EQ(error == ENOSYS,
                  p.messages().find("CROSS_MEMORY") != std::string::npos);
        EXPECT_EQ(1, std::count(p.messages().begin(), p.messages().end(), '\n'));
    }
}

TEST_F(test_cma_refused, only_reading_is_allowed)
{
    uint64_t word        = 9;
    ri_cma_address_t own = m_own;
    process p([own, &word]() {
        uint64_t value = 0;
        ri_plane_ep_t *ep;
        ri_plane_t *plane;

        if (!forbid(__NR_process_vm_writev, EPERM)) {
            return NO_FILTERS;
        }
        bool good = (ri_plane_cma.open(&plane) == UCS_OK) &&
                    (plane->capabilities ==
                     (RI_PLANE_READ | RI_PLANE_LISTS | RI_PLANE_INLINE)) &&
                    (ri_plane_cma.connect(plane, &own, sizeof(own), &ep) == UCS_OK) &&
                    (move(ep, false, {segment(&value, 8)}, {segment(&word, 8)}, 0, 8) ==
                     UCS_OK) &&
                    (value == 9);
        return good ? 0 : 1;
    });
    int ret = p.end();
    if (ret == NO_FILTERS) {
        GTEST_SKIP() << "no seccomp filters here";
    }
    EXPECT_EQ(0, ret);
}

/* A connection that worked; each kind of refusal says once what to do. */
TEST_F(test_cma_refused, forbidden_later)
{
    for (int error : {EPERM, ENOSYS}) {
        uint64_t word        = 9;
        ri_cma_address_t own = m_own;
        process p([own, error, &word]() {
            uint64_t value = 0;
            ri_plane_ep_t *ep, *second = nullptr;
            ri_plane_t *plane;

            ri_log_level = RI_LOG_LEVEL_INFO;
            if ((ri_plane_cma.open(&plane) != UCS_OK) ||
                (ri_plane_cma.connect(plane, &own, sizeof(own), &ep) != UCS_OK)) {
                return 1;
            }
            if (!forbid(__NR_process_vm_readv, error)) {
                return NO_FILTERS;
            }
            bool good = (move(ep, false, {segment(&value, 8)}, {segment(&word, 8)}, 0,
                              8) == UCS_ERR_UNREACHABLE) &&
                        (ri_plane_cma.connect(plane, &own, sizeof(own), &second) ==
                         UCS_ERR_UNREACHABLE) &&
                        (second == nullptr) && (value == 0);
            return good ? 0 : 1;
        });
        int ret = p.end();
        if (ret == NO_FILTERS) {
            GTEST_SKIP() << "no seccomp filters here";
        }
        EXPECT_EQ(0, ret);
        EXPECT_NE(std::string::npos, p.messages().find(strerror(error)));
        EXPECT_NE(std::string::npos, p.messages().find("seccomp"));
        EXPECT_EQ(2, std::count(p.messages().begin(), p.messages().end(), '\n'));
    }
}

/* The kernel's own refusal: the remote process is not dumpable, and this one may not
 * override that. */
TEST_F(test_cma_refused, not_permitted)
{
    start([]() { return prctl(PR_SET_DUMPABLE, 0); });
    ri_cma_address_t address = m_address;
    ri_plane_t *plane        = m_plane;
    process p([address, plane]() {
        struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
        struct __user_cap_data_struct none[2]  = {};
        ri_plane_ep_t *ep                      = nullptr;

        ri_log_level = RI_LOG_LEVEL_INFO;
        if (syscall(SYS_capset, &header, none) != 0) {
            return 1;
        }
        return (ri_plane_cma.connect(plane, &address, sizeof(address), &ep) ==
                UCS_ERR_UNREACHABLE) ?
                       0 :
                       2;
    });
    EXPECT_EQ(0, p.end());
    EXPECT_NE(std::string::npos, p.messages().find(strerror(EPERM)));
    EXPECT_NE(std::string::npos, p.messages().find("ptrace_scope"));
    EXPECT_NE(std::string::npos, p.messages().find("SYS_PTRACE"));
    EXPECT_EQ(1, std::count(p.messages().begin(), p.messages().end(), '\n'));
}

} // namespace
