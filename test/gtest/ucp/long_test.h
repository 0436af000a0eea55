/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two entities whose connections have carried messages of all lengths before, so that the
 * library has what its protocols for long messages need; and what all such messages have to
 * pass, whichever of them takes them.
 */
#ifndef RI_TEST_LONG_TEST_H
#define RI_TEST_LONG_TEST_H

#include "ucp_test.h"

#include <algorithm>
#include <functional>

namespace ucp_test {

class long_test : public transport_test {
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
        calm_down();
    }

    /* One message of a test. expected: its receive is posted first, sent: after the send was called */
    void check_message(size_t size, bool expected, bool sync,
                       const std::function<void(op &send, std::string &out)> &sent)
    {
        SCOPED_TRACE("size " + std::to_string(size));
        std::string out = pattern(size, size);
        guarded_buffer in(size);
        op_ptr r, s;

        if (expected) {
            r = recv(b().worker(), in.data(), size, 5);
        }
        s = sync ? send_sync(ab(), out.data(), size, 5) : send(ab(), out.data(), size, 5);
        sent(*s, out);
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

    /* Pieces of a buffer; some empty ones between them, if that is wanted */
    static std::vector<ucp_dt_iov_t> cut(void *buffer, size_t size, size_t pieces,
                                         bool gaps)
    {
        std::vector<ucp_dt_iov_t> iov;
        char *at = static_cast<char *>(buffer);

        for (size_t i = 0; i < pieces; ++i) {
            size_t length = size / pieces + (i < size % pieces);

            iov.push_back({at, length});
            at += length;
            if (gaps && (i % 3 == 0)) {
                iov.push_back({nullptr, 0});
            }
        }
        return iov;
    }

    void check_lists(const std::vector<size_t> &sizes, const std::vector<size_t> &outs,
                     const std::vector<size_t> &ins, bool gaps)
    {
        for (size_t size : sizes) {
            for (size_t out_pieces : outs) {
                for (size_t in_pieces : ins) {
                    SCOPED_TRACE(std::to_string(size) + " bytes, " +
                                 std::to_string(out_pieces) + " to " +
                                 std::to_string(in_pieces));
                    std::string out = pattern(size, size), in(size, '\0');
                    auto out_iov    = cut(&out[0], size, out_pieces, gaps);
                    auto in_iov     = cut(&in[0], size, in_pieces, gaps);
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

    /* Receives that are one byte too short */
    void check_truncated(const std::vector<size_t> &sizes)
    {
        for (size_t size : sizes) {
            for (bool expected : {true, false}) {
                SCOPED_TRACE("size " + std::to_string(size));
                std::string out = pattern(size, size);
                guarded_buffer in(size - 1);
                op_ptr r;

                if (expected) {
                    r = recv(b().worker(), in.data(), size - 1, 5);
                }
                op_ptr s = send(ab(), out.data(), size, 5);
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
    }

    /* Messages of one tag keep their order, received early or late. */
    void check_order(const std::vector<size_t> &sizes, size_t rounds)
    {
        const size_t n   = rounds * sizes.size();
        const size_t max = *std::max_element(sizes.begin(), sizes.end());
        std::vector<std::string> out, in(n, std::string(max, '\0'));
        std::vector<op_ptr> sends, recvs;

        out.reserve(n); /* short strings move with the vector, and are being sent */
        for (size_t i = 0; i < n; ++i) {
            out.push_back(pattern(sizes[i % sizes.size()], i));
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

    /* With all received, endpoints are closed and made again at once. */
    void check_close_after_the_last(const std::vector<size_t> &sizes)
    {
        for (int round = 0; round < 20; ++round) {
            ucp_ep_h ep = a().connect(b());

            for (uint64_t i = 0; i < 4; ++i) {
                for (size_t size : sizes) {
                    exchange(ep, b(), size, i);
                }
            }
            wait_handle(a().close_nbx(ep));
        }
    }
};

} // namespace ucp_test

#endif
