/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* The calls of a rank as steps, with the words and numbers that the ranks use. */

#include "epoch_model.h"

#include <functional>

namespace {

/* Makes the calls of one rank into steps. It counts as the ranks do. */
class caller {
public:
    caller(int self, int ranks) : m_self(self), m_ranks(ranks) {}

    program steps;

    void post(int origins, int round, bool nocheck)
    {
        m_origins = origins;
        m_waits   = round;
        steps.push_back({step::EXPOSE, 0, 0, origins, round});
        for_each(origins, [&](int r) {
            if (!nocheck) {
                write(r, POSTED, next(m_posted, r));
            }
        });
    }

    void start(int targets, int round, bool nocheck)
    {
        m_targets = targets;
        m_round   = round;
        for_each(targets, [&](int r) {
            if (!nocheck || !g_rules.nocheck_silent) {
                int number = next(m_started, r);

                if (g_rules.start_waits) {
                    await(word_of(POSTED, r), number);
                }
            }
        });
    }

    void complete()
    {
        for_each(m_targets, [&](int r) {
            steps.push_back({step::PUT, r, 0, 0, m_round});
        });
        settle();
        for_each(m_targets, [&](int r) { write(r, COMPLETED, next(m_completed, r)); });
        /* Bits are cleared when their epoch is over */
        for_each(m_targets, [&](int r) { clear(word_of(POSTED, r)); });
    }

    void wait()
    {
        for_each(m_origins, [&](int r) {
            await(word_of(COMPLETED, r), next(m_waited, r));
            clear(word_of(COMPLETED, r));
        });
        steps.push_back({step::HIDE, 0, 0, 0, m_waits});
    }

    void meet() { steps.push_back({step::MEET, 0, 0, 0, 0}); }

    void fence(int number)
    {
        int rounds = 0;

        settle();
        steps.push_back({step::ENTER, 0, 0, 0, number});
        while ((1 << rounds) < m_ranks) {
            ++rounds;
        }
        if (!g_rules.all_rounds) {
            --rounds;
        }
        for (int round = 0; round < rounds; ++round) {
            int to = (m_self + (1 << round)) % m_ranks;

            steps.push_back(
                    {step::WRITE, to, BARRIER + round, g_rules.numbers ? number : 1, 0});
            await(BARRIER + round, number);
            clear(BARRIER + round);
        }
        steps.push_back({step::LEAVE, 0, 0, 0, number});
    }

    void put_to(int targets, int round)
    {
        for_each(targets, [&](int r) { steps.push_back({step::PUT, r, 0, 0, round}); });
    }

private:
    int m_self, m_ranks;
    int m_origins = 0, m_targets = 0, m_round = 0, m_waits = 0;
    int m_posted[RANKS] = {}, m_started[RANKS] = {};
    int m_completed[RANKS] = {}, m_waited[RANKS] = {};

    void for_each(int set, const std::function<void(int)> &func)
    {
        for (int r = 0; r < m_ranks; ++r) {
            if (set & (1 << r)) {
                func(r);
            }
        }
    }

    int next(int *numbers, int rank)
    {
        return ++numbers[g_rules.pair_numbers ? rank : 0];
    }

    /* The word of this rank that another one writes. */
    int word_of(int kind, int writer) { return kind + (g_rules.pair_words ? writer : 0); }

    void write(int to, int kind, int number)
    {
        steps.push_back({step::WRITE, to, kind + (g_rules.pair_words ? m_self : 0),
                         g_rules.numbers ? number : 1, 0});
    }

    void await(int word, int number)
    {
        steps.push_back({step::AWAIT, 0, word, g_rules.numbers ? number : 1, 0});
    }

    void clear(int word)
    {
        if (!g_rules.numbers) {
            steps.push_back({step::CLEAR, 0, word, 0, 0});
        }
    }

    void settle()
    {
        if (g_rules.settle) {
            steps.push_back({step::SETTLE, 0, 0, 0, 0});
        }
    }
};

/* The ranks that access a rank. */
int origins_of(const relation &targets, int rank)
{
    int set = 0;

    for (size_t r = 0; r < targets.size(); ++r) {
        set |= ((targets[r] >> rank) & 1) << r;
    }
    return set;
}

std::string text_of(const call_orders &orders, const relation rounds[])
{
    std::string text;

    for (size_t r = 0; r < orders.size(); ++r) {
        text += "process " + std::to_string(r) + ":";
        for (const call &c : orders[r]) {
            int set = ((c.kind == 'P') || (c.kind == 'W')) ?
                              origins_of(rounds[c.round - 1], int(r)) :
                              rounds[c.round - 1][r];

            text += (c.kind == 'P') ? " post" :
                    (c.kind == 'S') ? " start" :
                    (c.kind == 'C') ? " complete" :
                    (c.kind == 'W') ? " wait" :
                                      " barrier";
            if ((c.kind == 'P') || (c.kind == 'S')) {
                text += '(';
                for (size_t other = 0; other < orders.size(); ++other) {
                    if (set & (1 << other)) {
                        text += std::to_string(other);
                    }
                }
                text += ')';
            }
        }
        text += '\n';
    }
    return text;
}

} // namespace

bool is_allowed(const call_orders &orders, const relation rounds[])
{
    size_t ranks = orders.size();
    std::vector<size_t> at(ranks, 0);
    bool has_gone_on = true;
    auto has_made    = [&](size_t r, char kind, int round) {
        for (size_t i = 0; i < at[r]; ++i) {
            if ((orders[r][i].kind == kind) && (orders[r][i].round == round)) {
                return true;
            }
        }
        return false;
    };

    while (has_gone_on) {
        has_gone_on = false;
        for (size_t r = 0; r < ranks; ++r) {
            if (at[r] == orders[r].size()) {
                continue;
            }
            const call &c           = orders[r][at[r]];
            const relation &targets = rounds[c.round - 1];
            int others              = (c.kind == 'S') ? targets[r] :
                                      (c.kind == 'W') ? origins_of(targets, int(r)) :
                                                        0;
            bool can                = true;

            for (size_t other = 0; other < ranks; ++other) {
                if (others & (1 << other)) {
                    can = can && has_made(other, (c.kind == 'S') ? 'P' : 'C', c.round);
                }
            }
            if (can) {
                ++at[r];
                has_gone_on = true;
            }
        }
    }
    for (size_t r = 0; r < ranks; ++r) {
        if (at[r] < orders[r].size()) {
            return false;
        }
    }
    return true;
}

scenario scenario_of(const call_orders &orders, const relation rounds[], int nocheck)
{
    scenario made;

    for (size_t r = 0; r < orders.size(); ++r) {
        caller calls(int(r), int(orders.size()));

        for (const call &c : orders[r]) {
            const relation &targets = rounds[c.round - 1];

            switch (c.kind) {
            case 'P':
                calls.post(origins_of(targets, int(r)), c.round, c.round == nocheck);
                break;
            case 'S':
                calls.start(targets[r], c.round, c.round == nocheck);
                break;
            case 'C':
                calls.complete();
                break;
            case 'W':
                calls.wait();
                break;
            default:
                calls.meet();
            }
        }
        made.programs.push_back(calls.steps);
    }
    made.text = text_of(orders, rounds);
    return made;
}

scenario scenario_of_fences(int ranks, int also_first)
{
    scenario made;

    for (int r = 0; r < ranks; ++r) {
        caller calls(r, ranks);

        for (int round = 1; round <= ROUNDS; ++round) {
            calls.fence(round);
            calls.put_to((1 << ((r + 1) % ranks)) | ((also_first >> (round - 1)) & 1),
                         round);
        }
        calls.fence(ROUNDS + 1);
        made.programs.push_back(calls.steps);
        made.text += "process " + std::to_string(r) + ": fence, put, fence, put, fence\n";
    }
    return made;
}
