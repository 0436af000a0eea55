/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* ucp_request_cancel: receives end at once, sends do not care. */

#include "ucp_test.h"

using namespace ucp_test;

class test_tag_cancel : public transport_test {
protected:
    void SetUp() override { make_pair(); }
};

TEST_P(test_tag_cancel, posted_receive_calls_back_inline)
{
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        for (ucp_tag_t mask : {TAG_FULL, ucp_tag_t(0xffff), ucp_tag_t(0)}) {
            guarded_buffer in(size);
            op_ptr r = recv(b().worker(), in.data(), size, 1, mask);
            for (int i = 0; i < 10; ++i) {
                progress(); /* anything that goes to the sender may go */
            }
            EXPECT_FALSE(r->done());
            r->cancel();
            EXPECT_TRUE(r->done());
            EXPECT_EQ(1, r->calls());
            EXPECT_EQ(UCS_ERR_CANCELED, r->status());
            EXPECT_EQ(UCS_ERR_CANCELED, ucp_request_check_status(r->handle()));
            EXPECT_TRUE(ucp_request_is_completed(r->handle()));

            r->cancel(); /* again: nothing */
            calm_down();
            EXPECT_EQ(1, r->calls());
        }
    }
}

TEST_P(test_tag_cancel, without_callback)
{
    char byte             = 0;
    ucp_request_param_t p = {};
    void *request         = ucp_tag_recv_nbx(b().worker(), &byte, 1, 1, TAG_FULL, &p);

    ASSERT_TRUE(UCS_PTR_IS_PTR(request));
    ucp_request_cancel(b().worker(), request);
    EXPECT_EQ(UCS_ERR_CANCELED, ucp_request_check_status(request));
    ucp_tag_recv_info_t info;
    EXPECT_EQ(UCS_ERR_CANCELED, ucp_tag_recv_request_test(request, &info));
    ucp_request_free(request);
}

TEST_P(test_tag_cancel, completed_receive)
{
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string out = pattern(size, 1), in(size, '\0');
        op_ptr r        = recv(b().worker(), &in[0], size, 1);
        op_ptr s        = send(ab(), out.data(), size, 1);
        wait(*r);
        r->cancel();
        EXPECT_EQ(1, r->calls());
        EXPECT_EQ(UCS_OK, r->status());
        EXPECT_EQ(UCS_OK, ucp_request_check_status(r->handle()));
        EXPECT_TRUE(in == out);
        wait(*s);
    }
}

/* The message goes to the next receive that fits. */
TEST_P(test_tag_cancel, cancelled_receive_is_not_matched)
{
    for (size_t size : ALL_SIZES) {
        for (bool wildcard : {false, true}) {
            SCOPED_TRACE(std::to_string(size) + (wildcard ? " wildcard" : ""));
            const ucp_tag_t mask = wildcard ? 0 : TAG_FULL;
            std::string out      = pattern(size, 1), in(size, '\0');
            guarded_buffer cancelled(size);
            const std::string before(static_cast<char *>(cancelled.data()), size);

            op_ptr r1 = recv(b().worker(), cancelled.data(), size, 1, mask);
            op_ptr r2 = recv(b().worker(), &in[0], size, 1, mask);
            for (int i = 0; i < 10; ++i) {
                progress();
            }
            r1->cancel();
            wait(*r1); /* through a network the sender may have to be asked */
            op_ptr s = send(ab(), out.data(), size, 1);
            wait(*r2);
            wait(*s);
            EXPECT_EQ(UCS_ERR_CANCELED, r1->status());
            EXPECT_EQ(1, r1->calls());
            EXPECT_EQ(UCS_OK, r2->status());
            EXPECT_TRUE(in == out);
            EXPECT_EQ(0, before.compare(0, size, static_cast<char *>(cancelled.data()),
                                        size));
            cancelled.expect_guard_intact();
        }
    }
}

TEST_P(test_tag_cancel, only_receive_leaves_message_unexpected)
{
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string out = pattern(size, 1), in(size, '\0');
        op_ptr r        = recv(b().worker(), &in[0], size, 1);
        for (int i = 0; i < 10; ++i) {
            progress();
        }
        r->cancel();
        wait(*r);
        op_ptr s = send(ab(), out.data(), size, 1);
        EXPECT_EQ(size, wait_unexpected(b(), 1).length);
        op_ptr r2 = recv(b().worker(), &in[0], size, 1);
        wait(*r2);
        wait(*s);
        EXPECT_TRUE(in == out);
    }
}

/*
 * Cancel while the message is under way, with no progress on the receiver in between:
 * either the cancel wins and the message is still there for the next receive, or the
 * receive is complete or will complete normally. Nothing is lost, nothing is doubled.
 */
TEST_P(test_tag_cancel, race_with_message)
{
    for (size_t size : ALL_SIZES) {
        for (int rounds : {0, 1, 2, 3, 5, 8}) {
            SCOPED_TRACE(std::to_string(size) + " rounds " + std::to_string(rounds));
            std::string out = pattern(size, 1), in1(size, '\0'), in2(size, '\0');
            op_ptr r1       = recv(b().worker(), &in1[0], size, 1);
            progress();
            op_ptr s = send(ab(), out.data(), size, 1);
            for (int i = 0; i < rounds; ++i) {
                progress();
            }
            r1->cancel();
            wait(*r1); /* where it was offered to the sender, that one decides */
            if (r1->status() == UCS_ERR_CANCELED) {
                op_ptr r2 = recv(b().worker(), &in2[0], size, 1);
                wait(*r2);
                EXPECT_EQ(UCS_OK, r2->status());
                EXPECT_TRUE(in2 == out);
            } else {
                EXPECT_EQ(UCS_OK, r1->status());
                EXPECT_TRUE(in1 == out);
            }
            wait(*s);
            EXPECT_EQ(UCS_OK, s->status());
            EXPECT_EQ(1, r1->calls());
            ucp_tag_recv_info_t info;
            calm_down();
            EXPECT_EQ(nullptr, ucp_tag_probe_nb(b().worker(), 0, 0, 0, &info));
        }
    }
}

TEST_P(test_tag_cancel, send_is_not_cancelled)
{
    for (bool sync : {false, true}) {
        for (size_t size : ALL_SIZES) {
            SCOPED_TRACE(size);
            std::string out = pattern(size, 1), in(size, '\0');
            op s;
            ucp_request_param_t p = s.send_param(UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
            s.started(sync ? ucp_tag_send_sync_nbx(ab(), out.data(), size, 1, &p) :
                             ucp_tag_send_nbx(ab(), out.data(), size, 1, &p));
            ASSERT_NE(nullptr, s.handle());
            ucp_request_cancel(a().worker(), s.handle());
            EXPECT_TRUE(!s.done() || (s.status() == UCS_OK));
            wait_unexpected(b(), 1);
            ucp_request_cancel(a().worker(), s.handle());
            op_ptr r = recv(b().worker(), &in[0], size, 1);
            wait(*r);
            wait(s);
            EXPECT_EQ(UCS_OK, s.status());
            EXPECT_EQ(1, s.calls());
            EXPECT_TRUE(in == out);
        }
    }
}

namespace {

struct canceller {
    int calls           = 0;
    ucs_status_t status = UCS_OK;
};

} // namespace

/* MPICH's callback releases the request inside cancel. */
TEST_P(test_tag_cancel, callback_releases_request)
{
    char byte = 0;

    for (int i = 0; i < 1000; ++i) {
        canceller c;
        ucp_request_param_t p = {};
        p.op_attr_mask        = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
        p.user_data = &c;
        p.cb.recv   = [](void *request, ucs_status_t status, const ucp_tag_recv_info_t *,
                       void *arg) {
            static_cast<canceller *>(arg)->status = status;
            ++static_cast<canceller *>(arg)->calls;
            ucp_request_release(request);
        };
        void *request = ucp_tag_recv_nbx(b().worker(), &byte, 1, i, TAG_FULL, &p);
        ASSERT_TRUE(UCS_PTR_IS_PTR(request));
        ucp_request_cancel(b().worker(), request);
        EXPECT_EQ(1, c.calls);
        EXPECT_EQ(UCS_ERR_CANCELED, c.status);
    }
}

/* Cancelling in the middle keeps the order of the rest. */
TEST_P(test_tag_cancel, from_the_middle_of_many)
{
    constexpr int N = 1000;
    std::vector<uint64_t> in(N, 0), out(N);
    std::vector<op_ptr> recvs, sends;

    for (int i = 0; i < N; ++i) {
        recvs.push_back(recv(b().worker(), &in[i], sizeof(in[i]), i % 10,
                             (i % 3) ? TAG_FULL : ucp_tag_t(0xf)));
    }
    for (int i = 0; i < N; i += 2) {
        recvs[i]->cancel();
    }
    for (int i = 1; i < N; i += 2) {
        out[i] = i;
        sends.push_back(send(ab(), &out[i], sizeof(out[i]), i % 10));
    }
    for (int i = 1; i < N; i += 2) {
        wait(*recvs[i]);
    }
    wait_all(sends);
    for (int i = 0; i < N; ++i) {
        EXPECT_EQ((i % 2) ? UCS_OK : UCS_ERR_CANCELED, recvs[i]->status());
        EXPECT_EQ((i % 2) ? uint64_t(i) : 0, in[i]);
    }
}

INSTANTIATE_TRANSPORTS(test_tag_cancel);
