/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Goes through all states of the model of the mailbox, nearest first, so that the steps to a violation
 * are as few as can be.
 *
 * Usage: mailbox_model [--list] [--mutate NAME] [CONFIG...]
 */

#include "mailbox_model.h"

#include <cstdio>
#include <deque>
#include <unordered_map>

const std::vector<mailbox_config_t> mailbox_configs = {
        {"puts",
         {"PPPP"},
         false,
         false,
         false,
         false,
         "puts, and a target that looks or not"},
        {"asks", {"PAPA"}, false, false, false, false, "operations that are waited for"},
        {"calls", {"PCPC"}, true, false, false, false, "a thread that is called"},
        {"unmap", {"PPA"}, true, true, false, false, "memory is unmapped at any time"},
        {"unmap-call", {"PC"}, true, true, false, false, "... and the thread is called"},
        {"target-dies", {"PPC"}, true, false, true, false, "the target dies at any time"},
        {"origin-dies",
         {"PPP", "PA"},
         false,
         false,
         false,
         true,
         "the origin dies at any time, and another one takes its slot"},
        {"origin-dies-call",
         {"PC", "PC"},
         true,
         false,
         false,
         true,
         "... with a thread that is called"}};

const mutation_name_t mutation_names[MUT_LAST] = {
        {"", "", ""},
        {"number", "puts", "a state does not tell the number of its operation"},
        {"serve-cas", "puts", "the target takes an operation without compare-and-swap"},
        {"withdraw-cas", "puts", "the origin withdraws one without compare-and-swap"},
        {"withdraw-first", "puts", "the origin withdraws the earliest first"},
        {"copy-early", "puts", "it does what it has withdrawn before the rest is over"},
        {"copy-order", "puts", "it does the latest first"},
        {"room", "puts", "it withdraws the oldest alone for room"},
        {"unmap-lock", "unmap", "memory is unmapped while the target works on it"},
        {"late-calls", "calls", "the thread looks at the calls behind the operations"},
        {"call-silent", "calls", "the origin does not wake the thread"},
        {"slot-clear", "origin-dies", "what a dead origin has posted stays in its slot"},
        {"slot-busy", "origin-dies", "its slot is cleared while the target is at it"},
        {"two-serve", "calls", "two threads of the target serve at the same time"}};

namespace {

struct hash_t {
    size_t operator()(const state_t &state) const
    {
        auto bytes  = reinterpret_cast<const uint8_t *>(&state);
        size_t hash = 14695981039346656037ul;

        for (size_t i = 0; i < sizeof(state); ++i) {
            hash = (hash ^ bytes[i]) * 1099511628211ul;
        }
        return hash;
    }
};

struct seen_t {
    const state_t *before;
    std::string text;
};

using seen_map_t = std::unordered_map<state_t, seen_t, hash_t>;

void show(const seen_map_t &seen, const state_t *at, const std::string &last,
          const std::string &error)
{
    std::vector<std::string> lines = {last};
    unsigned number                = 0;

    for (auto found = seen.find(*at); found->second.before != nullptr;
         found      = seen.find(*found->second.before)) {
        lines.push_back(found->second.text);
    }
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
        printf("%3u  %s\n", ++number, line->c_str());
    }
    printf("VIOLATION: %s\n", error.c_str());
}

/* @return Whether nothing is wrong in any state. */
bool explore(const mailbox_config_t &config, mutation_t mutation)
{
    mailbox_model_t model(config, mutation);
    std::deque<const state_t *> open;
    size_t num_steps = 0, num_ends = 0;
    seen_map_t seen;

    open.push_back(&seen.emplace(model.start(), seen_t{nullptr, ""}).first->first);
    while (!open.empty()) {
        const state_t *now = open.front();
        std::string error  = model.check_end(*now);
        auto steps         = model.steps(*now);

        open.pop_front();
        num_ends += (now->origin.at == ORIGIN_FINISHED);
        if (error.empty() && steps.empty() && (now->origin.at != ORIGIN_FINISHED)) {
            error = "nothing can happen any more";
        }
        if (!error.empty()) {
            show(seen, now, "", error);
            return false;
        }
        for (auto &step : steps) {
            if (!step.error.empty()) {
                show(seen, now, step.text, step.error);
                return false;
            }
            ++num_steps;
            auto added = seen.emplace(step.state, seen_t{now, step.text});
            if (added.second) {
                open.push_back(&added.first->first);
            }
        }
    }
    printf("%s: %zu states, %zu steps, %zu ends, no violation\n", config.name,
           seen.size(), num_steps, num_ends);
    return num_ends > 0;
}

void list()
{
    printf("configurations:\n");
    for (const auto &config : mailbox_configs) {
        printf("  * %-18s %s\n", config.name, config.text);
    }
    printf("mutations, each with the configuration in which it is found:\n");
    for (int i = 1; i < MUT_LAST; ++i) {
        printf("    %-14s %-18s %s\n", mutation_names[i].name, mutation_names[i].config,
               mutation_names[i].text);
    }
}

const mailbox_config_t *find_config(const std::string &name)
{
    for (const auto &config : mailbox_configs) {
        if (name == config.name) {
            return &config;
        }
    }
    return nullptr;
}

mutation_t find_mutation(const std::string &name)
{
    for (int i = 1; i < MUT_LAST; ++i) {
        if (name == mutation_names[i].name) {
            return mutation_t(i);
        }
    }
    return MUT_NONE;
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<const mailbox_config_t *> configs;
    mutation_t mutation = MUT_NONE;
    int result          = 0;

    for (int i = 1; i < argc; ++i) {
        std::string arg = argv[i];

        if ((arg == "-h") || (arg == "--help")) {
            printf("Usage: mailbox_model [--list] [--mutate NAME] [CONFIG...]\n"
                   "Goes through all states of the model of the mailbox "
                   "(mailbox_model.h), of all\n"
                   "configurations or of those that are named. Exit code: 0 if nothing "
                   "is wrong, 1\n"
                   "after a violation, which is printed behind the steps to it, 2 for "
                   "wrong usage.\n");
            return 0;
        }
        if (arg == "--list") {
            list();
            return 0;
        }
        if ((arg == "--mutate") && (i + 1 < argc) &&
            (find_mutation(argv[i + 1]) != MUT_NONE)) {
            mutation = find_mutation(argv[++i]);
        } else if (find_config(arg) != nullptr) {
            configs.push_back(find_config(arg));
        } else {
            fprintf(stderr, "mailbox_model: unknown argument '%s'; see --help\n",
                    arg.c_str());
            return 2;
        }
    }
    if (configs.empty()) {
        for (const auto &config : mailbox_configs) {
            configs.push_back(&config);
        }
    }
    for (const auto *config : configs) {
        if (!explore(*config, mutation)) {
            result = 1;
            break;
        }
    }
    return result;
}
