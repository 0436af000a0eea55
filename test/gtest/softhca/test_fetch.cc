/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Datagrams that the receiver's process fetches from the sender's memory (softhca/fetch.h): what a
 * sender sees of it, and what is left of one that stops, or goes, before it has happened. */
#include "hca.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <thread>

class test_softhca_fetch : public softhca_test {
protected:
    static constexpr uint32_t LENGTH = 2000;

    void SetUp() override
    {
        softhca_test::SetUp();
        SOFTHCA_ONLY("how it copies");
    }

    static node_params ud(bool channel = false)
    {
        node_params params;

        params.type    = IBV_QPT_UD;
        params.channel = channel;
        return params;
    }

    /* A node that sends to an address. */
    class sender {
    public:
        explicit sender(const node_address &to, bool channel = false)
            : n(ud(channel)), m_to(to)
        {
            struct ibv_ah_attr attr = path_to(to);

            n.connect(to);
            m_ah = ibv_create_ah(n.pd, &attr);
        }

        ~sender() { ibv_destroy_ah(m_ah); }

        void send(char value, uint32_t length = LENGTH, size_t offset = 0)
        {
            memset(n.at(offset), value, length);
            EXPECT_EQ(0, n.datagram(m_ah, m_to.qpn, offset, length));
        }

        void send_inline(char value, uint32_t length)
        {
            struct ibv_send_wr wr = {};

            memset(n.at(0), value, length);
            wr.opcode            = IBV_WR_SEND;
            wr.send_flags        = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
            wr.wr.ud.ah          = m_ah;
            wr.wr.ud.remote_qpn  = m_to.qpn;
            wr.wr.ud.remote_qkey = TEST_QKEY;
            EXPECT_EQ(0, n.post(wr, n.sge(0, length)));
        }

        node n;

    private:
        node_address m_to;
        struct ibv_ah *m_ah;
    };

    /* Receive one in a child. @return Whether it has these values, and there is no other. */
    static bool receives(node &n, char value)
    {
        struct ibv_wc wc = n.wait();

        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
        EXPECT_EQ(LENGTH + 40, wc.byte_len);
        for (uint32_t i = 0; i < LENGTH; ++i) {
            if (n.at(40)[i] != value) {
                ADD_FAILURE() << "byte " << i << " is " << +n.at(40)[i];
                break;
            }
        }
        EXPECT_TRUE(n.quiet());
        return !HasFailure();
    }

    /* Receive @a count messages in a child, where there is room for 2048 bytes each. All bytes of a
     * message are the same. @return That byte of each message. */
    static std::vector<char> receive_all(node &n, size_t count)
    {
        std::vector<char> values;

        while (values.size() < count) {
            struct ibv_wc wc = n.wait();
            const char *data = n.at(2048 * wc.wr_id + 40);

            EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
            if (wc.status != IBV_WC_SUCCESS) {
                break;
            }
            EXPECT_EQ((ptrdiff_t)wc.byte_len - 40,
                      std::count(data, data + wc.byte_len - 40, data[0]));
            values.push_back(data[0]);
        }
        EXPECT_TRUE(n.quiet());
        return values;
    }

    static void post_all(node &n, size_t count)
    {
        for (size_t i = 0; i < count; ++i) {
            EXPECT_EQ(0, n.recv(2048 * i, LENGTH + 40, i));
        }
    }

    /* Start a child that receives what has this value, and stop it before something comes. */
    void start_receiver(char value)
    {
        m_pid      = spawn([&] {
            node n(ud());

            n.connect(n.address());
            EXPECT_EQ(0, n.recv(0, LENGTH + 40));
            EXPECT_EQ(0, n.recv(4096, LENGTH + 40));
            m_from_child.put(n.address());
            m_to_child.get();
            return receives(n, value);
        });
        m_receiver = m_from_child.get();
        stop(m_pid);
    }

    static void stop(pid_t pid)
    {
        kill(pid, SIGSTOP);
        waitpid(pid, nullptr, WUNTRACED);
    }

    void go_on()
    {
        m_to_child.put(m_receiver);
        kill(m_pid, SIGCONT);
    }

    mailbox m_from_child, m_to_child;
    node_address m_receiver;
    pid_t m_pid;
};

TEST_F(test_softhca_fetch, sizes_and_pieces)
{
    node a(ud()), b(ud());

    a.connect(b.address());
    b.connect(a.address());
    struct ibv_ah_attr attr = path_to(b.address());
    struct ibv_ah *ah       = ibv_create_ah(a.pd, &attr);
    for (int i = 0; i < 65536; ++i) {
        a.at(0)[i] = static_cast<char>(i * 7 + i / 256);
    }
    for (uint32_t length : {511u, 512u, 513u, 2000u, 4096u}) {
        for (uint32_t first : {0u, 1u, length / 2, length - 1}) {
            /* In two pieces that are not in order */
            struct ibv_sge sges[2]    = {a.sge(30001, first), a.sge(3, length - first)};
            struct ibv_send_wr wr     = {}, *bad;
            struct ibv_sge targets[3] = {b.sge(0, 40), b.sge(50000, length / 3),
                                         b.sge(101, length - length / 3)};
            struct ibv_recv_wr recv   = {}, *bad_recv;

            recv.sg_list         = targets;
            recv.num_sge         = 3;
            wr.opcode            = IBV_WR_SEND;
            wr.send_flags        = IBV_SEND_SIGNALED;
            wr.sg_list           = sges;
            wr.num_sge           = 2;
            wr.wr.ud.ah          = ah;
            wr.wr.ud.remote_qpn  = b.qp->qp_num;
            wr.wr.ud.remote_qkey = TEST_QKEY;
            ASSERT_EQ(0, ibv_post_recv(b.qp, &recv, &bad_recv));
            ASSERT_EQ(0, ibv_post_send(a.qp, &wr, &bad));
            ASSERT_EQ(IBV_WC_SUCCESS, a.wait().status);
            ASSERT_EQ(length + 40, b.wait().byte_len);
            for (uint32_t i = 0; i < length; ++i) {
                char sent = (i < first) ? *a.at(30001 + i) : *a.at(3 + i - first);
                char here = (i < length / 3) ? *b.at(50000 + i) :
                                               *b.at(101 + i - length / 3);

                ASSERT_EQ(sent, here) << length << " " << first << " byte " << i;
            }
        }
    }
    ibv_destroy_ah(ah);
}

/* The memory is the program's again when it sees the completion, and so not before. */
TEST_F(test_softhca_fetch, complete_when_fetched)
{
    start_receiver(1);
    sender a(m_receiver);

    a.send(1);
    EXPECT_TRUE(a.n.quiet());
    go_on();
    EXPECT_EQ(IBV_WC_SUCCESS, a.n.wait().status);
    memset(a.n.at(0), 2, LENGTH);
    EXPECT_TRUE(ended_well(m_pid));
}

/* What is short is in the message. */
TEST_F(test_softhca_fetch, short_is_complete_at_once)
{
    start_receiver(1);
    sender a(m_receiver);

    a.send(3, 100);
    EXPECT_EQ(IBV_WC_SUCCESS, a.n.wait().status);
    kill(m_pid, SIGKILL);
    EXPECT_FALSE(ended_well(m_pid));
}

TEST_F(test_softhca_fetch, event_when_fetched)
{
    start_receiver(1);
    sender a(m_receiver, true);
    struct pollfd event = {a.n.channel->fd, POLLIN, 0};
    struct ibv_cq *cq;
    void *context;

    ASSERT_EQ(0, ibv_req_notify_cq(a.n.cq, 0));
    a.send(1);
    EXPECT_EQ(0, poll(&event, 1, 30));
    go_on();
    ASSERT_EQ(1, poll(&event, 1, WAIT_MS));
    ASSERT_EQ(0, ibv_get_cq_event(a.n.channel, &cq, &context));
    ibv_ack_cq_events(cq, 1);
    EXPECT_EQ(IBV_WC_SUCCESS, a.n.wait().status);
    EXPECT_TRUE(ended_well(m_pid));
}

/* A queue pair that is reset, breaks or goes has not sent it; that of the next sender is
 * received. */
TEST_F(test_softhca_fetch, ended_before)
{
    for (int how = 0; how < 3; ++how) {
        start_receiver(5);
        sender b(m_receiver);
        {
            sender a(m_receiver);

            a.send(1);
            if (how < 2) {
                a.n.set_state((how == 0) ? IBV_QPS_RESET : IBV_QPS_ERR);
                memset(a.n.at(0), 2, LENGTH);
            }
        }
        b.send(5);
        go_on();
        EXPECT_EQ(IBV_WC_SUCCESS, b.n.wait().status) << how;
        EXPECT_TRUE(ended_well(m_pid)) << how;
    }
}

/* It will not be fetched: the sender cannot know, as with adapters. */
TEST_F(test_softhca_fetch, receiver_killed)
{
    start_receiver(1);
    sender a(m_receiver);

    a.send(1);
    EXPECT_TRUE(a.n.quiet());
    kill(m_pid, SIGKILL);
    EXPECT_FALSE(ended_well(m_pid));
    EXPECT_EQ(IBV_WC_SUCCESS, a.n.wait().status);
}

/* It cannot be fetched any more: its receives are for who comes next. */
TEST_F(test_softhca_fetch, sender_killed)
{
    mailbox sent;

    start_receiver(5);
    pid_t pid = spawn([&] {
        sender a(m_receiver);

        a.send(1);
        a.send(2);
        sent.put(m_receiver);
        pause();
        return true;
    });
    sent.get();
    kill(pid, SIGKILL);
    EXPECT_FALSE(ended_well(pid));
    sender b(m_receiver);

    b.send(5);
    go_on();
    EXPECT_EQ(IBV_WC_SUCCESS, b.n.wait().status);
    EXPECT_TRUE(ended_well(m_pid));
}

/* One queue pair, and two receivers of which the first has stopped: what goes to the second does
 * not wait, but the completions come in their order. */
TEST_F(test_softhca_fetch, two_receivers)
{
    start_receiver(1);
    sender a(m_receiver);
    node b(ud());
    struct ibv_ah_attr attr = path_to(b.address());

    b.connect(b.address());
    ASSERT_EQ(0, b.recv(0, LENGTH + 40));
    a.send(1);
    struct ibv_ah *ah = ibv_create_ah(a.n.pd, &attr);
    memset(a.n.at(8192), 7, LENGTH);
    ASSERT_EQ(0, a.n.datagram(ah, b.qp->qp_num, 8192, LENGTH));
    EXPECT_TRUE(receives(b, 7));
    EXPECT_TRUE(a.n.quiet());
    go_on();
    EXPECT_EQ(IBV_WC_SUCCESS, a.n.wait().status);
    EXPECT_EQ(IBV_WC_SUCCESS, a.n.wait().status);
    EXPECT_TRUE(ended_well(m_pid));
    ibv_destroy_ah(ah);
}

/* What goes in another way keeps its turn. */
TEST_F(test_softhca_fetch, others_in_between)
{
    const std::vector<char> VALUES = {1, 2, 3, 4, 5, 6};

    m_pid      = spawn([&] {
        node n(ud());

        n.connect(n.address());
        post_all(n, VALUES.size());
        m_from_child.put(n.address());
        m_to_child.get();
        EXPECT_EQ(VALUES, receive_all(n, VALUES.size()));
        return !HasFailure();
    });
    m_receiver = m_from_child.get();
    stop(m_pid);
    sender a(m_receiver);

    for (char value : VALUES) {
        if (value % 3 == 2) {
            a.send_inline(value, 60);
        } else {
            a.send(value, (value % 3 == 0) ? 100 : LENGTH, 4096 * value);
        }
    }
    EXPECT_TRUE(a.n.quiet());
    go_on();
    for (size_t i = 0; i < VALUES.size(); ++i) {
        EXPECT_EQ(IBV_WC_SUCCESS, a.n.wait().status);
    }
    EXPECT_TRUE(ended_well(m_pid));
}

/* With faults that do more than drop them, datagrams carry their data: a receiver that has stopped
 * does not hold them up. It gets the same in both ways. */
TEST_F(test_softhca_fetch, with_faults_in_between)
{
    const struct {
        const char *faults;
        int times; /* that each comes */
        bool is_fetched;
    } PHASES[]      = {{"", 1, true},
                       {"ud_dup=1", 2, false},
                       {"", 1, true},
                       {"ud_delay=1/2ms", 1, false},
                       {"ud_reorder=1/2", 1, false},
                       {"ud_drop=0.000001%", 1, true}};
    const int COUNT = 8;

    m_pid      = spawn([&] {
        node n(ud());

        n.connect(n.address());
        for (const auto &phase : PHASES) {
            post_all(n, COUNT * phase.times);
            m_from_child.put(n.address());
            m_to_child.get();
            std::vector<char> values = receive_all(n, COUNT * phase.times);
            for (char value = 0; value < COUNT; ++value) {
                EXPECT_EQ(phase.times, std::count(values.begin(), values.end(), value))
                        << phase.faults;
            }
        }
        m_from_child.put(n.address());
        return !HasFailure();
    });
    m_receiver = m_from_child.get();
    for (const auto &phase : PHASES) {
        SCOPED_TRACE(phase.faults);
        set("SOFTHCA_FAULTS", phase.faults);
        sender a(m_receiver);
        auto complete = [&] {
            for (int i = 0; i < COUNT; ++i) {
                EXPECT_EQ(IBV_WC_SUCCESS, a.n.wait().status);
            }
        };

        stop(m_pid);
        for (int value = 0; value < COUNT; ++value) {
            a.send((char)value, LENGTH, 4096 * value);
        }
        if (phase.is_fetched) {
            EXPECT_TRUE(a.n.quiet());
        } else {
            complete();
        }
        go_on();
        if (phase.is_fetched) {
            complete();
        }
        m_receiver = m_from_child.get(); /* the late ones have come, too */
    }
    EXPECT_TRUE(ended_well(m_pid));
}
