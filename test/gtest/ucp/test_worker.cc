/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Workers: query, progress, wakeup, flush, two endpoints to the same peer. */

#include "peer.h"

#include <chrono>
#include <malloc.h>
#include <poll.h>
#include <thread>

using namespace ucp_test;

class test_worker : public transport_test {};

TEST_P(test_worker, query_and_address)
{
    make_pair();
    ucp_worker_attr_t attr = {};

    attr.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_THREAD_MODE |
                      UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
    ASSERT_EQ(UCS_OK, ucp_worker_query(b().worker(), &attr));
    EXPECT_EQ(UCS_THREAD_MODE_SINGLE, attr.thread_mode);
    ASSERT_NE(nullptr, attr.address);
    EXPECT_GT(attr.address_length, 0u);

    /* An endpoint made of the queried address works like any other. */
    ucp_ep_h ep = a().connect(
            std::string(reinterpret_cast<char *>(attr.address), attr.address_length));
    ucp_worker_release_address(b().worker(), attr.address);
    uint64_t out = 5, in = 0;
    op_ptr r = recv(b().worker(), &in, sizeof(in), 1);
    op_ptr s = send(ep, &out, sizeof(out), 1);
    wait(*r);
    wait(*s);
    EXPECT_EQ(out, in);
}

/* Nothing is left of addresses that were released, however they were got. */
TEST_P(test_worker, addresses_are_released)
{
    const size_t rounds = 2000;
    size_t before       = 0;

    make_pair();
    calm_down();
    for (size_t i = 0; i < rounds + 100; ++i) {
        ucp_worker_attr_t attr = {};
        ucp_address_t *address = nullptr;
        size_t length          = 0;

        if (i == 100) {
            before = mallinfo2().uordblks;
        }
        ASSERT_EQ(UCS_OK, ucp_worker_get_address(b().worker(), &address, &length));
        ucp_worker_release_address(b().worker(), address);
        attr.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS;
        ASSERT_EQ(UCS_OK, ucp_worker_query(b().worker(), &attr));
        ucp_worker_release_address(b().worker(), attr.address);
    }
    EXPECT_LT(mallinfo2().uordblks, before + rounds * 16);
}

/* 0 while nothing happens, more when something does. A transport may have something to do for
 * itself for a while after a message; it ends. */
TEST_P(test_worker, progress_counts_events)
{
    auto falls_silent = [&] {
        auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        int silent    = 0;

        while ((silent < 100) && (std::chrono::steady_clock::now() < deadline)) {
            silent = (progress() == 0) ? silent + 1 : 0;
        }
        return silent == 100;
    };

    make_pair();
    warm_up();
    calm_down();
    EXPECT_TRUE(falls_silent());
    if (GetParam().is_self()) {
        return; /* delivery happens inside the send */
    }
    for (size_t size : {size_t(8), size_t(1024), size_t(1048576)}) {
        SCOPED_TRACE(size);
        std::string out = pattern(size, 1), in(size, '\0');
        op_ptr r        = recv(b().worker(), &in[0], size, 1);
        op_ptr s        = send(ab(), out.data(), size, 1);
        unsigned events = 0;
        auto deadline   = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!r->done() && (std::chrono::steady_clock::now() < deadline)) {
            a().progress();
            events += b().progress(); /* every call that could complete it is counted */
        }
        ASSERT_TRUE(r->done());
        EXPECT_GT(events, 0u) << "progress did work and reported none";
        wait(*s);
        calm_down();
        EXPECT_TRUE(falls_silent());
    }
}

TEST_P(test_worker, flush_with_pending_sends)
{
    make_pair();
    for (size_t size : {size_t(8), size_t(1024), size_t(9216), size_t(65536)}) {
        SCOPED_TRACE(size);
        constexpr int N = 300; /* more than the transports take at once */
        std::string out = pattern(size, 1);
        std::vector<std::string> in(N, std::string(size, '\0'));
        std::vector<op_ptr> recvs, sends;
        ucp_request_param_t p = {};

        for (int i = 0; i < N; ++i) {
            recvs.push_back(recv(b().worker(), &in[i][0], size, 1));
        }
        for (int i = 0; i < N; ++i) {
            sends.push_back(send(ab(), out.data(), size, 1));
        }
        wait_handle(ucp_ep_flush_nbx(ab(), &p));
        wait_handle(ucp_worker_flush_nbx(a().worker(), &p));
        wait_all(recvs);
        wait_all(sends);
        for (auto &buffer : in) {
            EXPECT_TRUE(buffer == out);
        }
        wait_handle(ucp_worker_flush_nbx(b().worker(), &p));
    }
}

TEST_P(test_worker, two_endpoints_to_the_same_worker)
{
    constexpr int N = 200;
    make_pair();
    ucp_ep_h second = a().connect(b());
    std::vector<uint64_t> out(2 * N), in(2 * N);
    std::vector<op_ptr> recvs, sends;

    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 2 * N; ++i) {
            out[i] = i;
            sends.push_back(
                    send((i % 2) ? second : ab(), &out[i], sizeof(out[i]), i % 2));
        }
        /* Order holds per endpoint only. */
        for (int i = 0; i < 2 * N; ++i) {
            recvs.push_back(recv(b().worker(), &in[i], sizeof(in[i]), 1 - (i % 2)));
        }
        wait_all(recvs);
        wait_all(sends);
        for (int i = 0; i < 2 * N; i += 2) {
            EXPECT_EQ(uint64_t(i + 1), in[i]);
            EXPECT_EQ(uint64_t(i), in[i + 1]);
        }
        recvs.clear();
        sends.clear();
    }

    /* One of the two goes, the other stays. */
    wait_handle(a().close_nbx(second));
    for (size_t size : ALL_SIZES) {
        std::string data = pattern(size, 1), got(size, '\0');
        op_ptr r         = recv(b().worker(), &got[0], size, 7);
        op_ptr s         = send(ab(), data.data(), size, 7);
        wait(*r);
        wait(*s);
        EXPECT_TRUE(data == got);
    }
}

INSTANTIATE_TRANSPORTS(test_worker);

namespace {

entity_params wakeup_params()
{
    entity_params params;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    return params;
}

const std::vector<size_t> wakeup_sizes = {8, 0, 100, 1024, 9216, 65536, 1048576};
constexpr int WAKEUP_ROUNDS            = 30;

/* Sends one message whenever the test asks for one. */
void wakeup_sender_role(peer_env &env)
{
    endpoint_pair p(env.ch, env.tr, wakeup_params());

    for (int i = 0; i < WAKEUP_ROUNDS; ++i) {
        for (size_t size : wakeup_sizes) {
            std::string out = pattern(size, i);
            if (env.ch.get() != "go") {
                throw failure("unexpected message");
            }
            op_ptr s = send(p.ep(), out.data(), size, 1);
            p.wait(*s);
        }
    }
    p.close();
}

peer_role wakeup_sender_peer("wakeup_sender", wakeup_sender_role);

} // namespace

class test_wakeup : public transport_test {
protected:
    /* As an event loop does it: progress until idle, arm, sleep. */
    static void sleep_until(ucp_worker_h worker, int fd, const op &o)
    {
        while (!o.done()) {
            if (ucp_worker_progress(worker) != 0) {
                continue;
            }
            ucs_status_t status = ucp_worker_arm(worker);
            if (status == UCS_ERR_BUSY) {
                continue;
            }
            check_status(status, "ucp_worker_arm");
            pollfd p = {fd, POLLIN, 0};
            if (poll(&p, 1, static_cast<int>(deadline_sec() * 1000)) != 1) {
                throw failure("nothing woke the worker");
            }
        }
    }
};

TEST_P(test_wakeup, poll_for_messages_of_another_process)
{
    peer other("wakeup_sender", GetParam());
    endpoint_pair p(other.ch(), GetParam(), wakeup_params());
    int fd = -1;

    ASSERT_EQ(UCS_OK, ucp_worker_get_efd(p.worker(), &fd));
    ASSERT_GE(fd, 0);
    for (int i = 0; i < WAKEUP_ROUNDS; ++i) {
        for (size_t size : wakeup_sizes) {
            SCOPED_TRACE(size);
            std::string in(size, '\0');
            op_ptr r = recv(p.worker(), &in[0], size, 1);
            other.ch().put("go");
            sleep_until(p.worker(), fd, *r);
            EXPECT_EQ(UCS_OK, r->status());
            expect_pattern(in.data(), size, i);
        }
    }
    p.close();
    other.finish();
}

/* The same with unexpected messages, by ucp_worker_wait. */
TEST_P(test_wakeup, wait_for_messages_of_another_process)
{
    peer other("wakeup_sender", GetParam());
    endpoint_pair p(other.ch(), GetParam(), wakeup_params());

    for (int i = 0; i < WAKEUP_ROUNDS; ++i) {
        for (size_t size : wakeup_sizes) {
            SCOPED_TRACE(size);
            std::string in(size, '\0');
            ucp_tag_recv_info_t info;
            other.ch().put("go");
            while (!ucp_tag_probe_nb(p.worker(), 1, TAG_FULL, 0, &info)) {
                if (p.self().progress() == 0) {
                    ASSERT_EQ(UCS_OK, ucp_worker_wait(p.worker()));
                }
            }
            EXPECT_EQ(size, info.length);
            op_ptr r = recv(p.worker(), &in[0], size, 1);
            p.wait(*r);
            expect_pattern(in.data(), size, i);
        }
    }
    p.close();
    other.finish();
}

TEST_P(test_wakeup, signal)
{
    make_pair(wakeup_params());
    warm_up();
    calm_down();
    int fd = -1;
    pollfd p;
    auto arm = [&] {
        ucs_status_t status;
        wait([&] { return (status = ucp_worker_arm(a().worker())) != UCS_ERR_BUSY; },
             "arm");
        EXPECT_EQ(UCS_OK, status);
    };

    ASSERT_EQ(UCS_OK, ucp_worker_get_efd(a().worker(), &fd));
    for (int i = 0; i < 20; ++i) {
        /* The descriptor may be readable without a cause (TCP), so only the wakeup
         * itself can be asserted. */
        arm();
        std::thread waker([this] { ucp_worker_signal(a().worker()); });
        p = {fd, POLLIN, 0};
        EXPECT_EQ(1, poll(&p, 1, static_cast<int>(deadline_sec() * 1000)));
        waker.join();
    }
    /* A signal that came before also ends the wait. */
    arm();
    EXPECT_EQ(UCS_OK, ucp_worker_signal(a().worker()));
    EXPECT_EQ(UCS_OK, ucp_worker_wait(a().worker()));
}

/* With the peer in the same thread: the receiver sleeps, only the sender progresses. */
TEST_P(test_wakeup, sleeping_receiver_is_woken)
{
    make_pair(wakeup_params());
    warm_up();
    int fd = -1;
    ASSERT_EQ(UCS_OK, ucp_worker_get_efd(b().worker(), &fd));

    for (size_t size : wakeup_sizes) {
        for (bool before : {false, true}) { /* armed before the send */
            SCOPED_TRACE(size);
            std::string out = pattern(size, 1), in(size, '\0');
            op_ptr r        = recv(b().worker(), &in[0], size, 1);
            op_ptr s;
            calm_down();
            if (!before) {
                s = send(ab(), out.data(), size, 1);
            }
            while (!r->done()) {
                if (b().progress() != 0) {
                    continue;
                }
                ucs_status_t status = ucp_worker_arm(b().worker());
                if (status == UCS_ERR_BUSY) {
                    continue;
                }
                ASSERT_EQ(UCS_OK, status);
                if (!s) {
                    s = send(ab(), out.data(), size, 1);
                }
                auto readable = [&] {
                    pollfd p = {fd, POLLIN, 0};
                    return poll(&p, 1, 0) == 1;
                };
                ASSERT_TRUE(poll_until(readable, [&] { return a().progress(); }))
                        << "nothing woke the receiver";
            }
            EXPECT_TRUE(in == out);
            wait(*s);
        }
    }
}

INSTANTIATE_REMOTE_TRANSPORTS(test_wakeup);
