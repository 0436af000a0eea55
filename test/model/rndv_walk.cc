/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Walks through the model where its states are too many to go through all of them: at each
 * state one step is taken by chance. Chances and seeds are those of the other tests of datagrams
 * (gtest/common/ud_faults.h). The model knows no pieces, so what is lost is the whole transfer,
 * and what is late or overtaken is the first datagram of one, and an RTR.
 */
#include "rndv_walk.h"
#include "../gtest/common/ud_faults.h"

#include <cstdio>

/* splitmix64 */
class dice_t {
public:
    explicit dice_t(uint64_t seed) : m_state(seed * 0x9e3779b97f4a7c15ul + 1) {}

    uint64_t below(uint64_t limit)
    {
        uint64_t z = (m_state += 0x9e3779b97f4a7c15ul);

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
        return (z ^ (z >> 31)) % limit;
    }

    bool thousandth(unsigned chance) { return below(1000) < chance; }

private:
    uint64_t m_state;
};

/* Chances in 1000 of what a setting says nothing about. */
constexpr unsigned WHIM = 20, CANCEL = 100;

/* @return Whether a step is to be thought of now. */
static bool is_tried(const action_t &action, const ud_faults &f, dice_t &dice)
{
    switch (action.type) {
    case ACT_UD:
        return (action.c == UD_FAILS) ? dice.thousandth(f.drop) :
               (action.c == UD_HEARD) ? !dice.thousandth(f.delay + f.drop) :
                                        true;
    case ACT_TO_SENDER: /* before those that came first */
        return (action.b == 0) || dice.thousandth(f.reorder + f.delay);
    case ACT_WHIM:
        return dice.thousandth(WHIM + f.drop);
    case ACT_CANCEL:
        return dice.thousandth(CANCEL);
    default:
        return true;
    }
}

/* @return What is wrong, or an empty string. */
static std::string walk_once(model_t &model, const ud_faults &f, uint64_t seed,
                             size_t &steps)
{
    std::vector<action_t> actions, tried;
    dice_t dice(seed);
    std::string error;
    state_t state;

    model.init(state);
    for (;;) {
        if (!model.actions(state, actions)) {
            error = model.check_rest(state);
            if (!error.empty()) {
                return "at rest: " + error;
            }
        }
        if (actions.empty()) {
            return "";
        }
        tried.clear();
        for (const action_t &action : actions) {
            if (is_tried(action, f, dice)) {
                tried.push_back(action);
            }
        }
        if (tried.empty()) {
            tried = actions;
        }
        ++steps;
        error = model.apply(state, tried[dice.below(tried.size())]);
        if (!error.empty()) {
            return error;
        }
    }
}

bool walk(const config_t &config, unsigned per_seed)
{
    model_t model(config);

    for (const ud_faults &f : ud_fault_settings()) {
        size_t steps = 0, walks = 0;

        for (uint64_t seed = 1; seed <= f.seeds; ++seed) {
            for (unsigned i = 0; i < per_seed; ++i, ++walks) {
                uint64_t number   = seed + (uint64_t)i * 1000;
                std::string error = walk_once(model, f, number, steps);
                std::string text;

                if (error.empty()) {
                    continue;
                }
                model.narrate(&text);
                walk_once(model, f, number, steps);
                printf("%s\nVIOLATION, %s, seed %lu: %s\n", text.c_str(), f.name,
                       (unsigned long)number, error.c_str());
                return false;
            }
        }
        printf("%s: no violation, %zu walks, %zu steps\n", f.name, walks, steps);
    }
    return true;
}
