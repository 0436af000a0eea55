/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/types/request.c: the pool and the life of a request; and what a send waits for. */

#include "unit/fakes/fake_ucx.h"

extern "C" {
#include "ucp/core/send_req.h"
}

#include <set>

using namespace fake;

namespace {

const size_t USER_SIZE = 40;

std::set<void *> g_initialised;

void user_init(void *request)
{
    EXPECT_TRUE(g_initialised.insert(request).second) << "initialised twice";
    for (size_t i = 0; i < USER_SIZE; ++i) {
        EXPECT_EQ(0, ((char *)request)[i]);
    }
    memset(request, 0x11, USER_SIZE);
}

void user_cleanup(void *request)
{
    EXPECT_EQ(1u, g_initialised.erase(request));
}

class test_request_pool : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        g_initialised.clear();
        ri_req_headroom           = 272;
        m_context.request_size    = USER_SIZE;
        m_context.request_init    = user_init;
        m_context.request_cleanup = user_cleanup;
        m_worker.context          = &m_context;
        ri_req_pool_init(&m_worker);
    }

    void TearDown() override
    {
        EXPECT_EQ(0u, m_worker.reqs.in_use);
        ri_req_pool_cleanup(&m_worker);
        EXPECT_TRUE(g_initialised.empty());
        ri_test::TearDown();
    }

    ri_context_t m_context      = {};
    ri_worker_t m_worker        = {};
    ucp_request_param_t m_param = {};
};

struct completion {
    unsigned calls               = 0;
    void *handle                 = nullptr;
    ucs_status_t status          = UCS_INPROGRESS;
    ucp_tag_recv_info_t info     = {};
    void (*inside)(void *handle) = nullptr;
};

void on_send(void *handle, ucs_status_t status, void *arg)
{
    completion *c = static_cast<completion *>(arg);

    ++c->calls;
    c->handle = handle;
    c->status = status;
    if (c->inside != nullptr) {
        c->inside(handle);
    }
}

void on_recv(void *handle, ucs_status_t status, const ucp_tag_recv_info_t *info,
             void *arg)
{
    static_cast<completion *>(arg)->info = *info;
    on_send(handle, status, arg);
}

TEST_F(test_request_pool, objects_fit_in_front_of_the_handle)
{
    EXPECT_LE(sizeof(ri_recv_req_t), ri_req_headroom);
    EXPECT_LE(sizeof(ri_send_req_t), ri_req_headroom);
    EXPECT_LE(sizeof(ri_ep_op_t), ri_req_headroom);
    EXPECT_EQ(0u, offsetof(ri_req_t, mark));
}

TEST_F(test_request_pool, headroom)
{
    ri_stock.request_size = 272;
    EXPECT_EQ(272u, ri_request_headroom());
    ri_stock.request_size = 64;
    EXPECT_EQ(0u, ri_request_headroom()); /* too small to be worked with */
}

TEST_F(test_request_pool, get_and_put)
{
    std::vector<ri_req_t *> reqs;
    std::set<ri_req_t *> seen;

    for (int i = 0; i < 1000; ++i) {
        ri_req_t *req = ri_req_get(&m_worker, &m_param, RI_REQ_SEND);

        ASSERT_NE(nullptr, req);
        EXPECT_TRUE(seen.insert(req).second);
        EXPECT_EQ(&m_worker, req->worker);
        EXPECT_EQ((uint32_t)RI_REQ_SEND, ri_req_flags(req));
        EXPECT_TRUE(ri_req_is_own(ri_req_handle(req)));
        EXPECT_EQ(0u, (uintptr_t)ri_req_handle(req) % 16);
        EXPECT_EQ(req, ri_req_of_handle(ri_req_handle(req)));
        memset(ri_req_handle(req), 0x22, USER_SIZE);
        reqs.push_back(req);
    }
    EXPECT_EQ(1000u, m_worker.reqs.in_use);
    size_t initialised = g_initialised.size();
    for (ri_req_t *req : reqs) {
        ri_req_put(req);
        EXPECT_EQ(RI_REQ_MARK_FREE, req->mark);
        EXPECT_TRUE(ri_req_is_own(ri_req_handle(req)));
    }

    /* The application's part keeps its content from use to use */
    for (int i = 0; i < 1000; ++i) {
        reqs[i] = ri_req_get(&m_worker, &m_param, RI_REQ_RECV);
        EXPECT_EQ(1u, seen.count(reqs[i]));
        EXPECT_EQ(0x22, *(char *)ri_req_handle(reqs[i]));
    }
    EXPECT_EQ(initialised, g_initialised.size());
    for (ri_req_t *req : reqs) {
        ri_req_drop(req);
    }
}

TEST_F(test_request_pool, of_the_application)
{
    std::vector<uint64_t> block(272 / 8 + 1, ~0ul);
    void *handle = &block[272 / 8];

    EXPECT_FALSE(ri_req_is_own(handle));
    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_REQUEST;
    m_param.request      = handle;
    ri_req_t *req        = ri_req_get(&m_worker, &m_param, RI_REQ_RECV);
    EXPECT_EQ(handle, ri_req_handle(req));
    EXPECT_TRUE(ri_req_is_own(handle));
    EXPECT_TRUE(ri_req_flags(req) & RI_REQ_USER_MEM);
    EXPECT_EQ(0u, m_worker.reqs.in_use);
    EXPECT_EQ(~0ul, block[272 / 8]); /* nothing of ours behind the handle */
    ri_req_drop(req);
    EXPECT_TRUE(ri_req_is_own(handle)); /* its status may be asked for */

    /* A stock operation takes the same memory */
    ri_req_disown(&m_param);
    EXPECT_FALSE(ri_req_is_own(handle));
}

TEST_F(test_request_pool, not_own_before_anything_was_taken_over)
{
    std::unique_ptr<uint8_t[]> block(new uint8_t[1]);
    void *volatile handle = block.get();

    ri_req_headroom = 0;
    EXPECT_FALSE(ri_req_is_own(handle)); /* must not look in front of it */
}

TEST_F(test_request_pool, done_send_by_status)
{
    completion c;

    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    m_param.cb.send      = on_send;
    m_param.user_data    = &c;
    for (ucs_status_t status : {UCS_OK, UCS_ERR_CANCELED}) {
        ri_req_t *req = ri_req_get(&m_worker, &m_param, RI_REQ_SEND);

        EXPECT_EQ(UCS_STATUS_PTR(status), ri_req_done_send(req, &m_param, status));
        EXPECT_EQ(0u, c.calls);
        EXPECT_EQ(0u, m_worker.reqs.in_use);
    }
}

TEST_F(test_request_pool, done_by_handle)
{
    completion c;

    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                           UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    m_param.cb.send   = on_send;
    m_param.user_data = &c;
    ri_req_t *req     = ri_req_get(&m_worker, &m_param, RI_REQ_SEND);
    EXPECT_EQ(ri_req_handle(req), ri_req_done_send(req, &m_param, UCS_OK));
    EXPECT_EQ(1u, c.calls);
    EXPECT_TRUE(ri_req_flags(req) & RI_REQ_COMPLETED);
    ri_req_put(req);

    m_param.cb.recv     = on_recv;
    ri_recv_req_t *recv = (ri_recv_req_t *)ri_req_get(&m_worker, &m_param, RI_REQ_RECV);
    recv->info          = {45, 123};
    EXPECT_EQ(ri_req_handle(&recv->super), ri_req_done_recv(recv, &m_param, UCS_OK));
    EXPECT_EQ(2u, c.calls);
    EXPECT_EQ(123u, c.info.length);
    EXPECT_EQ(45u, c.info.sender_tag);
    ri_req_put(&recv->super);
}

TEST_F(test_request_pool, recv_info_only_where_stock_fills_it)
{
    ucp_tag_recv_info_t info = {7, 7};

    m_param.op_attr_mask       = UCP_OP_ATTR_FIELD_RECV_INFO;
    m_param.recv_info.tag_info = &info;
    for (unsigned minor : {13, 16}) {
        ri_stock.version_minor = minor;
        ri_recv_req_t *recv    = (ri_recv_req_t *)ri_req_get(&m_worker, &m_param,
                                                             RI_REQ_RECV);
        recv->info             = {45, 123};
        EXPECT_EQ(nullptr, ri_req_done_recv(recv, &m_param, UCS_OK));
        EXPECT_EQ((minor == 16) ? 123u : 7u, info.length);
    }
}

TEST_F(test_request_pool, complete_in_every_order)
{
    for (bool release_first : {true, false}) {
        for (bool inside : {true, false}) {
            completion c;

            m_param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                   UCP_OP_ATTR_FIELD_USER_DATA;
            m_param.cb.recv     = on_recv;
            m_param.user_data   = &c;
            ri_recv_req_t *recv = (ri_recv_req_t *)ri_req_get(&m_worker, &m_param,
                                                              RI_REQ_RECV);
            recv->info          = {1, 99};
            ri_req_set_recv_cb(&recv->super, &m_param);
            if (release_first) {
                ri_req_set_flags(&recv->super, RI_REQ_RELEASED);
            } else if (inside) {
                c.inside = [](void *handle) { ri_req_put(ri_req_of_handle(handle)); };
            }
            ri_req_complete_recv(recv, UCS_ERR_MESSAGE_TRUNCATED);
            EXPECT_EQ(1u, c.calls);
            EXPECT_EQ(99u, c.info.length);
            EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, c.status);
            if (!release_first && !inside) {
                EXPECT_EQ(1u, m_worker.reqs.in_use);
                EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, recv->super.status);
                ri_req_put(&recv->super);
            }
            EXPECT_EQ(0u, m_worker.reqs.in_use);
        }
    }
}

TEST_F(test_request_pool, complete_without_callback)
{
    ri_req_t *req = ri_req_get(&m_worker, &m_param, RI_REQ_SEND);

    ri_req_set_send_cb(req, &m_param);
    ri_req_complete_send(req, UCS_OK);
    EXPECT_TRUE(ri_req_flags(req) & RI_REQ_COMPLETED);
    ri_req_put(req);
}

TEST_F(test_request_pool, user_data_only_if_given)
{
    void *seen = this;

    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK;
    m_param.cb.send      = on_send;
    m_param.user_data    = seen;
    ri_req_t *req        = ri_req_get(&m_worker, &m_param, RI_REQ_SEND);
    ri_req_set_send_cb(req, &m_param);
    EXPECT_EQ(nullptr, req->user_data);
    ri_req_put(req);
}

/* With several threads each request is given back under the worker's lock. */
TEST_F(test_request_pool, free_and_release_with_threads)
{
    m_worker.multi = 1;
    for (auto give_back : {ucp_request_free, ucp_request_release}) {
        ri_req_t *req = ri_req_get(&m_worker, &m_param, RI_REQ_SEND);

        ri_req_complete_send(req, UCS_OK);
        give_back(ri_req_handle(req));
        EXPECT_EQ(0u, m_worker.reqs.in_use);
        give_back(ri_req_handle(req)); /* twice, as some MPIs do */
        EXPECT_EQ(0u, m_worker.reqs.in_use);

        req = ri_req_get(&m_worker, &m_param, RI_REQ_SEND);
        give_back(ri_req_handle(req));
        EXPECT_EQ(1u, m_worker.reqs.in_use) << "under way still";
        ri_req_complete_send(req, UCS_OK);
        EXPECT_EQ(0u, m_worker.reqs.in_use);
    }
}

TEST_F(test_request_pool, free_and_release_leave_the_applications_memory)
{
    alignas(64) uint8_t memory[1024] = {};

    m_param.op_attr_mask = UCP_OP_ATTR_FIELD_REQUEST;
    m_param.request      = memory + ri_req_headroom;
    for (bool completed : {true, false}) {
        ri_req_t *req = ri_req_get(&m_worker, &m_param, RI_REQ_RECV);

        if (completed) {
            ri_req_set_flags(req, RI_REQ_COMPLETED);
        }
        uint32_t flags = ri_req_flags(req);
        ucp_request_free(ri_req_handle(req));
        ucp_request_release(ri_req_handle(req));
        EXPECT_EQ(flags, ri_req_flags(req));
        EXPECT_EQ(nullptr, m_worker.reqs.free);
        EXPECT_EQ(0u, m_worker.reqs.in_use);
        m_worker.reqs = {}; /* or the pool's end would touch this memory */
        ri_req_pool_init(&m_worker);
    }
}

/* The table in request.h, whose columns are in the order of the bits, for all sets. */
TEST_F(test_request_pool, what_a_send_may_wait_for)
{
    const char *const table[] = {"..x...",  /* RING */
                                 "..xxx.",  /* STOCK */
                                 "xx..xx",  /* MATCH */
                                 ".x..x.",  /* DATA */
                                 ".xxx.x",  /* WRITE */
                                 "..x.x."}; /* CONN */

    for (unsigned set = 0; set < RI_SEND_WAIT_LAST; ++set) {
        bool is_legal = true;

        for (unsigned i = 0; i < 6; ++i) {
            for (unsigned j = 0; j < 6; ++j) {
                is_legal &= (i == j) || !(set & (1u << i)) || !(set & (1u << j)) ||
                            (table[i][j] == 'x');
            }
        }
        EXPECT_EQ(is_legal, !!ri_send_may_wait_for((uint8_t)set)) << set;
    }
    EXPECT_FALSE(ri_send_may_wait_for(RI_SEND_WAIT_LAST));
}

} // namespace
