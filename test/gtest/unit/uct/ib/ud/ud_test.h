/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the tests of the ud plane on a device have in common: planes with ways between them, and
 * transfers whose memory is looked at to the end. Each test runs in a process of its own, as
 * the software HCA reads its faults once.
 */
#ifndef RI_UD_TEST_H
#define RI_UD_TEST_H

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <limits> /* verbs.h wants it in C++, and not as C */

extern "C" {
#include "uct/ib/device/verbs.h"
}

#if HAVE_VERBS

#include <map>
#include <memory>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucs/sys/string.h>
#include <unistd.h>
#include <vector>

extern "C" {
#include "uct/ib/ud/ud_base.h"
#include "uct/ib/ud/ud_cancel.h"
#include "uct/ib/ud/ud_control.h"
#include "uct/ib/ud/ud_heard.h"
#include "uct/ib/ud/ud_number.h"
#include "uct/ib/ud/ud_queue.h"
#include "uct/ib/ud/ud_recv.h"
#include "uct/ib/ud/ud_send.h"
#include "uct/ib/ud/ud_way.h"
}

typedef std::vector<ri_segment_t> segments;
typedef std::map<std::string, std::string> environment;

/* A plane, and its ways to others. */
struct ud_node {
    ri_plane_t *plane = nullptr;
    std::vector<ri_plane_ep_t *> eps;

    bool open() { return ri_plane_ud.open(&plane) == UCS_OK; }

    ri_plane_ep_t *prepare(ri_ud_address_t *address)
    {
        ri_plane_ep_t *ep = nullptr;

        EXPECT_EQ(UCS_OK, ri_plane_ud.prepare(plane, &ep));
        EXPECT_EQ(sizeof(*address), ri_plane_ud.ep_address(ep, address));
        eps.push_back(ep);
        return ep;
    }

    ucs_status_t connect(ri_plane_ep_t *ep, const ri_ud_address_t &to)
    {
        return ri_plane_ud.connect(plane, &to, sizeof(to), &ep);
    }

    ri_ud_plane_t *ud() const { return ri_container_of(plane, ri_ud_plane_t, ib.super); }
    const ri_ud_counters_t *counters() const { return plane->ops->ud->counters(plane); }

    bool all_home() const
    {
        return ud()->pool.count == ucs_list_length(&ud()->pool.idle);
    }

    unsigned progress() { return ri_plane_ud.progress(plane); }

    void close()
    {
        for (ri_plane_ep_t *ep : eps) {
            ri_plane_ud.disconnect(ep);
        }
        eps.clear();
        ri_plane_ud.close(plane);
        plane = nullptr;
    }
};

/* A way between two nodes: both ends. */
struct ud_way {
    ri_plane_ep_t *ep[2];

    void join(ud_node &a, ud_node &b)
    {
        ri_ud_address_t address[2];

        ep[0] = a.prepare(&address[0]);
        ep[1] = b.prepare(&address[1]);
        ASSERT_EQ(UCS_OK, a.connect(ep[0], address[1]));
        ASSERT_EQ(UCS_OK, b.connect(ep[1], address[0]));
    }
};

/* Memory with pages of its own, registered for a plane. */
class ud_buffer {
public:
    ud_buffer(ri_plane_t *plane, size_t length, int flags = MAP_PRIVATE)
        : m_plane(plane), m_size(length)
    {
        m_data = (uint8_t *)mmap(nullptr, length, PROT_READ | PROT_WRITE,
                                 flags | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(MAP_FAILED, (void *)m_data);
        EXPECT_EQ(UCS_OK, ri_plane_ud.reg(plane, m_data, length, &m_memory));
    }
    ~ud_buffer()
    {
        ri_plane_ud.release(m_plane, &m_memory);
        munmap(m_data, m_size);
    }
    ud_buffer(const ud_buffer &)            = delete;
    ud_buffer &operator=(const ud_buffer &) = delete;

    uint8_t *data() const { return m_data; }
    size_t size() const { return m_size; }
    uint32_t key() const { return m_memory.local_key; }

private:
    ri_plane_t *m_plane;
    ri_plane_memory_t m_memory = {};
    uint8_t *m_data;
    size_t m_size;
};

/* One side of a transfer; it must end exactly once if it begins. */
struct ud_op {
    ri_ud_op_t super;
    ucs_status_t status = UCS_INPROGRESS;
    int begun = 0, ends = 0, readies = 0;
    ri_ud_target_t target = {};
    std::function<void()> then; /* is called when it is ready, or ends */

    ud_op()
    {
        super.ready = ready;
        super.done  = done;
        super.heard = 0;
    }
    ud_op(const ud_op &)            = delete;
    ud_op &operator=(const ud_op &) = delete;
    ~ud_op() { EXPECT_EQ(begun, ends); }

    /* For another transfer, when the one before has ended. */
    void renew()
    {
        EXPECT_EQ(begun, ends);
        begun = ends = readies = 0;
        status                 = UCS_INPROGRESS;
        super.heard            = 0;
    }

    ucs_status_t recv(ri_plane_ep_t *ep, segments list, uint32_t key, size_t length,
                      bool is_offer = false)
    {
        std::vector<uint32_t> keys(list.size(), key);
        ri_ud_list_t l      = {list.data(), keys.data(), list.size(), length};
        ucs_status_t result = ri_ud_queue_recv(ep, &l, is_offer, &super, &target);

        begun = (result == UCS_OK) || (result == UCS_INPROGRESS);
        if (result == UCS_OK) {
            ++readies;
        }
        return result;
    }

    ucs_status_t send(ri_plane_ep_t *ep, segments list, uint32_t key, size_t length,
                      const ri_ud_target_t &to)
    {
        std::vector<uint32_t> keys(list.size(), key);
        ri_ud_list_t l      = {list.data(), keys.data(), list.size(), length};
        ucs_status_t result = ri_ud_send(ep, &l, &to, &super);

        begun = result == UCS_INPROGRESS;
        EXPECT_EQ(0, ends) << "ended within the call";
        return result;
    }

    static void ready(ri_ud_op_t *super, const ri_ud_target_t *target)
    {
        ud_op *op = reinterpret_cast<ud_op *>(super);

        op->target = *target;
        ++op->readies;
        if (op->then) {
            op->then();
        }
    }

    static void done(ri_ud_op_t *super, ucs_status_t status)
    {
        ud_op *op = reinterpret_cast<ud_op *>(super);

        op->status = status;
        ++op->ends;
        if (op->then) {
            op->then();
        }
    }
};

/* A message's memory in a buffer of twice its length and more: one piece, or a list of pieces
 * with gaps, some of them empty. */
inline segments ud_cut(rng &random, const ud_buffer &buffer, size_t length, bool is_list)
{
    uintptr_t at  = (uintptr_t)buffer.data() + random.below(4096);
    uintptr_t end = (uintptr_t)buffer.data() + buffer.size();
    segments list;

    if (!is_list) {
        return {{at, length}};
    }
    while (length > 0) {
        size_t part = random.percent(10) ? 0 :
                      random.percent(30) ? random.range(1, 100) :
                                           random.range(1, length);

        part = std::min(part, length);
        list.push_back({at, part});
        at += part;
        length -= part;
        if (at + length < end - 100) {
            at += random.below(100);
        }
    }
    return list;
}

class ud_test : public ::testing::Test {
protected:
    void SetUp() override
    {
        const char *gid =
                getenv("RI_TEST_GID_INDEX"); /* of another device than softhca */

        ri_config.ib_devices   = const_cast<char *>("all");
        ri_config.ib_gid_index = (gid == nullptr) ? UCS_ULUNITS_AUTO : atoi(gid);
        ri_config.reg_cache    = 0;
        ri_config.ud_qps       = 8;
        ri_config.ud_window    = 64;
        ri_config.ud_timeout   = 0;
        ri_config.ud_repair    = 1;
    }

    /* Run something in a process of its own, with more in its environment. */
    static void in_process(const environment &env, const std::function<void()> &func,
                           unsigned limit = 250)
    {
        int status;
        pid_t pid;

        fflush(nullptr);
        pid = fork();
        ASSERT_GE(pid, 0);
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(limit);
            for (const auto &e : env) {
                setenv(e.first.c_str(), e.second.c_str(), 1);
            }
            if (!has_device()) {
                _exit(77);
            }
            func();
            fflush(nullptr);
            _exit(::testing::Test::HasFailure());
        }
        ASSERT_EQ(pid, waitpid(pid, &status, 0));
        if (WIFEXITED(status) && (WEXITSTATUS(status) == 77)) {
            GTEST_SKIP() << "no RDMA device (LD_PRELOAD=test/bin/libsofthca.so is one)";
        }
        EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0)) << status;
    }

    static bool has_device()
    {
        struct ibv_device **list;
        int count = 0;

        if (ri_verbs_resolve() != UCS_OK) {
            return false;
        }
        list = ri_verbs.get_device_list(&count);
        if (list != nullptr) {
            ri_verbs.free_device_list(list);
        }
        return count > 0;
    }

    /* Until a condition holds; what does not happen for so long never does. */
    static void wait(const std::vector<ud_node *> &nodes,
                     const std::function<bool()> &cond, double limit = 200)
    {
        for (double start = ri_clock_now(); !cond();) {
            unsigned any = 0;

            for (ud_node *node : nodes) {
                any += node->progress();
            }
            if (any == 0) {
                usleep(10);
            }
            ASSERT_LT(ri_clock_now(), start + limit) << "something never ends";
        }
    }
};

#endif

#endif
