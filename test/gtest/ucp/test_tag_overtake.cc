/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages that overtake an earlier, longer one which is on its way into its receive: the
 * order in which they are matched is that in which they were sent, and a receive is complete
 * when its data is there. On a network where long messages take their time (gtest_ucp_overtake
 * in test/check) the library has many of them arrive in the wrong order.
 */

#include "early_test.h"

#include <deque>
#include <functional>
#include <random>

using namespace ucp_test;

class test_tag_overtake : public early_test {
protected:
    struct pair {
        receive *r;
        message *m;
    };

    void TearDown() override
    {
        m_pairs.clear();
        m_receives.clear();
        m_messages.clear();
        early_test::TearDown();
    }

    void match(receive &r, message &m) { m_pairs.push_back({&r, &m}); }

    /* Look at each receive as soon as it is complete: its data is there by then. */
    void expect_all()
    {
        std::deque<pair> left = m_pairs;

        wait(
                [&] {
                    for (size_t i = 0; i < left.size();) {
                        if (left[i].r->req->done()) {
                            check(*left[i].r, *left[i].m);
                            left.erase(left.begin() + i);
                        } else {
                            ++i;
                        }
                    }
                    return left.empty();
                },
                "receives");
        for (const pair &p : m_pairs) {
            wait(*p.m->req, "send");
            EXPECT_EQ(UCS_OK, p.m->req->status());
        }
        m_pairs.clear();
        m_receives.clear();
        m_messages.clear();
    }

    /* Messages that came before the data of an earlier one: they wait, or need not */
    int64_t overtaking()
    {
        return counter(b().worker(), "rx_reordered") + counter(b().worker(), "rx_named");
    }

    /* Where the library is there, offers all, and has a network, some overtake others. Which do
     * is up to the machine, too: a process that has lost its processor finds all of them there. So
     * it is tried until some have. */
    void expect_overtaken(const std::function<void()> &round)
    {
        int64_t before = overtaking();
        int64_t used   = counter(b().worker(), "rtr_used");

        round();
        if (has_network_rtrs()) {
            auto has_overtaken = [&] {
                return (overtaking() > before) &&
                       (counter(b().worker(), "rtr_used") > used);
            };
            EXPECT_TRUE(poll_until([&] { return HasFailure() || has_overtaken(); },
                                   [&] {
                                       round();
                                       return 0;
                                   }))
                    << overtaking() - before << " messages came before earlier ones, "
                    << counter(b().worker(), "rtr_used") - used << " RTRs were used";
        }
    }

    void random_round(int seed);

    std::deque<pair> m_pairs;
};

/* Of each length, hence by each protocol */
TEST_P(test_tag_overtake, one_message)
{
    expect_overtaken([this] {
        for (size_t size : {size_t(0), size_t(8), EAGER, MEDIUM, LARGE}) {
            for (ucp_tag_t tag : {1, 2}) {
                for (bool posted : {true, false}) {
                    SCOPED_TRACE(std::to_string(size));
                    receive &r1 = post(HUGE, 1);
                    receive *r2 = posted ? &post(size, tag) : nullptr;

                    calm_down();
                    match(r1, put(HUGE, 1));
                    message &m2 = put(size, tag);
                    match(posted ? *r2 : post(size, tag), m2);
                    expect_all();
                }
            }
        }
    });
}

/* Receives of all kinds are posted and offered, then all messages are sent at once: the first
 * that fits takes each receive. */
void test_tag_overtake::random_round(int seed)
{
    static const size_t sizes[] = {0, 8, EAGER, MEDIUM, LARGE, HUGE, HUGE};

    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 rng(seed);
    std::vector<ucp_tag_t> tags;
    std::vector<bool> taken;

    for (unsigned i = 0; i < 8; ++i) {
        tags.push_back(1 + rng() % 3);
    }
    taken.resize(tags.size());
    /* The receives, and which message each one gets: with one sender that is known */
    std::vector<std::pair<receive *, size_t>> receives;
    unsigned wild = (seed % 3 == 0) ? 4 : 0;
    for (unsigned i = 0; i < tags.size(); ++i) {
        ucp_tag_t tag  = tags[rng() % tags.size()];
        ucp_tag_t mask = (rng() % 8 < wild) ? 0 : TAG_FULL;

        for (size_t m = 0; m < tags.size(); ++m) {
            if (!taken[m] && (((tags[m] ^ tag) & mask) == 0)) {
                taken[m] = true;
                receives.push_back({&post(HUGE, tag, mask), m});
                break;
            }
        }
    }
    calm_down();
    std::vector<message *> messages;
    for (ucp_tag_t tag : tags) {
        messages.push_back(&put(sizes[rng() % 7], tag, rng() % 8 == 0));
    }
    for (auto &one : receives) {
        match(*one.first, *messages[one.second]);
    }
    for (size_t m = 0; m < tags.size(); ++m) {
        if (!taken[m]) { /* in the order of their numbers */
            match(post(HUGE, tags[m]), *messages[m]);
        }
    }
    expect_all();
}

TEST_P(test_tag_overtake, random)
{
    const char *only = getenv("UCP_TEST_SEED");
    int first        = only ? atoi(only) : 1;
    int last         = only ? first : 60;

    expect_overtaken([&] {
        for (int seed = first; (seed <= last) && !HasFailure(); ++seed) {
            random_round(seed);
        }
    });
}

INSTANTIATE_REMOTE_TRANSPORTS(test_tag_overtake);
