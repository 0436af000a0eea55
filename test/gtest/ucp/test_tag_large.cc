/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages above the eager sizes, on connections that have carried some before: the library
 * moves the first ones otherwise than those that follow.
 *
 * Not asserted: what becomes of a message that is not matched when its endpoint is closed.
 * Stock leaves its send incomplete, and the close does not wait for it; with the library the
 * close waits until the message was received (user-guide.md, "Limits").
 */

#include "ucp_test.h"

using namespace ucp_test;

namespace {

const std::vector<size_t> LARGE_SIZES = {8193,   8194,    9001,   16384,  65535,
                                         65536,  65537,   131072, 262145, 524288,
                                         999999, 1048576, 4194304};

} // namespace

class test_tag_large : public transport_test {
protected:
    void SetUp() override
    {
        make_pair();
        warm_up();
        for (uint64_t i = 0; i < 3; ++i) {
            exchange(ab(), b(), 100000, i);
            exchange(ba(), a(), 100000, i);
        }
    }

    void exchange(ucp_ep_h ep, entity &to, size_t size, uint64_t seed)
    {
        std::string out = pattern(size, seed), in(size, '\0');
        op_ptr r        = recv(to.worker(), &in[0], size, 1);
        op_ptr s        = send(ep, out.data(), size, 1);

        wait(*r);
        wait(*s);
        ASSERT_TRUE(in == out);
        settle();
    }

    static std::vector<ucp_dt_iov_t> cut(void *buffer, size_t size, size_t pieces)
    {
        std::vector<ucp_dt_iov_t> iov;
        char *at = static_cast<char *>(buffer);

        for (size_t i = 0; i < pieces; ++i) {
            size_t length = size / pieces + (i < size % pieces);

            iov.push_back({at, length});
            at += length;
            if (i % 3 == 0) {
                iov.push_back({nullptr, 0});
            }
        }
        return iov;
    }
};

TEST_P(test_tag_large, sizes)
{
    for (size_t size : LARGE_SIZES) {
        for (bool expected : {true, false}) {
            for (bool sync : {true, false}) {
                SCOPED_TRACE("size " + std::to_string(size));
                std::string out = pattern(size, size);
                guarded_buffer in(size);
                op_ptr r, s;

                if (expected) {
                    r = recv(b().worker(), in.data(), size, 5);
                }
                s = sync ? send_sync(ab(), out.data(), size, 5) :
                           send(ab(), out.data(), size, 5);
                if (!expected) {
                    EXPECT_EQ(size, wait_unexpected(b(), 5).length);
                    EXPECT_FALSE(sync && s->done());
                    r = recv(b().worker(), in.data(), size, 5);
                }
                wait(*r);
                wait(*s);
                EXPECT_EQ(UCS_OK, r->status());
                EXPECT_EQ(UCS_OK, s->status());
                EXPECT_EQ(size, r->info().length);
                EXPECT_EQ(1, r->calls());
                expect_pattern(in.data(), size, size);
                in.expect_guard_intact();
            }
        }
    }
}

TEST_P(test_tag_large, lists)
{
    for (size_t size : {9001, 200003, 1048576}) {
        for (size_t out_pieces : {1, 5, 16, 17, 100}) {
            for (size_t in_pieces : {1, 7, 17, 300}) {
                SCOPED_TRACE(std::to_string(size) + " bytes, " +
                             std::to_string(out_pieces) + " to " +
                             std::to_string(in_pieces));
                std::string out = pattern(size, size), in(size, '\0');
                auto out_iov    = cut(&out[0], size, out_pieces);
                auto in_iov     = cut(&in[0], size, in_pieces);
                op_ptr r        = recv_dt(b().worker(), in_iov.data(), in_iov.size(),
                                          ucp_dt_make_iov(), 5);
                op_ptr s        = send_dt(ab(), out_iov.data(), out_iov.size(),
                                          ucp_dt_make_iov(), 5);

                wait(*r);
                wait(*s);
                EXPECT_EQ(UCS_OK, r->status());
                EXPECT_EQ(size, r->info().length);
                ASSERT_TRUE(in == out);
            }
        }
    }
}

TEST_P(test_tag_large, truncated)
{
    for (size_t size : LARGE_SIZES) {
        for (bool expected : {true, false}) {
            SCOPED_TRACE("size " + std::to_string(size));
            std::string out = pattern(size, size);
            guarded_buffer in(size - 1);
            op_ptr r, s;

            if (expected) {
                r = recv(b().worker(), in.data(), size - 1, 5);
            }
            s = send(ab(), out.data(), size, 5);
            if (!expected) {
                wait_unexpected(b(), 5);
                r = recv(b().worker(), in.data(), size - 1, 5);
            }
            wait(*r);
            wait(*s);
            EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status());
            EXPECT_EQ(UCS_OK, s->status());
            in.expect_guard_intact();
        }
    }
    exchange(ab(), b(), 100000, 7);
}

/* Large and small ones of one tag keep their order, received early or late. */
TEST_P(test_tag_large, order)
{
    const std::vector<size_t> sizes = {8, 100000, 1024, 8193, 0, 300000, 8192, 9000};
    const size_t n                  = 20 * sizes.size();
    std::vector<std::string> out, in(n);
    std::vector<op_ptr> sends, recvs;

    for (size_t i = 0; i < n; ++i) {
        out.push_back(pattern(sizes[i % sizes.size()], i));
        in[i].resize(300000);
    }
    for (size_t i = 0; i < n; ++i) {
        if (i < n / 2) {
            recvs.push_back(recv(b().worker(), &in[i][0], in[i].size(), 5));
        }
        sends.push_back(send(ab(), out[i].data(), out[i].size(), 5));
        if (i % 7 == 0) {
            progress();
        }
    }
    for (size_t i = n / 2; i < n; ++i) {
        recvs.push_back(recv(b().worker(), &in[i][0], in[i].size(), 5));
    }
    wait_all(recvs);
    wait_all(sends);
    for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(out[i].size(), recvs[i]->info().length) << i;
        in[i].resize(out[i].size());
        ASSERT_TRUE(in[i] == out[i]) << i;
    }
}

/* A flush does not wait for receives. */
TEST_P(test_tag_large, flush_with_unmatched_messages)
{
    const size_t size         = 1048576;
    std::string out           = pattern(size, 1), in(size, '\0');
    op_ptr s                  = send(ab(), out.data(), size, 5);
    ucp_request_param_t param = {};

    wait_handle(ucp_ep_flush_nbx(ab(), &param));
    wait_handle(ucp_worker_flush_nbx(a().worker(), &param));
    EXPECT_FALSE(s->done());
    op_ptr r = recv(b().worker(), &in[0], size, 5);
    wait(*r);
    wait(*s);
    EXPECT_TRUE(in == out);
}

/* With all received, endpoints are closed and made again at once. */
TEST_P(test_tag_large, close_after_the_last)
{
    for (int round = 0; round < 20; ++round) {
        ucp_ep_h ep = a().connect(b());

        for (uint64_t i = 0; i < 4; ++i) {
            exchange(ep, b(), 100000, i);
        }
        wait_handle(a().close_nbx(ep));
    }
}

TEST_P(test_tag_large, cancel)
{
    const size_t size = 1048576;
    std::string out   = pattern(size, 1), in(size, '\0');
    op_ptr r          = recv(b().worker(), &in[0], size, 5);

    r->cancel();
    EXPECT_EQ(UCS_ERR_CANCELED, r->status());
    op_ptr s = send(ab(), out.data(), size, 5);
    wait_unexpected(b(), 5);
    EXPECT_EQ(std::string(size, '\0'), in);
    r = recv(b().worker(), &in[0], size, 5);
    r->cancel(); /* it is matched, or has ended: the message is not lost */
    wait(*r);
    wait(*s);
    EXPECT_EQ(UCS_OK, r->status());
    EXPECT_TRUE(in == out);
}

INSTANTIATE_TRANSPORTS(test_tag_large);
