/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* The older call forms (_nb, _nbr), and UCP calls from inside callbacks. */

#include "ucp_test.h"

using namespace ucp_test;

namespace {

/* The callbacks of the _nb forms have no user data. */
int g_nb_calls;
ucs_status_t g_nb_status;
size_t g_nb_length;

void on_send_nb(void *, ucs_status_t status)
{
    ++g_nb_calls;
    g_nb_status = status;
}

void on_recv_nb(void *request, ucs_status_t status, ucp_tag_recv_info_t *info)
{
    on_send_nb(request, status);
    g_nb_length = info->length;
}

} // namespace

class test_request_forms : public transport_test {
protected:
    void SetUp() override { make_pair(); }

    /* User memory for one request; UCP gets its end. */
    void *request_memory()
    {
        ucp_context_attr_t attr = {};
        attr.field_mask         = UCP_ATTR_FIELD_REQUEST_SIZE;
        check_status(ucp_context_query(a().context(), &attr), "ucp_context_query");
        m_blocks.emplace_back(attr.request_size / 16 + 1);
        char *block = reinterpret_cast<char *>(m_blocks.back().data());
        return block + attr.request_size;
    }

    struct alignas(16) chunk {
        char bytes[16];
    };
    std::vector<std::vector<chunk>> m_blocks;
};

TEST_P(test_request_forms, nb_forms)
{
    const ucp_datatype_t byte = ucp_dt_make_contig(1);

    for (size_t size : ALL_SIZES) {
        for (int form = 0; form < 4; ++form) {
            bool late = form & 1, sync = form & 2;
            SCOPED_TRACE(std::to_string(size) + (late ? " late" : " early") +
                         (sync ? " sync" : ""));
            std::string out       = pattern(size, 4), in(size, '\0');
            ucs_status_ptr_t rreq = nullptr, sreq;

            g_nb_calls = 0;
            if (!late) {
                rreq = ucp_tag_recv_nb(b().worker(), &in[0], size, byte, 11, TAG_FULL,
                                       on_recv_nb);
                ASSERT_TRUE(UCS_PTR_IS_PTR(rreq));
            }
            sreq = sync ? ucp_tag_send_sync_nb(ab(), out.data(), size, byte, 11,
                                               on_send_nb) :
                          ucp_tag_send_nb(ab(), out.data(), size, byte, 11, on_send_nb);
            ASSERT_FALSE(UCS_PTR_IS_ERR(sreq));
            if (late) {
                wait_unexpected(b(), 11);
                rreq = ucp_tag_recv_nb(b().worker(), &in[0], size, byte, 11, TAG_FULL,
                                       on_recv_nb);
                ASSERT_TRUE(UCS_PTR_IS_PTR(rreq));
            }
            int expected = (sreq == nullptr) ? 1 : 2;
            wait([&] { return g_nb_calls == expected; });
            EXPECT_EQ(size, g_nb_length);
            EXPECT_EQ(UCS_OK, g_nb_status);
            EXPECT_TRUE(in == out);
            ucp_request_free(rreq);
            if (sreq != nullptr) {
                EXPECT_EQ(UCS_OK, ucp_request_check_status(sreq));
                ucp_request_free(sreq);
            }
        }
    }
}

TEST_P(test_request_forms, nbr_forms)
{
    const ucp_datatype_t byte = ucp_dt_make_contig(1);

    for (size_t size : ALL_SIZES) {
        for (bool late : {false, true}) {
            SCOPED_TRACE(std::to_string(size) + (late ? " late" : " early"));
            std::string out = pattern(size, 4), in(size, '\0');
            void *rreq = request_memory(), *sreq = request_memory();
            ucp_tag_recv_info_t info = {};
            ucs_status_t st          = UCS_OK;
            auto do_send             = [&] {
                st = ucp_tag_send_nbr(ab(), out.data(), size, byte, 12, sreq);
                ASSERT_TRUE((st == UCS_OK) || (st == UCS_INPROGRESS));
            };
            auto do_recv = [&] {
                ASSERT_EQ(UCS_OK, ucp_tag_recv_nbr(b().worker(), &in[0], size, byte, 12,
                                                   TAG_FULL, rreq));
            };

            if (!late) {
                do_recv();
            }
            do_send();
            if (late) {
                wait_unexpected(b(), 12);
                do_recv();
            }
            wait([&] { return ucp_request_test(rreq, &info) != UCS_INPROGRESS; });
            EXPECT_EQ(UCS_OK, ucp_request_test(rreq, &info));
            EXPECT_EQ(size, info.length);
            EXPECT_EQ(12u, info.sender_tag);
            EXPECT_TRUE(in == out);
            if (st == UCS_INPROGRESS) {
                wait([&] { return ucp_request_check_status(sreq) != UCS_INPROGRESS; });
                EXPECT_EQ(UCS_OK, ucp_request_check_status(sreq));
            }
        }
    }
}

namespace {

/* A ping-pong that runs in receive callbacks only. */
struct player {
    ucp_worker_h worker;
    ucp_ep_h ep;
    ucp_tag_t in_tag, out_tag;
    size_t size;
    int rounds; /* left */
    bool failed = false;
    std::string in, out;

    void post()
    {
        ucp_request_param_t p = {};
        p.op_attr_mask        = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
        p.cb.recv   = on_recv;
        p.user_data = this;
        void *req   = ucp_tag_recv_nbx(worker, &in[0], size, in_tag, TAG_FULL, &p);
        failed      = failed || !UCS_PTR_IS_PTR(req);
    }

    void hit()
    {
        ucp_request_param_t p = {};
        p.op_attr_mask        = UCP_OP_ATTR_FIELD_CALLBACK;
        p.cb.send             = on_send;
        void *req             = ucp_tag_send_nbx(ep, out.data(), size, out_tag, &p);
        failed                = failed || UCS_PTR_IS_ERR(req);
    }

    static void on_send(void *request, ucs_status_t, void *)
    {
        ucp_request_free(request);
    }

    static void on_recv(void *request, ucs_status_t status,
                        const ucp_tag_recv_info_t *info, void *user_data)
    {
        player *self = static_cast<player *>(user_data);

        ucp_request_free(request);
        self->failed = self->failed || (status != UCS_OK) ||
                       (info->length != self->size) || (self->in != self->out);
        if (--self->rounds > 0) {
            self->post();
        }
        if ((self->rounds > 0) || (self->out_tag == 1)) {
            self->hit();
        }
    }
};

} // namespace

TEST_P(test_request_forms, send_and_receive_inside_callbacks)
{
    for (size_t size : {size_t(8), size_t(1000), size_t(9216), size_t(200000)}) {
        SCOPED_TRACE(size);
        constexpr int ROUNDS = 100;
        /* A starts with tag 2 and is answered with tag 1. */
        player pa = {
                a().worker(),    ab(), 1, 2, size, ROUNDS, false, std::string(size, '\0'),
                pattern(size, 1)};
        player pb = {
                b().worker(),    ba(), 2, 1, size, ROUNDS, false, std::string(size, '\0'),
                pattern(size, 1)};
        pa.post();
        pb.post();
        pa.hit();
        wait([&] { return (pa.rounds == 0) && (pb.rounds == 0); }, "ping-pong");
        EXPECT_FALSE(pa.failed);
        EXPECT_FALSE(pb.failed);
    }
}

INSTANTIATE_TRANSPORTS(test_request_forms);
