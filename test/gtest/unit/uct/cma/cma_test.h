/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The plane cma, and other processes for it.
 */
#ifndef RI_TEST_CMA_TEST_H
#define RI_TEST_CMA_TEST_H

#include "unit/common/segments.h"
#include "unit/common/setting.h"

#include <cstddef>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

const size_t PAGE     = 4096;
const size_t MAX_CALL = 0x7ffff000; /* bytes that Linux moves in one call */

ri_segment_t segment(const void *address, uint64_t length)
{
    return {(uintptr_t)address, length};
}

/* Memory that a test and the processes it makes have in common, so that the test sees what
 * was written into another process; it is mapped at the same address in all of them. */
class shared_memory {
public:
    explicit shared_memory(size_t length) : m_length(length)
    {
        m_data = (uint8_t *)mmap(nullptr, length, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(MAP_FAILED, (void *)m_data);
    }
    ~shared_memory() { munmap(m_data, m_length); }

    uint8_t *data() const { return m_data; }
    size_t size() const { return m_length; }

private:
    uint8_t *m_data;
    size_t m_length;
};

/* Another process. It ends when the test lets go of it or ends itself. */
class process {
public:
    typedef std::function<int()> main_func;

    /* It says that it is ready as soon as @a before has returned, waits until the test lets
     * go, and ends with the value of @a after. */
    explicit process(const main_func &before, const main_func &after = nullptr)
    {
        int ready[2], go[2], text[2];

        EXPECT_TRUE((pipe(ready) == 0) && (pipe(go) == 0) && (pipe(text) == 0));
        m_pid = fork();
        EXPECT_GE(m_pid, 0);
        if (m_pid == 0) {
            char c;
            int ret;

            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(go[1]);
            dup2(text[1], STDERR_FILENO);
            ret = before();
            if ((write(ready[1], "r", 1) == 1) && (read(go[0], &c, 1) == 0) &&
                (after != nullptr)) {
                ret = after();
            }
            _exit(ret);
        }

        close(ready[1]);
        close(go[0]);
        close(text[1]);
        m_go   = go[1];
        m_text = text[0];
        char c;
        EXPECT_EQ(1, ::read(ready[0], &c, 1)) << "ended too early";
        close(ready[0]);
    }

    ~process() { end(); }

    pid_t pid() const { return m_pid; }

    /* Let it end, but leave its number and its exit code to it. */
    void become_zombie()
    {
        siginfo_t info;

        close_go();
        EXPECT_EQ(0, waitid(P_PID, m_pid, &info, WEXITED | WNOWAIT));
    }

    /* @return Its exit code. */
    int end()
    {
        char buffer[256];
        ssize_t length;

        if (m_pid < 0) {
            return m_exit_code;
        }
        close_go();
        while ((length = ::read(m_text, buffer, sizeof(buffer))) > 0) {
            m_messages.append(buffer, length);
        }
        close(m_text);

        int status = -1;
        EXPECT_EQ(m_pid, waitpid(m_pid, &status, 0));
        m_pid       = -1;
        m_exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        return m_exit_code;
    }

    /* What it has printed, after its end. */
    const std::string &messages() const { return m_messages; }

private:
    void close_go()
    {
        if (m_go >= 0) {
            close(m_go);
            m_go = -1;
        }
    }

    pid_t m_pid;
    int m_go;
    int m_text;
    int m_exit_code = -1;
    std::string m_messages;
};

class cma_test : public ::testing::Test {
protected:
    void SetUp() override
    {
        /* As UCX does: under Yama's ptrace_scope 1 children may not access this process */
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        ASSERT_EQ(UCS_OK, ri_plane_cma.open(&m_plane));
        ASSERT_EQ(sizeof(m_own), ri_plane_cma.address(m_plane, &m_own));
    }

    void TearDown() override
    {
        disconnect();
        m_remote.reset();
        if (m_plane != nullptr) {
            ri_plane_cma.close(m_plane);
        }
    }

    /* Start a process with a plane of its own; its address is in m_address. */
    void start(const process::main_func &before = nullptr)
    {
        auto *address = (ri_cma_address_t *)m_exchange.data();

        memset((void *)address, 0, sizeof(*address));
        m_remote.reset(new process([&before, address]() {
            ri_plane_t *plane;

            if (ri_plane_cma.open(&plane) == UCS_OK) {
                ri_plane_cma.address(plane, address);
            }
            return (before != nullptr) ? before() : 0;
        }));
        m_address = *address;
        ASSERT_EQ((uint32_t)m_remote->pid(), m_address.pid);
    }

    void connect()
    {
        ASSERT_EQ(UCS_OK,
                  ri_plane_cma.connect(m_plane, &m_address, sizeof(m_address), &m_ep));
    }

    void disconnect()
    {
        if (m_ep != nullptr) {
            ri_plane_cma.disconnect(m_ep);
            m_ep = nullptr;
        }
    }

    /* A connection to @a address that has to fail. @return What is printed at level info. */
    std::string refused(const ri_cma_address_t &address,
                        size_t length = sizeof(ri_cma_address_t))
    {
        setting<ri_log_level_t> level(ri_log_level, RI_LOG_LEVEL_INFO);
        ri_plane_ep_t *ep = nullptr;

        ::testing::internal::CaptureStderr();
        EXPECT_EQ(UCS_ERR_UNREACHABLE,
                  ri_plane_cma.connect(m_plane, &address, length, &ep));
        EXPECT_EQ(nullptr, ep);
        return ::testing::internal::GetCapturedStderr();
    }

    static ucs_status_t move(ri_plane_ep_t *ep, bool write, const segments &local,
                             const segments &remote, size_t offset, size_t length,
                             bool verify = false)
    {
        ri_transfer_t transfer = {};

        transfer.local      = local.data();
        transfer.num_local  = local.size();
        transfer.remote     = remote.data();
        transfer.num_remote = remote.size();
        transfer.offset     = offset;
        transfer.length     = length;
        transfer.verify     = verify;
        return write ? ri_plane_cma.write(ep, &transfer) :
                       ri_plane_cma.read(ep, &transfer);
    }

    ucs_status_t read(const segments &local, const segments &remote, size_t offset,
                      size_t length)
    {
        return move(m_ep, false, local, remote, offset, length);
    }

    ucs_status_t write(const segments &local, const segments &remote, size_t offset,
                       size_t length)
    {
        return move(m_ep, true, local, remote, offset, length);
    }

    static void fill(rng &random, uint8_t *data, size_t length)
    {
        for (size_t i = 0; i < length; ++i) {
            data[i] = random.next();
        }
    }

    /* One operation with random lists, compared with a copy byte by byte. */
    void run_random(rng &random, bool is_write, uint8_t *local, uint8_t *remote,
                    size_t length, size_t max_segments)
    {
        uint8_t *to   = is_write ? remote : local;
        uint8_t *from = is_write ? local : remote;

        fill(random, local, length);
        fill(random, remote, length);
        segments local_list  = cut(random, local, length, random.range(1, max_segments));
        segments remote_list = cut(random, remote, length, random.range(1, max_segments));
        size_t most          = std::min(total(local_list), total(remote_list));
        size_t offset        = random.percent(50) ? 0 : random.range(0, most);
        size_t count         = random.percent(50) ? most - offset :
                                                    random.range(0, most - offset);

        std::vector<uint8_t *> to_bytes   = places(is_write ? remote_list : local_list);
        std::vector<uint8_t *> from_bytes = places(is_write ? local_list : remote_list);
        std::vector<uint8_t> expected(to, to + length);
        std::vector<uint8_t> untouched(from, from + length);
        for (size_t i = offset; i < offset + count; ++i) {
            expected[to_bytes[i] - to] = *from_bytes[i];
        }

        ASSERT_EQ(UCS_OK, move(m_ep, is_write, local_list, remote_list, offset, count));
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), to))
                << (is_write ? "write " : "read ") << local_list.size() << ":"
                << remote_list.size() << " segments, " << count << " bytes at " << offset;
        ASSERT_TRUE(std::equal(untouched.begin(), untouched.end(), from));
    }

    ri_plane_t *m_plane = nullptr;
    ri_plane_ep_t *m_ep = nullptr;
    ri_cma_address_t m_own;
    ri_cma_address_t m_address;
    shared_memory m_exchange{PAGE};
    std::unique_ptr<process> m_remote;
};

} // namespace

#endif
