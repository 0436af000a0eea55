/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A process that reaches memory of its own as another host would: what it sends to the worker for
 * windows comes back to itself, when the test wants it. A table of functions stands for UCX.
 */
#ifndef RI_TEST_FAKE_WINDOW_NET_H
#define RI_TEST_FAKE_WINDOW_NET_H

#include "unit/common/rng.h"
#include "unit/common/setting.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <string>
#include <vector>

/* What UCX was given, and has not done. */
struct net_message {
    std::vector<uint8_t> header, data;
};

struct net_move {
    void *request;
    std::function<void()> copy;
    ucp_request_param_t param;
    bool is_put;
};

/* UCX, as long as this lives. */
class net_ucx {
public:
    net_ucx();
    ~net_ucx();

    /* Deliver one message. */
    void deliver();

    /* End one move or flush. */
    void finish(ucs_status_t status = UCS_OK);

    void deliver(const net_message &message);

    std::deque<net_message> sent;
    std::deque<net_move> moves;
    bool delivers    = true; /* in progress */
    bool finishes    = true;
    bool sends_later = false; /* sends end as moves do, and messages are sent then */
    int num_eps = 0, num_closed = 0, num_keys = 0, num_mapped = 0, num_requests = 0;
    int num_contexts   = 0;
    int num_flushes    = 0;      /* that have begun */
    int num_early      = 0;      /* puts that had not ended when a flush began */
    ucs_status_t fails = UCS_OK; /* of what is started next */
    ucp_err_handler_t error;     /* of the latest endpoint */
    ucp_am_recv_callback_t handler;

private:
    setting<ri_stock_t> m_stock;
};

/* The process, and a window whose memory it has. */
class window_net_test : public ::testing::Test {
protected:
    ri_window_fate_t ask(const ri_mailbox_head_t &head, const void *data, void *result)
    {
        return m_ops->reach.ask(m_reach, &head, data, result, 1);
    }

    ri_window_fate_t put(size_t offset, const void *data, size_t length)
    {
        return m_ops->reach.put(m_reach, 0, (uint64_t)m_memory.data() + offset, data,
                                length);
    }

    ri_window_fate_t get(size_t offset, void *data, size_t length)
    {
        return m_ops->reach.get(m_reach, 0, (uint64_t)m_memory.data() + offset, data,
                                length);
    }

    ri_window_fate_t settle() { return m_ops->reach.settle(m_reach); }

    static constexpr size_t SIZE = 65536;

    window_net_test();
    ~window_net_test() override;

    /* Let others reach the memory, or with a size of 0 what has() says. @return A reach. */
    void *connect(size_t size = SIZE);

    static int has(void *arg, uint64_t address, size_t length);
    static int apply(void *arg, const ri_mailbox_head_t *head, uint8_t *data);
    static ri_window_served_t command(void *arg, const ri_window_command_t *command,
                                      uint64_t *state);

    /* An operation that adds its bytes to those of the memory, and returns what they were. */
    ri_mailbox_head_t add(size_t offset, size_t length) const;

    net_ucx m_ucx;
    const ri_window_net_ops_t *m_ops;
    std::vector<uint8_t> m_memory;
    uint8_t *m_page   = nullptr; /* another 8 bytes of the window */
    uint64_t m_region = 0;
    void *m_shown     = nullptr;
    void *m_reach     = nullptr;
    int m_busy = 0, m_later = 0; /* so often */
    std::vector<uint64_t> m_applied;
    std::vector<ri_window_command_t> m_commands;
    std::vector<uint8_t> m_told;
};

#endif
