/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Goes through all states of the model that can be reached within the bounds of a
 * configuration, breadth first, so that the first violation has a shortest trace. Visited
 * states are kept as 64-bit hashes with the hash of the state before; a trace is made by
 * following these back and withdrawing the same steps again.
 */
#include "rndv_walk.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

/* The set of visited states: open addressing, doubled when it is half full. */
class visited_t {
public:
    visited_t() : m_slots(1 << 16) {}

    /* @return false if @a hash is in the set already. */
    bool add(uint64_t hash, uint64_t before)
    {
        slot_t &slot = find(m_slots, hash);

        if (slot.hash == hash) {
            return false;
        }
        slot = {hash, before};
        if (++m_count > m_slots.size() / 2) {
            grow();
        }
        return true;
    }

    uint64_t before(uint64_t hash) { return find(m_slots, hash).before; }

    size_t count() const { return m_count; }

private:
    struct slot_t {
        uint64_t hash, before;
    };

    static slot_t &find(std::vector<slot_t> &slots, uint64_t hash)
    {
        size_t i = hash & (slots.size() - 1);

        while ((slots[i].hash != 0) && (slots[i].hash != hash)) {
            i = (i + 1) & (slots.size() - 1);
        }
        return slots[i];
    }

    void grow()
    {
        std::vector<slot_t> slots(m_slots.size() * 2);

        for (const slot_t &slot : m_slots) {
            if (slot.hash != 0) {
                find(slots, slot.hash) = slot;
            }
        }
        m_slots.swap(slots);
    }

    std::vector<slot_t> m_slots;
    size_t m_count = 0;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t product = static_cast<__uint128_t>(a) * b;

    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/* Of all bytes of a state; never 0. There is no padding that could differ. */
static uint64_t hash_of(const state_t &state, size_t size)
{
    const char *bytes = reinterpret_cast<const char *>(&state);
    uint64_t hash     = 0x9e3779b97f4a7c15ul;
    uint64_t words[2];

    for (size_t i = 0; i < size; i += sizeof(words)) {
        words[0] = words[1] = 0;
        memcpy(words, bytes + i, std::min(sizeof(words), size - i));
        hash = mix(hash ^ words[0] ^ 0xa0761d6478bd642ful,
                   words[1] ^ 0xe7037ed1a0b428dbul) +
               i * 0x8ebc6af09c88c6e3ul;
    }
    hash = mix(hash ^ 0x589965cc75374cc3ul, 0x1d8e4e27c47d124ful);
    return hash ? hash : 1;
}

static_assert(alignof(state_t) == 1, "padding would be hashed");

class explorer_t {
public:
    explorer_t(const config_t &config, size_t limit) : m_model(config), m_limit(limit)
    {
        m_size = (config.senders == 1) ? offsetof(state_t, link[1]) : sizeof(state_t);
    }

    /* @return true if no violation was found within the bounds. */
    bool run();

    size_t states() const { return m_visited.count(); }
    size_t steps() const { return m_steps; }
    int depth() const { return m_depth; }
    size_t rests() const { return m_rests; }
    bool complete() const { return m_complete; }

private:
    /* The two tags mean the same: the first one that is used is 0. */
    static bool is_mirrored(const state_t &state, const action_t &action)
    {
        int tag = (action.type == ACT_SEND) ? action.b :
                  (action.type == ACT_POST) ? action.a :
                                              0;

        if (tag != 1) {
            return false;
        }
        for (const link_t &link : state.link) {
            for (int i = 0; i < link.sent; ++i) {
                if (link.msg[i].tag == 0) {
                    return false;
                }
            }
        }
        for (int i = 0; i < state.posted; ++i) {
            if (state.recv[i].tag == 0) {
                return false;
            }
        }
        return true;
    }

    void print_trace(uint64_t last, const action_t *action);

    model_t m_model;
    size_t m_limit;
    size_t m_size;
    visited_t m_visited;
    size_t m_steps  = 0;
    size_t m_rests  = 0;
    int m_depth     = 0;
    bool m_complete = true;
};

bool explorer_t::run()
{
    /* The states of a level, without the second link if there is one sender only */
    std::vector<unsigned char> level, next_level;
    std::vector<action_t> actions;
    std::string error;
    state_t state, next;

    auto append = [&](const state_t &added) {
        const unsigned char *bytes = reinterpret_cast<const unsigned char *>(&added);

        next_level.insert(next_level.end(), bytes, bytes + m_size);
    };

    m_model.init(state);
    m_visited.add(hash_of(state, m_size), 0);
    append(state);
    for (; !next_level.empty(); ++m_depth) {
        level.swap(next_level);
        next_level.clear();
        for (size_t offset = 0; offset < level.size(); offset += m_size) {
            memcpy(&state, &level[offset], m_size);
            uint64_t hash = hash_of(state, m_size);

            if (!m_model.actions(state, actions)) {
                ++m_rests;
                error = m_model.check_rest(state);
                if (!error.empty()) {
                    print_trace(hash, nullptr);
                    printf("VIOLATION at rest: %s\n", error.c_str());
                    return false;
                }
            }
            for (const action_t &action : actions) {
                if (is_mirrored(state, action)) {
                    continue;
                }
                next = state;
                ++m_steps;
                error = m_model.apply(next, action);
                if (!error.empty()) {
                    print_trace(hash, &action);
                    printf("VIOLATION: %s\n", error.c_str());
                    return false;
                }
                if (m_visited.add(hash_of(next, m_size), hash)) {
                    append(next);
                }
            }
            if (m_visited.count() > m_limit) {
                m_complete = false;
                return true;
            }
        }
    }
    return true;
}

/* The steps from the start to the state with the hash @a last, and one more. */
void explorer_t::print_trace(uint64_t last, const action_t *action)
{
    std::vector<uint64_t> path;
    std::vector<action_t> actions;
    state_t state;
    int number = 0;

    for (uint64_t hash = last; hash != 0; hash = m_visited.before(hash)) {
        path.push_back(hash);
    }
    std::reverse(path.begin(), path.end());
    m_model.init(state);

    auto step = [&](const action_t &taken) {
        std::string text;

        m_model.narrate(&text);
        m_model.apply(state, taken);
        m_model.narrate(nullptr);
        printf("%4d  %s\n", ++number, text.c_str());
    };
    for (size_t i = 1; i < path.size(); ++i) {
        m_model.actions(state, actions);
        for (const action_t &candidate : actions) {
            state_t next = state;

            m_model.apply(next, candidate);
            if (hash_of(next, m_size) == path[i]) {
                step(candidate);
                break;
            }
        }
    }
    if (action != nullptr) {
        step(*action);
    }
}

static const named_config_t *find_config(const std::string &name)
{
    for (const named_config_t &named : named_configs) {
        if (name == named.name) {
            return &named;
        }
    }
    return nullptr;
}

static void usage()
{
    printf("Explores the model of receiver-initiated rendezvous, docs/protocol-rndv.md.\n"
           "\n"
           "Usage: rndv_model [options] [CONFIGURATION...]\n"
           "  --all            all bounded configurations\n"
           "  --mutate NAME    leaves a rule out or changes it; without a configuration, "
           "in\n"
           "                   the one that shows it\n"
           "  --walk N         does not explore, but walks by chance: N times for each "
           "seed "
           "of\n"
           "                   each setting of test/gtest/common/ud_faults.h\n"
           "  --list           prints configurations and mutations\n"
           "  --limit N        stops after N million states (40)\n"
           "  --set KEY=VALUE  changes a bound: senders, messages, messages_1, recvs, "
           "cancels,\n"
           "                   window, rtrs, refuse_any, in_stream_fin, list, "
           "slow_reads,\n"
           "                   words, whims, unordered, write_fails, slots_withdrawn, "
           "dies, "
           "fails, breaks, ways,\n"
           "                   lengths, capacities, tags, recv_tags, sources\n"
           "\n"
           "Exit code: 0 no violation, 1 violation (its shortest trace is printed), 2 "
           "usage, 3 "
           "bounds not reached.\n");
}

static void list()
{
    printf("configurations (* bounded):\n");
    for (const named_config_t &named : named_configs) {
        printf("  %c %-20s %s\n", named.bounded ? '*' : ' ', named.name, named.what);
    }
    printf("mutations (name, configuration that shows it):\n");
    for (int i = 1; i < MUT_LAST; ++i) {
        const mutation_name_t &mutation = mutation_names[i];

        for (const char *config : {mutation.config, mutation.grants, mutation.ud}) {
            if (config != nullptr) {
                printf("    %-22s %-14s %s\n", mutation.name, config, mutation.what);
            }
        }
    }
}

/* A value of a configuration, with the name that --set has for it. */
template <typename T> struct named_value {
    const char *key;
    T *place;
};

/* Where the value of a name is, nullptr: the list has no such name. */
template <typename T, size_t N>
static T *find_value(const named_value<T> (&list)[N], const std::string &key)
{
    for (const named_value<T> &entry : list) {
        if (key == entry.key) {
            return entry.place;
        }
    }
    return nullptr;
}

static bool set_value(config_t &config, const std::string &text)
{
    size_t equals = text.find('=');
    std::string key, value;
    int number;

    if (equals == std::string::npos) {
        return false;
    }
    key    = text.substr(0, equals);
    value  = text.substr(equals + 1);
    number = atoi(value.c_str());

    const named_value<int> numbers[]      = {{"senders", &config.senders},
                                             {"messages", &config.messages},
                                             {"messages_1", &config.messages_1},
                                             {"recvs", &config.recvs},
                                             {"cancels", &config.cancels},
                                             {"window", &config.window},
                                             {"rtrs", &config.rtrs},
                                             {"list", &config.list},
                                             {"ways", &config.ways},
                                             {"words", &config.words}};
    const named_value<bool> flags[]       = {{"refuse_any", &config.refuse_any},
                                             {"in_stream_fin", &config.in_stream_fin},
                                             {"whims", &config.whims},
                                             {"unordered", &config.unordered},
                                             {"write_fails", &config.write_fails},
                                             {"slots_withdrawn", &config.slots_withdrawn},
                                             {"dies", &config.dies},
                                             {"fails", &config.fails},
                                             {"breaks", &config.breaks},
                                             {"slow_reads", &config.slow_reads}};
    const named_value<std::string> sets[] = {{"lengths", &config.lengths},
                                             {"capacities", &config.capacities},
                                             {"tags", &config.tags},
                                             {"recv_tags", &config.recv_tags},
                                             {"sources", &config.sources}};

    if (int *place = find_value(numbers, key)) {
        *place = number;
    } else if (bool *flag = find_value(flags, key)) {
        *flag = number != 0;
    } else if (std::string *set = find_value(sets, key)) {
        *set = value;
    } else {
        return false;
    }
    return true;
}

static int explore(const std::string &name, const config_t &config, size_t limit)
{
    auto begin = std::chrono::steady_clock::now();
    explorer_t explorer(config, limit);
    bool good                             = explorer.run();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

    printf("%s%s%s: %s, %zu states, %zu steps, %zu at rest, depth %d, %.1f s\n",
           name.c_str(), config.mutation ? " with " : "",
           config.mutation ? mutation_names[config.mutation].name : "",
           !good               ? "violation" :
           explorer.complete() ? "no violation" :
                                 "NOT COMPLETE",
           explorer.states(), explorer.steps(), explorer.rests(), explorer.depth(),
           seconds.count());
    fflush(stdout);
    return !good ? 1 : explorer.complete() ? 0 : 3;
}

/* The mutation of a name, MUT_NONE: there is none. */
static mutation_t find_mutation(const std::string &name)
{
    for (int m = 1; m < MUT_LAST; ++m) {
        if (name == mutation_names[m].name) {
            return mutation_t(m);
        }
    }
    return MUT_NONE;
}

/* The configurations that show a mutation, or that of a model without one. */
static std::vector<std::string> usual_names(mutation_t mutation)
{
    const mutation_name_t &shown = mutation_names[mutation];
    std::vector<std::string> names;

    for (const char *config : {shown.config, shown.grants, shown.ud}) {
        if (config != nullptr) {
            names.push_back(config);
        }
    }
    if (names.empty()) {
        names.push_back("grants");
    }
    return names;
}

/* All configurations whose states can be explored. */
static std::vector<std::string> bounded_names()
{
    std::vector<std::string> names;

    for (const named_config_t &named : named_configs) {
        if (named.bounded) {
            names.push_back(named.name);
        }
    }
    return names;
}

int main(int argc, char **argv)
{
    std::vector<std::string> names, sets;
    mutation_t mutation = MUT_NONE;
    size_t limit        = 40;
    unsigned walks      = 0;
    int result          = 0;

    for (int i = 1; i < argc; ++i) {
        std::string arg = argv[i];
        bool has_value  = i + 1 < argc;

        if ((arg == "-h") || (arg == "--help")) {
            usage();
            return 0;
        } else if (arg == "--list") {
            list();
            return 0;
        } else if (arg == "--all") {
            for (const std::string &name : bounded_names()) {
                names.push_back(name);
            }
        } else if ((arg == "--mutate") && has_value) {
            mutation = find_mutation(argv[++i]);
            if (mutation == MUT_NONE) {
                fprintf(stderr, "rndv_model: no mutation '%s'; see --list\n", argv[i]);
                return 2;
            }
        } else if ((arg == "--limit") && has_value) {
            limit = strtoul(argv[++i], nullptr, 0);
        } else if ((arg == "--walk") && has_value) {
            walks = strtoul(argv[++i], nullptr, 0);
        } else if ((arg == "--set") && has_value) {
            sets.push_back(argv[++i]);
        } else if (find_config(arg) != nullptr) {
            names.push_back(arg);
        } else {
            fprintf(stderr, "rndv_model: unknown argument '%s'; see --help\n",
                    arg.c_str());
            return 2;
        }
    }
    if (names.empty()) {
        names = usual_names(mutation);
    }
    for (const std::string &name : names) {
        config_t config;

        find_config(name)->set(config);
        config.mutation = mutation;
        for (const std::string &text : sets) {
            if (!set_value(config, text)) {
                fprintf(stderr, "rndv_model: cannot set '%s'; see --help\n",
                        text.c_str());
                return 2;
            }
        }
        result = std::max(result, (walks > 0) ? !walk(config, walks) :
                                                explore(name, config, limit * 1000000));
    }
    return result;
}
