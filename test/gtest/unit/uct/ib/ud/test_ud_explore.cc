/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * All orders of events of small ud transfers: whatever is on its way may arrive next, get lost or
 * come twice, timeouts come early or late, and the queue pair fails. The memory is looked at in
 * every state, and the end can be reached from each. test_ud_walk.cc has larger ones. The tests run
 * src/uct/ib/ud/ud_transfer.h, too.
 */

#include "ud_state.h"

#include <deque>
#include <gtest/gtest.h>
#include <unordered_map>

namespace {

/* What was found so far: states are numbered. */
struct graph {
    std::unordered_map<std::string, uint32_t> states;
    std::vector<std::vector<uint32_t>> before; /* of each state: those that lead to it */
    std::vector<uint32_t> ends;

    /* @return Whether the state is new. */
    bool add(const std::string &key, uint32_t from)
    {
        auto added = states.emplace(key, before.size());

        if (added.second) {
            before.emplace_back();
        }
        if (added.first->second != from) {
            before[added.first->second].push_back(from);
        }
        return added.second;
    }

    /* @return The number of states from which the end can be reached. */
    size_t count_alive() const
    {
        std::vector<bool> alive(before.size());
        std::vector<uint32_t> next = ends;
        size_t count               = 0;

        for (; !next.empty();) {
            uint32_t i = next.back();

            next.pop_back();
            if (!alive[i]) {
                alive[i] = true;
                ++count;
                next.insert(next.end(), before[i].begin(), before[i].end());
            }
        }
        return count;
    }
};

/* @return The number of states. */
size_t explore(uint32_t count, uint32_t depth, const budget &b, unsigned stale)
{
    std::deque<state> next;
    graph g;

    next.emplace_back(count, depth, b, stale);
    g.add(next.front().key(), 0);
    for (uint32_t i = 0; !next.empty() && !::testing::Test::HasFailure(); ++i) {
        state s = next.front();

        next.pop_front(); /* in the order of their numbers */
        s.check();
        if (s.ended()) {
            g.ends.push_back(i);
        }
        s.steps([&](state &to) {
            if (g.add(to.key(), i)) {
                next.push_back(to);
            }
        });
    }
    EXPECT_EQ(g.before.size(), g.count_alive()) << "there are states that never end";
    return g.before.size();
}

TEST(test_ud_explore, one_piece)
{
    EXPECT_GT(explore(1, 2, {3, 1, 1}, 1), 100u);
}

TEST(test_ud_explore, one_piece_fails)
{
    EXPECT_GT(explore(1, 2, {2, 1, 2}, 1), 100u);
}

TEST(test_ud_explore, two_pieces)
{
    EXPECT_GT(explore(2, 2, {2, 0, 1}, 1), 1000u);
}

TEST(test_ud_explore, window_moves)
{
    EXPECT_GT(explore(3, 2, {2, 1, 0}, 0), 1000u);
}

TEST(test_ud_explore, window_moves_and_fails)
{
    EXPECT_GT(explore(3, 2, {1, 1, 1}, 0), 1000u);
}

TEST(test_ud_explore, three_pieces)
{
    EXPECT_GT(explore(3, 4, {2, 0, 0}, 1), 1000u);
}

TEST(test_ud_explore, three_stale)
{
    EXPECT_GT(explore(3, 4, {1, 0, 0}, 3), 1000u);
}

} // namespace
