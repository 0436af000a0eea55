/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Nodes in several processes, which are this one and children by fork(): all operations, atomics on
 * one word, the death of a peer, a fork with open objects, and files that are left. A mailbox takes
 * the addresses there, and says that a side is ready. In the tests of test_softhca_hostile a child
 * writes nonsense into its ring to this process, in which two other nodes have to go on as before.
 * Only rings are attacked: other words of the segment and the directory are not.
 */
#include "hca.h"
#include "softhca/wire.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

class test_softhca_process : public softhca_test {
protected:
    static std::string file(int slot)
    {
        std::string name = std::string("/dev/shm/softhca.") + getenv("SOFTHCA_FABRIC") +
                           "." + std::to_string(getuid());

        return (slot < 0) ? name : name + "." + std::to_string(slot);
    }

    static int slot_of(const node &n)
    {
        return static_cast<int>(sh_qpn_slot(n.qp->qp_num));
    }
};

TEST_F(test_softhca_process, all_operations)
{
    mailbox to_child, to_parent;
    pid_t pid = spawn([&] {
        node b;

        to_parent.put(b.address());
        b.connect(to_child.get());
        strcpy(b.at(100), "from the child");
        EXPECT_EQ(0, b.recv(1000, 1000));
        to_parent.put(b.address());
        EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
        EXPECT_STREQ("by send", b.at(1000));
        EXPECT_STREQ("by write", b.at(2000));
        EXPECT_EQ(7, *b.at(3000));
        to_child.get();
        return true;
    });
    {
        node a;
        node_address peer = to_parent.get();

        a.connect(peer);
        to_child.put(a.address());
        to_parent.get();
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_READ, 0, 20, peer, 100));
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        EXPECT_STREQ("from the child", a.at(0));

        strcpy(a.at(0), "by write");
        ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_WRITE, 0, 9, peer, 2000));
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);

        ASSERT_EQ(0, a.fetch_and_add(64, peer, 3000, 7));
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);

        strcpy(a.at(0), "by send");
        ASSERT_EQ(0, a.send(0, 8));
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        to_child.put(a.address());
    }
    EXPECT_TRUE(ended_well(pid));
}

/* Atomics of several processes on one word are atomic. */
TEST_F(test_softhca_process, atomics)
{
    static constexpr int CHILDREN = 3, ROUNDS = 200;
    mailbox to_child[CHILDREN], to_parent[CHILDREN];
    pid_t pids[CHILDREN];

    for (int i = 0; i < CHILDREN; ++i) {
        pids[i] = spawn([&] {
            node b;
            node_address peer;

            to_parent[i].put(b.address());
            peer = to_child[i].get();
            b.connect(peer);
            to_parent[i].put(b.address());
            to_child[i].get();
            for (int round = 0; round < ROUNDS; ++round) {
                EXPECT_EQ(0, b.fetch_and_add(0, peer, 0, 1));
                EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
            }
            return true;
        });
    }
    {
        std::vector<std::unique_ptr<node>> nodes;

        for (int i = 0; i < CHILDREN; ++i) {
            nodes.emplace_back(new node);
        }
        /* One word, which each QP's own region covers */
        void *word = nodes[0]->at(0);
        std::vector<struct ibv_mr *> regions;
        for (int i = 0; i < CHILDREN; ++i) {
            node_address mine = nodes[i]->address();

            regions.push_back(
                    ibv_reg_mr(nodes[i]->pd, word, 8,
                               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
            mine.memory = reinterpret_cast<uintptr_t>(word);
            mine.rkey   = regions[i]->rkey;
            nodes[i]->connect(to_parent[i].get());
            to_child[i].put(mine);
            to_parent[i].get();
        }
        for (int i = 0; i < CHILDREN; ++i) {
            to_child[i].put(nodes[i]->address());
        }
        for (int i = 0; i < CHILDREN; ++i) {
            EXPECT_TRUE(ended_well(pids[i]));
            EXPECT_EQ(0, ibv_dereg_mr(regions[i]));
        }
        uint64_t value;
        memcpy(&value, word, sizeof(value));
        EXPECT_EQ(static_cast<uint64_t>(CHILDREN * ROUNDS), value);
    }
}

/* A killed peer is noticed, and its files are removed by the next process that comes. */
TEST_F(test_softhca_process, killed)
{
    mailbox to_child, to_parent;
    int slot;
    pid_t pid = spawn([&] {
        node b;

        to_parent.put(b.address());
        b.connect(to_child.get());
        to_parent.put(b.address());
        pause();
        return true;
    });
    {
        node a;
        node_address peer = to_parent.get();

        slot = static_cast<int>(sh_qpn_slot(peer.qpn));
        a.connect(peer);
        to_child.put(a.address());
        to_parent.get();
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        ASSERT_EQ(0, a.send(0, 100, 1));
        ASSERT_EQ(0, a.send(0, 100, 2));
        EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, a.wait().status);
        EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, a.wait().status);
        if (on_softhca()) {
            EXPECT_EQ(0, access(file(slot).c_str(), F_OK));
            EXPECT_TRUE(ended_well(spawn([&] {
                node c;
                return true;
            })));
            EXPECT_NE(0, access(file(slot).c_str(), F_OK));
        }
    }
    EXPECT_NE(0, access(file(-1).c_str(), F_OK));
}

/* Killed with requests in its ring that wait for a receive. */
TEST_F(test_softhca_process, sender_killed)
{
    mailbox to_child, to_parent;
    pid_t pid = spawn([&] {
        node b;

        to_parent.put(b.address());
        b.connect(to_child.get());
        for (uint64_t i = 0; i < 10; ++i) {
            EXPECT_EQ(0, b.send(0, 1000, i));
        }
        to_parent.put(b.address());
        pause();
        return true;
    });
    node a, other;

    a.connect(to_parent.get());
    to_child.put(a.address());
    to_parent.get();
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    ASSERT_EQ(0, a.recv(0, 1000, 5));
    EXPECT_TRUE(a.quiet());
    a.set_state(IBV_QPS_ERR);
    EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, a.wait().status);
}

/* A child of fork() neither disturbs its parent nor is disturbed; it can begin anew. */
TEST_F(test_softhca_process, fork)
{
    SOFTHCA_ONLY("elsewhere a child has the objects of its parent");
    node a, b;

    connect(a, b);
    pid_t pid = spawn([&] {
        struct ibv_wc wc;

        EXPECT_NE(0, a.send(0, 8));
        EXPECT_EQ(0, ibv_poll_cq(a.cq, 1, &wc));
        EXPECT_EQ(0, ibv_destroy_qp(a.qp));
        EXPECT_EQ(0, ibv_dereg_mr(a.mr));
        node c, d;
        connect(c, d);
        EXPECT_EQ(0, d.recv(0, 8));
        EXPECT_EQ(0, c.send(0, 8));
        EXPECT_EQ(IBV_WC_SUCCESS, c.wait().status);
        EXPECT_EQ(IBV_WC_SUCCESS, d.wait().status);
        return true;
    });
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(0, b.recv(0, 8));
        ASSERT_EQ(0, a.send(0, 8));
        ASSERT_EQ(IBV_WC_SUCCESS, a.wait().status);
        ASSERT_EQ(IBV_WC_SUCCESS, b.wait().status);
    }
    EXPECT_TRUE(ended_well(pid));
    ASSERT_EQ(0, b.recv(0, 8));
    ASSERT_EQ(0, a.send(0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
}

/* A process that ends without closing anything leaves no file. */
TEST_F(test_softhca_process, plain_exit)
{
    SOFTHCA_ONLY("its files");
    pid_t pid = fork();

    if (pid == 0) {
        open_device();
        exit(0);
    }
    EXPECT_TRUE(ended_well(pid));
    EXPECT_NE(0, access(file(-1).c_str(), F_OK));
}

/* The rings are memory that others can write: nonsense in them is counted and dropped. */
class test_softhca_hostile : public test_softhca_process {
protected:
    void SetUp() override
    {
        test_softhca_process::SetUp();
        SOFTHCA_ONLY("its shared memory");
    }

    /* The view of a hostile process on another one's segment. */
    class attacker {
    public:
        explicit attacker(uint32_t victim_qpn) : m_memory(map(sh_qpn_slot(victim_qpn))) {}
        ~attacker() { munmap(m_memory, SH_SEGMENT_SIZE); }

        uint32_t slot() const { return sh_qpn_slot(m_node.qp->qp_num); }
        uint32_t qpn() const { return m_node.qp->qp_num; }

        sh_ring_t *ring()
        {
            return reinterpret_cast<sh_ring_t *>(m_memory + sh_ring_offset(slot()));
        }

        sh_msg_t message() const
        {
            sh_msg_t msg   = {};
            char *own      = map(slot());
            msg.generation = reinterpret_cast<sh_inbox_t *>(own)->generation;
            msg.size       = sizeof(msg);
            msg.src_qpn    = qpn();
            munmap(own, SH_SEGMENT_SIZE);
            return msg;
        }

        void put(const void *data, size_t size)
        {
            uint64_t tail = ring()->tail;

            for (size_t i = 0; i < size; ++i) {
                ring()->data[(tail + i) % SH_RING_SIZE] =
                        static_cast<const uint8_t *>(data)[i];
            }
            __atomic_store_n(&ring()->tail, tail + (size + 7) / 8 * 8, __ATOMIC_RELEASE);
        }

        /* Have the victim look at it. @return Whether it did. */
        bool looked_at()
        {
            auto *inbox = reinterpret_cast<sh_inbox_t *>(m_memory);

            for (int i = 0; i < WAIT_MS * 10; ++i) {
                if (__atomic_load_n(&ring()->head, __ATOMIC_ACQUIRE) == ring()->tail) {
                    return true;
                }
                __atomic_fetch_or(&inbox->pending[slot() / 64], 1ul << (slot() % 64),
                                  __ATOMIC_RELEASE);
                __atomic_fetch_add(&inbox->doorbell, 1, __ATOMIC_RELEASE);
                syscall(SYS_futex, &inbox->doorbell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
            return false;
        }

    private:
        static char *map(uint32_t slot)
        {
            int fd     = open(file(static_cast<int>(slot)).c_str(), O_RDWR);
            void *view = mmap(nullptr, SH_SEGMENT_SIZE, PROT_READ | PROT_WRITE,
                              MAP_SHARED, fd, 0);

            close(fd);
            if (view == MAP_FAILED) {
                throw std::runtime_error("no segment");
            }
            return static_cast<char *>(view);
        }

        node m_node;
        char *m_memory;
    };

    /* Let a child attack two connected nodes, which go on as before. */
    void attack(const std::function<void(attacker &, const node_address &,
                                         const node_address &)> &body)
    {
        mailbox to_child;
        pid_t pid = spawn([&] {
            node_address a = to_child.get(), b = to_child.get();
            attacker it(a.qpn);

            body(it, a, b);
            return it.looked_at();
        });
        {
            node a, b;

            connect(a, b);
            to_child.put(a.address());
            to_child.put(b.address());
            EXPECT_TRUE(ended_well(pid));
            ASSERT_EQ(0, b.recv(0, 8));
            ASSERT_EQ(0, a.send(0, 8));
            EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
            EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
        }
    }
};

TEST_F(test_softhca_hostile, random_messages)
{
    softhca_counters_t before = counters();

    attack([](attacker &it, const node_address &a, const node_address &b) {
        std::mt19937_64 random(7);
        std::vector<uint8_t> bytes(sizeof(sh_msg_t) + 700);
        sh_msg_t good = it.message();

        for (int i = 0; i < 20000; ++i) {
            sh_msg_t msg;

            for (auto &byte : bytes) {
                byte = static_cast<uint8_t>(random());
            }
            memcpy(&msg, bytes.data(), sizeof(msg));
            msg.size       = static_cast<uint32_t>(sizeof(msg) + random() % 600);
            msg.generation = good.generation;
            msg.type       = random() % 4;
            msg.opcode     = random() % 8;
            msg.flags &= 0x1f;
            msg.answer  = random() % 5;
            msg.src_qpn = (random() % 8) ? it.qpn() : b.qpn;
            msg.dst_qpn = (random() % 2) ? a.qpn : b.qpn;
            msg.epoch   = random() % 3;
            msg.psn     = (random() % 2) ? a.psn : b.psn;
            msg.rkey    = (random() % 2) ? a.rkey : b.rkey;
            if (random() % 2) {
                msg.num_sge = static_cast<uint16_t>((msg.size - sizeof(msg)) / 16);
                msg.length  = msg.size - sizeof(msg);
            }
            memcpy(bytes.data(), &msg, sizeof(msg));
            it.put(bytes.data(), msg.size);
            if (i % 100 == 99) {
                ASSERT_TRUE(it.looked_at());
            }
        }
    });
    EXPECT_GT(counters().malformed, before.malformed);
}

/* A datagram to a, whose data are to be fetched, from places and of lengths at random; the bytes get
 * the message and its list. Returns how many bytes count. */
static size_t make_fetch(const node_address &a, std::mt19937_64 &random, sh_msg_t msg,
                         std::vector<uint8_t> &bytes)
{
    sh_sge_t list[40];
    uint64_t sum = 0;

    msg.type    = SH_MSG_DATAGRAM;
    msg.flags   = SH_MSG_FETCH;
    msg.dst_qpn = a.qpn;
    msg.dlid    = a.lid;
    msg.qkey    = TEST_QKEY;
    msg.epoch   = random() % 3;
    msg.num_sge = static_cast<uint16_t>((random() % 8) ? 1 + random() % 3 : random());
    for (auto &sge : list) {
        sge.address = (random() % 2) ? random() : 4096 * (random() % 100);
        sge.length  = (random() % 4) ? 1 + random() % 2000 : random();
    }
    for (int j = 0; j < msg.num_sge % 40; ++j) {
        sum += list[j].length;
    }
    msg.length = (random() % 4) ? sum : 1 + random() % 5000;
    msg.size   = static_cast<uint32_t>(sizeof(msg) +
                                     ((random() % 8) ? msg.num_sge % 40 : random() % 40) *
                                             sizeof(sh_sge_t));
    memcpy(bytes.data(), &msg, sizeof(msg));
    memcpy(bytes.data() + sizeof(msg), list, sizeof(list));
    return msg.size;
}

/* Lists of data that are to be fetched: too many, too long, not there. */
TEST_F(test_softhca_hostile, random_fetches)
{
    mailbox to_child;
    node_params params;

    params.type = IBV_QPT_UD;
    pid_t pid   = spawn([&] {
        node_address a = to_child.get();
        attacker it(a.qpn);
        std::mt19937_64 random(11);
        std::vector<uint8_t> bytes(sizeof(sh_msg_t) + 40 * sizeof(sh_sge_t));

        for (int i = 0; i < 5000; ++i) {
            size_t size = make_fetch(a, random, it.message(), bytes);

            it.put(bytes.data(), size);
            if ((i % 100 == 99) && !it.looked_at()) {
                return false;
            }
        }
        return it.looked_at();
    });
    {
        node a(params), b(params);

        a.connect(b.address());
        b.connect(a.address());
        ASSERT_EQ(0, a.recv(0, 3040));
        to_child.put(a.address());
        EXPECT_TRUE(ended_well(pid));
        struct ibv_ah_attr attr = path_to(a.address());
        struct ibv_ah *ah       = ibv_create_ah(b.pd, &attr);
        memset(b.at(0), 'x', 3000);
        ASSERT_EQ(0, b.datagram(ah, a.qp->qp_num, 0, 3000));
        struct ibv_wc wc = a.wait();
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
        EXPECT_EQ(3040u, wc.byte_len);
        EXPECT_EQ('x', a.at(40)[2999]);
        ibv_destroy_ah(ah);
    }
}

TEST_F(test_softhca_hostile, wrong_sizes)
{
    for (uint32_t size :
         {0u, 1u, 127u, 200u, static_cast<uint32_t>(SH_MAX_MSG) + 1, 0xffffffffu}) {
        softhca_counters_t before = counters();

        attack([&](attacker &it, const node_address &, const node_address &) {
            sh_msg_t msg = it.message();

            msg.size = size;
            it.put(&msg, sizeof(msg));
        });
        EXPECT_EQ(before.malformed + 1, counters().malformed) << size;
    }
}

TEST_F(test_softhca_hostile, wrong_tails)
{
    for (uint64_t ahead :
         {uint64_t(1), uint64_t(8), uint64_t(SH_RING_SIZE + 128), uint64_t(1) << 63}) {
        softhca_counters_t before = counters();

        attack([&](attacker &it, const node_address &, const node_address &) {
            __atomic_store_n(&it.ring()->tail, it.ring()->tail + ahead, __ATOMIC_RELEASE);
        });
        EXPECT_EQ(before.malformed + 1, counters().malformed) << ahead;
    }
}

/* It cannot speak for the QPs of others, nor for a process that was there before it. */
TEST_F(test_softhca_hostile, wrong_sender)
{
    softhca_counters_t before = counters();

    attack([&](attacker &it, const node_address &a, const node_address &b) {
        sh_msg_t msg = it.message();

        msg.type    = SH_MSG_ANSWER;
        msg.answer  = SH_ANSWER_NAK;
        msg.value   = IBV_WC_FATAL_ERR;
        msg.src_qpn = b.qpn;
        msg.dst_qpn = a.qpn;
        msg.psn     = a.psn;
        it.put(&msg, sizeof(msg));
        msg.src_qpn    = it.qpn();
        msg.generation = 0;
        it.put(&msg, sizeof(msg));
    });
    EXPECT_EQ(before.malformed + 1, counters().malformed);
}

/* The times of the link model: one that says that it comes in an hour, or takes so long, or that there
 * are many, keeps no others waiting. */
TEST_F(test_softhca_hostile, times)
{
    const uint64_t HOUR = 3600 * 1000000000ul;

    set("SOFTHCA_LINK", "latency=1us");
    attack([&](attacker &it, const node_address &a, const node_address &b) {
        for (uint64_t far : {HOUR, UINT64_MAX / 2, UINT64_MAX}) {
            for (uint8_t type : {SH_MSG_REQUEST, SH_MSG_ANSWER, SH_MSG_DATAGRAM}) {
                for (uint32_t qpn : {a.qpn, b.qpn}) {
                    sh_msg_t msg = it.message();

                    msg.type    = type;
                    msg.opcode  = IBV_WR_SEND;
                    msg.dst_qpn = qpn;
                    msg.dlid    = a.lid;
                    msg.length  = 8;
                    msg.wire    = far;
                    it.put(&msg, sizeof(msg));
                    msg.wire = 1000;
                    msg.sent = far;
                    it.put(&msg, sizeof(msg));
                }
            }
            ASSERT_TRUE(it.looked_at());
        }
        for (int i = 0; i < 3000; ++i) {
            sh_msg_t msg = it.message();

            msg.type    = SH_MSG_DATAGRAM;
            msg.dst_qpn = a.qpn;
            msg.length  = SH_MAX_MTU + 1;
            msg.wire    = 5 * 1000000000ul; /* within what an honest one may take */
            it.put(&msg, sizeof(msg));
            ASSERT_TRUE((i % 100 != 99) || it.looked_at());
        }
    });
}
