/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/cma/cma.[hc], between processes. */

#include "ri_cpp.h"
#include "rng.h"

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

typedef std::vector<ri_segment_t> segments;

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

class test_cma : public ::testing::Test {
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
        ri_log_level_t level = ri_log_level;
        ri_plane_ep_t *ep    = nullptr;

        ri_log_level = RI_LOG_LEVEL_INFO;
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(UCS_ERR_UNREACHABLE,
                  ri_plane_cma.connect(m_plane, &address, length, &ep));
        EXPECT_EQ(nullptr, ep);
        ri_log_level = level;
        return ::testing::internal::GetCapturedStderr();
    }

    static ucs_status_t move(ri_plane_ep_t *ep, bool write, const segments &local,
                             const segments &remote, size_t offset, size_t length)
    {
        ri_transfer_t transfer = {};

        transfer.local      = local.data();
        transfer.num_local  = local.size();
        transfer.remote     = remote.data();
        transfer.num_remote = remote.size();
        transfer.offset     = offset;
        transfer.length     = length;
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

    /* Cut pieces of memory into a list in random order. They do not overlap; there are gaps
     * and empty pieces. */
    static segments cut(rng &random, uint8_t *data, size_t length, size_t count)
    {
        segments list;
        size_t pos = 0, step = 2 * length / count + 1;

        while (list.size() < count) {
            size_t piece = random.percent(10) ? 0 : random.range(0, step);

            pos += random.percent(50) ? 0 : random.below(step / 8 + 2);
            if (pos + piece > length) {
                break;
            }
            list.push_back(segment(data + pos, piece));
            pos += piece;
        }
        for (size_t i = list.size(); i > 1; --i) {
            std::swap(list[i - 1], list[random.below(i)]);
        }
        return list;
    }

    static size_t total(const segments &list)
    {
        size_t sum = 0;

        for (const ri_segment_t &s : list) {
            sum += s.length;
        }
        return sum;
    }

    /* Where each byte of a list stands. */
    static std::vector<uint8_t *> bytes(const segments &list)
    {
        std::vector<uint8_t *> all;

        for (const ri_segment_t &s : list) {
            for (size_t i = 0; i < s.length; ++i) {
                all.push_back((uint8_t *)(uintptr_t)s.address + i);
            }
        }
        return all;
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

        std::vector<uint8_t *> to_bytes   = bytes(is_write ? remote_list : local_list);
        std::vector<uint8_t *> from_bytes = bytes(is_write ? local_list : remote_list);
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

TEST_F(test_cma, open)
{
    EXPECT_EQ(&ri_plane_cma, m_plane->ops);
    EXPECT_EQ(
            (unsigned)(RI_PLANE_READ | RI_PLANE_WRITE | RI_PLANE_LISTS | RI_PLANE_INLINE),
            m_plane->capabilities);
}

TEST_F(test_cma, address)
{
    EXPECT_EQ(ri_host_id(), m_own.host);
    EXPECT_EQ((uint32_t)getpid(), m_own.pid);
    EXPECT_EQ((uint32_t)ri_host_process_start(getpid()), m_own.start);
    EXPECT_EQ(m_own.cookie, *(uint64_t *)(uintptr_t)m_own.cookie_address);

    ri_plane_t *other;
    ri_cma_address_t address;
    ASSERT_EQ(UCS_OK, ri_plane_cma.open(&other));
    ri_plane_cma.address(other, &address);
    EXPECT_NE(m_own.cookie, address.cookie);
    ri_plane_cma.close(other);
}

TEST_F(test_cma, measure)
{
    std::vector<char> from(32768, 'x'), to(32768);
    ri_plane_cost_t cost = {};

    EXPECT_EQ(UCS_OK, ri_plane_cma.measure(to.data(), from.data(), from.size(), &cost));
    EXPECT_LT(0, cost.call);
    EXPECT_LT(0, cost.rate);
    EXPECT_EQ(from, to);
    /* Memory that is not there */
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              ri_plane_cma.measure(to.data(), nullptr, from.size(), &cost));
}

TEST_F(test_cma, own_process)
{
    char from[] = "abc", to[] = "   ";

    m_address = m_own;
    connect();
    EXPECT_EQ(UCS_OK, read({segment(to, 3)}, {segment(from, 3)}, 0, 3));
    EXPECT_STREQ("abc", to);
}

/* Private memory that only the other process has. */
TEST_F(test_cma, read_and_write)
{
    static uint64_t word;

    word = 1;
    start([]() {
        word = 2;
        return 0;
    });
    connect();

    uint64_t value = 3;
    ASSERT_EQ(UCS_OK, read({segment(&value, 8)}, {segment(&word, 8)}, 0, 8));
    EXPECT_EQ(2u, value);
    value = 4;
    ASSERT_EQ(UCS_OK, write({segment(&value, 8)}, {segment(&word, 8)}, 0, 8));
    value = 5;
    ASSERT_EQ(UCS_OK, read({segment(&value, 8)}, {segment(&word, 8)}, 0, 8));
    EXPECT_EQ(4u, value);
    EXPECT_EQ(1u, word);
}

/* The other process accesses this one. */
TEST_F(test_cma, both_ways)
{
    static uint64_t word;
    ri_cma_address_t own = m_own;

    word = 1;
    start([own]() {
        uint64_t value = 0, answer = 7;
        ri_plane_ep_t *ep;
        ri_plane_t *plane;

        word      = 2;
        bool good = (ri_plane_cma.open(&plane) == UCS_OK) &&
                    (ri_plane_cma.connect(plane, &own, sizeof(own), &ep) == UCS_OK) &&
                    (move(ep, false, {segment(&value, 8)}, {segment(&word, 8)}, 0, 8) ==
                     UCS_OK) &&
                    (value == 1) &&
                    (move(ep, true, {segment(&answer, 8)}, {segment(&word, 8)}, 0, 8) ==
                     UCS_OK);
        return good ? 0 : 1;
    });
    EXPECT_EQ(0, m_remote->end());
    EXPECT_EQ(7u, word);
}

TEST_F(test_cma, zero_length)
{
    char data[8] = "1234567";

    start();
    connect();
    EXPECT_EQ(UCS_OK, read({}, {}, 0, 0));
    EXPECT_EQ(UCS_OK, write({}, {}, 0, 0));
    EXPECT_EQ(UCS_OK, read({}, {}, 100, 0));
    EXPECT_EQ(UCS_OK, read({segment(data, 0)}, {segment(nullptr, 0)}, 0, 0));
    EXPECT_EQ(UCS_OK, write({segment(data, 8)}, {segment(nullptr, 8)}, 8, 0));
    EXPECT_STREQ("1234567", data);
}

/* Empty segments are no segments, wherever they point to. */
TEST_F(test_cma, empty_segments)
{
    segments local, remote;
    char from[] = "abcdef", to[] = "      ";

    for (int i = 0; i < 200; ++i) {
        local.push_back(segment(nullptr, 0));
        remote.push_back(segment((void *)~0ul, 0));
    }
    remote.push_back(segment(from, 2));
    remote.push_back(segment((void *)~0ul, 0));
    remote.push_back(segment(from + 2, 4));
    local.push_back(segment(to, 6));
    start();
    connect();
    EXPECT_EQ(UCS_OK, read(local, remote, 1, 5));
    EXPECT_STREQ(" bcdef", to);
}

TEST_F(test_cma, random)
{
    const size_t length = 20000;
    std::vector<uint8_t> local(length);
    shared_memory remote(length);

    start();
    connect();
    for_seeds(300, [&](rng &random) {
        run_random(random, random.percent(50), local.data(), remote.data(),
                   random.range(1, length), random.percent(50) ? 5 : 150);
    });
}

/* More segments than the kernel takes in one call, on either side. */
TEST_F(test_cma, random_many_segments)
{
    const size_t length = 100000;
    std::vector<uint8_t> local(length);
    shared_memory remote(length);

    start();
    connect();
    for_seeds(20, [&](rng &random) {
        run_random(random, random.percent(50), local.data(), remote.data(), length, 9000);
    });
}

TEST_F(test_cma, many_against_one)
{
    const size_t count = 5000;
    std::vector<uint8_t> local(count);
    shared_memory remote(count);
    segments single;

    for (size_t i = 0; i < count; ++i) {
        remote.data()[i] = i * 7;
        single.push_back(segment(remote.data() + count - 1 - i, 1));
    }
    start();
    connect();
    ASSERT_EQ(UCS_OK, read({segment(local.data(), count)}, single, 0, count));
    for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ((uint8_t)((count - 1 - i) * 7), local[i]);
    }

    single.clear();
    for (size_t i = 0; i < count; ++i) {
        single.push_back(segment(&local[i], 1));
    }
    memset(remote.data(), 0, count);
    ASSERT_EQ(UCS_OK, write(single, {segment(remote.data(), count)}, 0, count));
    EXPECT_TRUE(std::equal(local.begin(), local.end(), remote.data()));
}

TEST_F(test_cma, list_too_short)
{
    char data[16] = {};

    start();
    connect();
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read({segment(data, 16)}, {}, 0, 1));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read({}, {segment(data, 16)}, 0, 1));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read({segment(data, 16)}, {segment(data, 8)}, 0, 16));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              write({segment(data, 8)}, {segment(data, 16)}, 0, 16));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read({segment(data, 16)}, {segment(data, 16)}, 16, 1));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read({segment(data, 16)}, {segment(data, 16)}, ~0ul, 1));
    EXPECT_EQ(UCS_OK, read({segment(data, 16)}, {segment(data, 16)}, 8, 8));
}

/* Whatever the remote list says: an error, and the connection goes on. */
TEST_F(test_cma, bad_remote_address)
{
    shared_memory map(4 * PAGE);
    uint8_t *hole = map.data() + PAGE;
    std::vector<uint8_t> local(4 * PAGE, 1);

    start([hole]() {
        bool good = (munmap(hole, PAGE) == 0) &&
                    (mprotect(hole + PAGE, PAGE, PROT_READ) == 0);

        return good ? 0 : 1;
    });
    connect();

    const ri_segment_t bad[] = {segment(nullptr, 8),
                                segment(hole, 8),
                                segment(hole, PAGE),
                                segment(hole - 4, 8),
                                segment((void *)~0ul, 8),
                                segment((void *)(~0ul - PAGE + 1), 2 * PAGE),
                                segment((void *)(1ul << 63), 8),
                                segment((void *)0xffffffff80000000ul, 8),
                                segment(hole, ~0ul),
                                segment((void *)~0ul, ~0ul)};
    for (const ri_segment_t &s : bad) {
        size_t length = std::min<uint64_t>(s.length, local.size());

        EXPECT_EQ(UCS_ERR_INVALID_ADDR,
                  read({segment(local.data(), length)}, {s}, 0, length))
                << std::hex << s.address << " " << s.length;
        EXPECT_EQ(UCS_ERR_INVALID_ADDR,
                  write({segment(local.data(), length)}, {s}, 0, length))
                << std::hex << s.address << " " << s.length;
    }

    EXPECT_EQ(UCS_OK, read({segment(local.data(), 8)}, {segment(hole + PAGE, 8)}, 0, 8));
    EXPECT_EQ(UCS_ERR_INVALID_ADDR,
              write({segment(local.data(), 8)}, {segment(hole + PAGE, 8)}, 0, 8));
    EXPECT_EQ(UCS_OK,
              read({segment(local.data(), 8)}, {segment(map.data(), ~0ul)}, 0, 8));
    EXPECT_EQ(0, m_remote->end());
}

/* The kernel stops in front of what it cannot access, within a segment or between two. */
TEST_F(test_cma, hole_on_the_way)
{
    shared_memory map(3 * PAGE);
    uint8_t *hole = map.data() + PAGE;
    std::vector<uint8_t> local(3 * PAGE, 0), before(PAGE, 5);

    memset(map.data(), 5, map.size());
    start([hole]() { return munmap(hole, PAGE); });
    connect();
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, read({segment(local.data(), 3 * PAGE)},
                                         {segment(map.data(), 3 * PAGE)}, 0, 3 * PAGE));
    EXPECT_TRUE(std::equal(before.begin(), before.end(), local.begin()));
    EXPECT_EQ(0, local[PAGE]);

    EXPECT_EQ(UCS_ERR_INVALID_ADDR,
              read({segment(local.data(), 3 * PAGE)},
                   {segment(hole - 4, 4), segment(hole, 4), segment(hole - 4, 4)}, 0,
                   12));

    /* It is not reached */
    EXPECT_EQ(UCS_OK, read({segment(local.data(), PAGE)}, {segment(map.data(), 3 * PAGE)},
                           0, PAGE));
    EXPECT_EQ(UCS_OK, read({segment(local.data(), 3 * PAGE)},
                           {segment(map.data(), 3 * PAGE)}, 2 * PAGE, PAGE));
}

TEST_F(test_cma, bad_local_address)
{
    shared_memory map(PAGE);

    start();
    connect();
    EXPECT_EQ(UCS_ERR_INVALID_ADDR,
              read({segment(nullptr, 8)}, {segment(map.data(), 8)}, 0, 8));
    EXPECT_EQ(UCS_ERR_INVALID_ADDR,
              write({segment(nullptr, 8)}, {segment(map.data(), 8)}, 0, 8));
    EXPECT_EQ(UCS_OK, read({segment(map.data(), 8)}, {segment(map.data(), 8)}, 0, 8));
}

/* One segment that is longer than what the kernel moves in a call. Remote memory that was
 * never written takes none; local memory is one file, many times. */
TEST_F(test_cma, more_than_one_call_moves)
{
    const size_t tile = 4ul << 20, length = MAX_CALL + 3 * PAGE;
    const size_t marks[] = {MAX_CALL - 1, MAX_CALL, MAX_CALL + PAGE - 1, length - 1};

    auto *remote = (uint8_t *)mmap(nullptr, length, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    auto *local  = (uint8_t *)mmap(nullptr, length + tile, PROT_NONE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((remote == MAP_FAILED) || (local == MAP_FAILED)) {
        GTEST_SKIP() << "no address space for two times 2 GB";
    }
    int fd = memfd_create("test_cma", MFD_CLOEXEC);
    ASSERT_EQ(0, ftruncate(fd, tile));
    for (size_t at = 0; at < length; at += tile) {
        ASSERT_EQ(local + at, mmap(local + at, tile, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_FIXED, fd, 0));
    }
    close(fd);

    start([&]() {
        for (size_t mark : marks) {
            remote[mark] = mark % 255 + 1;
        }
        return 0;
    });
    connect();
    ASSERT_EQ(UCS_OK,
              read({segment(local, length)}, {segment(remote, length)}, 0, length));
    for (size_t mark : marks) {
        EXPECT_EQ(mark % 255 + 1, local[mark]) << mark;
    }
    EXPECT_EQ(0, local[MAX_CALL + 1]);
    munmap(local, length + tile);
    munmap(remote, length);
}

TEST_F(test_cma, remote_has_ended)
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
TEST_F(test_cma, check)
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
TEST_F(test_cma, check_without_descriptors)
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

TEST_F(test_cma, malformed_address)
{
    start();
    for (size_t length = 0; length < sizeof(m_address); ++length) {
        EXPECT_NE(std::string::npos, refused(m_address, length).find("address"));
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

TEST_F(test_cma, another_host)
{
    start();
    ri_cma_address_t address = m_address;
    address.host ^= 2;
    EXPECT_EQ("", refused(address)) << "as usual as that is";
    address.host = 0;
    EXPECT_EQ("", refused(address));
}

/* The number of a process that has ended is used anew. */
TEST_F(test_cma, another_process_with_its_number)
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

TEST_F(test_cma, closed_plane)
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

TEST_F(test_cma, open_where_calls_are_forbidden)
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
        EXPECT_EQ(1, std::count(p.messages().begin(), p.messages().end(), '\n'));
    }
}

TEST_F(test_cma, only_reading_is_allowed)
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
TEST_F(test_cma, forbidden_later)
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
TEST_F(test_cma, not_permitted)
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
