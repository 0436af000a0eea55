/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Some orders of events of larger ud transfers than test_ud_explore.cc has: walks with the settings
 * and seeds that the other tests of datagrams have (ud_faults.h).
 */

#include "ud_state.h"

#include <gtest/gtest.h>

namespace {

class test_ud_walk : public ::testing::TestWithParam<ud_faults> {};

TEST_P(test_ud_walk, transfers)
{
    const unsigned STEPS_MAX = 1000000;

    for_seeds(500 * GetParam().seeds, [&](rng &random) {
        uint32_t count = random.range(1, PIECES_MAX);
        uint32_t depth = 1u << random.range(1, 3);
        state s(count, depth, {}, random.below(4));
        unsigned steps = 0;

        s.bind();
        for (; !s.ended() && (steps < STEPS_MAX); ++steps) {
            s.walk(random, GetParam());
            s.check();
            if (HasFailure()) {
                break;
            }
        }
        EXPECT_TRUE(s.ended_well()) << "after " << steps << " steps";
    });
}

INSTANTIATE_TEST_SUITE_P(ud, test_ud_walk, ::testing::ValuesIn(ud_fault_settings()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
