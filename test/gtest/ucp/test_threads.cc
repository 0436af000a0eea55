/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Workers used by several threads: MULTI, SERIALIZED with a lock, SINGLE per thread. */

#include "ucp_test.h"

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

using namespace ucp_test;

static void wait_done(const op &o, const std::function<unsigned()> &progress)
{
    if (!poll_until([&] { return o.done(); }, progress)) {
        throw failure("timeout");
    }
    EXPECT_EQ(UCS_OK, o.status());
}

/* entity::connect() is not for several threads. */
static ucp_ep_h connect(ucp_worker_h worker, const std::string &address)
{
    ucp_ep_params_t params = {};
    ucp_ep_h ep;

    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = reinterpret_cast<const ucp_address_t *>(address.data());
    check_status(ucp_ep_create(worker, &params, &ep), "ucp_ep_create");
    return ep;
}

class test_threads : public transport_test {
protected:
    /* Runs `func(index)` in threads; a failure in one is a failure of the test. */
    static void run_threads(int count, const std::function<void(int)> &func)
    {
        std::vector<std::thread> threads;

        for (int i = 0; i < count; ++i) {
            threads.emplace_back([&func, i] {
                try {
                    func(i);
                } catch (const std::exception &e) {
                    ADD_FAILURE() << "thread " << i << ": " << e.what();
                }
            });
        }
        for (auto &t : threads) {
            t.join();
        }
    }

    /* False when the build of UCX does not grant MULTI. */
    bool make_multi(uint64_t features = UCP_FEATURE_TAG)
    {
        entity_params params;
        params.thread_mode = UCS_THREAD_MODE_MULTI;
        params.features    = features;
        make_pair(params);
        return a().granted_thread_mode() == UCS_THREAD_MODE_MULTI;
    }

    static constexpr int THREADS = 4;
};

/* Each thread has its tag and both ends of its own conversation. */
TEST_P(test_threads, multi_own_tags)
{
    if (!make_multi()) {
        GTEST_SKIP() << "UCX was built without support for MULTI workers";
    }
    const std::vector<size_t> sizes = {8, 100, 0, 9216, 8192, 65536, 41, 1048576};
    auto poll                       = [this] { return progress(); };

    run_threads(THREADS, [&](int t) {
        for (int i = 0; i < 1600; ++i) {
            const size_t size   = sizes[(i + t) % ((i % 50) ? 7 : 8)];
            const ucp_tag_t tag = t + 1;
            std::string out     = pattern(size, t * 1000 + i), in(size, '\0');
            op_ptr r, s;

            if (i % 2) {
                r = recv(b().worker(), &in[0], size, tag);
            }
            s = (i % 7) ? send(ab(), out.data(), size, tag) :
                          send_sync(ab(), out.data(), size, tag);
            if (!(i % 2)) {
                ucp_tag_recv_info_t info = {};
                if (!poll_until(
                            [&] {
                                return ucp_tag_probe_nb(b().worker(), tag, TAG_FULL, 0,
                                                        &info) != nullptr;
                            },
                            poll)) {
                    throw failure("timeout of probe");
                }
                EXPECT_EQ(size, info.length);
                EXPECT_EQ(tag, info.sender_tag);
                r = recv(b().worker(), &in[0], size, tag);
            }
            wait_done(*r, poll);
            wait_done(*s, poll);
            ASSERT_TRUE(in == out) << "thread " << t << " round " << i;
        }
    });
}

/* Threads send under one tag and receive by wildcard what any of them sent. */
TEST_P(test_threads, multi_shared_tag)
{
    if (!make_multi()) {
        GTEST_SKIP() << "UCX was built without support for MULTI workers";
    }
    constexpr int N = 4000;
    std::vector<std::atomic<int>> got(THREADS * N);
    auto poll = [this] { return progress(); };

    run_threads(THREADS, [&](int t) {
        for (int i = 0; i < N; ++i) {
            /* One word, repeated: a mix of two messages would show. */
            std::vector<uint32_t> out((i % 20 == 0) ? 5000 : 1 + i % 30, t * N + i);
            std::vector<uint32_t> in(5000);
            op_ptr s = send(ab(), out.data(), out.size() * sizeof(out[0]), 1);
            op_ptr r = recv(b().worker(), in.data(), in.size() * sizeof(in[0]), 0, 0);
            wait_done(*r, poll);
            wait_done(*s, poll);
            in.resize(r->info().length / sizeof(in[0]));
            ASSERT_FALSE(in.empty());
            ASSERT_LT(in[0], uint32_t(THREADS * N));
            for (uint32_t word : in) {
                ASSERT_EQ(in[0], word);
            }
            ++got[in[0]];
        }
    });
    for (auto &count : got) {
        ASSERT_EQ(1, count.load());
    }
}

/* Removal by a probe hands a message to exactly one thread. */
TEST_P(test_threads, multi_probe_and_remove)
{
    if (!make_multi()) {
        GTEST_SKIP() << "UCX was built without support for MULTI workers";
    }
    constexpr int N = 8000;
    std::vector<uint32_t> out(N);
    std::vector<op_ptr> sends;
    std::vector<std::atomic<int>> got(N);
    std::atomic<int> left(N);
    auto poll = [this] { return progress(); };

    for (int i = 0; i < N; ++i) {
        out[i] = i;
        sends.push_back(send(ab(), &out[i], sizeof(out[i]), i));
    }
    run_threads(THREADS, [&](int) {
        ucp_tag_recv_info_t info;
        ucp_tag_message_h m;
        while (poll_until(
                       [&] {
                           m = ucp_tag_probe_nb(b().worker(), 0, 0, 1, &info);
                           return (m != nullptr) || (left == 0);
                       },
                       poll) &&
               (m != nullptr)) {
            uint32_t in = ~0u;
            op r;
            ucp_request_param_t p = r.recv_param();
            r.started(ucp_tag_msg_recv_nbx(b().worker(), &in, sizeof(in), m, &p),
                      b().worker());
            wait_done(r, poll);
            EXPECT_EQ(info.sender_tag, in);
            ASSERT_LT(in, uint32_t(N));
            ++got[in];
            --left;
        }
    });
    wait_all(sends);
    EXPECT_EQ(0, left);
    for (auto &count : got) {
        ASSERT_EQ(1, count.load());
    }
}

/* One thread cancels what it posted while others receive on the same worker. */
TEST_P(test_threads, multi_cancel)
{
    if (!make_multi()) {
        GTEST_SKIP() << "UCX was built without support for MULTI workers";
    }
    auto poll = [this] { return progress(); };

    run_threads(THREADS, [&](int t) {
        for (int i = 0; i < 2000; ++i) {
            uint64_t out = i, in = ~0ull, never = 0;
            op_ptr c = recv(b().worker(), &never, sizeof(never), 1000 + t);
            op_ptr r = recv(b().worker(), &in, sizeof(in), t);
            op_ptr s = send(ab(), &out, sizeof(out), t);
            c->cancel();
            EXPECT_TRUE(c->done());
            EXPECT_EQ(UCS_ERR_CANCELED, c->status());
            wait_done(*r, poll);
            wait_done(*s, poll);
            ASSERT_EQ(out, in);
        }
    });
}

/* Each thread makes endpoints on the same worker, flushes and closes them. */
TEST_P(test_threads, multi_endpoints)
{
    if (!make_multi()) {
        GTEST_SKIP() << "UCX was built without support for MULTI workers";
    }
    const std::string address = b().address();
    auto poll                 = [this] { return progress(); };

    run_threads(THREADS, [&](int t) {
        for (int i = 0; i < 20; ++i) {
            ucp_ep_h ep = connect(a().worker(), address);

            for (int j = 0; j < 10; ++j) {
                uint64_t out = 1000 * i + j, in = ~0ull;
                op_ptr r = recv(b().worker(), &in, sizeof(in), t);
                op_ptr s = send(ep, &out, sizeof(out), t);
                wait_done(*r, poll);
                wait_done(*s, poll);
                ASSERT_EQ(out, in);
            }

            op flushed, closed;
            ucp_request_param_t p = flushed.send_param();
            flushed.started(ucp_ep_flush_nbx(ep, &p));
            wait_done(flushed, poll);
            p = closed.send_param();
            closed.started(ucp_ep_close_nbx(ep, &p));
            wait_done(closed, poll);
        }
    });
}

/* Memory of B that A may put to and get from. */
class rma_window {
public:
    rma_window(entity &owner, ucp_ep_h ep, size_t length)
        : m_context(owner.context()), m_memory(length)
    {
        ucp_mem_map_params_t params = {};
        size_t packed_length;
        void *packed;

        params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                            UCP_MEM_MAP_PARAM_FIELD_LENGTH;
        params.address = m_memory.data();
        params.length  = m_memory.size();
        check_status(ucp_mem_map(m_context, &params, &m_memh), "ucp_mem_map");
        check_status(ucp_rkey_pack(m_context, m_memh, &packed, &packed_length),
                     "ucp_rkey_pack");
        check_status(ucp_ep_rkey_unpack(ep, packed, &m_rkey), "ucp_ep_rkey_unpack");
        ucp_rkey_buffer_release(packed);
    }

    ~rma_window()
    {
        ucp_rkey_destroy(m_rkey);
        ucp_mem_unmap(m_context, m_memh);
    }

    uint64_t address() const { return reinterpret_cast<uint64_t>(m_memory.data()); }
    ucp_rkey_h rkey() const { return m_rkey; }

private:
    ucp_context_h m_context;
    std::vector<char> m_memory;
    ucp_mem_h m_memh;
    ucp_rkey_h m_rkey;
};

/* What the threads of multi_blocking_calls do, each with one of the functions. */
class blocking_calls {
public:
    static constexpr size_t LENGTH = 20000;
    static constexpr int ROUNDS    = 60;

    blocking_calls(entity &a, entity &b, ucp_ep_h ab)
        : m_a(a), m_b(b), m_ab(ab), m_window(b, ab, LENGTH)
    {
    }

    void one_sided()
    {
        for (int i = 0; i < ROUNDS; ++i) {
            const size_t size = (i % 4) ? 8 : LENGTH;
            std::string out   = pattern(size, i), in(size, '\0');
            ASSERT_EQ(UCS_OK, ucp_put(m_ab, out.data(), size, m_window.address(),
                                      m_window.rkey()));
            ASSERT_EQ(UCS_OK, ucp_ep_flush(m_ab));
            ASSERT_EQ(UCS_OK,
                      ucp_get(m_ab, &in[0], size, m_window.address(), m_window.rkey()));
            ASSERT_TRUE(in == out) << "round " << i;
        }
    }

    void flushes()
    {
        for (int i = 0; i < ROUNDS; ++i) {
            ASSERT_EQ(UCS_OK, ucp_ep_flush(m_ab));
            ASSERT_EQ(UCS_OK, ucp_worker_fence(m_a.worker()));
            ASSERT_EQ(UCS_OK, ucp_worker_flush(m_a.worker()));
        }
    }

    void endpoints()
    {
        const std::string address = m_b.address();

        for (int i = 0; i < 20; ++i) {
            ucp_ep_h ep  = connect(m_a.worker(), address);
            uint64_t out = i, in = ~0ull;
            op_ptr r = recv(m_b.worker(), &in, sizeof(in), 100);
            op_ptr s = send(ep, &out, sizeof(out), 100);
            wait(*r, *s);
            EXPECT_EQ(out, in);
            r.reset();
            s.reset();
            ucp_ep_destroy(ep);
        }
    }

    void messages(ucp_tag_t tag)
    {
        for (int i = 0; i < ROUNDS; ++i) {
            const size_t size = (i % 10) ? 8 * (i % 50) : 200000;
            std::string out   = pattern(size, i), in(size, '\0');
            op_ptr r          = recv(m_b.worker(), &in[0], size, tag);
            op_ptr s          = (i % 3) ? send(m_ab, out.data(), size, tag) :
                                          send_sync(m_ab, out.data(), size, tag);
            wait(*r, *s);
            ASSERT_TRUE(in == out) << "round " << i;
        }
    }

private:
    void wait(const op &r, const op &s)
    {
        wait_done(r, [&] { return m_a.progress(); });
        wait_done(s, [&] { return m_a.progress(); });
    }

    entity &m_a, &m_b;
    ucp_ep_h m_ab;
    rma_window m_window;
};

/*
 * The blocking calls, which make progress inside stock, some of them under stock's lock, in
 * threads of their own, while others send, receive and make progress on the same worker.
 * Nobody waits for A with B's progress in hand: stock itself keeps A locked while it waits.
 */
TEST_P(test_threads, multi_blocking_calls)
{
    if (!make_multi(UCP_FEATURE_TAG | UCP_FEATURE_RMA)) {
        GTEST_SKIP() << "UCX was built without support for MULTI workers";
    }
    blocking_calls calls(a(), b(), ab());
    std::atomic<int> working{5};

    run_threads(6, [&](int t) {
        const std::vector<std::function<void()>> parts = {
                [&] { calls.one_sided(); }, [&] { calls.flushes(); },
                [&] { calls.endpoints(); }, [&] { calls.messages(4); },
                [&] { calls.messages(5); }};

        if (t == 5) {
            while (working > 0) {
                b().progress();
                std::this_thread::yield();
            }
            return;
        }
        std::unique_ptr<std::atomic<int>, void (*)(std::atomic<int> *)> leave(
                &working, [](std::atomic<int> *w) { --*w; });
        parts[t]();
    });
}

/* Stock's put and get wait without a lock, so another thread may see to both ends in turn. */
TEST_P(test_threads, multi_get_while_another_progresses)
{
    if (!make_multi(UCP_FEATURE_TAG | UCP_FEATURE_RMA)) {
        GTEST_SKIP() << "UCX was built without support for MULTI workers";
    }
    rma_window window(b(), ab(), sizeof(uint64_t));
    std::atomic<bool> done{false};

    run_threads(2, [&](int t) {
        if (t == 0) {
            while (!done) {
                progress();
                std::this_thread::yield();
            }
            return;
        }
        for (uint64_t i = 0; i < 10; ++i) {
            uint64_t in = ~0ull;
            EXPECT_EQ(UCS_OK,
                      ucp_put(ab(), &i, sizeof(i), window.address(), window.rkey()));
            EXPECT_EQ(UCS_OK,
                      ucp_get(ab(), &in, sizeof(in), window.address(), window.rkey()));
            EXPECT_NE(~0ull, in);
        }
        done = true;
    });

    /* The last put may be on its way still, and the window ends here. */
    ucp_request_param_t param = {};
    wait_handle(ucp_ep_flush_nbx(ab(), &param));
}

/* Each thread has contexts and workers of its own, and they come and go. */
TEST_P(test_threads, single_come_and_go)
{
    run_threads(THREADS, [&](int t) {
        for (int i = 0; i < 5; ++i) {
            entity e(GetParam(), {});
            ucp_ep_h ep = connect(e.worker(), e.address());
            auto poll   = [&] { return e.progress(); };

            for (size_t size : {8, 5000, 100000}) {
                std::string out = pattern(size, t * 1000 + i), in(size, '\0');
                op_ptr r        = recv(e.worker(), &in[0], size, t);
                op_ptr s        = send(ep, out.data(), size, t);
                wait_done(*r, poll);
                wait_done(*s, poll);
                ASSERT_TRUE(in == out) << "thread " << t << " round " << i;
            }

            op closed;
            ucp_request_param_t p = closed.send_param();
            closed.started(ucp_ep_close_nbx(ep, &p));
            wait_done(closed, poll);
        }
    });
}

/* SERIALIZED: any thread, one at a time. */
TEST_P(test_threads, serialized)
{
    entity_params params;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    make_pair(params);
    if (a().granted_thread_mode() == UCS_THREAD_MODE_SINGLE) {
        GTEST_SKIP() << "SERIALIZED workers are not granted";
    }
    std::mutex lock;
    auto poll = [&] {
        std::lock_guard<std::mutex> guard(lock);
        return progress();
    };

    run_threads(THREADS, [&](int t) {
        for (int i = 0; i < 1000; ++i) {
            const size_t size = (i % 20) ? 8 * (i % 50) : 200000;
            std::string out   = pattern(size, t * 1000 + i), in(size, '\0');
            op_ptr r, s;
            {
                std::lock_guard<std::mutex> guard(lock);
                r = recv(b().worker(), &in[0], size, t);
                s = send(ab(), out.data(), size, t);
            }
            wait_done(*r, poll);
            wait_done(*s, poll);
            {
                std::lock_guard<std::mutex> guard(lock);
                r.reset();
                s.reset();
            }
            ASSERT_TRUE(in == out) << "thread " << t << " round " << i;
        }
    });
}

INSTANTIATE_TRANSPORTS(test_threads);

/* The self transport does not connect two workers. */
class test_threads_remote : public test_threads {};

/* Two SINGLE workers that talk to each other, each in the thread that made it. */
TEST_P(test_threads_remote, single_worker_per_thread)
{
    std::promise<std::string> addresses[2];
    std::atomic<int> done{0};

    run_threads(2, [&](int t) {
        entity me(GetParam(), {});
        addresses[t].set_value(me.address());
        ucp_ep_h ep = me.connect(addresses[!t].get_future().get());
        auto poll   = [&] { return me.progress(); };

        for (int i = 0; i < 2000; ++i) {
            const size_t size = (i % 20) ? 8 * (i % 50) : 200000;
            std::string out   = pattern(size, i), in(size, '\0');
            op_ptr r          = recv(me.worker(), &in[0], size, i);
            op_ptr s          = send(ep, out.data(), size, i);
            wait_done(*r, poll);
            wait_done(*s, poll);
            ASSERT_TRUE(in == out) << "thread " << t << " round " << i;
        }

        /* Neither goes while the other one needs it to get through. */
        ++done;
        EXPECT_TRUE(poll_until([&] { return done >= 2; }, poll));
        ucs_status_ptr_t closing = me.close_nbx(ep);
        auto closed              = [&] {
            return !UCS_PTR_IS_PTR(closing) ||
                   (ucp_request_check_status(closing) != UCS_INPROGRESS);
        };
        EXPECT_TRUE(poll_until(closed, poll));
        if (UCS_PTR_IS_PTR(closing)) {
            ucp_request_free(closing);
        }
        ++done;
        EXPECT_TRUE(poll_until([&] { return done >= 4; }, poll));
    });
}

INSTANTIATE_REMOTE_TRANSPORTS(test_threads_remote);
