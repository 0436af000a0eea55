/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The rc plane between two processes on whatever device there is: a real one, the kernel's
 * rxe, or the software HCA (LD_PRELOAD=test/bin/libsofthca.so). Without any they are
 * skipped.
 */

#include "rc_test.h"

#if HAVE_VERBS

#include <algorithm>
#include <csignal>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

const size_t LENGTH = 4ul << 20; /* of the memory of either process */

/* What the two tell each other, besides the commands: one end is the test's, the other that
 * of its child. */
struct exchange {
    ri_rc_address_t address[2];
    uint32_t key[2];
    ucs_status_t status;
};

/* Memory of the test and its children alike, at the same address. */
template <typename type> type *map_shared(size_t length)
{
    void *map = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0);

    EXPECT_NE(MAP_FAILED, map);
    return static_cast<type *>(map);
}

/* One process's side: its plane, and its part of the memory. */
class side {
public:
    side(exchange *x, uint8_t *const *memory, int index)
        : m_x(x), m_memory(memory), m_index(index)
    {
    }

    ~side()
    {
        end.disconnect();
        if (end.plane != nullptr) {
            ri_plane_rc.release(end.plane, &m_registered);
        }
        end.close();
    }

    bool open()
    {
        if ((ri_plane_rc.open(&end.plane) != UCS_OK) ||
            (ri_plane_rc.prepare(end.plane, &end.ep) != UCS_OK) ||
            (ri_plane_rc.reg(end.plane, own(), LENGTH, &m_registered) != UCS_OK)) {
            return false;
        }
        m_x->address[m_index] = end.address();
        m_x->key[m_index]     = m_registered.remote_key;
        return true;
    }

    ucs_status_t connect() { return end.connect(m_x->address[!m_index]); }

    uint8_t *own() const { return m_memory[m_index]; }
    uint8_t *other() const { return m_memory[!m_index]; }
    uint32_t local_key() const { return m_registered.local_key; }
    uint32_t remote_key() const { return m_x->key[!m_index]; }

    ucs_status_t start(rc_op &op, bool write, const segments &local,
                       const segments &remote, size_t length)
    {
        return op.start(end.ep, write, local, local_key(), remote, remote_key(), 0,
                        length);
    }

    /* @return The status of an operation. What has not ended after so long never does. */
    ucs_status_t wait(rc_op &op)
    {
        for (double start = ri_clock_now(); op.started && (op.ends == 0);) {
            if (end.progress() == 0) {
                usleep(20);
            }
            if (ri_clock_now() > start + 200) {
                ADD_FAILURE() << "an operation does not end";
                end.disconnect();
            }
        }
        return op.status;
    }

    rc_end end;

private:
    exchange *m_x;
    uint8_t *const *m_memory;
    int m_index;
    ri_plane_memory_t m_registered = {};
};

class test_rc_process : public ::testing::Test {
protected:
    void SetUp() override
    {
        int pair[2];

        ri_config.ib_devices   = const_cast<char *>("all");
        ri_config.ib_gid_index = UCS_ULUNITS_AUTO;
        ri_config.ib_tx_queue  = 64;
        ri_config.reg_cache    = 0;
        m_x                    = map_shared<exchange>(sizeof(*m_x));
        m_memory[0]            = map_shared<uint8_t>(LENGTH);
        m_memory[1]            = map_shared<uint8_t>(LENGTH);
        ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));

        /* Before this process opens a device: its threads would not be in the child */
        m_pid = fork();
        ASSERT_GE(m_pid, 0);
        if (m_pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(pair[0]);
            child(pair[1]);
            _exit(::testing::Test::HasFailure());
        }
        close(pair[1]);
        m_socket = pair[0];
        if (answer() != 'y') {
            GTEST_SKIP() << "no RDMA device (LD_PRELOAD=test/bin/libsofthca.so is one)";
        }
        m_side.reset(new side(m_x, m_memory, 0));
        ASSERT_TRUE(m_side->open());
        ASSERT_EQ('y', ask('c'));
        ASSERT_EQ(UCS_OK, m_side->connect());
    }

    void TearDown() override
    {
        m_side.reset();
        end_child();
        munmap(m_x, sizeof(*m_x));
        munmap(m_memory[0], LENGTH);
        munmap(m_memory[1], LENGTH);
    }

    void end_child()
    {
        int status = -1;

        if (m_socket >= 0) {
            close(m_socket);
            m_socket = -1;
            EXPECT_EQ(m_pid, waitpid(m_pid, &status, 0));
            EXPECT_TRUE(m_killed || (WIFEXITED(status) && (WEXITSTATUS(status) == 0)));
        }
    }

    void kill_child()
    {
        m_killed = true;
        kill(m_pid, SIGKILL);
        end_child();
    }

    char answer()
    {
        char c = 'n';

        return (read(m_socket, &c, 1) == 1) ? c : 'x';
    }

    void tell(char command) { EXPECT_EQ(1, write(m_socket, &command, 1)); }

    char ask(char command)
    {
        tell(command);
        return answer();
    }

    /* It sleeps between commands, and does nothing for the plane then. */
    void child(int fd)
    {
        side s(m_x, m_memory, 1);
        char c = s.open() ? 'y' : 'n';

        while ((write(fd, &c, 1) == 1) && (read(fd, &c, 1) == 1)) {
            rc_op op;

            switch (c) {
            case 'c':
                c = (s.connect() == UCS_OK) ? 'y' : 'n';
                break;
            case 'w': /* write to the parent */
            case 'r':
                m_x->status = s.start(op, c == 'w', {{(uintptr_t)s.own(), LENGTH}},
                                      {{(uintptr_t)s.other(), LENGTH}}, LENGTH);
                if (m_x->status == UCS_INPROGRESS) {
                    m_x->status = s.wait(op);
                }
                c = 'y';
                break;
            case 'd':
                s.end.disconnect();
                c = 'y';
                break;
            }
        }
        close(fd);
    }

    /* Pieces in their order, one behind the other */
    static segments slice(rng &random, uint8_t *data, size_t length, size_t count)
    {
        segments list;
        size_t pos = 0;

        while (list.size() < count) {
            size_t piece = random.percent(10) ? 0 : random.range(0, length / count);

            list.push_back({(uintptr_t)data + pos, piece});
            pos += piece;
        }
        return list;
    }

    static std::vector<uint8_t> gather(const segments &list, size_t length)
    {
        std::vector<uint8_t> all;

        for (const ri_segment_t &s : list) {
            auto *at = (const uint8_t *)(uintptr_t)s.address;

            all.insert(all.end(), at, at + s.length);
        }
        all.resize(length);
        return all;
    }

    void fill(rng &random, size_t length)
    {
        for (size_t i = 0; i < length; ++i) {
            m_memory[0][i] = random.next();
            m_memory[1][i] = random.next();
        }
    }

    exchange *m_x;
    uint8_t *m_memory[2];
    std::unique_ptr<side> m_side;

private:
    pid_t m_pid;
    int m_socket  = -1;
    bool m_killed = false;
};

TEST_F(test_rc_process, lists)
{
    for_seeds(60, [this](rng &random) {
        const size_t length = random.percent(20) ? 300000 : 5000;
        bool write          = random.percent(50);

        fill(random, length);
        segments local  = slice(random, m_memory[0], length, random.range(1, 200));
        segments remote = slice(random, m_memory[1], length, random.range(1, 200));
        size_t most     = std::min(total(local), total(remote));
        auto expected   = gather(write ? local : remote, most);

        rc_op op;
        ASSERT_EQ((most == 0) ? UCS_OK : UCS_INPROGRESS,
                  m_side->start(op, write, local, remote, most));
        if (most > 0) {
            ASSERT_EQ(UCS_OK, m_side->wait(op));
        }
        ASSERT_EQ(expected, gather(local, most));
        ASSERT_EQ(expected, gather(remote, most));
    });
}

TEST_F(test_rc_process, many_operations)
{
    const size_t part = 1000, count = 500;
    std::vector<std::unique_ptr<rc_op>> ops;
    rng random(1);

    fill(random, part * count);
    std::vector<uint8_t> expected(m_memory[1], m_memory[1] + part * count);
    for (size_t i = 0; i < count; ++i) {
        bool write = random.percent(50);

        if (write) {
            memcpy(&expected[i * part], m_memory[0] + i * part, part);
        }
        ops.emplace_back(new rc_op);
        ASSERT_EQ(UCS_INPROGRESS,
                  m_side->start(*ops.back(), write,
                                {{(uintptr_t)m_memory[0] + i * part, part}},
                                {{(uintptr_t)m_memory[1] + i * part, part}}, part));
    }
    for (auto &op : ops) {
        EXPECT_EQ(UCS_OK, m_side->wait(*op));
    }
    EXPECT_EQ(0, memcmp(expected.data(), m_memory[0], part * count));
    EXPECT_EQ(0, memcmp(expected.data(), m_memory[1], part * count));
}

/* Each side moves what the other one does not know of. */
TEST_F(test_rc_process, both_directions)
{
    rng random(2);

    for (int i = 0; i < 4; ++i) {
        fill(random, LENGTH);
        std::vector<uint8_t> mine(m_memory[0], m_memory[0] + LENGTH);
        std::vector<uint8_t> theirs(m_memory[1], m_memory[1] + LENGTH);
        rc_op op;

        if (i < 2) {
            EXPECT_EQ('y', ask((i == 0) ? 'w' : 'r'));
            EXPECT_EQ(UCS_OK, m_x->status);
        } else {
            EXPECT_EQ(UCS_INPROGRESS,
                      m_side->start(op, i == 2, {{(uintptr_t)m_memory[0], LENGTH}},
                                    {{(uintptr_t)m_memory[1], LENGTH}}, LENGTH));
            EXPECT_EQ(UCS_OK, m_side->wait(op));
        }
        auto &expected = ((i == 0) || (i == 3)) ? theirs : mine;
        EXPECT_EQ(0, memcmp(expected.data(), m_memory[0], LENGTH)) << i;
        EXPECT_EQ(0, memcmp(expected.data(), m_memory[1], LENGTH)) << i;
    }
}

TEST_F(test_rc_process, hostile_key)
{
    rc_op good, bad, later;

    segments local  = {{(uintptr_t)m_memory[0], 4096}};
    segments remote = {{(uintptr_t)m_memory[1], 4096}};
    EXPECT_EQ(UCS_INPROGRESS, m_side->start(good, true, local, remote, 4096));
    EXPECT_EQ(UCS_INPROGRESS, bad.start(m_side->end.ep, false, local, m_side->local_key(),
                                        remote, m_side->remote_key() ^ 0x5500, 0, 4096));
    EXPECT_EQ(UCS_INPROGRESS, m_side->start(later, true, local, remote, 4096));
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, m_side->wait(bad));
    EXPECT_EQ(UCS_OK, m_side->wait(good));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, m_side->wait(later));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.check(m_side->end.ep));
}

TEST_F(test_rc_process, outside_of_the_memory)
{
    rc_op op;

    EXPECT_EQ(UCS_INPROGRESS,
              m_side->start(op, true, {{(uintptr_t)m_memory[0], 4096}},
                            {{(uintptr_t)m_memory[1] + LENGTH - 4095, 4096}}, 4096));
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, m_side->wait(op));
}

/* What this end has been told to have ended is over: the memory is its owner's again. */
TEST_F(test_rc_process, disconnect)
{
    std::vector<std::unique_ptr<rc_op>> ops;

    memset(m_memory[1], 1, LENGTH);
    for (int i = 0; i < 20; ++i) {
        ops.emplace_back(new rc_op);
        ASSERT_EQ(UCS_INPROGRESS,
                  m_side->start(*ops.back(), false, {{(uintptr_t)m_memory[0], LENGTH}},
                                {{(uintptr_t)m_memory[1], LENGTH}}, LENGTH));
    }
    m_side->end.progress();
    m_side->end.disconnect();
    memset(m_memory[0], 2, LENGTH);
    for (auto &op : ops) {
        EXPECT_EQ(1, op->ends);
    }
    usleep(20000);
    m_side->end.progress();
    EXPECT_EQ(LENGTH, (size_t)std::count(m_memory[0], m_memory[0] + LENGTH, 2));
}

TEST_F(test_rc_process, remote_disconnects)
{
    rc_op op;

    EXPECT_EQ('y', ask('d'));
    EXPECT_EQ(UCS_INPROGRESS, m_side->start(op, true, {{(uintptr_t)m_memory[0], 8}},
                                            {{(uintptr_t)m_memory[1], 8}}, 8));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, m_side->wait(op));
}

TEST_F(test_rc_process, remote_is_killed)
{
    rc_op first, second;

    EXPECT_EQ(UCS_INPROGRESS,
              m_side->start(first, true, {{(uintptr_t)m_memory[0], LENGTH}},
                            {{(uintptr_t)m_memory[1], LENGTH}}, LENGTH));
    kill_child();
    m_side->wait(first); /* may have been finished */
    m_side->start(second, true, {{(uintptr_t)m_memory[0], 8}},
                  {{(uintptr_t)m_memory[1], 8}}, 8);
    if (second.started) {
        EXPECT_EQ(UCS_ERR_UNREACHABLE, m_side->wait(second));
    }
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.check(m_side->end.ep));
}

} // namespace

#endif
