/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * An RDMA device made by the test: a table of verbs functions behind which both ends are in
 * this process. Work requests wait in their queue until the test lets some of them run, or
 * run when completions are asked for; they fail when the test says so. What a real device
 * would not allow is a failure of the test: a queue that is too full, a completion queue
 * that overruns, too many segments, or an object that is destroyed before those that use it.
 */
#ifndef RI_TEST_FAKE_VERBS_H
#define RI_TEST_FAKE_VERBS_H

#include "unit/common/ri_cpp.h"
#include "unit/common/setting.h"

#include <limits> /* verbs.h wants it in C++, and not as C */

extern "C" {
#include "uct/ib/device/verbs.h"
}

#if HAVE_VERBS

#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "ucs/clock.h"
#include "uct/ib/device/device.h"
#include "uct/ib/rc/rc_base.h"
#include "uct/ib/rc/rc_end.h"
}

namespace fake {

struct hca_gid {
    union ibv_gid gid;
    uint32_t type;
};

/* What a port says. */
struct hca_port {
    hca_port();

    struct ibv_port_attr attr = {};
    std::vector<hca_gid> gids;
    std::vector<uint16_t> pkeys{0xffff};
};

/* What a device says. */
struct hca_device {
    explicit hca_device(const std::string &name);

    struct ibv_device super     = {};
    struct ibv_device_attr attr = {};
    std::vector<hca_port> ports{1};
};

struct hca_qp;
struct hca_cq;

/* All devices of the machine, and what happens in them. There is one at a time. */
class hca {
public:
    hca();
    ~hca();

    /* Devices that are found; a mlx5_0 at first. */
    std::vector<std::unique_ptr<hca_device>> devices;

    hca_device &device() { return *devices.at(0); }
    hca_port &port() { return device().ports.at(0); }

    /* Let up to @a count work requests run, of each queue; those of one in order. */
    void run(unsigned count = ~0u);

    /* Events that nobody has read, and how many of those that were are not acknowledged. */
    std::deque<struct ibv_async_event> events;
    unsigned unacked = 0;

    /* The device tells of an event, about a queue pair or nothing. */
    void raise(enum ibv_event_type type, struct ibv_qp *qp = nullptr)
    {
        struct ibv_async_event event = {};

        event.event_type = type;
        event.element.qp = qp;
        events.push_back(event);
    }

    /* The queue pair of a number, NULL if it does not exist. */
    hca_qp *find(uint32_t number);

    /* How it behaves. */
    bool automatic      = true;  /* all run when completions are asked for */
    bool flush_late     = false; /* only when the queue pair is destroyed */
    bool stale          = false; /* what is flushed by destroying is still completed */
    int poll_error      = 0;     /* what poll returns instead, if negative */
    int modify_error    = 0;     /* of modify_qp, to... */
    int modify_error_to = -1;    /* this state */
    int create_qp_error = 0;
    unsigned max_inline = 256; /* bytes that a work request can hold */
    int create_cq_error = 0;
    int alloc_pd_error  = 0;
    int open_error      = 0;
    int reg_error       = 0;        /* of all registrations */
    size_t max_mrs      = SIZE_MAX; /* more fail with ENOMEM */

    /* Registering for writing fails there. */
    const void *read_only = nullptr;

    /* The work request of this number, counted from 1 over all, fails when it is posted, or
     * when it runs. */
    unsigned fail_post       = 0;
    unsigned fail_run        = 0;
    enum ibv_wc_status fails = IBV_WC_RETRY_EXC_ERR;

    /* What was done. */
    unsigned posts     = 0; /* calls */
    unsigned posted    = 0; /* work requests */
    unsigned signalled = 0; /* among these */
    unsigned inlined   = 0; /* work requests with their data in them */
    unsigned ran       = 0;
    unsigned polls     = 0;
    unsigned opens     = 0;
    unsigned lists     = 0; /* of devices that were asked for */
    unsigned regs      = 0;

    /* What exists. */
    unsigned contexts = 0;
    unsigned pds      = 0;
    std::map<uint32_t, hca_qp *> qps;
    std::map<uint32_t, struct ibv_mr *> mrs;
    std::map<uint32_t, int> access; /* of mrs */
    unsigned cqs        = 0;
    uint32_t next_qp    = 0x40;
    uint32_t next_key   = 0x100;
    uint64_t flags_seen = 0; /* all that work requests ever had */

    static hca *current;

private:
    setting<ri_verbs_t> m_verbs;
};

struct hca_qp {
    struct ibv_qp super;
    struct ibv_qp_cap cap;
    struct ibv_qp_attr attr;
    hca_cq *cq;

    struct request {
        struct ibv_send_wr wr;
        std::vector<struct ibv_sge> sges;
        std::vector<uint8_t> inlined; /* what it holds itself */
    };
    std::deque<request> queue; /* that have not run */
    unsigned in_queue = 0;     /* whose place is not known to be free */
    std::deque<std::pair<uint64_t, unsigned>> places;

    /* Completed without anybody knowing, since the last completion */
    unsigned silent = 0;
};

struct hca_cq {
    struct ibv_cq super;
    std::deque<struct ibv_wc> entries;
    unsigned qps = 0;
};

} // namespace fake

#endif

#endif
