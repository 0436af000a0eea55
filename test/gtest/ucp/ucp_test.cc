/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Implementation of the helpers of the UCP API-semantics tests; see ucp_test.h. */

#include "ucp_test.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <sched.h>

namespace ucp_test {

const std::vector<size_t> ALL_SIZES = {
        0,    1,    8,    16,   40,    41,    64,    100,    1000,   1023,
        1024, 1025, 2047, 2048, 2049,  4095,  4096,  4097,   8000,   8191,
        8192, 8193, 9000, 9216, 16384, 32768, 65536, 200000, 1048576};

const transport SHM      = {"shm", "posix,sysv,cma,self", nullptr};
const transport SHM_COPY = {"shm_copy", "posix,sysv,self", nullptr};
const transport TCP      = {"tcp", "tcp,self", "lo"};
const transport SELF     = {"self", "self", nullptr};

bool transport::is_self() const
{
    return !strcmp(tls, "self");
}

std::ostream &operator<<(std::ostream &os, const transport &t)
{
    return os << t.name;
}

std::string transport_name(const ::testing::TestParamInfo<transport> &info)
{
    return info.param.name;
}

void check_status(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        throw failure(std::string(what) + ": " + ucs_status_string(status));
    }
}

bool ucx_at_least(unsigned major, unsigned minor)
{
    unsigned is_major, is_minor, is_release;

    ucp_get_version(&is_major, &is_minor, &is_release);
    return (is_major > major) || ((is_major == major) && (is_minor >= minor));
}

bool is_stock()
{
    const char *scheme = getenv("UCX_RNDV_SCHEME");

    return (dlsym(RTLD_DEFAULT, "ucxri_worker_counters") == nullptr) ||
           (scheme == nullptr) || (strcmp(scheme, "recv_init") != 0);
}

bool is_by_ucx()
{
    const char *preload = getenv("LD_PRELOAD");

    return is_stock() ||
           ((preload != nullptr) && (strstr(preload, "memory_kinds") != nullptr));
}

bool poll_until(const std::function<bool()> &condition,
                const std::function<unsigned()> &progress, double seconds)
{
    using clock     = std::chrono::steady_clock;
    const auto wait = std::chrono::milliseconds(10);
    auto idle_since = clock::now();
    auto deadline   = idle_since + std::chrono::duration<double>(seconds);
    unsigned idle   = 0;

    while (!condition()) {
        if (progress() != 0) {
            idle = 0;
            continue;
        }

        /* The peer may need this core; and when nothing has come for long, others may. */
        if ((++idle % 64) == 0) {
            auto now = clock::now();

            if (now > deadline) {
                return condition();
            }
            if (idle == 64) {
                idle_since = now;
            }
            if (now - idle_since > wait) {
                usleep(100);
            } else {
                sched_yield();
            }
        }
    }

    return true;
}

entity::entity(const transport &tr, const entity_params &params)
    : m_params(params), m_context(nullptr), m_worker(nullptr),
      m_granted(UCS_THREAD_MODE_SINGLE)
{
    ucp_params_t ctx_params       = {};
    ucp_worker_params_t wk_params = {};
    ucp_worker_attr_t attr        = {};
    ucp_config_t *config;

    check_status(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    check_status(ucp_config_modify(config, "TLS", tr.tls), "modify TLS");
    if (tr.net_devices != nullptr) {
        check_status(ucp_config_modify(config, "NET_DEVICES", tr.net_devices),
                     "modify NET_DEVICES");
    }
    for (const auto &item : params.config) {
        check_status(ucp_config_modify(config, item.first.c_str(), item.second.c_str()),
                     item.first.c_str());
    }

    ctx_params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_REQUEST_SIZE |
                            UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    ctx_params.features          = params.features;
    ctx_params.request_size      = params.request_size;
    ctx_params.mt_workers_shared = 0;
    if (params.request_init != nullptr) {
        ctx_params.field_mask |= UCP_PARAM_FIELD_REQUEST_INIT;
        ctx_params.request_init = params.request_init;
    }
    if (params.request_cleanup != nullptr) {
        ctx_params.field_mask |= UCP_PARAM_FIELD_REQUEST_CLEANUP;
        ctx_params.request_cleanup = params.request_cleanup;
    }

    ucs_status_t status = ucp_init(&ctx_params, config, &m_context);
    ucp_config_release(config);
    check_status(status, "ucp_init");

    wk_params.field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    wk_params.thread_mode = params.thread_mode;
    status                = ucp_worker_create(m_context, &wk_params, &m_worker);
    if (status != UCS_OK) {
        ucp_cleanup(m_context);
        check_status(status, "ucp_worker_create");
    }

    attr.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE;
    check_status(ucp_worker_query(m_worker, &attr), "ucp_worker_query");
    m_granted = attr.thread_mode;
}

entity::~entity()
{
    destroy_worker();
    if (!m_keeps_context) {
        ucp_cleanup(m_context);
    }
}

void entity::destroy_worker()
{
    if (m_worker != nullptr) {
        ucp_worker_destroy(m_worker);
        m_worker = nullptr;
    }
    m_eps.clear();
}

std::string entity::address() const
{
    ucp_address_t *address;
    size_t length;

    check_status(ucp_worker_get_address(m_worker, &address, &length),
                 "ucp_worker_get_address");
    std::string result(reinterpret_cast<char *>(address), length);
    ucp_worker_release_address(m_worker, address);
    return result;
}

ucp_ep_h entity::connect(const std::string &peer_address)
{
    ucp_ep_params_t params = {};
    ucp_ep_h ep;

    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address  = reinterpret_cast<const ucp_address_t *>(peer_address.data());
    params.err_mode = m_params.err_mode;
    if (m_params.err_cb != nullptr) {
        params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.err_handler.cb  = m_params.err_cb;
        params.err_handler.arg = m_params.err_arg;
    }

    check_status(ucp_ep_create(m_worker, &params, &ep), "ucp_ep_create");
    m_eps.push_back(ep);
    return ep;
}

ucs_status_ptr_t entity::close_nbx(ucp_ep_h ep, unsigned flags)
{
    ucp_request_param_t param = {};

    for (size_t i = 0; i < m_eps.size(); ++i) {
        if (m_eps[i] == ep) {
            m_eps.erase(m_eps.begin() + i);
            break;
        }
    }

    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags        = flags;
    return ucp_ep_close_nbx(ep, &param);
}

op::~op()
{
    if (m_handle != nullptr) {
        if (!m_done && (m_worker != nullptr)) {
            ucp_request_cancel(m_worker, m_handle);
        }
        ucp_request_free(m_handle);
    }
}

void op::completed(ucs_status_t status)
{
    ++m_calls;
    m_status = status;
    m_done   = true; /* last: another thread may wait for it */
}

void op::send_cb(void *, ucs_status_t status, void *user_data)
{
    static_cast<op *>(user_data)->completed(status);
}

void op::recv_cb(void *, ucs_status_t status, const ucp_tag_recv_info_t *info,
                 void *user_data)
{
    op *self = static_cast<op *>(user_data);

    self->m_info = *info;
    self->completed(status);
}

ucp_request_param_t op::send_param(uint32_t attr_mask)
{
    ucp_request_param_t param = {};

    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         attr_mask;
    param.cb.send   = send_cb;
    param.user_data = this;
    return param;
}

/*
 * Without NO_IMM_CMPL a receive that completes at once would not say what it got: the
 * info is filled in only from UCX 1.16 on.
 */
ucp_request_param_t op::recv_param(uint32_t attr_mask)
{
    ucp_request_param_t param = {};

    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FLAG_NO_IMM_CMPL | attr_mask;
    param.cb.recv   = recv_cb;
    param.user_data = this;
    return param;
}

void op::started(ucs_status_ptr_t ret, ucp_worker_h worker)
{
    m_worker = worker;
    if (UCS_PTR_IS_PTR(ret)) {
        m_handle = ret;
    } else {
        EXPECT_EQ(0, m_calls) << "callback of an operation that completed at once";
        m_status = UCS_PTR_STATUS(ret);
        m_done   = true;
    }
}

void op::cancel()
{
    ucp_request_cancel(m_worker, m_handle);
}

op_ptr send_dt(ucp_ep_h ep, const void *buffer, size_t count, ucp_datatype_t dt,
               ucp_tag_t tag)
{
    op_ptr o(new op);
    ucp_request_param_t param = o->send_param(UCP_OP_ATTR_FIELD_DATATYPE);

    param.datatype = dt;
    o->started(ucp_tag_send_nbx(ep, buffer, count, tag, &param));
    return o;
}

op_ptr recv_dt(ucp_worker_h worker, void *buffer, size_t count, ucp_datatype_t dt,
               ucp_tag_t tag, ucp_tag_t mask)
{
    op_ptr o(new op);
    ucp_request_param_t param = o->recv_param(UCP_OP_ATTR_FIELD_DATATYPE);

    param.datatype = dt;
    o->started(ucp_tag_recv_nbx(worker, buffer, count, tag, mask, &param), worker);
    return o;
}

op_ptr send(ucp_ep_h ep, const void *buffer, size_t length, ucp_tag_t tag)
{
    op_ptr o(new op);
    ucp_request_param_t param = o->send_param();

    o->started(ucp_tag_send_nbx(ep, buffer, length, tag, &param));
    return o;
}

op_ptr send_sync(ucp_ep_h ep, const void *buffer, size_t length, ucp_tag_t tag)
{
    op_ptr o(new op);
    ucp_request_param_t param = o->send_param();

    o->started(ucp_tag_send_sync_nbx(ep, buffer, length, tag, &param));
    return o;
}

op_ptr recv(ucp_worker_h worker, void *buffer, size_t length, ucp_tag_t tag,
            ucp_tag_t mask)
{
    op_ptr o(new op);
    ucp_request_param_t param = o->recv_param();

    o->started(ucp_tag_recv_nbx(worker, buffer, length, tag, mask, &param), worker);
    return o;
}

/* Byte i of a pattern is 7 i + i / 256 + i / 65536, and something for the seed. So 256 of them are
 * always the same ramp that begins somewhere else; a copy of that is faster than each byte, most of
 * all where tests are not optimised. */
static const size_t PATTERN_BLOCK = 256;

static const char *pattern_block(uint64_t block, uint64_t seed)
{
    static const std::string ramp = []() {
        std::string s;

        for (size_t i = 0; i < 2 * PATTERN_BLOCK; ++i) {
            s.push_back(static_cast<char>(7 * i));
        }
        return s;
    }();
    uint64_t first = block + (block >> 8) + (seed * 31) + (seed >> 8);

    return ramp.data() + static_cast<uint8_t>(first * 183); /* 7 * 183 is 1 there */
}

std::string pattern(size_t length, uint64_t seed)
{
    std::string s;

    s.reserve(length);
    while (s.size() < length) {
        s.append(pattern_block(s.size() / PATTERN_BLOCK, seed),
                 std::min(PATTERN_BLOCK, length - s.size()));
    }
    return s;
}

void expect_pattern(const void *data, size_t length, uint64_t seed,
                    const std::string &what)
{
    const char *p = static_cast<const char *>(data);

    for (size_t i = 0; i < length; i += PATTERN_BLOCK) {
        const char *expected = pattern_block(i / PATTERN_BLOCK, seed);
        size_t part          = std::min(PATTERN_BLOCK, length - i);

        if (memcmp(p + i, expected, part) != 0) {
            i += std::mismatch(p + i, p + i + part, expected).first - (p + i);
            ADD_FAILURE() << what << ": byte " << i << " of " << length
                          << " differs, seed " << seed;
            return;
        }
    }
}

guarded_buffer::guarded_buffer(size_t length) : m_bytes(length + GUARD, '\x5a') {}

void guarded_buffer::expect_guard_intact() const
{
    EXPECT_EQ(std::string(GUARD, '\x5a'), m_bytes.substr(size()))
            << "bytes behind the receive buffer were written";
}

entity &base_fixture::create(const transport &tr, const entity_params &params)
{
    m_entities.emplace_back(new entity(tr, params));
    return *m_entities.back();
}

void base_fixture::make_pair(const transport &tr, const entity_params &params)
{
    m_a  = &create(tr, params);
    m_b  = tr.is_self() ? m_a : &create(tr, params);
    m_ab = m_a->connect(*m_b);
    m_ba = m_b->connect(*m_a);
}

void base_fixture::make_loopback(const transport &tr, const entity_params &params)
{
    m_a = m_b = &create(tr, params);
    m_ab = m_ba = m_a->connect(*m_a);
}

unsigned base_fixture::progress()
{
    unsigned count = 0;

    for (auto &e : m_entities) {
        count += e->progress();
    }
    return count;
}

void base_fixture::wait(const std::function<bool()> &condition, const char *what)
{
    if (!poll_until(condition, [this] { return progress(); })) {
        throw failure(std::string("timeout while waiting for ") + what);
    }
}

void base_fixture::wait(const op &o, const char *what)
{
    wait([&] { return o.done(); }, what);
}

void base_fixture::wait_all(const std::vector<op_ptr> &ops, const char *what)
{
    size_t i = 0;

    wait(
            [&] {
                while ((i < ops.size()) && ops[i]->done()) {
                    ++i;
                }
                return i == ops.size();
            },
            what);
}

void base_fixture::wait_handle(ucs_status_ptr_t ret, ucs_status_t expected)
{
    ucs_status_t status = UCS_PTR_STATUS(ret);

    if (UCS_PTR_IS_PTR(ret)) {
        wait([&] { return ucp_request_check_status(ret) != UCS_INPROGRESS; },
             "request handle");
        status = ucp_request_check_status(ret);
        ucp_request_free(ret);
    }
    EXPECT_EQ(expected, status) << ucs_status_string(status);
}

void base_fixture::calm_down()
{
    /* Hundreds of empty rounds on loopback; what is under way arrives much earlier. */
    for (unsigned idle = 0; idle < 300;) {
        idle = (progress() == 0) ? idle + 1 : 0;
    }
}

ucp_tag_recv_info_t base_fixture::wait_unexpected(entity &e, ucp_tag_t tag,
                                                  ucp_tag_t mask)
{
    ucp_tag_recv_info_t info = {};

    wait([&] { return ucp_tag_probe_nb(e.worker(), tag, mask, 0, &info) != nullptr; },
         "unexpected message");
    return info;
}

void base_fixture::warm_up()
{
    for (int i = 0; i < 4; ++i) {
        char token = 0, got = 0;
        op_ptr r1 = recv(b().worker(), &got, 1, TAG_FULL);
        op_ptr s1 = send(ab(), &token, 1, TAG_FULL);
        wait(*s1);
        wait(*r1);
        op_ptr r2 = recv(a().worker(), &got, 1, TAG_FULL);
        op_ptr s2 = send(ba(), &token, 1, TAG_FULL);
        wait(*s2);
        wait(*r2);
    }
}

void base_fixture::close_all()
{
    std::vector<ucs_status_ptr_t> closing;

    for (auto &e : m_entities) {
        while (!e->endpoints().empty()) {
            closing.push_back(e->close_nbx(e->endpoints().back()));
        }
    }
    for (ucs_status_ptr_t ret : closing) {
        wait_handle(ret);
    }
}

void base_fixture::TearDown()
{
    try {
        close_all();
    } catch (const failure &f) {
        ADD_FAILURE() << "closing endpoints: " << f.what();
    }
    m_entities.clear();
}

} // namespace ucp_test
