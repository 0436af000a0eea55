/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who is woken for what: an acknowledgement waits for the next poll, and is not missed by who
 * has other means to learn of it.
 */
#include "hca.h"

#include <chrono>
#include <poll.h>
#include <thread>

class test_softhca_wake : public softhca_test {
protected:
    static constexpr int COUNT = 20;

    static void pause(int ms)
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    }

    /* Another process that takes as many messages as are sent to it, and ends. */
    pid_t start_receiver()
    {
        return spawn([&] {
            node b;

            m_to_parent.put(b.address());
            b.connect(m_to_child.get());
            for (int i = 0; i < COUNT; ++i) {
                EXPECT_EQ(0, b.recv(0, 1000));
            }
            m_to_parent.put(b.address());
            for (int i = 0; i < COUNT; ++i) {
                EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
            }
            return true;
        });
    }

    void meet(node &a)
    {
        a.connect(m_to_parent.get());
        m_to_child.put(a.address());
        m_to_parent.get();
    }

    void send_all(node &a)
    {
        for (int i = 0; i < COUNT; ++i) {
            ASSERT_EQ(0, a.send(0, 1000));
            pause(1);
        }
    }

    /* Nobody polls, nor may anybody before the event comes. */
    static bool has_event(const node &n)
    {
        struct pollfd pollfd = {n.channel->fd, POLLIN, 0};

        return ::poll(&pollfd, 1, WAIT_MS) == 1;
    }

    static void take_event(const node &n)
    {
        struct ibv_cq *cq = nullptr;
        void *context     = nullptr;

        EXPECT_EQ(0, ibv_get_cq_event(n.channel, &cq, &context));
        ibv_ack_cq_events(cq, 1);
    }

    mailbox m_to_child, m_to_parent;
};

/* The agent sleeps all the time, but for its own timers. With the link, and without. */
TEST_F(test_softhca_wake, acknowledgements_wake_nobody)
{
    SOFTHCA_ONLY("its counters");
    for (const char *link : {"none", "ddr"}) {
        set("SOFTHCA_LINK", link);
        pid_t pid = start_receiver();
        node a;
        meet(a);
        pause(5);
        uint64_t sleeps = counters().sleeps;
        send_all(a);
        EXPECT_LT(counters().sleeps - sleeps, COUNT / 2u);
        for (int i = 0; i < COUNT; ++i) {
            EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        }
        EXPECT_TRUE(ended_well(pid));
    }
}

/* What somebody acknowledged before it ended counts, whenever that is looked at. */
TEST_F(test_softhca_wake, acknowledged_by_who_has_ended)
{
    SOFTHCA_ONLY("its settings");
    for (const char *link : {"none", "ddr"}) {
        set("SOFTHCA_LINK", link);
        pid_t pid = start_receiver();
        node a;
        meet(a);
        send_all(a);
        EXPECT_TRUE(ended_well(pid));
        for (int i = 0; i < COUNT; ++i) {
            EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        }
    }
}

/* A queue that is armed, before or after the acknowledgement has come: for what is there already
 * some adapters give an event, as softhca, and some do not. */
TEST_F(test_softhca_wake, armed)
{
    node_params params;

    params.channel = true;
    for (bool late : {false, true}) {
        if (late && !on_softhca()) {
            continue;
        }
        for (const char *link : {"none", "ddr"}) {
            set("SOFTHCA_LINK", link);
            node a(params), b;
            connect(a, b);
            for (int i = 0; i < COUNT; ++i) {
                ASSERT_EQ(0, b.recv(0, 1000));
                if (!late) {
                    ASSERT_EQ(0, ibv_req_notify_cq(a.cq, 0));
                }
                ASSERT_EQ(0, a.send(0, 1000));
                if (late) {
                    pause(i % 3);
                    ASSERT_EQ(0, ibv_req_notify_cq(a.cq, 0));
                }
                ASSERT_TRUE(has_event(a)) << "message " << i;
                take_event(a);
                EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
                EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
            }
        }
    }
}

/* An event for a receive comes as well, whenever its queue is armed. */
TEST_F(test_softhca_wake, armed_receiver)
{
    node_params params;

    params.channel = true;
    for (bool late : {false, true}) {
        if (late && !on_softhca()) {
            continue;
        }
        set("SOFTHCA_LINK", "latency=1ms");
        node a, b(params);
        connect(a, b);
        for (int i = 0; i < COUNT; ++i) {
            ASSERT_EQ(0, b.recv(0, 1000));
            if (!late) {
                ASSERT_EQ(0, ibv_req_notify_cq(b.cq, 0));
            }
            ASSERT_EQ(0, a.send(0, 1000));
            if (late) {
                pause(i % 3);
                ASSERT_EQ(0, ibv_req_notify_cq(b.cq, 0));
            }
            ASSERT_TRUE(has_event(b)) << "message " << i;
            take_event(b);
            EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
            EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        }
    }
}

/* Requests behind the limit of reads are sent when the ones before are answered, though nobody
 * polls: the last one's data come. */
TEST_F(test_softhca_wake, waiting_requests)
{
    node_params params;

    params.max_rd_atomic = 1;
    for (const char *link : {"none", "ddr"}) {
        set("SOFTHCA_LINK", link);
        node a(params), b(params);
        connect(a, b);
        for (int i = 0; i < COUNT; ++i) {
            *b.at(i)        = 'x';
            *a.at(1000 + i) = 0;
            ASSERT_EQ(0, a.rdma(IBV_WR_RDMA_READ, 1000 + i, 1, b.address(), i));
        }
        volatile char *last = a.at(1000 + COUNT - 1);
        for (int i = 0; (i < WAIT_MS) && (*last != 'x'); ++i) {
            pause(1);
        }
        EXPECT_EQ('x', *last);
        for (int i = 0; i < COUNT; ++i) {
            EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        }
    }
}
