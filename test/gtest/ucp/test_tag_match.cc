/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Which message goes to which receive: tags, masks, order, truncation. */

#include "ucp_test.h"

#include <algorithm>

using namespace ucp_test;

class test_tag_match : public transport_test {
protected:
    struct rx {
        explicit rx(size_t size) : buffer(size) {}
        guarded_buffer buffer;
        op_ptr req;
    };
    using rx_ptr = std::unique_ptr<rx>;

    rx_ptr post(size_t size, ucp_tag_t tag, ucp_tag_t mask = TAG_FULL)
    {
        rx_ptr r(new rx(size));
        r->req = recv(b().worker(), r->buffer.data(), size, tag, mask);
        return r;
    }

    /* Waits, then checks everything the receiver can see. */
    void expect_message(rx &r, ucp_tag_t tag, size_t length, uint64_t seed)
    {
        wait(*r.req, "receive");
        EXPECT_EQ(UCS_OK, r.req->status());
        EXPECT_EQ(1, r.req->calls());
        EXPECT_EQ(tag, r.req->info().sender_tag);
        EXPECT_EQ(length, r.req->info().length);
        expect_pattern(r.buffer.data(), length, seed);
        r.buffer.expect_guard_intact();
    }
};

TEST_P(test_tag_match, exact_posted_before)
{
    make_pair();
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string data = pattern(size, size);
        rx_ptr r         = post(size, 0x1337);
        op_ptr s         = send(ab(), data.data(), size, 0x1337);
        expect_message(*r, 0x1337, size, size);
        wait(*s);
        EXPECT_EQ(UCS_OK, s->status());
    }
}

TEST_P(test_tag_match, exact_posted_after)
{
    make_pair();
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string data         = pattern(size, size);
        op_ptr s                 = send(ab(), data.data(), size, 0x1337);
        ucp_tag_recv_info_t info = wait_unexpected(b(), 0x1337);
        EXPECT_EQ(size, info.length);
        rx_ptr r = post(size, 0x1337);
        expect_message(*r, 0x1337, size, size);
        wait(*s);
        EXPECT_EQ(UCS_OK, s->status());
    }
}

TEST_P(test_tag_match, posted_larger_than_message)
{
    make_pair();
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string data = pattern(size, 3);
        rx_ptr early     = post(size * 2 + 100, 1);
        op_ptr s1        = send(ab(), data.data(), size, 1);
        expect_message(*early, 1, size, 3);
        op_ptr s2 = send(ab(), data.data(), size, 2);
        wait_unexpected(b(), 2);
        rx_ptr late = post(size * 2 + 100, 2);
        expect_message(*late, 2, size, 3);
        wait(*s1);
        wait(*s2);
    }
}

TEST_P(test_tag_match, zero_length_without_buffer)
{
    make_pair();
    for (bool late : {false, true}) {
        op_ptr r, s;
        if (late) {
            s = send(ab(), nullptr, 0, 7);
            EXPECT_EQ(0u, wait_unexpected(b(), 7).length);
            r = recv(b().worker(), nullptr, 0, 7);
        } else {
            r = recv(b().worker(), nullptr, 0, 7);
            s = send(ab(), nullptr, 0, 7);
        }
        wait(*r);
        wait(*s);
        EXPECT_EQ(UCS_OK, r->status());
        EXPECT_EQ(0u, r->info().length);
        EXPECT_EQ(7u, r->info().sender_tag);
    }
}

TEST_P(test_tag_match, other_tag_does_not_match)
{
    make_pair();
    /* One bit apart, for each bit, and no match on the low or high half alone. */
    for (int bit = 0; bit < 64; ++bit) {
        SCOPED_TRACE(bit);
        const ucp_tag_t tag = 0x123456789abcdef0, wrong = tag ^ (1ull << bit);
        std::string data = pattern(16, bit);
        rx_ptr other     = post(16, wrong);
        op_ptr s         = send(ab(), data.data(), 16, tag);
        wait_unexpected(b(), tag);
        EXPECT_FALSE(other->req->done());
        rx_ptr right = post(16, tag);
        expect_message(*right, tag, 16, bit);
        EXPECT_FALSE(other->req->done());
        op_ptr s2 = send(ab(), data.data(), 16, wrong);
        expect_message(*other, wrong, 16, bit);
        wait(*s);
        wait(*s2);
    }
}

TEST_P(test_tag_match, mask_ignores_bits)
{
    make_pair();
    /* The masks of MPICH and Open MPI, and single open bits at both ends. */
    const ucp_tag_t masks[] = {0xffffffff9fffffff, 0xffff000090000000, 0x80000000000fffff,
                               0x7fffffffffffffff, 0xfffffffffffffffe, 0};
    uint64_t seed           = 0;

    for (ucp_tag_t mask : masks) {
        for (bool late : {false, true}) {
            SCOPED_TRACE(mask);
            const ucp_tag_t want    = 0x8004000300020001;
            const ucp_tag_t fits    = want ^ (~mask & 0x5555555555555555);
            const ucp_tag_t open    = want ^ ~mask;
            const ucp_tag_t tags[2] = {fits, open};

            for (ucp_tag_t tag : tags) {
                std::string data = pattern(100, ++seed);
                rx_ptr r;
                op_ptr s;
                if (!late) {
                    /* Tag bits outside the mask are set in the receive too. */
                    r = post(100, want, mask);
                }
                s = send(ab(), data.data(), 100, tag);
                if (late) {
                    wait_unexpected(b(), tag);
                    r = post(100, want, mask);
                }
                expect_message(*r, tag, 100, seed);
                wait(*s);
            }
        }
    }
}

TEST_P(test_tag_match, wildcards_take_messages_in_order)
{
    make_pair();
    for (bool late : {false, true}) {
        std::vector<rx_ptr> rxs;
        std::vector<op_ptr> sends;
        std::string data[50];

        for (int i = 0; !late && (i < 50); ++i) {
            rxs.push_back(post(64, 0, 0));
        }
        for (int i = 0; i < 50; ++i) {
            data[i] = pattern(64, i);
            sends.push_back(send(ab(), data[i].data(), 64, (i * 17) % 50));
        }
        if (late) {
            wait_unexpected(b(), (49 * 17) % 50);
        }
        for (int i = 0; late && (i < 50); ++i) {
            rxs.push_back(post(64, 0, 0));
        }
        for (int i = 0; i < 50; ++i) {
            expect_message(*rxs[i], (i * 17) % 50, 64, i);
        }
        wait_all(sends);
    }
}

TEST_P(test_tag_match, interleaved_tags)
{
    constexpr int TAGS = 10, ROUNDS = 20;
    make_pair();
    for (bool late : {false, true}) {
        std::vector<rx_ptr> rxs(TAGS * ROUNDS);
        std::vector<op_ptr> sends;
        std::vector<std::string> data;
        auto post_all = [&] {
            /* Tags backwards, rounds forwards. */
            for (int tag = TAGS - 1; tag >= 0; --tag) {
                for (int round = 0; round < ROUNDS; ++round) {
                    rxs[round * TAGS + tag] = post(200, tag);
                }
            }
        };

        if (!late) {
            post_all();
        }
        for (int i = 0; i < TAGS * ROUNDS; ++i) {
            data.push_back(pattern(i, i));
        }
        for (int i = 0; i < TAGS * ROUNDS; ++i) {
            sends.push_back(send(ab(), data[i].data(), i, i % TAGS));
        }
        if (late) {
            wait_unexpected(b(), TAGS - 1);
            post_all();
        }
        for (int i = 0; i < TAGS * ROUNDS; ++i) {
            SCOPED_TRACE(i);
            expect_message(*rxs[i], i % TAGS, i, i);
        }
        wait_all(sends);
    }
}

/* Messages of one tag stay in order although their sizes take different ways. */
TEST_P(test_tag_match, same_tag_order_over_mixed_sizes)
{
    const std::vector<size_t> sizes = {0,    8,    40,   41,    100,
                                       1024, 8192, 9216, 65536, 1048576};
    const size_t n                  = sizes.size() * 2;

    make_pair();
    for (size_t shift = 0; shift < sizes.size(); ++shift) {
        for (size_t posted : {size_t(0), n / 2, n}) {
            SCOPED_TRACE("shift " + std::to_string(shift) + " posted before " +
                         std::to_string(posted));
            std::vector<rx_ptr> rxs;
            std::vector<op_ptr> sends;
            std::vector<std::string> data;
            auto size_of = [&](size_t i) {
                /* First half ascending, second half descending. */
                size_t k = (i + shift) % sizes.size();
                return sizes[(i < sizes.size()) ? k : sizes.size() - 1 - k];
            };

            data.reserve(n); /* short strings must not move under a pending send */
            for (size_t i = 0; i < posted; ++i) {
                rxs.push_back(post(sizes.back(), 9));
            }
            for (size_t i = 0; i < n; ++i) {
                data.push_back(pattern(size_of(i), i + shift));
                sends.push_back(send(ab(), data[i].data(), data[i].size(), 9));
                if ((i % 5) == 4) {
                    progress();
                }
            }
            for (size_t i = posted; i < n; ++i) {
                rxs.push_back(post(sizes.back(), 9));
            }
            for (size_t i = 0; i < n; ++i) {
                SCOPED_TRACE(i);
                expect_message(*rxs[i], 9, size_of(i), i + shift);
            }
            wait_all(sends);
        }
    }
}

TEST_P(test_tag_match, many_posted)
{
    constexpr int N = 10000;
    make_pair();
    std::vector<uint64_t> in(N), out(N);
    std::vector<op_ptr> recvs, sends;

    for (int i = 0; i < N; ++i) {
        recvs.push_back(recv(b().worker(), &in[i], sizeof(in[i]), i));
    }
    for (int i = 0; i < N; ++i) {
        out[i] = i * 3;
    }
    for (int i = N - 1; i >= 0; --i) {
        sends.push_back(send(ab(), &out[i], sizeof(out[i]), i));
        if ((i % 64) == 0) {
            progress();
        }
    }
    wait_all(recvs, "receives");
    wait_all(sends, "sends");
    EXPECT_EQ(out, in);
}

TEST_P(test_tag_match, many_unexpected)
{
    constexpr int N = 10000;
    make_pair();
    std::vector<uint64_t> in(N), out(N);
    std::vector<op_ptr> recvs, sends;

    for (int i = 0; i < N; ++i) {
        out[i] = i * 3;
        sends.push_back(send(ab(), &out[i], sizeof(out[i]), i));
        if ((i % 64) == 0) {
            progress();
        }
    }
    wait_unexpected(b(), N - 1);
    /* The upper half from the back by tag, the rest by wildcard in order. */
    for (int i = N - 1; i >= N / 2; --i) {
        recvs.push_back(recv(b().worker(), &in[i], sizeof(in[i]), i));
    }
    for (int i = 0; i < N / 2; ++i) {
        recvs.push_back(recv(b().worker(), &in[i], sizeof(in[i]), 0, 0));
    }
    wait_all(recvs, "receives");
    wait_all(sends, "sends");
    EXPECT_EQ(out, in);
}

/* A message goes to the oldest receive that fits, exact or not. */
TEST_P(test_tag_match, age_order_of_exact_and_wildcard)
{
    struct spec {
        ucp_tag_t tag, mask;
    };
    /* Each list is posted in this order; all entries fit tag 0x55. */
    const std::vector<std::vector<spec>> lists = {
            {{0, 0}, {0x55, TAG_FULL}, {0, 0}},
            {{0x55, TAG_FULL}, {0, 0}, {0x55, TAG_FULL}},
            {{0x50, 0xf0}, {0x05, 0x0f}, {0x55, TAG_FULL}, {0, 0}},
            {{0x55, TAG_FULL},
             {0x55, TAG_FULL},
             {0x05, 0x0f},
             {0x50, 0xf0},
             {0x55, 0xff}},
    };

    make_pair();
    for (const auto &list : lists) {
        for (size_t size : {size_t(8), size_t(1048576)}) {
            std::vector<rx_ptr> rxs;
            for (const spec &sp : list) {
                rxs.push_back(post(size, sp.tag, sp.mask));
            }
            for (size_t i = 0; i < list.size(); ++i) {
                SCOPED_TRACE(i);
                std::string data = pattern(size, i);
                op_ptr s         = send(ab(), data.data(), size, 0x55);
                expect_message(*rxs[i], 0x55, size, i);
                for (size_t j = i + 1; j < list.size(); ++j) {
                    EXPECT_FALSE(rxs[j]->req->done());
                }
                wait(*s);
            }
        }
    }
}

/* A receive takes the oldest unexpected message that fits, whatever its size. */
TEST_P(test_tag_match, age_order_of_unexpected)
{
    const size_t sizes[]   = {65536, 8, 1048576, 0, 9216, 41};
    const ucp_tag_t tags[] = {0x11, 0x21, 0x12, 0x11, 0x21, 0x22};
    std::vector<std::string> data;
    std::vector<op_ptr> sends;

    make_pair();
    data.reserve(6);
    for (int i = 0; i < 6; ++i) {
        data.push_back(pattern(sizes[i], i));
        sends.push_back(send(ab(), data[i].data(), sizes[i], tags[i]));
    }
    wait_unexpected(b(), 0x22);

    struct {
        ucp_tag_t tag, mask;
        int expected;
    } const steps[] = {{0x20, 0xf0, 1}, {0x02, 0x0f, 2}, {0x11, TAG_FULL, 0},
                       {0x01, 0x0f, 3}, {0, 0, 4},       {0, 0, 5}};
    for (const auto &step : steps) {
        SCOPED_TRACE(step.expected);
        int i    = step.expected;
        rx_ptr r = post(1048576, step.tag, step.mask);
        expect_message(*r, tags[i], sizes[i], i);
    }
    wait_all(sends);
}

/*
 * Truncation: the receiver learns the sender's length, the sender notices nothing, and
 * the memory behind the buffer stays untouched. What the buffer itself holds afterwards
 * is undefined in stock.
 */
TEST_P(test_tag_match, truncation)
{
    make_pair();
    for (size_t size : ALL_SIZES) {
        if (size == 0) {
            continue;
        }
        for (size_t room : {size_t(0), size / 2, size - 1}) {
            for (bool late : {false, true}) {
                SCOPED_TRACE(std::to_string(size) + " into " + std::to_string(room) +
                             (late ? " late" : " early"));
                std::string data = pattern(size, 5);
                rx_ptr r;
                op_ptr s;
                if (!late) {
                    r = post(room, 3);
                }
                s = send(ab(), data.data(), size, 3);
                if (late) {
                    wait_unexpected(b(), 3);
                    r = post(room, 3);
                }
                wait(*r->req);
                wait(*s);
                EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->req->status());
                EXPECT_EQ(size, r->req->info().length);
                EXPECT_EQ(3u, r->req->info().sender_tag);
                r->buffer.expect_guard_intact();
                EXPECT_EQ(UCS_OK, s->status());
            }
        }
    }
    /* The connection is as good as before. */
    std::string data = pattern(65536, 6);
    rx_ptr r         = post(65536, 4);
    op_ptr s         = send(ab(), data.data(), 65536, 4);
    expect_message(*r, 4, 65536, 6);
    wait(*s);
}

/* To the own worker, over whatever the transport list offers for that. */
TEST_P(test_tag_match, own_worker)
{
    make_loopback();
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string data = pattern(size, 1);
        rx_ptr early     = post(size, 1);
        op_ptr s1        = send(ab(), data.data(), size, 1);
        expect_message(*early, 1, size, 1);
        op_ptr s2   = send(ab(), data.data(), size, 2);
        rx_ptr late = post(size, 2);
        expect_message(*late, 2, size, 1);
        wait(*s1);
        wait(*s2);
        EXPECT_EQ(UCS_OK, s1->status());
        EXPECT_EQ(UCS_OK, s2->status());
    }
}

INSTANTIATE_TRANSPORTS(test_tag_match);
