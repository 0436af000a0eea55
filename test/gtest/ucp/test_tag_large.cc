/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages above the eager sizes, on connections that have carried some before: the library
 * moves the first ones otherwise than those that follow.
 *
 * Not asserted: what becomes of a message that is not matched when its endpoint is closed.
 * Stock leaves its send incomplete, and the close does not wait for it; with the library the
 * close waits until the message was received (user-guide.md, "Limits").
 */

#include "long_test.h"

using namespace ucp_test;

namespace {

const std::vector<size_t> LARGE_SIZES = {8193,   8194,    9001,   16384,  65535,
                                         65536,  65537,   131072, 262145, 524288,
                                         999999, 1048576, 4194304};

} // namespace

class test_tag_large : public long_test {};

TEST_P(test_tag_large, sizes)
{
    for (size_t size : LARGE_SIZES) {
        for (bool expected : {true, false}) {
            for (bool sync : {true, false}) {
                check_message(size, expected, sync, [](op &, std::string &) {});
            }
        }
    }
}

TEST_P(test_tag_large, lists)
{
    check_lists({9001, 200003, 1048576}, {1, 5, 16, 17, 100}, {1, 7, 17, 300}, true);
}

TEST_P(test_tag_large, truncated)
{
    check_truncated(LARGE_SIZES);
    exchange(ab(), b(), 100000, 7);
}

TEST_P(test_tag_large, order)
{
    check_order({8, 100000, 1024, 8193, 0, 300000, 8192, 9000}, 20);
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
    /* UCX 1.18 sends it eagerly over TCP */
    EXPECT_TRUE(!s->done() || (is_by_ucx() && ucx_at_least(1, 16)));
    op_ptr r = recv(b().worker(), &in[0], size, 5);
    wait(*r);
    wait(*s);
    EXPECT_TRUE(in == out);
}

TEST_P(test_tag_large, close_after_the_last)
{
    check_close_after_the_last({100000});
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
