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

class test_tag_early_random : public tag_early_test {};

/*
 * Random sends, receives and cancels of all sizes, with progress by chance. Which
 * message a receive gets is determined by the orders of both (see test_tag_match_random.cc);
 * a receive that was cancelled is as if it had never been.
 */
TEST_P(test_tag_early_random, one_sender)
{
    static const size_t sizes[] = {0, 8, EAGER, 8192, 8193, MEDIUM, 70000, LARGE, HUGE};
    const char *only            = getenv("UCP_TEST_SEED");
    int first                   = only ? atoi(only) : 1;
    int last                    = only ? first : 150;

    for (int seed = first; seed <= last; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 rng(seed);
        struct posted {
            receive *r;
            ucp_tag_t tag, mask;
        };
        struct sent {
            message *m;
            ucp_tag_t tag;
            bool taken;
        };
        std::deque<posted> receives;
        std::deque<sent> messages;
        auto post_one = [&](ucp_tag_t tag, ucp_tag_t mask, size_t size) {
            receives.push_back({&post(size, tag, mask), tag, mask});
        };

        for (int step = 0; step < 60; ++step) {
            switch (rng() % 8) {
            case 0:
            case 1:
            case 2: {
                ucp_tag_t mask = (rng() % 6) ? TAG_FULL : ((rng() % 2) ? 0 : 2);
                post_one(1 + rng() % 3, mask, sizes[rng() % 9]);
                break;
            }
            case 3:
            case 4:
            case 5: {
                ucp_tag_t tag = 1 + rng() % 3;
                messages.push_back(
                        {&put(sizes[rng() % 9], tag, rng() % 8 == 0), tag, false});
                break;
            }
            case 6:
                for (unsigned i = rng() % 6; i > 0; --i) {
                    (rng() % 2) ? a().progress() : b().progress();
                }
                break;
            default:
                if (!receives.empty() && (rng() % 3 == 0)) {
                    receive *r = receives[rng() % receives.size()].r;
                    if (!r->req->done()) {
                        r->req->cancel();
                    }
                }
                break;
            }
        }
        for (sent &s : messages) { /* room for whatever is left */
            post_one(s.tag, 0, HUGE);
        }
        for (sent &s : messages) {
            wait(*s.m->req, "send");
        }
        calm_down();
        for (posted &p : receives) {
            bool canceled = p.r->req->done() && (p.r->req->status() == UCS_ERR_CANCELED);
            auto match    = std::find_if(messages.begin(), messages.end(), [&](sent &s) {
                return !canceled && !s.taken && (((s.tag ^ p.tag) & p.mask) == 0);
            });
            if (match != messages.end()) {
                match->taken = true;
                expect(*p.r, *match->m);
            } else if (!canceled) {
                EXPECT_FALSE(p.r->req->done());
                p.r->req->cancel();
                wait(*p.r->req, "receive that is left");
                EXPECT_EQ(UCS_ERR_CANCELED, p.r->req->status());
            }
        }
        ASSERT_FALSE(HasFailure());
        m_receives.clear();
        m_messages.clear();
    }
}

INSTANTIATE_TRANSPORTS(test_tag_early_random);
