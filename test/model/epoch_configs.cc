/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* The configurations of the model of epochs, each of many scenarios, and the rules that can be left
 * out. */

#include "command_line.h"
#include "epoch_model.h"

#include <algorithm>
#include <cstdio>
#include <functional>

rules g_rules;
bool g_has_fences;

namespace {

/* Two relations as a number, with the ranks in another order. */
std::vector<int> renamed(const relation rounds[], const std::vector<int> &names)
{
    std::vector<int> result;

    for (int round = 0; round < ROUNDS; ++round) {
        std::vector<int> other(names.size(), 0);

        for (size_t r = 0; r < names.size(); ++r) {
            for (size_t to = 0; to < names.size(); ++to) {
                other[names[r]] |= ((rounds[round][r] >> to) & 1) << names[to];
            }
        }
        result.insert(result.end(), other.begin(), other.end());
    }
    return result;
}

/* Whether no other order of the ranks comes before this one: one of them is enough, where all ranks
 * make their calls in the same order. */
bool is_first_of_its_kind(const relation rounds[], int ranks)
{
    std::vector<int> names(ranks);

    for (int r = 0; r < ranks; ++r) {
        names[r] = r;
    }
    const std::vector<int> self = renamed(rounds, names);

    while (std::next_permutation(names.begin(), names.end())) {
        if (renamed(rounds, names) < self) {
            return false;
        }
    }
    return true;
}

/* Call a function with all relations of two rounds, until it returns false. */
bool for_all_relations(int ranks, const std::function<bool(const relation *)> &func)
{
    int pairs = ranks * (ranks - 1);

    for (long bits = 0; bits < (1l << (ROUNDS * pairs)); ++bits) {
        relation rounds[ROUNDS];
        long rest = bits;

        for (relation &targets : rounds) {
            targets.assign(ranks, 0);
            for (int r = 0; r < ranks; ++r) {
                for (int to = 0; to < ranks; ++to) {
                    if (to != r) {
                        targets[r] |= int(rest & 1) << to;
                        rest >>= 1;
                    }
                }
            }
        }
        if (!func(rounds)) {
            return false;
        }
    }
    return true;
}

/* All ranks make the same calls in each round: post, start, complete, wait. */
bool explore_groups(int ranks, int nocheck, sum &all)
{
    std::vector<call> order;

    for (int round = 1; round <= ROUNDS; ++round) {
        order.push_back({'P', round});
        if (round == nocheck) {
            order.push_back({'M', round});
        }
        for (char kind : {'S', 'C', 'W'}) {
            order.push_back({kind, round});
        }
    }
    const call_orders orders(ranks, order);

    return for_all_relations(ranks, [&](const relation *rounds) {
        return !is_first_of_its_kind(rounds, ranks) ||
               explore(scenario_of(orders, rounds, nocheck), all);
    });
}

/* All orders of two exposures and two accesses of a rank. */
std::vector<std::vector<call>> all_orders()
{
    std::vector<std::vector<call>> orders;

    for (int bits = 0; bits < 256; ++bits) {
        std::vector<call> order;
        int exposes = 0, accesses = 0;

        if (__builtin_popcount(bits) != 2 * ROUNDS) {
            continue;
        }
        for (int i = 0; i < 4 * ROUNDS; ++i) {
            if (bits & (1 << i)) {
                order.push_back({(exposes % 2) ? 'W' : 'P', exposes / 2 + 1});
                ++exposes;
            } else {
                order.push_back({(accesses % 2) ? 'C' : 'S', accesses / 2 + 1});
                ++accesses;
            }
        }
        orders.push_back(order);
    }
    return orders;
}

/* Two ranks, each in any order of its calls. */
bool explore_orders(sum &all)
{
    const std::vector<std::vector<call>> choices = all_orders();

    return for_all_relations(2, [&](const relation *rounds) {
        for (const std::vector<call> &first : choices) {
            for (const std::vector<call> &second : choices) {
                const call_orders orders = {first, second};

                if (is_allowed(orders, rounds) &&
                    !explore(scenario_of(orders, rounds, 0), all)) {
                    return false;
                }
            }
        }
        return true;
    });
}

bool explore_fences(int ranks, sum &all)
{
    for (int also_first = 0; also_first < (1 << ROUNDS); ++also_first) {
        if (!explore(scenario_of_fences(ranks, also_first), all)) {
            return false;
        }
    }
    return true;
}

const std::vector<mutation> mutations = {
        {"settle", "groups-two", "complete does not wait for puts",
         []() { g_rules.settle = false; }},
        {"settle-fence", "fence-two", "a fence does not wait for puts",
         []() { g_rules.settle = false; }},
        {"start", "groups-two", "start does not wait",
         []() { g_rules.start_waits = false; }},
        {"pair-numbers", "groups-three",
         "epochs are counted for a window, not for a pair",
         []() { g_rules.pair_numbers = false; }},
        {"pair-words", "groups-three", "all origins write the same words",
         []() { g_rules.pair_words = false; }},
        {"numbers", "orders", "words are bits, cleared at the end of the epoch",
         []() { g_rules.numbers = false; }},
        {"numbers-fence", "fence-four",
         "a barrier's words are bits, cleared by who waits",
         []() { g_rules.numbers = false; }},
        {"rounds", "fence-three", "a barrier lacks its last round",
         []() { g_rules.all_rounds = false; }},
        {"nocheck", "nocheck-first", "start counts an epoch that is not checked",
         []() { g_rules.nocheck_silent = false; }},
};

/* Which scenarios a configuration has. */
struct config {
    enum kind {
        GROUPS,
        ORDERS,
        FENCES
    };

    const char *text;
    kind what;
    int ranks;
    int nocheck; /* GROUPS: the round that is not checked, or 0 */
    bool is_tested;
};

const std::map<std::string, config> configs = {
        {"groups-two", {"two ranks, any groups", config::GROUPS, 2, 0, true}},
        {"groups-three", {"three ranks, any groups", config::GROUPS, 3, 0, true}},
        {"nocheck-first",
         {"three ranks, the first round is not checked", config::GROUPS, 3, 1, true}},
        {"nocheck-last",
         {"three ranks, the last round is not checked", config::GROUPS, 3, 2, true}},
        {"orders", {"two ranks, any order of their calls", config::ORDERS, 2, 0, true}},
        {"fence-two", {"two ranks, three fences", config::FENCES, 2, 0, true}},
        {"fence-three", {"three ranks, three fences", config::FENCES, 3, 0, true}},
        {"fence-four", {"four ranks, three fences", config::FENCES, 4, 0, false}},
};

bool go_through(const config &chosen, sum &all)
{
    g_has_fences = (chosen.what == config::FENCES);
    switch (chosen.what) {
    case config::GROUPS:
        return explore_groups(chosen.ranks, chosen.nocheck, all);
    case config::ORDERS:
        return explore_orders(all);
    default:
        return explore_fences(chosen.ranks, all);
    }
}

void print(const char *name, const config &one)
{
    printf("  %c %-13s %s\n", one.is_tested ? '*' : ' ', name, one.text);
}

bool run(const config &chosen)
{
    sum all;

    if (!go_through(chosen, all)) {
        return false;
    }
    printf("%s: %zu scenarios, %zu states, no violation\n", chosen.text, all.scenarios,
           all.states);
    return true;
}

} // namespace

int main(int argc, char **argv)
{
    return command_line<config>{
            "Goes through all interleavings of post, start, complete and "
            "wait, and of fences.",
            configs, mutations, print, run}
            .main(argc, argv);
}
