/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Tag traffic between two processes, and what happens when one of them dies. */

#include "peer.h"

#include <cstring>

using namespace ucp_test;

namespace {

const std::vector<size_t> mixed_sizes = {8,  0,  41,  100,   1024,    8192, 9216,
                                         16, 40, 500, 65536, 4096,    1,    200000,
                                         64, 8,  8,   16384, 1048576, 0};

void ping_pong(endpoint_pair &p, bool first)
{
    for (size_t size : ALL_SIZES) {
        std::string in(size, '\0');
        const int rounds = (size > 65536) ? 10 : 100;

        for (int i = 0; i < rounds; ++i) {
            std::string out = pattern(size, i);
            for (int turn = 0; turn < 2; ++turn) {
                op_ptr o = ((turn == 0) == first) ? send(p.ep(), out.data(), size, i) :
                                                    recv(p.worker(), &in[0], size, i);
                p.wait(*o, "ping-pong");
                EXPECT_EQ(UCS_OK, o->status());
            }
            ASSERT_TRUE(in == out) << "size " << size << " round " << i;
        }
    }
}

/* Messages carry their number; the receiver must see them counting up. */
constexpr int STREAM = 20000;

size_t stream_size(int i)
{
    return sizeof(uint64_t) * (1 + ((i % 7 == 0) ? (i % 40) : 0));
}

void stream_send(endpoint_pair &p)
{
    constexpr int WINDOW = 256;
    std::vector<std::vector<uint64_t>> out(WINDOW, std::vector<uint64_t>(40));
    std::vector<op_ptr> ops(WINDOW);

    for (int i = 0; i < STREAM; ++i) {
        op_ptr &o = ops[i % WINDOW];
        if (o) {
            p.wait(*o, "stream send");
        }
        out[i % WINDOW].assign(40, i);
        o = send(p.ep(), out[i % WINDOW].data(), stream_size(i), 1);
    }
    p.wait_all(ops, "stream send");
}

void stream_recv(endpoint_pair &p)
{
    constexpr int WINDOW = 64;
    std::vector<std::vector<uint64_t>> in(WINDOW, std::vector<uint64_t>(40));
    std::vector<op_ptr> ops(WINDOW);
    auto post = [&](int i) {
        ops[i % WINDOW] = recv(p.worker(), in[i % WINDOW].data(), 40 * sizeof(uint64_t),
                               1);
    };

    for (int i = 0; i < WINDOW; ++i) {
        post(i);
    }
    for (int i = 0; i < STREAM; ++i) {
        op &o               = *ops[i % WINDOW];
        const auto &payload = in[i % WINDOW];
        p.wait(o, "stream receive");
        ASSERT_EQ(UCS_OK, o.status());
        ASSERT_EQ(stream_size(i), o.info().length);
        ASSERT_EQ(uint64_t(i), payload[0]);
        ASSERT_EQ(uint64_t(i), payload[stream_size(i) / sizeof(uint64_t) - 1]);
        if (i + WINDOW < STREAM) {
            post(i + WINDOW);
        }
    }
}

void both_ways(endpoint_pair &p)
{
    const size_t n = 20 * mixed_sizes.size();
    std::vector<std::string> out, in(n);
    std::vector<op_ptr> sends, recvs;

    for (size_t i = 0; i < n; ++i) {
        size_t size = mixed_sizes[i % mixed_sizes.size()];
        out.push_back(pattern(size, i));
        in[i].resize(size);
    }
    for (size_t i = 0; i < n; ++i) {
        /* Receives lead for the first half and trail in the second. */
        if (i < n / 2) {
            recvs.push_back(recv(p.worker(), &in[i][0], in[i].size(), i));
        }
        sends.push_back((i % 5) ? send(p.ep(), out[i].data(), out[i].size(), i) :
                                  send_sync(p.ep(), out[i].data(), out[i].size(), i));
        if (i % 16 == 0) {
            p.self().progress();
        }
    }
    for (size_t i = n / 2; i < n; ++i) {
        recvs.push_back(recv(p.worker(), &in[i][0], in[i].size(), i));
    }
    p.wait_all(recvs, "receives");
    p.wait_all(sends, "sends");
    for (size_t i = 0; i < n; ++i) {
        EXPECT_EQ(out[i].size(), recvs[i]->info().length);
        EXPECT_TRUE(in[i] == out[i]) << "message " << i;
    }
}

void ping_pong_role(peer_env &env)
{
    endpoint_pair p(env.ch, env.tr);
    ping_pong(p, false);
    p.close();
}

void stream_role(peer_env &env)
{
    endpoint_pair p(env.ch, env.tr);
    if (env.arg == "send") {
        stream_send(p);
    } else {
        stream_recv(p);
    }
    p.close();
}

void both_ways_role(peer_env &env)
{
    endpoint_pair p(env.ch, env.tr);
    both_ways(p);
    p.barrier();
    both_ways(p);
    p.close();
}

peer_role ping_pong_peer("ping_pong", ping_pong_role);
peer_role stream_peer("stream", stream_role);
peer_role both_ways_peer("both_ways", both_ways_role);

} // namespace

class test_two_process : public transport_test {};

TEST_P(test_two_process, ping_pong)
{
    peer other("ping_pong", GetParam());
    endpoint_pair p(other.ch(), GetParam());
    ping_pong(p, true);
    p.close();
    other.finish();
}

TEST_P(test_two_process, stream_in)
{
    peer other("stream", GetParam(), "send");
    endpoint_pair p(other.ch(), GetParam());
    stream_recv(p);
    p.close();
    other.finish();
}

TEST_P(test_two_process, stream_out)
{
    peer other("stream", GetParam(), "recv");
    endpoint_pair p(other.ch(), GetParam());
    stream_send(p);
    p.close();
    other.finish();
}

TEST_P(test_two_process, both_ways)
{
    peer other("both_ways", GetParam());
    endpoint_pair p(other.ch(), GetParam());
    both_ways(p);
    p.barrier();
    both_ways(p);
    p.close();
    other.finish();
}

/* Peers come and go; what was set up for one must not disturb the next. */
TEST_P(test_two_process, sequential_peers)
{
    for (int i = 0; i < 3; ++i) {
        peer other("both_ways", GetParam());
        endpoint_pair p(other.ch(), GetParam());
        both_ways(p);
        p.barrier();
        both_ways(p);
        p.close();
        other.finish();
    }
}

INSTANTIATE_REMOTE_TRANSPORTS(test_two_process);

namespace {

constexpr double KILL_DEADLINE_SEC = 30.0;

entity_params kill_params()
{
    entity_params params;
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    /* What is large here needs the receiver. UCX's second protocols (1.18's default) send it
     * eagerly over TCP else, and are done when the sockets have it. */
    params.config = {{"KEEPALIVE_INTERVAL", "1s"}, {"RNDV_THRESH", "100k"}};
    return params;
}

/* Says hello, then waits to be killed, with or without progress. */
void dying_role(peer_env &env)
{
    endpoint_pair p(env.ch, env.tr, kill_params());
    uint64_t hello = 1, got = 0;
    op_ptr s = send(p.ep(), &hello, sizeof(hello), 1);
    op_ptr r = recv(p.worker(), &got, sizeof(got), 2);
    p.wait(*s);
    p.wait(*r);
    if (env.arg == "progress") {
        poll_until([] { return false; }, [&] { return p.self().progress(); }, 60);
    } else {
        env.ch.get(); /* without progress; the test never writes */
    }
}

peer_role dying_peer("victim", dying_role);

/* Sends large messages until it is killed. */
void large_sender_role(peer_env &env)
{
    endpoint_pair p(env.ch, env.tr, kill_params());
    std::vector<std::string> data;
    std::vector<op_ptr> ops;

    for (int i = 0; i < 32; ++i) {
        data.push_back(pattern(1048576, i));
    }
    for (int i = 0; i < 32; ++i) {
        ops.push_back(send(p.ep(), data[i].data(), data[i].size(), i));
    }
    poll_until([] { return false; }, [&] { return p.self().progress(); }, 60);
}

peer_role large_sender_peer("large_sender", large_sender_role);

/* More than fits into the buffers of the sockets */
constexpr size_t STALLED_SIZE = 64 << 20;

/* Starts a rendezvous, goes on with it when it is told to, as far as the receiver lets it,
 * and waits to be killed. */
void stalled_role(peer_env &env)
{
    endpoint_pair p(env.ch, env.tr, kill_params());
    std::string large = pattern(STALLED_SIZE, 1);
    op_ptr s          = send(p.ep(), large.data(), large.size(), 1);

    p.wait([&] { return env.ch.readable(); }, "the receiver to see the message");
    EXPECT_EQ("seen", env.ch.get());
    EXPECT_EQ("go on", env.ch.get()); /* or never, if the data is not to be sent */
    for (int idle = 0; idle < 10000;) {
        idle = (p.self().progress() == 0) ? idle + 1 : 0;
    }
    EXPECT_FALSE(s->done());
    env.ch.put("stopped");
    env.ch.get(); /* the test never writes */
}

peer_role r8("stalled", stalled_role);

/* Sends to a test that has no endpoint back, then waits to be killed, or closes. */
void one_way_role(peer_env &env)
{
    entity self(env.tr, kill_params());
    ucp_ep_h ep      = self.connect(env.ch.get());
    auto progress    = [&] { return self.progress(); };
    std::string data = pattern(1000, 1);
    std::vector<op_ptr> ops;

    for (size_t size : {0, 8, 100, 1000}) {
        ops.push_back(send(ep, data.data(), size, 1));
        ops.push_back(send_sync(ep, data.data(), size, 2));
    }
    ops.push_back(send(ep, data.data(), 8, 3));
    if (env.arg == "killed") {
        poll_until([] { return false; }, progress, 60);
    }
    for (auto &o : ops) {
        EXPECT_TRUE(poll_until([&] { return o->done(); }, progress));
        EXPECT_EQ(UCS_OK, o->status());
    }
    ucs_status_ptr_t ret = self.close_nbx(ep);
    if (UCS_PTR_IS_PTR(ret)) {
        EXPECT_TRUE(poll_until(
                [&] { return ucp_request_check_status(ret) != UCS_INPROGRESS; },
                progress));
        ucp_request_free(ret);
    }
    env.ch.put("closed");
}

peer_role one_way_peer("one_way", one_way_role);

} // namespace

class test_peer_death : public transport_test {
protected:
    static void on_error(void *arg, ucp_ep_h, ucs_status_t status)
    {
        test_peer_death *self = static_cast<test_peer_death *>(arg);
        ++self->m_errors;
        self->m_error = status;
    }

    void run(const char *victim)
    {
        entity_params params = kill_params();
        params.err_cb        = on_error;
        params.err_arg       = this;

        peer other("victim", GetParam(), victim);
        endpoint_pair p(other.ch(), GetParam(), params);
        uint64_t hello = 0;
        op_ptr r       = recv(p.worker(), &hello, sizeof(hello), 1);
        p.wait(*r);
        op_ptr s = send(p.ep(), &hello, sizeof(hello), 2);
        p.wait(*s);

        std::string large = pattern(1048576, 1), in(1048576, '\0');
        std::vector<op_ptr> sends;
        op_ptr posted = recv(p.worker(), &in[0], in.size(), 77);
        for (int i = 0; i < 4; ++i) {
            sends.push_back(send(p.ep(), large.data(), large.size(), 100 + i));
            sends.push_back(send_sync(p.ep(), large.data(), 8, 100 + i));
            sends.push_back(send_sync(p.ep(), large.data(), large.size(), 100 + i));
        }
        for (int i = 0; i < 100; ++i) {
            p.self().progress();
        }
        other.kill_now();

        auto all_ended = [&] {
            for (auto &o : sends) {
                if (!o->done()) {
                    return false;
                }
            }
            return m_errors > 0;
        };
        EXPECT_TRUE(poll_until(
                all_ended, [&] { return p.self().progress(); }, KILL_DEADLINE_SEC));
        EXPECT_EQ(1, m_errors) << "calls of the error handler";
        EXPECT_NE(UCS_OK, m_error);
        for (size_t i = 0; i < sends.size(); ++i) {
            EXPECT_TRUE(sends[i]->done()) << "send " << i;
            EXPECT_TRUE(UCS_STATUS_IS_ERR(sends[i]->status())) << "send " << i;
            EXPECT_LE(sends[i]->calls(), 1) << "send " << i;
        }

        /* A receive that nobody matched is not tied to an endpoint. */
        EXPECT_FALSE(posted->done());
        posted->cancel();
        EXPECT_EQ(UCS_ERR_CANCELED, posted->status());

        ucs_status_ptr_t ret = p.self().close_nbx(p.ep(), UCP_EP_CLOSE_FLAG_FORCE);
        if (UCS_PTR_IS_PTR(ret)) {
            p.wait([&] { return ucp_request_is_completed(ret); }, "close");
            ucp_request_free(ret);
        }
    }

    /* The victim dies when this side has asked for the data of its message, or has got a
     * part of it. */
    void run_receive(bool half_way)
    {
        entity_params params = kill_params();
        params.err_cb        = on_error;
        params.err_arg       = this;

        peer other("stalled", GetParam());
        endpoint_pair p(other.ch(), GetParam(), params);
        std::string in(STALLED_SIZE, '\0'), in2(8, '\0');
        ucp_tag_recv_info_t info;
        p.wait(
                [&] {
                    return ucp_tag_probe_nb(p.worker(), 1, TAG_FULL, 0, &info) != nullptr;
                },
                "the start of the message");
        other.ch().put("seen");

        std::vector<op_ptr> posted;
        for (size_t size : {size_t(8), in.size()}) {
            posted.push_back(recv(p.worker(), &in[0], size, 77));
            posted.push_back(recv(p.worker(), &in2[0], 8, 0x100, 0x100));
        }
        op_ptr matched = recv(p.worker(), &in[0], in.size(), 1);
        for (int i = 0; i < 1000; ++i) {
            p.self().progress();
        }
        if (half_way) {
            other.ch().put("go on");
            EXPECT_EQ("stopped", other.ch().get());
            p.wait([&] { return in[0] != '\0'; }, "the start of the data");
        }
        EXPECT_FALSE(matched->done());
        other.kill_now();

        EXPECT_TRUE(poll_until([&] { return matched->done() && (m_errors > 0); },
                               [&] { return p.self().progress(); }, KILL_DEADLINE_SEC));
        EXPECT_EQ(1, m_errors) << "calls of the error handler";
        EXPECT_TRUE(matched->done());
        EXPECT_TRUE(UCS_STATUS_IS_ERR(matched->status()));
        EXPECT_EQ(1, matched->calls());

        /* A receive that nobody matched is not tied to an endpoint. */
        for (auto &o : posted) {
            EXPECT_FALSE(o->done());
            o->cancel();
            EXPECT_EQ(UCS_ERR_CANCELED, o->status());
        }
        ucs_status_ptr_t ret = p.self().close_nbx(p.ep(), UCP_EP_CLOSE_FLAG_FORCE);
        if (UCS_PTR_IS_PTR(ret)) {
            p.wait([&] { return ucp_request_is_completed(ret); }, "close");
            ucp_request_free(ret);
        }
    }

    int m_errors         = 0;
    ucs_status_t m_error = UCS_OK;
};

TEST_P(test_peer_death, before_it_sends_the_data)
{
    run_receive(false);
}

TEST_P(test_peer_death, while_it_sends_the_data)
{
    run_receive(true);
}

TEST_P(test_peer_death, while_it_progresses)
{
    run("progress");
}

TEST_P(test_peer_death, while_it_computes)
{
    run("block");
}

/* The sender dies while some of its messages are received, some wait, some are on their way.
 * What was received is right; the others end with an error or can be cancelled. */
TEST_P(test_peer_death, sender_in_the_middle)
{
    entity_params params = kill_params();
    params.err_cb        = on_error;
    params.err_arg       = this;

    peer other("large_sender", GetParam());
    endpoint_pair p(other.ch(), GetParam(), params);
    std::vector<std::string> in(16, std::string(1048576, '\0'));
    std::vector<op_ptr> recvs;

    for (size_t i = 0; i < in.size(); ++i) {
        recvs.push_back(recv(p.worker(), &in[i][0], in[i].size(), i));
        if (i == 7) {
            p.wait_all(recvs, "the first half");
        }
    }
    p.self().progress();
    other.kill_now();
    EXPECT_TRUE(poll_until([&] { return m_errors > 0; },
                           [&] { return p.self().progress(); }, KILL_DEADLINE_SEC));
    for (size_t i = 0; i < recvs.size(); ++i) {
        if (!recvs[i]->done()) {
            recvs[i]->cancel();
        }
        poll_until([&] { return recvs[i]->done(); }, [&] { return p.self().progress(); },
                   1);
        EXPECT_TRUE(recvs[i]->done()) << "receive " << i;
        EXPECT_LE(recvs[i]->calls(), 1) << "receive " << i;
        EXPECT_TRUE((i >= 8) || (recvs[i]->status() == UCS_OK)) << "receive " << i;
        if (recvs[i]->status() == UCS_OK) {
            EXPECT_TRUE(in[i] == pattern(in[i].size(), i)) << "receive " << i;
        }
    }

    ucs_status_ptr_t ret = p.self().close_nbx(p.ep(), UCP_EP_CLOSE_FLAG_FORCE);
    if (UCS_PTR_IS_PTR(ret)) {
        p.wait([&] { return ucp_request_is_completed(ret); }, "close");
        ucp_request_free(ret);
    }
}

/* This side has no endpoint to the clients: stock frees those that it made itself when they
 * are gone. What is received afterwards must not touch them. */
TEST_P(test_peer_death, clients_that_nobody_answers)
{
    entity &self       = create(kill_params());
    std::string expect = pattern(1000, 1), in(1000, '\0');

    for (bool killed : {true, false, true, false, true}) {
        peer client("one_way", GetParam(), killed ? "killed" : "closes");

        client.ch().put(self.address());
        wait_unexpected(self, 3); /* the last one */
        if (killed) {
            client.kill_now();
            calm_down();
        }
        for (size_t size : {0, 8, 100, 1000}) {
            for (ucp_tag_t tag : {1, 2}) {
                op_ptr o = recv(self.worker(), &in[0], in.size(), tag);
                wait(*o, "message");
                /* What was still to be fetched from the dead is lost */
                if (!killed || (tag == 1)) {
                    EXPECT_EQ(UCS_OK, o->status());
                }
                if (o->status() == UCS_OK) {
                    EXPECT_EQ(size, o->info().length);
                    EXPECT_EQ(0, memcmp(in.data(), expect.data(), size));
                }
            }
        }
        op_ptr last = recv(self.worker(), &in[0], in.size(), 3);
        wait(*last, "the last message");
        if (!killed) {
            wait([&] { return client.ch().readable(); }, "the client's end");
            client.finish();
        }
    }
}

/*
 * Over TCP only: stock 1.13 refuses error mode PEER on shared memory, and when
 * UCX_MM_ERROR_HANDLING=y makes it accept, it does not notice the death (seen: no error
 * in 30 s with a keepalive interval of 1 s, for posix and sysv).
 */
INSTANTIATE_TEST_SUITE_P(ucp, test_peer_death, ::testing::Values(TCP), transport_name);
