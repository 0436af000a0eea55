/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Synchronous sends complete when they are matched, not before. */

#include "ucp_test.h"

using namespace ucp_test;

class test_tag_sync : public transport_test {
protected:
    void not_before_match()
    {
        for (size_t size : ALL_SIZES) {
            SCOPED_TRACE(size);
            std::string out = pattern(size, 1), in(size, '\0');
            op_ptr s        = send_sync(ab(), out.data(), size, 1);
            ASSERT_NE(nullptr, s->handle());
            EXPECT_EQ(size, wait_unexpected(b(), 1).length);
            calm_down();
            EXPECT_FALSE(s->done());
            EXPECT_EQ(UCS_INPROGRESS, ucp_request_check_status(s->handle()));

            /* A receive of another tag is no match either. */
            op_ptr other = recv(b().worker(), &in[0], size, 2);
            calm_down();
            EXPECT_FALSE(s->done());
            other->cancel();

            op_ptr r = recv(b().worker(), &in[0], size, 1);
            wait(*r);
            wait(*s);
            EXPECT_EQ(UCS_OK, s->status());
            EXPECT_EQ(1, s->calls());
            EXPECT_TRUE(in == out);
        }
    }

    void with_posted_receive()
    {
        for (size_t size : ALL_SIZES) {
            SCOPED_TRACE(size);
            std::string out = pattern(size, 1), in(size, '\0');
            op_ptr r        = recv(b().worker(), &in[0], size, 1);
            op_ptr s        = send_sync(ab(), out.data(), size, 1);
            wait(*r);
            wait(*s);
            EXPECT_EQ(UCS_OK, s->status());
            EXPECT_TRUE(in == out);
        }
    }
};

TEST_P(test_tag_sync, completes_after_match)
{
    make_pair();
    not_before_match();
}

TEST_P(test_tag_sync, completes_after_match_own_worker)
{
    make_loopback();
    not_before_match();
}

TEST_P(test_tag_sync, with_posted_receive)
{
    make_pair();
    with_posted_receive();
}

TEST_P(test_tag_sync, with_posted_receive_own_worker)
{
    make_loopback();
    with_posted_receive();
}

/* Truncation and a receive with too much room are matches like others. */
TEST_P(test_tag_sync, truncated)
{
    make_pair();
    for (size_t size : ALL_SIZES) {
        if (size == 0) {
            continue;
        }
        for (bool late : {false, true}) {
            SCOPED_TRACE(std::to_string(size) + (late ? " late" : " early"));
            std::string out = pattern(size, 1);
            guarded_buffer in(size / 2);
            op_ptr r, s;
            if (!late) {
                r = recv(b().worker(), in.data(), in.size(), 1);
            }
            s = send_sync(ab(), out.data(), size, 1);
            if (late) {
                wait_unexpected(b(), 1);
                r = recv(b().worker(), in.data(), in.size(), 1);
            }
            wait(*r);
            wait(*s);
            EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status());
            EXPECT_EQ(size, r->info().length);
            EXPECT_EQ(UCS_OK, s->status());
            in.expect_guard_intact();
        }
    }
}

/* Synchronous and normal sends of one tag share one order. */
TEST_P(test_tag_sync, order_with_normal_sends)
{
    make_pair();
    for (bool late : {false, true}) {
        const size_t n = 4 * ALL_SIZES.size();
        std::vector<std::string> out, in(n, std::string(1048576, '\0'));
        std::vector<op_ptr> recvs, sends;

        for (size_t i = 0; i < n; ++i) {
            out.push_back(pattern(ALL_SIZES[(i * 7) % ALL_SIZES.size()], i));
        }
        for (size_t i = 0; !late && (i < n); ++i) {
            recvs.push_back(recv(b().worker(), &in[i][0], in[i].size(), 1));
        }
        for (size_t i = 0; i < n; ++i) {
            sends.push_back((i % 3 == 0) ?
                                    send_sync(ab(), out[i].data(), out[i].size(), 1) :
                                    send(ab(), out[i].data(), out[i].size(), 1));
        }
        if (late) {
            calm_down();
            for (size_t i = 0; i < n; ++i) {
                if (i % 3 == 0) {
                    EXPECT_FALSE(sends[i]->done()) << i;
                }
            }
        }
        for (size_t i = 0; late && (i < n); ++i) {
            recvs.push_back(recv(b().worker(), &in[i][0], in[i].size(), 1));
        }
        wait_all(recvs);
        wait_all(sends);
        for (size_t i = 0; i < n; ++i) {
            EXPECT_EQ(out[i].size(), recvs[i]->info().length);
            expect_pattern(in[i].data(), out[i].size(), i);
        }
    }
}

/* Matching one of many completes that one only. */
TEST_P(test_tag_sync, each_by_its_own_match)
{
    constexpr int N = 16;
    make_pair();
    for (size_t size : {size_t(8), size_t(1024), size_t(65536)}) {
        SCOPED_TRACE(size);
        std::string out = pattern(size, 1), in(size, '\0');
        std::vector<op_ptr> sends;

        for (int i = 0; i < N; ++i) {
            sends.push_back(send_sync(ab(), out.data(), size, i));
        }
        wait_unexpected(b(), N - 1);
        for (int i = 0; i < N; ++i) {
            int which = (i * 5) % N;
            EXPECT_FALSE(sends[which]->done());
            op_ptr r = recv(b().worker(), &in[0], size, which);
            wait(*r);
            wait(*sends[which]);
            int done = 0;
            for (auto &s : sends) {
                done += s->done();
            }
            EXPECT_EQ(i + 1, done);
        }
    }
}

INSTANTIATE_TRANSPORTS(test_tag_sync);
