/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Random numbers for tests that say their seed when they fail. RI_TEST_SEED=<n> in the
 * environment runs such a test with that seed only.
 */
#ifndef RI_TEST_RNG_H
#define RI_TEST_RNG_H

#include "common/share.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <string>

/* splitmix64: every seed is a good one. */
class rng {
public:
    explicit rng(uint64_t seed) : m_state(seed * 0x9e3779b97f4a7c15ul + 1) {}

    uint64_t next()
    {
        uint64_t z = (m_state += 0x9e3779b97f4a7c15ul);

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
        return z ^ (z >> 31);
    }

    /* 0 to limit - 1 */
    uint64_t below(uint64_t limit) { return next() % limit; }

    /* from and to included */
    uint64_t range(uint64_t from, uint64_t to) { return from + below(to - from + 1); }

    bool percent(unsigned chance) { return below(100) < chance; }

private:
    uint64_t m_state;
};

/* Run @a test for each @a step-th seed from @a first to @a count, or for the one in the environment;
 * stops at the first seed that fails. */
inline void for_some_seeds(uint64_t first, uint64_t count, uint64_t step,
                           const std::function<void(rng &)> &test)
{
    const char *fixed = getenv("RI_TEST_SEED");

    if (fixed != nullptr) {
        first = count = strtoull(fixed, nullptr, 0);
    }
    for (uint64_t seed = first; seed <= count; seed += step) {
        SCOPED_TRACE("RI_TEST_SEED=" + std::to_string(seed));
        rng random(seed);

        test(random);
        if (::testing::Test::HasFailure()) {
            return;
        }
    }
}

/* Run @a test for seeds 1 to @a count. */
inline void for_seeds(uint64_t count, const std::function<void(rng &)> &test)
{
    for_some_seeds(1, count, 1, test);
}

/* Run @a test, which takes seconds, for a share of the seeds 1 to @a count (share.h). */
inline void for_share_of_seeds(uint64_t count, const std::function<void(rng &)> &test)
{
    for_some_seeds(1 + test_turn(), count, test_share(), test);
}

#endif
