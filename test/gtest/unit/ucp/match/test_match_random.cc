/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/match/match.c: masks and tags at random, and many of them.
 */

#include "match_test.h"

namespace {

class test_match_random : public match_test {};

TEST_F(test_match_random, random_few_masks)
{
    for_seeds(3000, [this](rng &random) {
        traffic t = {random_values(random, random.range(1, 12), 2),
                     {~0ul, 0xfffffffful, 0, random.next()},
                     40,
                     40,
                     10,
                     false};

        run(random, t, 200);
        drain();
        reset();
    });
}

TEST_F(test_match_random, random_many_masks)
{
    for_seeds(1500, [this](rng &random) {
        traffic t = {random_values(random, random.range(2, 40), 3),
                     random_values(random, random.range(7, 30), 3),
                     35,
                     40,
                     15,
                     true};

        run(random, t, 400);
        drain();
        reset();
    });
}

/* Phases with other masks each, long enough for classes to change hands, over messages and
 * receives that stay from phase to phase. */
TEST_F(test_match_random, random_changing_masks)
{
    for_seeds(60, [this](rng &random) {
        for (int phase = 0; (phase < 4) && !HasFailure(); ++phase) {
            unsigned recv_share = random.range(25, 45);
            traffic t           = {random_values(random, random.range(2, 60), 3),
                                   random_values(random, random.range(2, 8), 3),
                                   recv_share,
                                   80 - recv_share,
                                   15,
                                   random.percent(50)};

            run(random, t, 2500);
        }
        drain();
        reset();
    });
}

/* Ten thousand different tags, as the benchmark of the empty queue has them. */
TEST_F(test_match_random, many_tags)
{
    for_seeds(2, [this](rng &random) {
        std::vector<std::unique_ptr<ri_recv_req_t>> posted;
        const size_t count = 10000;

        for (size_t i = 0; i < count; ++i) {
            posted.emplace_back(new ri_recv_req_t());
            posted[i]->tag  = i;
            posted[i]->mask = ~0ul;
            ri_match_post(&m_match, posted[i].get());
        }
        for (size_t i = 0; i < count; ++i) {
            size_t tag = (i * 7919) % count;

            ASSERT_EQ(posted[tag].get(), ri_match_find_posted(&m_match, tag));
        }
        EXPECT_EQ(0u, m_match.num_posted);
        reset();
    });
}

} // namespace
