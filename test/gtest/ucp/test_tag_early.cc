/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Large receives that are posted before their message, and everything that may happen
 * between: the rules by which the library may let a sender write into a receive before there
 * is a message (docs/protocol-rndv.md). Each test says which message each receive gets, and
 * so holds on stock, too. Where the library is there, its counters must show that the rule
 * was put to the test.
 */

#include "tag_early_test.h"

#include <algorithm>

using namespace ucp_test;

class test_tag_early : public tag_early_test {};

TEST_P(test_tag_early, is_written_into_its_receive)
{
    take_rtrs();
    for (size_t size : {MEDIUM, LARGE, HUGE, size_t(3000001)}) {
        for (bool sync : {false, true}) {
            receive &r = post(size, 1);
            calm_down();
            message &m = put(size, 1, sync);
            expect(r, m);
        }
    }
    if (has_rtrs()) {
        rtrs now = take_rtrs();
        EXPECT_EQ(8, now.sent);
        EXPECT_EQ(8, now.used);
    }
}

/* The same through a network. A way that has failed is made again first, so there it may take
 * several messages until one uses the RTR. */
TEST_P(test_tag_early, is_written_by_a_device)
{
    if (!has_network_rtrs()) {
        GTEST_SKIP() << "no device, or not all receives are offered";
    }
    for (size_t size : {MEDIUM, LARGE, HUGE}) {
        SCOPED_TRACE(size);
        take_rtrs();
        /* After a fault it takes a while until there is a way again. */
        auto round_uses_rtr = [&]() {
            receive &r = post(size, 1);
            calm_down();
            message &m = put(size, 1);
            expect(r, m);
            m_receives.clear();
            m_messages.clear();
            return take_rtrs().used > 0;
        };
        EXPECT_TRUE(poll_until(round_uses_rtr, [] { return 0; }));
    }
}

/* Posted and sent without progress between: RTR and RTS, or RTR and pool, cross. */
TEST_P(test_tag_early, crossing)
{
    m_uses_rtrs = !by_datagrams();
    for (size_t size : {EAGER, MEDIUM, LARGE, HUGE}) {
        for (bool receive_first : {true, false}) {
            for (int depth : {1, 2, 5}) {
                std::vector<receive *> r;
                std::vector<message *> m;
                for (int i = 0; i < depth; ++i) {
                    if (receive_first) {
                        r.push_back(&post(HUGE, 1));
                    }
                    m.push_back(&put(size, 1));
                    if (!receive_first) {
                        r.push_back(&post(HUGE, 1));
                    }
                }
                for (int i = 0; i < depth; ++i) {
                    expect(*r[i], *m[i]);
                }
            }
        }
    }
}

TEST_P(test_tag_early, any_size_meets_a_large_receive)
{
    m_uses_rtrs = !by_datagrams(); /* most do not fit, and soon none is sent */
    for (size_t capacity : {MEDIUM, LARGE, HUGE}) {
        for (size_t size : {size_t(0), size_t(8), EAGER, size_t(8192), size_t(8193),
                            MEDIUM, LARGE, HUGE, HUGE * 2}) {
            for (bool calm : {true, false}) {
                SCOPED_TRACE(std::to_string(size) + " into " + std::to_string(capacity));
                receive &r = post(capacity, 1);
                if (calm) {
                    calm_down();
                }
                message &m = put(size, 1);
                expect(r, m);
            }
        }
    }
}

TEST_P(test_tag_early, several_of_one_tag)
{
    const size_t sizes[] = {LARGE, EAGER, MEDIUM, HUGE, 0, LARGE, MEDIUM, MEDIUM};

    for (int round = 0; round < 4; ++round) {
        std::vector<receive *> r;
        for (int i = 0; i < 8; ++i) {
            r.push_back(&post(HUGE, 1));
        }
        if (round % 2) {
            calm_down();
        }
        for (int i = 0; i < 8; ++i) {
            message &m = put(sizes[(i + round) % 8], 1);
            if (round / 2) {
                expect(*r[i], m);
            }
        }
        if (round / 2 == 0) {
            for (int i = 0; i < 8; ++i) {
                expect(*r[i], *m_messages[m_messages.size() - 8 + i]);
            }
        }
    }
}

TEST_P(test_tag_early, interleaved_tags)
{
    for (bool calm : {true, false}) {
        receive *r[12];
        message *m[12];
        for (int i = 0; i < 12; ++i) {
            r[i] = &post(LARGE, 1 + i % 3);
        }
        if (calm) {
            calm_down();
        }
        /* each tag's messages in order, the tags in another one */
        for (int tag : {3, 1, 2}) {
            for (int i = tag - 1; i < 12; i += 3) {
                m[i] = &put((i % 2) ? LARGE : MEDIUM, tag);
            }
        }
        for (int i = 0; i < 12; ++i) {
            expect(*r[i], *m[i]);
        }
    }
}

TEST_P(test_tag_early, small_receive_ahead)
{
    for (size_t first : {EAGER, MEDIUM, LARGE}) {
        receive &small = post(EAGER, 1);
        receive &large = post(LARGE, 1);
        calm_down();
        message &m1 = put(first, 1); /* the small one's, truncated or not */
        message &m2 = put(LARGE, 1);
        expect(small, m1);
        expect(large, m2);
    }
}

TEST_P(test_tag_early, wildcard_ahead)
{
    for (size_t size : {EAGER, MEDIUM, LARGE}) {
        receive &any   = post(LARGE, 0, 0);
        receive &exact = post(LARGE, 1);
        calm_down();
        message &m1 = put(size, 1);
        message &m2 = put(LARGE, 1);
        expect(any, m1);
        expect(exact, m2);

        /* the wildcard takes another tag's, then the exact one may be written */
        take_rtrs();
        receive &any2   = post(LARGE, 0, 0);
        receive &exact2 = post(LARGE, 1);
        calm_down();
        rtrs before = take_rtrs();
        message &m3 = put(size, 2);
        expect(any2, m3);
        calm_down();
        rtrs behind = take_rtrs();
        message &m4 = put(LARGE, 1);
        expect(exact2, m4);
        if (has_rtrs()) {
            EXPECT_GE(1, before.sent)
                    << "but the wildcard's own, of which a guess is made";
            EXPECT_EQ(1, behind.sent);
            EXPECT_EQ(1, take_rtrs().used);
        }
    }
}

TEST_P(test_tag_early, wildcard_behind)
{
    for (size_t size : {EAGER, MEDIUM, LARGE}) {
        receive &exact = post(LARGE, 1);
        receive &any   = post(LARGE, 0, 0);
        calm_down();
        message &m1 = put(size, 2);
        message &m2 = put(size, 1);
        expect(any, m1);
        expect(exact, m2);
    }
}

/* A receive that takes messages of any source, among named ones. */
TEST_P(test_tag_early, any_source)
{
    const ucp_tag_t named = (1ull << 40) | 1, source_mask = 0xffffffff;

    for (int round = 0; round < 6; ++round) {
        receive &first  = (round % 2) ? post(LARGE, named) : post(LARGE, 1, source_mask);
        receive &second = (round % 2) ? post(LARGE, 1, source_mask) : post(LARGE, named);
        if (round % 3) {
            calm_down();
        }
        message &m1 = put(LARGE, named);
        message &m2 = put(MEDIUM, named);
        expect(first, m1);
        expect(second, m2);
    }
}

TEST_P(test_tag_early, cancel_not_used)
{
    m_uses_rtrs = false;
    for (size_t size : {MEDIUM, LARGE, HUGE}) {
        receive &r1 = post(size, 1);
        receive &r2 = post(size, 1);
        calm_down();
        r1.req->cancel();
        wait(*r1.req, "cancelled receive");
        ASSERT_EQ(UCS_ERR_CANCELED, r1.req->status());
        message &m = put(size, 1);
        expect(r2, m);
    }
}

/* Cancelled while the sender may be about to use it, or has used it: a receive is cancelled, or
 * gets its message, and later ones get what follows. */
TEST_P(test_tag_early, cancel_races)
{
    for (int round = 0; round < 60; ++round) {
        size_t size = (round % 3 == 0) ? MEDIUM : (round % 3 == 1) ? LARGE : HUGE;
        std::vector<receive *> r;
        std::vector<message *> m;
        for (int i = 0; i < 3; ++i) {
            r.push_back(&post(HUGE, 1));
        }
        for (int i = 0; i < round % 5; ++i) {
            progress();
        }
        for (int i = 0; i < 3; ++i) {
            m.push_back(&put(size, 1));
        }
        for (int i = 0; i < round % 7; ++i) {
            b().progress();
        }
        r[round % 3]->req->cancel();
        wait(*r[round % 3]->req, "cancelled receive");
        size_t next = 0;
        for (int i = 0; i < 3; ++i) {
            if ((i == round % 3) && (r[i]->req->status() == UCS_ERR_CANCELED)) {
                continue;
            }
            expect(*r[i], *m[next++]);
        }
        if (next < 3) {
            expect(post(HUGE, 1), *m[next]);
        }
    }
}

/* A message of another endpoint takes a receive that the first sender was told of. */
TEST_P(test_tag_early, another_endpoint_takes_the_match)
{
    if (GetParam().is_self()) {
        GTEST_SKIP() << "one worker";
    }
    entity &c   = create();
    ucp_ep_h cb = c.connect(b());

    for (size_t size : {EAGER, MEDIUM, LARGE, HUGE}) {
        for (int depth : {1, 2, 3}) {
            SCOPED_TRACE(std::to_string(size) + " depth " + std::to_string(depth));
            std::vector<receive *> r;
            for (int i = 0; i < depth; ++i) {
                r.push_back(&post(HUGE, 1));
            }
            calm_down();
            message &stolen = put_on(cb, size, 1);
            expect(*r[0], stolen);
            for (int i = 1; i < depth; ++i) {
                message &m = put(LARGE, 1);
                expect(*r[i], m);
            }
        }
    }
}

/* Both at once: whoever comes first, each sender's messages stay in order. */
TEST_P(test_tag_early, two_endpoints_compete)
{
    if (GetParam().is_self()) {
        GTEST_SKIP() << "one worker";
    }
    entity &c     = create();
    ucp_ep_h ep[] = {m_ep, c.connect(b())};
    m_uses_rtrs   = !by_datagrams(); /* no message is as long as its receive */

    for (int round = 0; round < 20; ++round) {
        std::vector<receive *> r;
        std::vector<message *> m[2];
        for (int i = 0; i < 6; ++i) {
            r.push_back(&post(HUGE, 1));
        }
        for (int i = 0; i < round % 4; ++i) {
            progress();
        }
        for (int i = 0; i < 6; ++i) {
            m[i % 2].push_back(&put_on(ep[i % 2], (i + round) % 3 ? LARGE : MEDIUM, 1));
            c.progress();
        }
        size_t next[2] = {};
        for (receive *got : r) {
            wait(*got->req, "receive");
            ASSERT_EQ(UCS_OK, got->req->status());
            int from = (next[0] < 3) && !memcmp(got->buffer.data(),
                                                m[0][next[0]]->data.data(), 64) ?
                               0 :
                               1;
            ASSERT_LT(next[from], 3u);
            expect(*got, *m[from][next[from]++]);
        }
    }
}

TEST_P(test_tag_early, probe_between)
{
    for (size_t size : {MEDIUM, LARGE, HUGE}) {
        receive &r = post(size, 1);
        calm_down();
        message &m1 = put(size, 2);
        message &m2 = put(size, 1);
        wait_unexpected(b(), 2);
        receive &probed = post(size, 2);
        expect(r, m2);
        expect(probed, m1);

        /* mprobe takes a message out before a receive that could take it is posted */
        message &m3 = put(size, 1);
        wait_unexpected(b(), 1);
        ucp_tag_recv_info_t info;
        ucp_tag_message_h handle = ucp_tag_probe_nb(b().worker(), 1, TAG_FULL, 1, &info);
        ASSERT_NE(nullptr, handle);
        receive &later = post(size, 1);
        calm_down();
        EXPECT_FALSE(later.req->done());
        message &m4 = put(size, 1);
        expect(later, m4);

        guarded_buffer in(size);
        op_ptr req                = std::make_unique<op>();
        ucp_request_param_t param = req->recv_param();
        req->started(ucp_tag_msg_recv_nbx(b().worker(), in.data(), size, handle, &param));
        wait(*req);
        wait(*m3.req);
        expect_pattern(in.data(), size, m3.seed);
    }
}

/* The same memory again and again, as persistent requests have it. */
TEST_P(test_tag_early, same_memory_again)
{
    guarded_buffer in(LARGE);

    for (int i = 0; i < 50; ++i) {
        op_ptr r = recv(b().worker(), in.data(), LARGE, 1);
        if (i % 3) {
            calm_down();
        }
        message &m = put((i % 4) ? LARGE : MEDIUM, 1);
        wait(*r);
        wait(*m.req);
        expect_pattern(in.data(), m.data.size(), m.seed);
    }
}

/* More messages than the sender remembers are sent between receive and RTR. */
/* The sender knows that many messages, to tell whether an RTR that comes late is still right. */
TEST_P(test_tag_early, many_messages_between)
{
    const int SENDER_LOG = 256;

    for (int count : {10, 200, 255, 256, 257, 300, 1000}) {
        std::vector<std::string> in(count, std::string(8, '\0'));
        std::vector<op_ptr> reqs;
        for (int i = 0; i < count; ++i) {
            reqs.push_back(recv(b().worker(), &in[i][0], 8, 50 + i));
        }
        receive &r = post(LARGE, 1);
        take_rtrs();
        for (int i = 0; i < count; ++i) {
            reqs.push_back(send(m_ep, "12345678", 8, 50 + i));
        }
        calm_down(); /* the RTR is there, and was sent before */
        message &m = put(LARGE, 1);
        wait_all(reqs, "small ones");
        expect(r, m);
        if (has_rtrs()) {
            EXPECT_EQ(count <= SENDER_LOG, take_rtrs().used) << count << " between";
        }
    }
}

/* Receives that are much too large: the library stops to offer them. When large messages
 * come again, so do the offers. */
TEST_P(test_tag_early, offers_that_do_not_pay)
{
    auto round = [&](size_t size) {
        receive &r = post(LARGE, 3);
        calm_down();
        message &m = put(size, 3);
        expect(r, m);
        m_receives.clear();
        m_messages.clear();
    };

    for (int i = 0; i < 40; ++i) {
        round(EAGER);
    }
    take_rtrs();
    for (int i = 0; i < 20; ++i) {
        round(EAGER);
    }
    if (has_rtrs()) {
        EXPECT_EQ(0, take_rtrs().sent);
    }
    for (int i = 0; i < 20; ++i) {
        round(LARGE);
    }
    if (has_rtrs()) {
        /* those by datagrams come back later, as a vain one costs more */
        EXPECT_GE(take_rtrs().used, by_datagrams() ? 1 : 10);
    }
}

TEST_P(test_tag_early, ten_thousand_receives)
{
    constexpr int N = 10000;
    std::vector<std::string> in(64, std::string(MEDIUM, '\0'));
    std::vector<op_ptr> reqs;

    /* They share memory, as the order is checked by what the last of each 64 holds. */
    for (int i = 0; i < N; ++i) {
        reqs.push_back(recv(b().worker(), &in[i % 64][0], MEDIUM, 1));
    }
    for (int i = 0; i < N; i += 64) {
        std::vector<message *> sent;
        for (int k = i; k < std::min(N, i + 64); ++k) {
            sent.push_back(&put((k % 3) ? MEDIUM : EAGER, 1));
        }
        for (int k = i; k < std::min(N, i + 64); ++k) {
            wait(*reqs[k], "receive");
            wait(*sent[k - i]->req, "send");
            ASSERT_EQ(sent[k - i]->data.size(), reqs[k]->info().length);
            expect_pattern(in[k % 64].data(), sent[k - i]->data.size(),
                           sent[k - i]->seed);
        }
        m_messages.clear();
    }
}

/* Endpoints and workers go while receives are offered. */
TEST_P(test_tag_early, ends_with_receives_posted)
{
    if (GetParam().is_self()) {
        GTEST_SKIP() << "one worker";
    }
    receive &r1 = post(LARGE, 1);
    receive &r2 = post(LARGE, 2);
    calm_down();
    message &m = put(LARGE, 2);
    expect(r2, m);
    r1.req->cancel();
    wait(*r1.req, "cancelled receive");
    post(HUGE, 1);
    calm_down();
    /* the rest is done by the end of the test: a receive is cancelled with the worker */
}

INSTANTIATE_TRANSPORTS(test_tag_early);
