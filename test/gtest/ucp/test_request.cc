/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * How operations complete: immediate completion, callbacks, op_attr_mask, the request
 * functions. Memory of requests: test_request_memory.cc; the older call forms and calls
 * from inside callbacks: test_request_forms.cc.
 *
 * Not asserted, because stock leaves it open: the user data that a callback gets when
 * FIELD_USER_DATA is not set, and what becomes of a rendezvous message that a receive
 * with FORCE_IMM_CMPL met (stock 1.13 loses it).
 */

#include "ucp_test.h"

#include <cstring>

using namespace ucp_test;

namespace {

/* What a callback saw, when the test needs more than class op records. */
struct seen {
    bool returned       = false; /* set by the test after the call */
    bool cb_early       = false; /* callback ran before that */
    int calls           = 0;
    bool do_release     = false;
    void *request       = nullptr;
    ucs_status_t status = UCS_INPROGRESS;
    size_t length       = 0;
    ucp_tag_t tag       = 0;

    void called(void *req, ucs_status_t st)
    {
        ++calls;
        cb_early = !returned;
        request  = req;
        status   = st;
        if (do_release) {
            ucp_request_release(req);
        }
    }
};

void on_send(void *request, ucs_status_t status, void *user_data)
{
    static_cast<seen *>(user_data)->called(request, status);
}

void on_recv(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
             void *user_data)
{
    seen *s   = static_cast<seen *>(user_data);
    s->length = info->length;
    s->tag    = info->sender_tag;
    s->called(request, status);
}

ucp_request_param_t send_param(seen &s, uint32_t flags = 0)
{
    ucp_request_param_t p = {};
    p.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | flags;
    p.cb.send      = on_send;
    p.user_data    = &s;
    return p;
}

ucp_request_param_t recv_param(seen &s, uint32_t flags = 0)
{
    ucp_request_param_t p = send_param(s, flags);
    p.cb.recv             = on_recv;
    return p;
}

/* Whether all data is there, while a device may write it: each byte is looked at once. (memcmp
 * looks again at what differs, and may call it equal by then.) */
bool is_there(const std::string &in, const std::string &out)
{
    const volatile char *now = in.data();

    for (size_t i = 0; i < out.size(); ++i) {
        if (now[i] != out[i]) {
            return false;
        }
    }
    return true;
}

} // namespace

class test_request : public transport_test {
protected:
    void SetUp() override
    {
        make_pair();
        warm_up();
    }

    void drain(ucp_tag_t tag, size_t size)
    {
        std::string buffer(size, '\0');
        op_ptr r = recv(b().worker(), &buffer[0], size, tag);
        wait(*r, "drain");
        EXPECT_EQ(UCS_OK, r->status());
    }
};

/* A send that returns NULL is over: its callback never runs. */
TEST_P(test_request, immediate_send_has_no_callback)
{
    uint64_t data = 0x1234, in = 0;
    int immediate = 0;
    std::vector<std::unique_ptr<seen>> all;

    for (int i = 0; i < 1000; ++i) {
        all.emplace_back(new seen);
        seen &s               = *all.back();
        ucp_request_param_t p = send_param(s);
        op_ptr r              = recv(b().worker(), &in, sizeof(in), 1);
        ucs_status_ptr_t req  = ucp_tag_send_nbx(ab(), &data, sizeof(data), 1, &p);
        s.returned            = true;
        ASSERT_FALSE(UCS_PTR_IS_ERR(req));
        wait(*r);
        if (req == nullptr) {
            ++immediate;
        } else {
            wait([&] { return s.calls > 0; });
            EXPECT_EQ(req, s.request);
            EXPECT_FALSE(s.cb_early);
            ucp_request_free(req);
            s.calls = 0;
        }
    }
    calm_down();
    for (auto &s : all) {
        EXPECT_EQ(0, s->calls);
    }
    EXPECT_GT(immediate, 0) << "no small send completed at once";
}

/* A receive may return NULL only for a message that is there; no callback then. */
TEST_P(test_request, immediate_recv_has_no_callback)
{
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string out = pattern(size, 1), in(size, '\0');
        op_ptr s        = send(ab(), out.data(), size, 1);
        wait_unexpected(b(), 1);
        seen rs;
        ucp_request_param_t p = recv_param(rs);
        ucs_status_ptr_t req  = ucp_tag_recv_nbx(b().worker(), &in[0], size, 1, TAG_FULL,
                                                 &p);
        rs.returned           = true;
        ASSERT_FALSE(UCS_PTR_IS_ERR(req));
        if (req == nullptr) {
            EXPECT_TRUE(in == out);
            EXPECT_EQ(0, rs.calls);
        } else {
            wait([&] { return rs.calls > 0; });
            EXPECT_TRUE(in == out);
            EXPECT_EQ(req, rs.request);
            ucp_request_free(req);
        }
        wait(*s);
    }
}

TEST_P(test_request, no_imm_cmpl_send_returns_handle)
{
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string out = pattern(size, 1);
        seen s;
        ucp_request_param_t p = send_param(s, UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
        ucs_status_ptr_t req  = ucp_tag_send_nbx(ab(), out.data(), size, 2, &p);
        s.returned            = true;
        ASSERT_TRUE(UCS_PTR_IS_PTR(req));
        /* Done and called go together. */
        EXPECT_EQ(s.calls, ucp_request_is_completed(req));
        drain(2, size);
        wait([&] { return s.calls > 0; });
        EXPECT_EQ(1, s.calls);
        EXPECT_EQ(req, s.request);
        EXPECT_EQ(UCS_OK, s.status);
        EXPECT_EQ(UCS_OK, ucp_request_check_status(req));
        EXPECT_TRUE(ucp_request_is_completed(req));
        ucp_request_free(req);
    }
}

TEST_P(test_request, no_imm_cmpl_recv_calls_back_inline)
{
    for (size_t size : {size_t(0), size_t(8), size_t(100)}) {
        SCOPED_TRACE(size);
        std::string out = pattern(size, 1), in(size, '\0');
        op_ptr s        = send(ab(), out.data(), size, 3);
        wait_unexpected(b(), 3);
        seen rs;
        ucp_request_param_t p = recv_param(rs, UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
        ucs_status_ptr_t req  = ucp_tag_recv_nbx(b().worker(), &in[0], size, 3, TAG_FULL,
                                                 &p);
        ASSERT_TRUE(UCS_PTR_IS_PTR(req));
        EXPECT_EQ(1, rs.calls);
        EXPECT_EQ(req, rs.request);
        EXPECT_EQ(UCS_OK, rs.status);
        EXPECT_EQ(size, rs.length);
        EXPECT_EQ(3u, rs.tag);
        EXPECT_TRUE(in == out);
        EXPECT_EQ(UCS_OK, ucp_request_check_status(req));
        ucp_request_free(req);
        wait(*s);
        calm_down();
        EXPECT_EQ(1, rs.calls);
    }
}

/* MPICH's callbacks release the request, inline or later. */
TEST_P(test_request, release_inside_callback)
{
    for (int round = 0; round < 300; ++round) {
        size_t size     = ALL_SIZES[round % ALL_SIZES.size()];
        bool late       = (round / ALL_SIZES.size()) % 2;
        std::string out = pattern(size, round), in(size, '\0');
        seen rs, ss;
        rs.do_release = ss.do_release = true;
        ucp_request_param_t rp        = recv_param(rs, UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
        ucp_request_param_t sp        = send_param(ss);
        ucs_status_ptr_t sreq;

        if (late) {
            sreq        = ucp_tag_send_nbx(ab(), out.data(), size, 4, &sp);
            ss.returned = true;
            wait_unexpected(b(), 4);
        }
        EXPECT_TRUE(UCS_PTR_IS_PTR(
                ucp_tag_recv_nbx(b().worker(), &in[0], size, 4, TAG_FULL, &rp)));
        if (!late) {
            sreq        = ucp_tag_send_nbx(ab(), out.data(), size, 4, &sp);
            ss.returned = true;
        }
        wait([&] { return (rs.calls > 0) && ((sreq == nullptr) || (ss.calls > 0)); });
        EXPECT_EQ(1, rs.calls);
        EXPECT_EQ(UCS_OK, rs.status);
        EXPECT_TRUE(in == out);
    }
}

/*
 * MPICH stores the request after the call returned, so a send callback must not run
 * before. The self transport delivers inside the call and a posted receive matches
 * there, which makes this easy to get wrong.
 */
TEST_P(test_request, send_callback_after_return)
{
    ucp_ep_h self = a().connect(a());

    for (bool to_self : {false, true}) {
        entity &rx  = to_self ? a() : b();
        ucp_ep_h ep = to_self ? self : ab();
        for (bool sync : {false, true}) {
            for (size_t size : ALL_SIZES) {
                SCOPED_TRACE(std::to_string(size) + (sync ? " sync" : "") +
                             (to_self ? " to self" : ""));
                /* Enough in a row to run out of transport resources. */
                constexpr int N = 20;
                std::string out = pattern(size, 1);
                std::string in(size, '\0');
                std::vector<op_ptr> recvs;
                seen s[N];
                ucs_status_ptr_t req[N];

                for (int i = 0; i < N; ++i) {
                    if ((i % 3) != 0) {
                        recvs.push_back(recv(rx.worker(), &in[0], size, 5));
                    }
                    ucp_request_param_t p = send_param(s[i]);
                    req[i] = sync ? ucp_tag_send_sync_nbx(ep, out.data(), size, 5, &p) :
                                    ucp_tag_send_nbx(ep, out.data(), size, 5, &p);
                    s[i].returned = true;
                    EXPECT_EQ(0, s[i].calls);
                    ASSERT_FALSE(UCS_PTR_IS_ERR(req[i]));
                }
                while (recvs.size() < N) {
                    recvs.push_back(recv(rx.worker(), &in[0], size, 5));
                }
                wait_all(recvs);
                for (int i = 0; i < N; ++i) {
                    if (req[i] != nullptr) {
                        wait([&] { return s[i].calls > 0; }, "send callback");
                        EXPECT_FALSE(s[i].cb_early);
                        EXPECT_EQ(UCS_OK, s[i].status);
                        EXPECT_EQ(req[i], s[i].request);
                        ucp_request_free(req[i]);
                    } else {
                        EXPECT_EQ(0, s[i].calls);
                    }
                }
            }
        }
    }
}

TEST_P(test_request, force_imm_cmpl_recv)
{
    uint64_t out = 77, in = 0;
    seen rs;
    ucp_request_param_t p = recv_param(rs, UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL |
                                                   UCP_OP_ATTR_FIELD_MEMORY_TYPE);

    p.memory_type = UCS_MEMORY_TYPE_HOST; /* also where memory_kinds.c says otherwise */
    EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE),
              ucp_tag_recv_nbx(b().worker(), &in, sizeof(in), 6, TAG_FULL, &p));
    /* It was not posted: the message stays unexpected, and the next try takes it. */
    op_ptr s = send(ab(), &out, sizeof(out), 6);
    wait_unexpected(b(), 6);
    EXPECT_EQ(0, rs.calls);
    EXPECT_EQ(nullptr, ucp_tag_recv_nbx(b().worker(), &in, sizeof(in), 6, TAG_FULL, &p));
    EXPECT_EQ(out, in);
    EXPECT_EQ(0, rs.calls);
    wait(*s);
}

TEST_P(test_request, force_imm_cmpl_msg_recv)
{
    for (size_t length : {size_t(8), size_t(1048576)}) {
        std::string out = pattern(length, 1), in(length, 0);
        ucp_tag_recv_info_t info;
        seen rs;
        ucp_request_param_t p = recv_param(rs, UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL |
                                                       UCP_OP_ATTR_FIELD_MEMORY_TYPE);
        p.memory_type         = UCS_MEMORY_TYPE_HOST;
        /* A synchronous one: its data stays at the sender if it is large */
        op_ptr s(new op());
        ucp_request_param_t sp = s->send_param(UCP_OP_ATTR_FIELD_MEMORY_TYPE);

        sp.memory_type = UCS_MEMORY_TYPE_HOST;
        s->started(ucp_tag_send_sync_nbx(ab(), out.data(), length, 6, &sp));

        wait_unexpected(b(), 6);
        ucp_tag_message_h m = ucp_tag_probe_nb(b().worker(), 6, TAG_FULL, 1, &info);
        ASSERT_NE(nullptr, m);
        ucs_status_ptr_t ret = ucp_tag_msg_recv_nbx(b().worker(), &in[0], length, m, &p);
        if ((ret == UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE)) &&
            ((length > 8) || (is_stock() && ucx_at_least(1, 16)))) {
            /* The message is still the caller's. 1.18 refuses short synchronous ones as well */
            p.op_attr_mask &= ~UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
            wait_handle(ucp_tag_msg_recv_nbx(b().worker(), &in[0], length, m, &p));
        } else {
            /* Not even a large one of the own process takes longer in the library */
            EXPECT_EQ(nullptr, ret);
        }
        EXPECT_EQ(out, in);
        wait(*s);
    }
}

TEST_P(test_request, force_imm_cmpl_send)
{
    std::string out = pattern(1048576, 1);
    ucp_tag_recv_info_t info;
    seen s;
    ucp_request_param_t p = send_param(s, UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL);

    EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE),
              ucp_tag_send_nbx(ab(), out.data(), out.size(), 7, &p));
    calm_down();
    EXPECT_EQ(nullptr, ucp_tag_probe_nb(b().worker(), 7, TAG_FULL, 0, &info));
    EXPECT_EQ(0, s.calls);

    /* A small one either completes or leaves nothing behind. */
    ucs_status_ptr_t ret = ucp_tag_send_nbx(ab(), out.data(), 8, 7, &p);
    if (ret == nullptr) {
        drain(7, 8);
    } else {
        EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE), ret);
        calm_down();
        EXPECT_EQ(nullptr, ucp_tag_probe_nb(b().worker(), 7, TAG_FULL, 0, &info));
    }
    EXPECT_EQ(0, s.calls);
}

TEST_P(test_request, invalid_memory_type)
{
    char byte             = 1;
    ucp_request_param_t p = {};
    ucp_tag_recv_info_t info;
    const ucs_status_ptr_t invalid = UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);

    p.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    p.memory_type  = static_cast<ucs_memory_type_t>(UCS_MEMORY_TYPE_LAST + 1);
    EXPECT_EQ(invalid, ucp_tag_send_nbx(ab(), &byte, 1, 8, &p));
    EXPECT_EQ(invalid, ucp_tag_send_sync_nbx(ab(), &byte, 1, 8, &p));
    EXPECT_EQ(invalid, ucp_tag_recv_nbx(b().worker(), &byte, 1, 8, TAG_FULL, &p));
    calm_down();
    EXPECT_EQ(nullptr, ucp_tag_probe_nb(b().worker(), 8, TAG_FULL, 0, &info));

    /* The refused receive was not posted, and a refused one keeps the message. */
    op_ptr s = send(ab(), &byte, 1, 8);
    wait_unexpected(b(), 8);
    ucp_tag_message_h m = ucp_tag_probe_nb(b().worker(), 8, TAG_FULL, 1, &info);
    ASSERT_NE(nullptr, m);
    EXPECT_EQ(invalid, ucp_tag_msg_recv_nbx(b().worker(), &byte, 1, m, &p));
    p.op_attr_mask = 0;
    wait_handle(ucp_tag_msg_recv_nbx(b().worker(), &byte, 1, m, &p));
    wait(*s);
}

/* free: the callback never runs; release: it does. The transfer goes on either way. */
TEST_P(test_request, free_and_release_before_completion)
{
    for (bool keep : {false, true}) {
        for (size_t size : ALL_SIZES) {
            SCOPED_TRACE(std::to_string(size) + (keep ? " release" : " free"));
            std::string out = pattern(size, 2), in(size, '\0');
            seen rs, ss;
            ucp_request_param_t rp = recv_param(rs, UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
            ucp_request_param_t sp = send_param(ss);
            auto drop              = keep ? ucp_request_release : ucp_request_free;

            ucs_status_ptr_t rreq = ucp_tag_recv_nbx(b().worker(), &in[0], size, 9,
                                                     TAG_FULL, &rp);
            ASSERT_TRUE(UCS_PTR_IS_PTR(rreq));
            drop(rreq);
            ucs_status_ptr_t sreq = ucp_tag_send_sync_nbx(ab(), out.data(), size, 9, &sp);
            ss.returned           = true;
            bool open = UCS_PTR_IS_PTR(sreq) && !ucp_request_is_completed(sreq);
            if (UCS_PTR_IS_PTR(sreq)) {
                drop(sreq);
            }

            if (keep) {
                wait([&] { return (rs.calls == 1) && (ss.calls == (open ? 1 : 0)); });
                EXPECT_EQ(size, rs.length);
            } else {
                wait([&] { return is_there(in, out); }, "data");
            }
            calm_down();
            EXPECT_TRUE(in == out);
            EXPECT_EQ(keep ? 1 : 0, rs.calls);
            EXPECT_EQ((keep && open) ? 1 : 0, ss.calls);
        }
    }
}

TEST_P(test_request, query_functions)
{
    for (size_t size : {size_t(8), size_t(1048576)}) {
        std::string out = pattern(size, 2), in(size, '\0');
        op_ptr r        = recv(b().worker(), &in[0], size, 10);
        char text[512];
        ucp_request_attr_t attr = {};
        ucp_tag_recv_info_t info;

        ASSERT_NE(nullptr, r->handle());
        EXPECT_FALSE(ucp_request_is_completed(r->handle()));
        EXPECT_EQ(UCS_INPROGRESS, ucp_request_check_status(r->handle()));
        EXPECT_EQ(UCS_INPROGRESS, ucp_tag_recv_request_test(r->handle(), &info));
        EXPECT_EQ(UCS_INPROGRESS, ucp_request_test(r->handle(), &info));

        attr.field_mask = UCP_REQUEST_ATTR_FIELD_STATUS |
                          UCP_REQUEST_ATTR_FIELD_MEM_TYPE |
                          UCP_REQUEST_ATTR_FIELD_INFO_STRING |
                          UCP_REQUEST_ATTR_FIELD_INFO_STRING_SIZE;
        attr.debug_string      = text;
        attr.debug_string_size = sizeof(text);
        memset(text, 'x', sizeof(text));
        EXPECT_EQ(UCS_OK, ucp_request_query(r->handle(), &attr));
        EXPECT_EQ(UCS_INPROGRESS, attr.status);
        if (attr.mem_type != UCS_MEMORY_TYPE_HOST) { /* memory_kinds.c is preloaded */
            EXPECT_EQ(UCS_MEMORY_TYPE_UNKNOWN, attr.mem_type);
            EXPECT_NE(nullptr, strstr(getenv("LD_PRELOAD"), "memory_kinds"));
        }
        EXPECT_LT(strnlen(text, sizeof(text)), sizeof(text));

        attr.field_mask = UCP_REQUEST_ATTR_FIELD_INFO_STRING;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, ucp_request_query(r->handle(), &attr));

        op_ptr s = send(ab(), out.data(), size, 10);
        wait(*r);
        EXPECT_TRUE(ucp_request_is_completed(r->handle()));
        EXPECT_EQ(UCS_OK, ucp_request_check_status(r->handle()));
        EXPECT_EQ(UCS_OK, ucp_tag_recv_request_test(r->handle(), &info));
        EXPECT_EQ(size, info.length);
        EXPECT_EQ(10u, info.sender_tag);
        info = {};
        EXPECT_EQ(UCS_OK, ucp_request_test(r->handle(), &info));
        EXPECT_EQ(size, info.length);
        attr.field_mask = UCP_REQUEST_ATTR_FIELD_STATUS;
        EXPECT_EQ(UCS_OK, ucp_request_query(r->handle(), &attr));
        EXPECT_EQ(UCS_OK, attr.status);
        wait(*s);
    }
}

INSTANTIATE_TRANSPORTS(test_request);
