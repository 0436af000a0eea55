/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ud plane between two processes, each with a device of its own: messages both ways at the same
 * time, all of whose memory is looked at. On whatever two devices RI_TEST_DEVICES names
 * (`rxe0,rxe1`; the network between them may lose, damage, repeat and reorder what it likes), with
 * faults on the software HCA (LD_PRELOAD=test/bin/libsofthca.so), or on any single device. What
 * both processes do follows from the seed, RI_TEST_SEED. The tests run src/uct/ib/ud/ud_place.c,
 * too.
 */

#include "ud_test.h"

#if HAVE_VERBS

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <sys/socket.h>

namespace {

const unsigned MESSAGES_MAX = 1000;

/* What the two have in common. The target of a message is valid when it is published. */
struct exchange {
    ri_ud_address_t address[2];
    std::atomic<int> has_address[2], has_ended[2], is_closed[2];
    ri_ud_target_t target[MESSAGES_MAX];
    std::atomic<int> is_published[MESSAGES_MAX];
};

struct pair_params {
    unsigned messages = 200;
    unsigned at_once  = 8;
    size_t most       = 100000; /* bytes of a message */
    unsigned lists    = 20;     /* percent */
    bool can_restart  = true;
};

/* One process's part in a message; either has all that follows from the message's seed. */
class part {
public:
    part(exchange *x, unsigned index, uint64_t seed, int side, ud_node &node,
         ri_plane_ep_t *ep, const pair_params &p)
        : m_x(x), m_index(index), m_random(seed), m_ep(ep)
    {
        m_is_sender = m_random.percent(50) == (side == 0);
        m_length    = m_random.range(1, m_random.percent(50) ? p.most : 10000);
        m_bytes.resize(m_length);
        for (uint8_t &byte : m_bytes) {
            byte = m_random.next();
        }
        m_memory.reset(new ud_buffer(node.plane, 2 * m_length + 8192));
        memset(m_memory->data(), 0xa5, m_memory->size());
        rng own(2 * seed + m_is_sender); /* either side's memory is cut in its own way */
        m_list = ud_cut(own, *m_memory, m_length, own.percent(p.lists));
        m_expected.assign(m_memory->data(), m_memory->data() + m_memory->size());
        put_bytes(m_is_sender ? m_memory->data() : m_expected.data());
        op.then = [this]() { go_on(); };
    }

    void start()
    {
        ucs_status_t status;

        if (m_is_sender) {
            return;
        }
        status = op.recv(m_ep, m_list, m_memory->key(), m_length);
        if (status == UCS_OK) {
            publish();
        } else {
            ASSERT_EQ(UCS_INPROGRESS, status);
        }
    }

    /* A sender begins when it has the target. */
    void poll()
    {
        if (m_is_sender && !op.begun && m_x->is_published[m_index].load()) {
            ASSERT_EQ(UCS_INPROGRESS, op.send(m_ep, m_list, m_memory->key(), m_length,
                                              m_x->target[m_index]));
        }
    }

    bool ended() const { return op.ends > 0; }

    /* All of a receiver's memory, what is not of the message too. */
    void check() const
    {
        ASSERT_EQ(UCS_OK, op.status);
        if (!m_is_sender) {
            ASSERT_EQ(0, memcmp(m_expected.data(), m_memory->data(), m_memory->size()));
        }
    }

    ud_op op;

private:
    void publish()
    {
        m_x->target[m_index] = op.target;
        m_x->is_published[m_index].store(1);
    }

    void go_on()
    {
        if (op.ends == 0) {
            publish();
        } else {
            check(); /* at once: nothing may be missing when it has ended */
        }
    }

    /* The message at its places in memory, or in a copy of it. */
    void put_bytes(uint8_t *memory) const
    {
        size_t pos = 0;

        for (const ri_segment_t &s : m_list) {
            std::copy_n(m_bytes.data() + pos, s.length,
                        memory + (s.address - (uintptr_t)m_memory->data()));
            pos += s.length;
        }
    }

    exchange *m_x;
    unsigned m_index;
    rng m_random;
    ri_plane_ep_t *m_ep;
    bool m_is_sender;
    size_t m_length;
    std::vector<uint8_t> m_bytes, m_expected;
    std::unique_ptr<ud_buffer> m_memory;
    segments m_list;
};

class test_ud_pair : public ud_test {
protected:
    static std::string device(int side)
    {
        const char *names = getenv("RI_TEST_DEVICES");
        std::string all   = (names == nullptr) ? "all,all" : names;
        size_t comma      = all.find(',');

        return (side == 0) ? all.substr(0, comma) : all.substr(comma + 1);
    }

    /* One of the two processes. */
    static void be_side(exchange *x, int side, const pair_params &p)
    {
        const char *text = getenv("RI_TEST_SEED");
        uint64_t seed    = (text == nullptr) ? 1 : strtoull(text, nullptr, 0);
        std::string name = device(side);
        auto both        = [](std::atomic<int> *a) { return a[0].load() && a[1].load(); };
        ri_plane_ep_t *ep = nullptr;
        ud_node node;

        if (getenv("RI_TEST_VERBOSE") != nullptr) {
            ri_log_level = RI_LOG_LEVEL_DEBUG;
        }
        ri_config.ib_devices = const_cast<char *>(name.c_str());
        ASSERT_TRUE(node.open());
        ep = node.prepare(&x->address[side]);
        x->has_address[side].store(1);
        wait({&node}, [&]() { return both(x->has_address); });
        ASSERT_EQ(UCS_OK, node.connect(ep, x->address[!side]));
        exchange_messages(x, side, seed, node, ep, p);

        /* The other one may still ask whether something has arrived */
        x->has_ended[side].store(1);
        wait({&node}, [&]() { return both(x->has_ended); });
        EXPECT_TRUE(node.all_home());
        if (!p.can_restart) {
            EXPECT_EQ(0u, node.counters()->ud_restarts);
            /* Of a few pieces any may get lost, more than once */
            EXPECT_LE(node.counters()->ud_resent, 10 + node.counters()->ud_sent / 4);
        }
        print(side, node);
        node.close();
    }

    static void exchange_messages(exchange *x, int side, uint64_t seed, ud_node &node,
                                  ri_plane_ep_t *ep, const pair_params &p)
    {
        std::vector<std::unique_ptr<part>> all;
        size_t first = 0;

        while (!HasFailure() && (first < p.messages)) {
            if ((all.size() < p.messages) && (all.size() < first + p.at_once)) {
                all.emplace_back(new part(x, all.size(), seed * MESSAGES_MAX + all.size(),
                                          side, node, ep, p));
                all.back()->start();
            }
            wait({&node}, [&]() {
                for (size_t i = first; i < all.size(); ++i) {
                    all[i]->poll();
                }
                while ((first < all.size()) && all[first]->ended()) {
                    ++first;
                }
                return HasFailure() ||
                       (all.size() < std::min<size_t>(p.messages, first + p.at_once)) ||
                       (first == p.messages);
            });
        }
        for (auto &one : all) {
            one->check();
        }
    }

    static void print(int side, const ud_node &node)
    {
        if (getenv("RI_TEST_VERBOSE") == nullptr) {
            return;
        }
        printf("side %d:", side);
#define PRINT(_name, _unit, _doc) \
    printf(" %s=%lu", #_name, (unsigned long)node.counters()->_name);
        RI_UD_COUNTERS(PRINT)
#undef PRINT
        printf("\n");
    }

    /* Both processes, with more in their environment. */
    static void run(const char *faults, const pair_params &p = pair_params(),
                    environment env = {})
    {
        void *map = mmap(nullptr, sizeof(exchange), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        int status;
        pid_t pid;

        SCOPED_TRACE(faults);
        ASSERT_NE(MAP_FAILED, map);
        env["SOFTHCA_FAULTS"] = faults;
        if ((getenv("RI_TEST_DEVICES") == nullptr) && env.count("SOFTHCA_DEVICES") &&
            (dlsym(RTLD_DEFAULT, "softhca_get_counters") != nullptr)) {
            env["RI_TEST_DEVICES"] = "softhca0,softhca1";
        }
        auto *x = new (map) exchange();
        pid     = fork();
        ASSERT_GE(pid, 0);
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            in_process(env, [&]() { be_side(x, 1, p); });
            _exit(HasFailure());
        }
        in_process(env, [&]() { be_side(x, 0, p); });
        if (HasFailure()) {
            kill(pid, SIGKILL); /* it waits for what never comes */
        }
        ASSERT_EQ(pid, waitpid(pid, &status, 0));
        EXPECT_TRUE(IsSkipped() || (WIFEXITED(status) && (WEXITSTATUS(status) == 0)))
                << status;
        munmap(map, sizeof(exchange));
    }
};

TEST_F(test_ud_pair, messages)
{
    run("");
}

TEST_F(test_ud_pair, large)
{
    pair_params p;

    ri_config.ud_window = 256;
    p.messages          = 6;
    p.at_once           = 3;
    p.most              = 2ul << 20;
    run("", p);
}

/* Fewer queue pairs than messages, and windows of the least size. */
TEST_F(test_ud_pair, small_pool)
{
    pair_params p;

    ri_config.ud_qps    = 1;
    ri_config.ud_window = 4;
    p.messages          = 60;
    p.most              = 40000;
    run("", p);
}

/* What the software HCA does of itself; others have it from their network. */
TEST_F(test_ud_pair, faults)
{
    run("ud_drop=2%,ud_dup=2%,ud_reorder=5%/8,ud_delay=1%/5ms");
}

/* A network that takes far longer for a window than a receiver waits before it asks. */
TEST_F(test_ud_pair, slow_network)
{
    pair_params p;

    ri_config.ud_window = 256;
    p.messages          = 6;
    p.at_once           = 3;
    p.most              = 2ul << 20;
    p.can_restart       = false;
    run("ud_drop=5%", p, {{"SOFTHCA_LINK", "bandwidth=4MB/s,latency=10ms"}});
}

/* Between two ports, with either form of the 40 bytes in front of a datagram. */
TEST_F(test_ud_pair, roce)
{
    for (const char *layer : {"ethernet", "ethernet_ipv4"}) {
        run("ud_drop=1%", pair_params(),
            {{"SOFTHCA_LINK_LAYER", layer}, {"SOFTHCA_DEVICES", "2"}});
    }
}

} // namespace

#endif
