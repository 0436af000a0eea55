/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* All interleavings of the steps of a scenario, and what may go wrong in them. */

#include "epoch_model.h"

#include <algorithm>
#include <cstdio>
#include <unordered_set>

namespace {

struct put {
    int from, to, round;
    bool has_arrived;
};

struct word_write {
    int word, value;
};

struct state {
    int at[RANKS]      = {}; /* step of each rank's program */
    int round[RANKS]   = {}; /* that its memory is exposed in, from 1 on; 0: it is not */
    int origins[RANKS] = {}; /* to whom */
    int entered[RANKS] = {}; /* fences */
    int left[RANKS]    = {};
    int words[RANKS][WORDS] = {};
    std::vector<word_write> writes[RANKS][RANKS]; /* on their way: from, to */
    std::vector<put> puts;
};

std::string key_of(const state &s, int ranks)
{
    std::string key;

    for (int r = 0; r < ranks; ++r) {
        key += {char(s.at[r]), char(s.round[r])};
        for (int word : s.words[r]) {
            key += char(word);
        }
        for (int to = 0; to < ranks; ++to) {
            for (const word_write &w : s.writes[r][to]) {
                key += {char(w.word), char(w.value)};
            }
            key += '/';
        }
    }
    for (const put &p : s.puts) {
        key += {char(p.from), char(p.to), char(p.round), char(p.has_arrived)};
    }
    return key;
}

struct explorer {
    const scenario &what;
    int ranks;
    std::unordered_set<std::string> seen = {};
    std::vector<std::string> path        = {};
    std::string violation                = {};

    bool is_flying(const state &s, int from, int to, int round) const
    {
        return std::any_of(s.puts.begin(), s.puts.end(), [&](const put &p) {
            return !p.has_arrived && ((from < 0) || (p.from == from)) &&
                   ((to < 0) || (p.to == to)) && ((round < 0) || (p.round == round));
        });
    }

    /* Whether a rank can take its next step. */
    bool can(const state &s, int r) const
    {
        const program &steps = what.programs[r];

        if (s.at[r] == int(steps.size())) {
            return false;
        }
        const step &st = steps[s.at[r]];

        switch (st.what) {
        case step::AWAIT:
            return s.words[r][st.word] >= st.value;
        case step::SETTLE:
            return !is_flying(s, r, -1, -1);
        case step::MEET:
            for (int other = 0; other < ranks; ++other) {
                const program &others = what.programs[other];
                auto meets =
                        std::find_if(others.begin(), others.end(),
                                     [](const step &o) { return o.what == step::MEET; });

                if (s.at[other] < meets - others.begin()) {
                    return false;
                }
            }
            return true;
        default:
            return true;
        }
    }

    /* Take the next step of a rank. @return What goes wrong by that, or NULL. */
    const char *take(state &s, int r) const
    {
        const step &st = what.programs[r][s.at[r]++];

        switch (st.what) {
        case step::WRITE:
            s.writes[r][st.rank].push_back({st.word, st.value});
            break;
        case step::CLEAR:
            s.words[r][st.word] = 0;
            break;
        case step::PUT:
            s.puts.push_back({r, st.rank, st.round, false});
            break;
        case step::EXPOSE:
            s.round[r]   = st.round;
            s.origins[r] = st.value;
            break;
        case step::HIDE:
            if (is_flying(s, -1, r, st.round)) {
                return "a rank has waited, and a put to it is on its way";
            }
            s.round[r] = 0;
            break;
        case step::ENTER:
            s.entered[r] = st.round;
            break;
        case step::LEAVE:
            s.left[r] = st.round;
            if (is_flying(s, -1, r, st.round - 1)) {
                return "a rank has left a fence, and a put to it is on its way";
            }
            break;
        default:
            break;
        }
        return nullptr;
    }

    /* Whether a step is taken at once: others do not see when. */
    bool is_at_once(const state &s, int r) const
    {
        if (s.at[r] == int(what.programs[r].size())) {
            return false;
        }
        switch (what.programs[r][s.at[r]].what) {
        case step::WRITE:
        case step::PUT:
        case step::HIDE:
        case step::LEAVE:
            return true;
        default:
            return false;
        }
    }

    /* Let a put arrive. @return What is wrong with that, or NULL. */
    const char *arrive(state &s, put &p) const
    {
        p.has_arrived = true;
        if (g_has_fences) {
            return ((s.entered[p.to] < p.round) || (s.left[p.to] > p.round)) ?
                           "a put arrives in another epoch of a fence" :
                           nullptr;
        }
        return ((s.round[p.to] != p.round) || !(s.origins[p.to] & (1 << p.from))) ?
                       "a put arrives at memory that is not exposed to its origin" :
                       nullptr;
    }

    bool step_to(const state &s, const std::string &text, const char *wrong)
    {
        path.push_back(text);
        if (wrong != nullptr) {
            violation = wrong;
            return false;
        }
        if (!go(s)) {
            return false;
        }
        path.pop_back();
        return true;
    }

    bool go_rank(const state &s, int r)
    {
        state next        = s;
        const char *wrong = take(next, r);

        while ((wrong == nullptr) && is_at_once(next, r)) {
            wrong = take(next, r);
        }
        return step_to(next, "process " + std::to_string(r) + " goes on", wrong);
    }

    bool go(const state &s)
    {
        bool can_any = false, all_done = true;

        if (!seen.insert(key_of(s, ranks)).second) {
            return true;
        }
        for (int r = 0; r < ranks; ++r) {
            all_done = all_done && (s.at[r] == int(what.programs[r].size()));
            if (can(s, r)) {
                can_any = true;
                if (!go_rank(s, r)) {
                    return false;
                }
            }
        }
        for (int i = 0; i < ranks * ranks; ++i) {
            int from = i / ranks, to = i % ranks;

            if (!s.writes[from][to].empty()) {
                state next   = s;
                word_write w = s.writes[from][to].front();

                can_any = true;
                next.writes[from][to].erase(next.writes[from][to].begin());
                next.words[to][w.word] = w.value;
                if (!step_to(next,
                             "process " + std::to_string(to) + " gets a word of " +
                                     std::to_string(from),
                             nullptr)) {
                    return false;
                }
            }
        }
        for (size_t i = 0; i < s.puts.size(); ++i) {
            if (!s.puts[i].has_arrived) {
                state next        = s;
                const char *wrong = arrive(next, next.puts[i]);

                can_any = true;
                if (!step_to(next,
                             "process " + std::to_string(s.puts[i].to) +
                                     " gets a put of " + std::to_string(s.puts[i].from),
                             wrong)) {
                    return false;
                }
            }
        }
        if (!can_any && !all_done) {
            violation = "all wait";
            return false;
        }
        return true;
    }
};

} // namespace

bool explore(const scenario &what, sum &all)
{
    explorer e = {what, int(what.programs.size())};

    ++all.scenarios;
    if (!e.go(state())) {
        printf("%s", what.text.c_str());
        for (size_t i = 0; i < e.path.size(); ++i) {
            printf("%3zu  %s\n", i + 1, e.path[i].c_str());
        }
        printf("VIOLATION: %s\n", e.violation.c_str());
        return false;
    }
    all.states += e.seen.size();
    return true;
}
