/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Helpers of the UCP API-semantics tests: entities (context, worker, endpoints),
 * operations that remember how they completed, and a fixture that is parameterised
 * over transports. Everything goes through the public UCP API, because the tests run
 * unchanged against stock UCX and against the preloaded library.
 */

#ifndef UCXRI_TEST_UCP_TEST_H_
#define UCXRI_TEST_UCP_TEST_H_

#include <ucp/api/ucp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ucp_test {

constexpr ucp_tag_t TAG_FULL = ~ucp_tag_t(0);

constexpr unsigned TEST_LIMIT_SEC = 90;

/* Limit of a whole test, for calls that block and so escape the deadline. */
inline unsigned test_limit()
{
    const char *text =
            getenv("UCP_TEST_LIMIT"); /* for a machine that is slow by nature */

    return (text == nullptr) ? TEST_LIMIT_SEC : strtoul(text, nullptr, 0);
}

/* How long anything may take before the test fails instead of hanging; more where the limit is. */
inline double deadline_sec()
{
    return 20.0 * test_limit() / TEST_LIMIT_SEC;
}

/* Sizes on both sides of every switch of protocol that stock or the library makes. */
extern const std::vector<size_t> ALL_SIZES;

struct transport {
    const char *name;
    const char *tls;
    const char *net_devices; /* NULL: leave the default */

    /* The self transport reaches the own worker only, so both sides are one entity. */
    bool is_self() const;
};

std::ostream &operator<<(std::ostream &os, const transport &t);
std::string transport_name(const ::testing::TestParamInfo<transport> &info);

extern const transport SHM, TCP, SELF;
/* SHM without UCX's own copies by the kernel */
extern const transport SHM_COPY;

/* Thrown by helpers that cannot go on; gtest reports it as a failure of the test. */
class failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

void check_status(ucs_status_t status, const char *what);

/* Whether UCX is of this version or a later one. */
bool ucx_at_least(unsigned major, unsigned minor);

/* Whether nothing is between the test and UCX: the library is not there, or not switched on. */
bool is_stock();

/* Whether UCX takes messages, or some of them: the library leaves to it half of the buffers, which
 * seem not to be the host's (memory_kinds.c). */
bool is_by_ucx();

/* Calls `progress` until `condition` holds; false when the deadline passes. */
bool poll_until(const std::function<bool()> &condition,
                const std::function<unsigned()> &progress,
                double seconds = deadline_sec());

struct entity_params {
    uint64_t features                              = UCP_FEATURE_TAG;
    size_t request_size                            = 0;
    ucp_request_init_callback_t request_init       = nullptr;
    ucp_request_cleanup_callback_t request_cleanup = nullptr;
    ucs_thread_mode_t thread_mode                  = UCS_THREAD_MODE_SINGLE;
    ucp_err_handling_mode_t err_mode               = UCP_ERR_HANDLING_MODE_NONE;
    ucp_err_handler_cb_t err_cb                    = nullptr;
    void *err_arg                                  = nullptr;
    std::vector<std::pair<std::string, std::string>> config; /* without "UCX_" */
};

/* A context with one worker and the endpoints created on it. */
class entity {
public:
    entity(const transport &tr, const entity_params &params);
    ~entity();
    entity(const entity &)            = delete;
    entity &operator=(const entity &) = delete;

    ucp_context_h context() const { return m_context; }
    ucp_worker_h worker() const { return m_worker; }
    ucs_thread_mode_t granted_thread_mode() const { return m_granted; }

    std::string address() const;
    ucp_ep_h connect(const std::string &peer_address);
    ucp_ep_h connect(const entity &peer) { return connect(peer.address()); }
    unsigned progress() { return m_worker ? ucp_worker_progress(m_worker) : 0; }

    /* Starts to close an endpoint and forgets it; returns what UCP returned. */
    ucs_status_ptr_t close_nbx(ucp_ep_h ep, unsigned flags = 0);

    /* For endpoints that a test made by other means: closed with the others. */
    void adopt(ucp_ep_h ep) { m_eps.push_back(ep); }
    const std::vector<ucp_ep_h> &endpoints() const { return m_eps; }

    void destroy_worker();

    /* For one with a long send that never ended: UCX 1.18 of Debian 13, which has assertions, ends
     * the process in ucp_cleanup() as the send's memory is in use. */
    void keep_context() { m_keeps_context = ucx_at_least(1, 18); }

private:
    entity_params m_params;
    bool m_keeps_context = false;
    ucp_context_h m_context;
    ucp_worker_h m_worker;
    ucs_thread_mode_t m_granted;
    std::vector<ucp_ep_h> m_eps;
};

/*
 * One operation. It is the user data of its own callback, so it has to stay where it
 * is until it is done. The destructor frees the request handle. With a MULTI worker the
 * callback may run in another thread, even before started().
 */
class op {
public:
    op() = default;
    ~op();
    op(const op &)            = delete;
    op &operator=(const op &) = delete;

    /* Request parameters that complete into this object. */
    ucp_request_param_t send_param(uint32_t attr_mask = 0);
    ucp_request_param_t recv_param(uint32_t attr_mask = 0);

    /* Takes what the call returned. `worker` lets the destructor cancel a receive. */
    void started(ucs_status_ptr_t ret, ucp_worker_h worker = nullptr);

    bool done() const { return m_done; }
    int calls() const { return m_calls; }
    ucs_status_t status() const { return m_status; }
    const ucp_tag_recv_info_t &info() const { return m_info; }
    void *handle() const { return m_handle; }
    void cancel();
    void forget() { m_handle = nullptr; } /* it went with its worker */

    /* For callbacks of other kinds of operations. */
    void completed(ucs_status_t status);

private:
    static void send_cb(void *request, ucs_status_t status, void *user_data);
    static void recv_cb(void *request, ucs_status_t status,
                        const ucp_tag_recv_info_t *info, void *user_data);
    ucp_worker_h m_worker = nullptr;
    void *m_handle        = nullptr;
    std::atomic<bool> m_done{false};
    std::atomic<int> m_calls{0};
    ucs_status_t m_status      = UCS_INPROGRESS;
    ucp_tag_recv_info_t m_info = {};
};

using op_ptr = std::unique_ptr<op>;

op_ptr send(ucp_ep_h ep, const void *buffer, size_t length, ucp_tag_t tag);
op_ptr send_sync(ucp_ep_h ep, const void *buffer, size_t length, ucp_tag_t tag);
op_ptr recv(ucp_worker_h worker, void *buffer, size_t length, ucp_tag_t tag,
            ucp_tag_t mask = TAG_FULL);

/* Same with a datatype. */
op_ptr send_dt(ucp_ep_h ep, const void *buffer, size_t count, ucp_datatype_t dt,
               ucp_tag_t tag);
op_ptr recv_dt(ucp_worker_h worker, void *buffer, size_t count, ucp_datatype_t dt,
               ucp_tag_t tag, ucp_tag_t mask = TAG_FULL);

/* Bytes that depend on the seed and the position. */
std::string pattern(size_t length, uint64_t seed);
void expect_pattern(const void *data, size_t length, uint64_t seed,
                    const std::string &what = "");

/* A receive buffer with guard bytes behind it. */
class guarded_buffer {
public:
    explicit guarded_buffer(size_t length);
    void *data() { return &m_bytes[0]; }
    size_t size() const { return m_bytes.size() - GUARD; }
    void expect_guard_intact() const;

private:
    static constexpr size_t GUARD = 64;
    std::string m_bytes;
};

/*
 * The fixture: entities A and B with an endpoint each way. With the self transport, or
 * after make_loopback(), A and B are the same entity.
 */
class base_fixture : public ::testing::Test {
protected:
    void TearDown() override;

    void make_pair(const transport &tr, const entity_params &params = {});
    void make_loopback(const transport &tr, const entity_params &params = {});

    entity &create(const transport &tr, const entity_params &params = {});
    entity &a() { return *m_a; }
    entity &b() { return *m_b; }
    ucp_ep_h ab() { return m_ab; }
    ucp_ep_h ba() { return m_ba; }

    unsigned progress();

    /* Throws on timeout. */
    void wait(const std::function<bool()> &condition, const char *what = "condition");
    void wait(const op &o, const char *what = "operation");
    void wait_all(const std::vector<op_ptr> &ops, const char *what = "operations");
    void wait_handle(ucs_status_ptr_t ret, ucs_status_t expected = UCS_OK);

    /* Progresses long enough for what was sent to arrive, if it ever does. */
    void calm_down();

    /* Progresses until a probe without removal sees the message. */
    ucp_tag_recv_info_t wait_unexpected(entity &e, ucp_tag_t tag,
                                        ucp_tag_t mask = TAG_FULL);

    /* Flush both ways and probe until a token came, so that connections are set up. */
    void warm_up();

    void close_all();

    std::vector<std::unique_ptr<entity>> m_entities;

private:
    entity *m_a   = nullptr;
    entity *m_b   = nullptr;
    ucp_ep_h m_ab = nullptr;
    ucp_ep_h m_ba = nullptr;
};

/* Parameterised over transports; the fixture of nearly all tests. */
class transport_test : public base_fixture,
                       public ::testing::WithParamInterface<transport> {
protected:
    void make_pair(const entity_params &params = {})
    {
        base_fixture::make_pair(GetParam(), params);
    }

    void make_loopback(const entity_params &params = {})
    {
        base_fixture::make_loopback(GetParam(), params);
    }

    entity &create(const entity_params &params = {})
    {
        return base_fixture::create(GetParam(), params);
    }
};

#define INSTANTIATE_TRANSPORTS(_fixture) \
    INSTANTIATE_TEST_SUITE_P(ucp, _fixture, ::testing::Values(SHM, TCP, SELF), \
                             transport_name)

#define INSTANTIATE_REMOTE_TRANSPORTS(_fixture) \
    INSTANTIATE_TEST_SUITE_P(ucp, _fixture, ::testing::Values(SHM, TCP), transport_name)

} // namespace ucp_test

#endif
