/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whose memory a request lives in: the pool with its user area, request_init and
 * request_cleanup, or a block that the application passes with FIELD_REQUEST.
 */

#include "ucp_test.h"

#include <cstring>
#include <map>
#include <set>

using namespace ucp_test;

namespace {

constexpr size_t USER_SIZE    = 160; /* what Open MPI asks for */
constexpr uint64_t INIT_MAGIC = 0xfeedbeefcafef00d;

std::multiset<void *> g_inits, g_cleanups;

void request_init(void *request)
{
    g_inits.insert(request);
    memset(request, 0, USER_SIZE);
    memcpy(request, &INIT_MAGIC, sizeof(INIT_MAGIC));
}

void request_cleanup(void *request)
{
    g_cleanups.insert(request);
}

} // namespace

class test_request_pool : public transport_test {
protected:
    void SetUp() override
    {
        entity_params params;
        params.request_size    = USER_SIZE;
        params.request_init    = request_init;
        params.request_cleanup = request_cleanup;
        g_inits.clear();
        g_cleanups.clear();
        make_pair(params);
        warm_up();
    }

    /* Checks what the last owner left in the user area, then leaves something new. */
    void take_area(void *request)
    {
        auto it = m_left.find(request);
        if (it == m_left.end()) {
            EXPECT_EQ(0, memcmp(request, &INIT_MAGIC, sizeof(INIT_MAGIC)))
                    << "request_init did not run";
            it = m_left.emplace(request, std::string()).first;
        } else {
            EXPECT_EQ(0, memcmp(request, it->second.data(), USER_SIZE))
                    << "user area changed between free and re-allocation";
        }
        EXPECT_EQ(1u, g_inits.count(request));
        it->second = pattern(USER_SIZE, ++m_generation);
        memcpy(request, it->second.data(), USER_SIZE);
    }

    void check_area(void *request)
    {
        EXPECT_EQ(0, memcmp(request, m_left[request].data(), USER_SIZE))
                << "user area changed while the request was in use";
    }

    std::map<void *, std::string> m_left;
    uint64_t m_generation = 0;
};

TEST_P(test_request_pool, user_area_survives)
{
    for (int round = 0; round < 12; ++round) {
        for (size_t size : {size_t(8), size_t(1024), size_t(65536)}) {
            const size_t n  = (size > 1024) ? 20 : 300;
            std::string out = pattern(size, round);
            std::vector<std::string> in(n, std::string(size, '\0'));
            std::vector<op_ptr> recvs, sends;

            auto send_all = [&] {
                for (size_t i = 0; i < n; ++i) {
                    sends.push_back((i % 2) ? send(ab(), out.data(), size, i) :
                                              send_sync(ab(), out.data(), size, i));
                    if (sends.back()->handle() != nullptr) {
                        take_area(sends.back()->handle());
                    }
                }
            };
            if (round % 2) {
                send_all();
                wait_unexpected(b(), n - 1);
            }
            for (size_t i = 0; i < n; ++i) {
                recvs.push_back(recv(b().worker(), &in[i][0], size, i));
                take_area(recvs.back()->handle());
            }
            if (!(round % 2)) {
                send_all();
            }
            wait_all(recvs);
            wait_all(sends);
            for (auto &o : recvs) {
                check_area(o->handle());
            }
            for (auto &o : sends) {
                if (o->handle() != nullptr) {
                    check_area(o->handle());
                }
            }
            for (auto &buffer : in) {
                EXPECT_TRUE(buffer == out);
            }
        }
    }
}

TEST_P(test_request_pool, init_count_is_stable)
{
    uint64_t out = 1, in = 0;
    std::string large = pattern(65536, 1), large_in(65536, '\0');
    size_t stable     = 0;

    for (int i = 0; i < 5000; ++i) {
        if (i == 1000) {
            stable = g_inits.size();
        }
        bool big = (i % 10) == 0;
        op_ptr r = big ? recv(b().worker(), &large_in[0], 65536, 1) :
                         recv(b().worker(), &in, sizeof(in), 1);
        op_ptr s = big ? send(ab(), large.data(), 65536, 1) :
                         send_sync(ab(), &out, sizeof(out), 1);
        op_ptr c = recv(b().worker(), &in, sizeof(in), 2);
        c->cancel();
        wait(*r);
        wait(*s);
    }
    EXPECT_EQ(stable, g_inits.size()) << "requests leak";
}

TEST_P(test_request_pool, cleanup_matches_init)
{
    uint64_t out = 1, in = 0;

    for (int i = 0; i < 100; ++i) {
        op_ptr r = recv(b().worker(), &in, sizeof(in), 1);
        op_ptr s = send(ab(), &out, sizeof(out), 1);
        wait(*r);
        wait(*s);
    }
    EXPECT_EQ(0u, g_cleanups.size());
    close_all();
    for (auto &e : m_entities) {
        e->destroy_worker();
    }
    EXPECT_GT(g_inits.size(), 0u);
    EXPECT_TRUE(g_inits == g_cleanups);
    for (void *request : g_inits) {
        EXPECT_EQ(1u, g_inits.count(request));
    }
}

INSTANTIATE_TRANSPORTS(test_request_pool);

class test_request_memory : public transport_test {
protected:
    void SetUp() override
    {
        entity_params params;
        params.features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA;
        /* No init may run on user memory, whatever the context asks for. */
        params.request_size = 8;
        params.request_init = [](void *request) { memset(request, 0, 8); };
        make_pair(params);
        warm_up();
        m_block.reset(new block(a().context()));
    }

    /* As Open MPI's alloca: the request is the end of the block, guards around it. */
    struct block {
        explicit block(ucp_context_h context)
        {
            ucp_context_attr_t attr = {};
            attr.field_mask         = UCP_ATTR_FIELD_REQUEST_SIZE;
            check_status(ucp_context_query(context, &attr), "ucp_context_query");
            size = attr.request_size;
            bytes.assign(GUARD + size + GUARD + 16, '\x77');
            /* Garbage inside too: nothing may rely on zeroed memory. */
        }

        char *start()
        {
            uintptr_t p = reinterpret_cast<uintptr_t>(&bytes[0]) + GUARD;
            return reinterpret_cast<char *>((p + 15) & ~uintptr_t(15));
        }

        void *request() { return start() + size; }

        ~block()
        {
            const std::string guard(GUARD, '\x77');
            EXPECT_EQ(0, memcmp(start() - GUARD, guard.data(), GUARD)) << "in front";
            EXPECT_EQ(0, memcmp(start() + size, guard.data(), GUARD)) << "behind";
        }

        static constexpr size_t GUARD = 64;
        std::string bytes;
        size_t size;
    };

    ucp_request_param_t param()
    {
        ucp_request_param_t p = {};
        p.op_attr_mask        = UCP_OP_ATTR_FIELD_REQUEST;
        p.request             = m_block->request();
        return p;
    }

    /* Waits for whatever runs in the block. */
    void wait_block(ucs_status_ptr_t ret, const char *what)
    {
        ASSERT_FALSE(UCS_PTR_IS_ERR(ret)) << what;
        if (ret == nullptr) {
            return;
        }
        EXPECT_EQ(m_block->request(), ret) << what;
        wait([&] { return ucp_request_check_status(ret) != UCS_INPROGRESS; }, what);
        EXPECT_EQ(UCS_OK, ucp_request_check_status(ret)) << what;
        EXPECT_TRUE(ucp_request_is_completed(ret)) << what;
    }

    std::unique_ptr<block> m_block;
};

TEST_P(test_request_memory, request_size)
{
    ucp_context_attr_t attr = {};
    attr.field_mask         = UCP_ATTR_FIELD_REQUEST_SIZE;
    EXPECT_EQ(UCS_OK, ucp_context_query(a().context(), &attr));
    EXPECT_GT(attr.request_size, 0u);
    EXPECT_EQ(0u, attr.request_size % 8);
}

/* Open MPI ignores what the call returned and asks the memory alone. */
TEST_P(test_request_memory, recv_tells_all_in_user_memory)
{
    for (size_t size : ALL_SIZES) {
        for (int kind = 0; kind < 6; ++kind) {
            bool late = kind & 1, short_room = (kind >= 2) && (kind < 4),
                 no_imm = kind >= 4;
            SCOPED_TRACE(std::to_string(size) + " kind " + std::to_string(kind));
            if (short_room && (size == 0)) {
                continue;
            }
            std::string out = pattern(size, 3);
            guarded_buffer in(short_room ? size - 1 : size);
            ucp_tag_recv_info_t info = {};
            ucp_request_param_t p    = param();
            ucs_status_ptr_t ret     = nullptr;
            op_ptr s;

            if (no_imm) {
                p.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
            }
            m_block.reset(new block(a().context()));
            p.request = m_block->request();
            if (!late) {
                ret = ucp_tag_recv_nbx(b().worker(), in.data(), in.size(), 1, TAG_FULL,
                                       &p);
                EXPECT_EQ(UCS_INPROGRESS, ucp_request_test(p.request, &info));
                EXPECT_FALSE(ucp_request_is_completed(p.request));
            }
            s = send(ab(), out.data(), size, 1);
            if (late) {
                wait_unexpected(b(), 1);
                ret = ucp_tag_recv_nbx(b().worker(), in.data(), in.size(), 1, TAG_FULL,
                                       &p);
            }
            if (UCS_PTR_IS_PTR(ret)) {
                EXPECT_EQ(p.request, ret);
            }
            EXPECT_TRUE(!no_imm || UCS_PTR_IS_PTR(ret));
            wait([&] { return ucp_request_test(p.request, &info) != UCS_INPROGRESS; });
            ucs_status_t expected = short_room ? UCS_ERR_MESSAGE_TRUNCATED : UCS_OK;
            EXPECT_EQ(expected, ucp_request_test(p.request, &info));
            EXPECT_EQ(expected, ucp_request_check_status(p.request));
            EXPECT_EQ(size, info.length);
            EXPECT_EQ(1u, info.sender_tag);
            if (!short_room) {
                expect_pattern(in.data(), size, 3);
            }
            in.expect_guard_intact();
            wait(*s);
        }
    }
}

TEST_P(test_request_memory, send_in_user_memory)
{
    for (size_t size : ALL_SIZES) {
        for (int kind = 0; kind < 3; ++kind) {
            SCOPED_TRACE(std::to_string(size) + " kind " + std::to_string(kind));
            std::string out = pattern(size, 3), in(size, '\0');
            m_block.reset(new block(a().context()));
            ucp_request_param_t p = param();
            ucs_status_ptr_t ret;

            if (kind == 0) {
                p.op_attr_mask |= UCP_OP_ATTR_FLAG_FAST_CMPL; /* as Open MPI */
            }
            ret = (kind == 2) ? ucp_tag_send_sync_nbx(ab(), out.data(), size, 2, &p) :
                                ucp_tag_send_nbx(ab(), out.data(), size, 2, &p);
            op_ptr r = recv(b().worker(), &in[0], size, 2);
            wait(*r);
            wait_block(ret, "send");
            EXPECT_TRUE(in == out);
        }
    }
}

TEST_P(test_request_memory, callback_gets_user_memory)
{
    std::string out = pattern(65536, 3), in(65536, '\0');

    for (size_t size : {size_t(8), size_t(65536)}) {
        struct context {
            void *request = nullptr;
            int calls     = 0;
        } ctx;
        ucp_request_param_t p = param();
        p.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        p.user_data = &ctx;
        p.cb.recv   = [](void *request, ucs_status_t, const ucp_tag_recv_info_t *,
                       void *arg) {
            static_cast<context *>(arg)->request = request;
            ++static_cast<context *>(arg)->calls;
        };
        ASSERT_EQ(p.request,
                  ucp_tag_recv_nbx(b().worker(), &in[0], size, 3, TAG_FULL, &p));
        op_ptr s = send(ab(), out.data(), size, 3);
        wait([&] { return ctx.calls > 0; });
        EXPECT_EQ(1, ctx.calls);
        EXPECT_EQ(p.request, ctx.request);
        EXPECT_EQ(UCS_OK, ucp_request_check_status(p.request));
        wait(*s);

        /* Cancel works on user memory too. */
        ASSERT_EQ(p.request,
                  ucp_tag_recv_nbx(b().worker(), &in[0], size, 3, TAG_FULL, &p));
        ucp_request_cancel(b().worker(), p.request);
        wait([&] { return ctx.calls > 1; }); /* through a network not at once */
        EXPECT_EQ(2, ctx.calls);
        EXPECT_EQ(UCS_ERR_CANCELED, ucp_request_check_status(p.request));
    }
}

/* Operations of all kinds, whose requests are in the block. */
class test_request_memory_reuse : public test_request_memory {
protected:
    void SetUp() override
    {
        test_request_memory::SetUp();
        map_window();
        set_am_handler();
    }

    void TearDown() override
    {
        ucp_rkey_destroy(m_rkey);
        EXPECT_EQ(UCS_OK, ucp_mem_unmap(b().context(), m_memh));
        test_request_memory::TearDown();
    }

    /* Memory of B that A may put to. */
    void map_window()
    {
        ucp_mem_map_params_t map = {};
        size_t packed_size;
        void *packed;

        map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
        map.address    = m_window.data();
        map.length     = m_window.size();
        ASSERT_EQ(UCS_OK, ucp_mem_map(b().context(), &map, &m_memh));
        ASSERT_EQ(UCS_OK, ucp_rkey_pack(b().context(), m_memh, &packed, &packed_size));
        ASSERT_EQ(UCS_OK, ucp_ep_rkey_unpack(ab(), packed, &m_rkey));
        ucp_rkey_buffer_release(packed);
    }

    void set_am_handler()
    {
        ucp_am_handler_param_t handler = {};

        handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                             UCP_AM_HANDLER_PARAM_FIELD_CB |
                             UCP_AM_HANDLER_PARAM_FIELD_ARG;
        handler.id  = 0;
        handler.arg = &m_am_count;
        handler.cb  = [](void *arg, const void *, size_t, void *, size_t,
                        const ucp_am_recv_param_t *) {
            ++*static_cast<int *>(arg);
            return UCS_OK;
        };
        ASSERT_EQ(UCS_OK, ucp_worker_set_am_recv_handler(b().worker(), &handler));
    }

    void tag_send(size_t size, bool sync)
    {
        ucp_request_param_t p = param();
        ucs_status_ptr_t ret  = sync ? ucp_tag_send_sync_nbx(ab(), m_data.data(), size, 1,
                                                             &p) :
                                       ucp_tag_send_nbx(ab(), m_data.data(), size, 1, &p);
        op_ptr r              = recv(b().worker(), m_in.data(), size, 1);
        wait(*r);
        wait_block(ret, "tag send");
    }

    void tag_recv(size_t size, size_t room, ucs_status_t expected)
    {
        ucp_request_param_t p = param();
        ucp_tag_recv_info_t info;

        ucp_tag_recv_nbx(b().worker(), m_in.data(), room, 1, TAG_FULL, &p);
        EXPECT_EQ(UCS_INPROGRESS, ucp_request_check_status(p.request));
        op_ptr s = send(ab(), m_data.data(), size, 1);
        wait([&] { return ucp_request_test(p.request, &info) != UCS_INPROGRESS; });
        EXPECT_EQ(expected, ucp_request_test(p.request, &info));
        EXPECT_EQ(size, info.length);
        wait(*s);
    }

    void flush()
    {
        ucp_request_param_t p = param();
        wait_block(ucp_ep_flush_nbx(ab(), &p), "flush");
    }

    void am_send(size_t size, uint32_t flags)
    {
        ucp_request_param_t p = param();
        int before            = m_am_count;

        p.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        p.flags = flags;
        wait_block(ucp_am_send_nbx(ab(), 0, nullptr, 0, m_data.data(), size, &p), "am");
        wait([&] { return m_am_count > before; }, "active message");
    }

    void put(size_t size)
    {
        ucp_request_param_t p = param();

        m_data[0] = 'a' + (++m_round % 26);
        wait_block(ucp_put_nbx(ab(), m_data.data(), size,
                               reinterpret_cast<uint64_t>(m_window.data()), m_rkey, &p),
                   "put");
        flush();
        EXPECT_EQ(m_data[0], m_window[0]);
    }

    std::vector<char> m_window = std::vector<char>(65536);
    std::vector<char> m_data   = std::vector<char>(1048576, 'd');
    std::vector<char> m_in     = std::vector<char>(1048576);
    ucp_mem_h m_memh           = nullptr;
    ucp_rkey_h m_rkey          = nullptr;
    int m_am_count             = 0;
    int m_round                = 0;
};

/* One block for all kinds of operations in turn; each leaves its traces in it. */
TEST_P(test_request_memory_reuse, for_other_operations)
{
    for (int i = 0; i < 30; ++i) {
        for (size_t size : {size_t(8), size_t(1024), size_t(65536)}) {
            SCOPED_TRACE(size);
            tag_send(size, false);
            flush();
            tag_recv(size, size - 1, UCS_ERR_MESSAGE_TRUNCATED);
            put(size);
            tag_recv(size, size, UCS_OK);
            am_send(size, UCP_AM_SEND_FLAG_EAGER);
            tag_send(size, true);
            am_send(size, 0);
            tag_recv(size, 0, UCS_ERR_MESSAGE_TRUNCATED);
            flush();
            tag_send(size, true);
            put(size);
            tag_send(size * 16, false);
            am_send(size, 0);
            flush();
        }
    }
}

INSTANTIATE_TRANSPORTS(test_request_memory);
INSTANTIATE_TRANSPORTS(test_request_memory_reuse);
