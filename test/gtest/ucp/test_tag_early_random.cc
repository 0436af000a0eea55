/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Large receives that are posted before their message, at random. (docs/protocol-rndv.md)
 */

#include "tag_early_test.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <random>

using namespace ucp_test;

class test_tag_early_random : public tag_early_test {
protected:
    struct posted {
        receive *r;
        ucp_tag_t tag, mask;
    };
    struct sent {
        message *m;
        ucp_tag_t tag;
        bool taken;
    };

    void post_one(ucp_tag_t tag, ucp_tag_t mask, size_t size)
    {
        m_posted.push_back({&post(size, tag, mask), tag, mask});
    }

    /* A send, a receive, progress or the end of a receive. */
    void step(std::mt19937 &rng)
    {
        static const size_t sizes[] = {0,      8,     EAGER, 8192, 8193,
                                       MEDIUM, 70000, LARGE, HUGE};
        ucp_tag_t tag, mask;

        switch (rng() % 8) {
        case 0:
        case 1:
        case 2:
            mask = (rng() % 6) ? TAG_FULL : ((rng() % 2) ? 0 : 2);
            post_one(1 + rng() % 3, mask, sizes[rng() % 9]);
            break;
        case 3:
        case 4:
        case 5:
            tag = 1 + rng() % 3;
            m_sent.push_back({&put(sizes[rng() % 9], tag, rng() % 8 == 0), tag, false});
            break;
        case 6:
            for (unsigned i = rng() % 6; i > 0; --i) {
                (rng() % 2) ? a().progress() : b().progress();
            }
            break;
        default:
            if (!m_posted.empty() && (rng() % 3 == 0)) {
                receive *r = m_posted[rng() % m_posted.size()].r;
                if (!r->req->done()) {
                    r->req->cancel();
                }
            }
            break;
        }
    }

    /* A receive has got the oldest message that it takes, or it is cancelled, or is to be now. */
    void check_one(posted &p)
    {
        bool canceled = p.r->req->done() && (p.r->req->status() == UCS_ERR_CANCELED);
        auto match    = std::find_if(m_sent.begin(), m_sent.end(), [&](sent &s) {
            return !canceled && !s.taken && (((s.tag ^ p.tag) & p.mask) == 0);
        });

        if (match != m_sent.end()) {
            match->taken = true;
            expect(*p.r, *match->m);
        } else if (!canceled) {
            EXPECT_FALSE(p.r->req->done());
            p.r->req->cancel();
            wait(*p.r->req, "receive that is left");
            EXPECT_EQ(UCS_ERR_CANCELED, p.r->req->status());
        }
    }

    std::deque<posted> m_posted;
    std::deque<sent> m_sent;
};

/*
 * Random sends, receives and cancels of all sizes, with progress by chance. Which
 * message a receive gets is determined by the orders of both (see test_tag_match_random.cc);
 * a receive that was cancelled is as if it had never been.
 */
TEST_P(test_tag_early_random, one_sender)
{
    const char *only = getenv("UCP_TEST_SEED");
    int first        = only ? atoi(only) : 1;
    int last         = only ? first : 150;

    for (int seed = first; seed <= last; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 rng(seed);

        for (int i = 0; i < 60; ++i) {
            step(rng);
        }
        for (sent &s : m_sent) { /* room for whatever is left */
            post_one(s.tag, 0, HUGE);
        }
        for (sent &s : m_sent) {
            wait(*s.m->req, "send");
        }
        calm_down();
        for (posted &p : m_posted) {
            check_one(p);
        }
        ASSERT_FALSE(HasFailure());
        m_posted.clear();
        m_sent.clear();
        m_receives.clear();
        m_messages.clear();
    }
}

INSTANTIATE_TRANSPORTS(test_tag_early_random);
