/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Matching with several senders, and random operations against a reference model.
 * The seeds of the random test are 1 to 200; UCP_TEST_SEED=<n> runs that one alone.
 */

#include "ucp_test.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <random>

using namespace ucp_test;

class test_tag_match_sources : public transport_test {
protected:
    /* One receiver and two senders; with self all three are one worker. */
    void make_three()
    {
        m_rx    = &create();
        m_tx[0] = GetParam().is_self() ? m_rx : &create();
        m_tx[1] = GetParam().is_self() ? m_rx : &create();
        for (int i = 0; i < 2; ++i) {
            m_ep[i] = m_tx[i]->connect(*m_rx);
        }
    }

    entity *m_rx     = nullptr;
    entity *m_tx[2]  = {};
    ucp_ep_h m_ep[2] = {};
};

/* The tag carries the source in its high half, as MPIs do it. */
TEST_P(test_tag_match_sources, any_source_keeps_order_per_source)
{
    constexpr int N      = 200;
    const size_t sizes[] = {8, 0, 1000, 65536, 41, 9216, 200000};

    make_three();
    for (bool late : {false, true}) {
        std::vector<std::string> in(2 * N, std::string(200000, '\0'));
        std::vector<std::string> out;
        std::vector<op_ptr> recvs, sends;
        auto post_all = [&] {
            for (auto &buffer : in) {
                recvs.push_back(
                        recv(m_rx->worker(), &buffer[0], buffer.size(), 5, 0xffffffff));
            }
        };

        if (!late) {
            post_all();
        }
        for (int i = 0; i < 2 * N; ++i) {
            out.push_back(pattern(sizes[(i / 2) % 7], i));
        }
        for (int i = 0; i < 2 * N; ++i) {
            sends.push_back(send(m_ep[i % 2], out[i].data(), out[i].size(),
                                 (ucp_tag_t(i % 2) << 32) | 5));
        }
        if (late) {
            calm_down();
            post_all();
        }
        wait_all(recvs, "receives");
        wait_all(sends, "sends");

        int next[2] = {0, 1};
        for (int i = 0; i < 2 * N; ++i) {
            int source = recvs[i]->info().sender_tag >> 32;
            ASSERT_TRUE((source == 0) || (source == 1));
            int expected = next[source];
            next[source] += 2;
            ASSERT_LT(expected, 2 * N);
            ASSERT_EQ(out[expected].size(), recvs[i]->info().length);
            expect_pattern(in[i].data(), out[expected].size(), expected);
        }
    }
}

TEST_P(test_tag_match_sources, named_sources_are_not_mixed)
{
    constexpr int N = 100;

    make_three();
    for (size_t size : {size_t(16), size_t(65536)}) {
        std::vector<std::string> in(2 * N, std::string(size, '\0'));
        std::vector<std::string> out;
        std::vector<op_ptr> recvs, sends;

        /* All receives of source 1 first, then those of source 0. */
        for (int i = 2 * N - 1; i >= 0; --i) {
            recvs.push_back(recv(m_rx->worker(), &in[i][0], size,
                                 (ucp_tag_t(i / N) << 32) | (i % N)));
        }
        for (int i = 0; i < 2 * N; ++i) {
            out.push_back(pattern(size, i));
        }
        for (int i = 0; i < N; ++i) {
            for (int source = 0; source < 2; ++source) {
                sends.push_back(send(m_ep[source], out[source * N + i].data(), size,
                                     (ucp_tag_t(source) << 32) | i));
            }
        }
        wait_all(recvs, "receives");
        wait_all(sends, "sends");
        EXPECT_TRUE(in == out);
    }
}

/* Any-source receives between named ones: each message takes the oldest that fits. */
TEST_P(test_tag_match_sources, any_source_between_named)
{
    make_three();
    for (size_t size : {size_t(8), size_t(1048576)}) {
        SCOPED_TRACE(size);
        const ucp_tag_t any = 0xffffffff, from0 = 5, from1 = (1ull << 32) | 5;
        std::string in[4], out[4];
        std::vector<op_ptr> recvs, sends;

        for (int i = 0; i < 4; ++i) {
            in[i]  = std::string(size, '\0');
            out[i] = pattern(size, i);
        }
        recvs.push_back(recv(m_rx->worker(), &in[0][0], size, from0));
        recvs.push_back(recv(m_rx->worker(), &in[1][0], size, 5, any));
        recvs.push_back(recv(m_rx->worker(), &in[2][0], size, from1));
        recvs.push_back(recv(m_rx->worker(), &in[3][0], size, from0));

        /* Source 1 takes the any-source receive, then its own. */
        sends.push_back(send(m_ep[1], out[1].data(), size, from1));
        wait(*recvs[1]);
        sends.push_back(send(m_ep[1], out[2].data(), size, from1));
        wait(*recvs[2]);
        EXPECT_FALSE(recvs[0]->done());
        EXPECT_FALSE(recvs[3]->done());
        sends.push_back(send(m_ep[0], out[0].data(), size, from0));
        sends.push_back(send(m_ep[0], out[3].data(), size, from0));
        wait_all(recvs, "receives");
        wait_all(sends, "sends");
        for (int i = 0; i < 4; ++i) {
            EXPECT_TRUE(in[i] == out[i]) << i;
        }
    }
}

INSTANTIATE_TRANSPORTS(test_tag_match_sources);

/*
 * Messages come over one endpoint, so they and the receives each have one order. Then
 * the pairs do not depend on when a message arrives: a message takes the oldest receive
 * that fits and no older message took. That makes a simple model exact. Only cancel and
 * probe depend on arrival: the test waits first for what the model says will arrive.
 */
class test_tag_match_random : public transport_test {
protected:
    struct message {
        ucp_tag_t tag;
        uint64_t seed;
        std::string data;
        op_ptr req;
    };

    struct receive {
        ucp_tag_t tag, mask;
        std::string buffer;
        op_ptr req;
        message *match = nullptr;
    };

    void run(uint64_t seed, int steps)
    {
        m_rng.seed(seed);
        for (int i = 0; i < steps; ++i) {
            unsigned what = m_rng() % 100;
            if (what < 36) {
                do_send();
            } else if (what < 72) {
                do_recv(pick_tag(), pick_mask());
            } else if (what < 80) {
                do_probe(false);
            } else if (what < 86) {
                do_probe(true);
            } else if (what < 92) {
                do_cancel();
            } else {
                progress();
            }
        }
        drain();
    }

    void drain()
    {
        while (!m_unexpected.empty()) {
            do_recv(0, 0);
        }
        while (!m_posted.empty()) {
            cancel(m_posted.front());
        }
        for (auto &r : m_receives) {
            check(*r);
        }
        for (auto &m : m_messages) {
            wait(*m->req, "send");
            EXPECT_EQ(UCS_OK, m->req->status());
        }
        ucp_tag_recv_info_t info;
        EXPECT_EQ(nullptr, ucp_tag_probe_nb(b().worker(), 0, 0, 0, &info));
        m_receives.clear();
        m_messages.clear();
    }

    ucp_tag_t pick_tag() { return (m_rng() % 4) | ((m_rng() % 2) << 40); }

    ucp_tag_t pick_mask()
    {
        static const ucp_tag_t masks[] = {TAG_FULL,   TAG_FULL,   TAG_FULL,
                                          0xffffffff, 1ull << 40, 0};
        return masks[m_rng() % 6];
    }

    size_t pick_size()
    {
        static const size_t sizes[] = {0,   1,    8,    16,   40,   41,    64,    100,
                                       500, 1024, 4096, 8192, 9216, 16384, 65536, 200000};
        return sizes[m_rng() % 16];
    }

    static bool fits(const message &m, ucp_tag_t tag, ucp_tag_t mask)
    {
        return ((m.tag ^ tag) & mask) == 0;
    }

    void do_send()
    {
        m_messages.emplace_back(new message);
        message *m = m_messages.back().get();
        m->tag     = pick_tag();
        m->seed    = m_rng() % 100000;
        m->data    = pattern(pick_size(), m->seed);
        auto it    = std::find_if(m_posted.begin(), m_posted.end(),
                                  [&](receive *r) { return fits(*m, r->tag, r->mask); });
        if (it == m_posted.end()) {
            m_unexpected.push_back(m);
        } else {
            (*it)->match = m;
            m_posted.erase(it);
        }
        m->req = (m_rng() % 8 == 0) ?
                         send_sync(ab(), m->data.data(), m->data.size(), m->tag) :
                         send(ab(), m->data.data(), m->data.size(), m->tag);
    }

    std::deque<message *>::iterator find_unexpected(ucp_tag_t tag, ucp_tag_t mask)
    {
        return std::find_if(m_unexpected.begin(), m_unexpected.end(),
                            [&](message *m) { return fits(*m, tag, mask); });
    }

    receive *new_receive(ucp_tag_t tag, ucp_tag_t mask)
    {
        m_receives.emplace_back(new receive);
        receive *r = m_receives.back().get();
        r->tag     = tag;
        r->mask    = mask;
        r->buffer.resize((m_rng() % 8 == 0) ? pick_size() : 200000);
        return r;
    }

    void do_recv(ucp_tag_t tag, ucp_tag_t mask)
    {
        receive *r = new_receive(tag, mask);
        auto it    = find_unexpected(tag, mask);
        if (it == m_unexpected.end()) {
            m_posted.push_back(r);
        } else {
            r->match = *it;
            m_unexpected.erase(it);
        }
        r->req = recv(b().worker(), &r->buffer[0], r->buffer.size(), tag, mask);
    }

    void do_probe(bool remove)
    {
        ucp_tag_t tag = pick_tag(), mask = pick_mask();
        ucp_tag_recv_info_t info = {};
        ucp_tag_message_h handle = nullptr;
        auto it                  = find_unexpected(tag, mask);

        if (it == m_unexpected.end()) {
            EXPECT_EQ(nullptr, ucp_tag_probe_nb(b().worker(), tag, mask, remove, &info));
            return;
        }
        wait(
                [&] {
                    handle = ucp_tag_probe_nb(b().worker(), tag, mask, remove, &info);
                    return handle != nullptr;
                },
                "probe");
        EXPECT_EQ((*it)->tag, info.sender_tag);
        EXPECT_EQ((*it)->data.size(), info.length);
        if (!remove) {
            return;
        }

        receive *r = new_receive(tag, mask);
        r->match   = *it;
        r->req.reset(new op);
        m_unexpected.erase(it);
        ucp_request_param_t param = r->req->recv_param();
        r->req->started(ucp_tag_msg_recv_nbx(b().worker(), &r->buffer[0],
                                             r->buffer.size(), handle, &param),
                        b().worker());
    }

    void do_cancel()
    {
        if (m_receives.empty()) {
            return;
        }
        receive *r = m_receives[m_rng() % m_receives.size()].get();
        if ((r->match == nullptr) && !r->req->done()) {
            cancel(r);
        } else if (r->match != nullptr) {
            check(*r);
            r->req->cancel(); /* too late: no effect */
            EXPECT_EQ(1, r->req->calls());
        }
    }

    void cancel(receive *r)
    {
        EXPECT_FALSE(r->req->done());
        r->req->cancel();
        wait(*r->req, "cancelled receive");
        EXPECT_EQ(UCS_ERR_CANCELED, r->req->status());
        m_posted.erase(std::find(m_posted.begin(), m_posted.end(), r));
    }

    void check(receive &r)
    {
        if (r.match == nullptr) {
            EXPECT_EQ(UCS_ERR_CANCELED, r.req->status());
            return;
        }
        const message &m = *r.match;
        wait(*r.req, "receive");
        EXPECT_EQ(m.tag, r.req->info().sender_tag);
        EXPECT_EQ(m.data.size(), r.req->info().length);
        if (m.data.size() > r.buffer.size()) {
            EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r.req->status());
        } else {
            EXPECT_EQ(UCS_OK, r.req->status());
            expect_pattern(r.buffer.data(), m.data.size(), m.seed);
        }
    }

    std::mt19937_64 m_rng;
    std::vector<std::unique_ptr<message>> m_messages;
    std::vector<std::unique_ptr<receive>> m_receives;
    std::deque<message *> m_unexpected; /* of the model, oldest first */
    std::deque<receive *> m_posted;
};

TEST_P(test_tag_match_random, model)
{
    const char *only = getenv("UCP_TEST_SEED");
    uint64_t first   = (only != nullptr) ? strtoull(only, nullptr, 0) : 1;
    uint64_t last    = (only != nullptr) ? first : 200;

    printf("seeds %lu to %lu\n", (unsigned long)first, (unsigned long)last);
    make_pair();
    for (uint64_t seed = first; seed <= last; ++seed) {
        SCOPED_TRACE("UCP_TEST_SEED=" + std::to_string(seed));
        try {
            run(seed, 150);
        } catch (const failure &f) {
            FAIL() << f.what();
        }
        if (HasFailure()) {
            return;
        }
    }
}

INSTANTIATE_TRANSPORTS(test_tag_match_random);
