/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The locks of windows: gates (src/uct/shm/gate.h), and how src/win/epoch.c passes several of them.
 *
 * Each process has a program of locks and unlocks of two ranks, each by itself or both together. The
 * ranks are on one host, or each on a host of its own. All combinations of programs are gone through,
 * and all interleavings of each. In none may an exclusive lock be held beside another lock of that
 * rank, or may all wait.
 *
 * A step is what the code does in one atomic instruction: to come to a gate, to be let in by it, to
 * join, to leave. Programs lock ranks in rising order, as programs have to that use several locks.
 */

#include "command_line.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

namespace {

enum {
    RANKS = 2,
    GATES = 2 * RANKS,
    HOST  = RANKS, /* gates of hosts: the first one */
    A     = 0,
    B     = 1
};

/* What is left out, to see that it is missed. */
struct rules {
    bool join      = true;  /* who has locks does not wait in the row of a host's gate */
    bool alone     = true;  /* an exclusive lock is alone among its kind */
    bool ordered   = true;  /* all pass the gates of the hosts in the same order */
    bool gate_last = false; /* the gate of the host comes behind that of the rank */
};

rules g_rules;
int g_hosts = 1;

/* One call of a program. */
struct call {
    char kind; /* s: shared, x: exclusive, u: unlock, S: lock all, R: lock all, the last host first, U: unlock all */
    int rank;
};

/* One atomic step of a call. */
struct step {
    char kind; /* e: enter, j: join, l: leave */
    int gate;
    int side;
    bool alone;
};

struct gate {
    int inside[2] = {0, 0};
    std::vector<int> row; /* processes with tickets, the first one has the turn */
};

struct process {
    size_t call      = 0;      /* in its program */
    size_t step      = 0;      /* of that call */
    bool is_in_row   = false;  /* or has joined, and waits */
    char held[RANKS] = {0, 0}; /* s, x */
    bool has_all     = false;
};

/* Calls, and the steps of each, which follow from what the process holds when it makes the call. */
struct program {
    std::vector<call> calls;
    std::vector<std::vector<step>> steps;
};

struct state {
    gate gates[GATES];
    std::vector<process> processes;
};

std::string key_of(const state &s)
{
    std::string key;

    for (const gate &g : s.gates) {
        key += char(g.inside[A]);
        key += char(g.inside[B]);
        for (int p : g.row) {
            key += char('0' + p);
        }
        key += '/';
    }
    for (const process &p : s.processes) {
        key += {char(p.call), char(p.step), char(p.is_in_row)};
    }
    return key;
}

/* The gate of the host of a rank. */
int gate_of(int rank)
{
    return HOST + ((g_hosts > 1) ? rank : 0);
}

/* The gates of all hosts. */
std::vector<step> steps_of_all(char kind, bool reversed)
{
    std::vector<step> steps;

    for (int host = 0; host < g_hosts; ++host) {
        steps.push_back({kind, HOST + host, A, false});
    }
    if (reversed) {
        std::reverse(steps.begin(), steps.end());
    }
    return steps;
}

/* The steps of a call, by what the process holds when it begins. */
std::vector<step> steps_of(const process &p, const call &c)
{
    std::vector<step> steps;
    bool has_locks = p.held[0] || p.held[1];

    switch (c.kind) {
    case 's':
        steps.push_back({'e', c.rank, A, false});
        break;
    case 'x':
        steps.push_back(
                {(g_rules.join && has_locks) ? 'j' : 'e', gate_of(c.rank), B, false});
        steps.push_back({'e', c.rank, B, g_rules.alone});
        if (g_rules.gate_last) {
            std::reverse(steps.begin(), steps.end());
        }
        break;
    case 'u':
        steps.push_back({'l', c.rank, (p.held[c.rank] == 'x') ? B : A, false});
        if (p.held[c.rank] == 'x') {
            steps.push_back({'l', gate_of(c.rank), B, false});
        }
        break;
    case 'S':
    case 'R':
        return steps_of_all('e', c.kind == 'R');
    default:
        return steps_of_all('l', true);
    }
    return steps;
}

bool lets_in(const gate &g, const step &st)
{
    return (g.inside[1 - st.side] == 0) && (!st.alone || (g.inside[st.side] == 0));
}

/* What a process holds when it has taken steps of a call: a lock behind the last one, and none any
 * more behind the first one of its end. */
void hold(process &p, const call &c, size_t steps)
{
    bool is_first = (p.step == 1), is_last = (p.step == steps);

    if (((c.kind == 's') || (c.kind == 'x')) && is_last) {
        p.held[c.rank] = c.kind;
    } else if ((c.kind == 'u') && is_first) {
        p.held[c.rank] = 0;
    } else if (((c.kind == 'S') || (c.kind == 'R')) && is_last) {
        p.has_all = true;
    } else if ((c.kind == 'U') && is_first) {
        p.has_all = false;
    }
}

/* Take a step of a process, if it can. @return Whether it could. */
bool take(state &s, int number, const program &prog)
{
    process &p = s.processes[number];

    if (p.call == prog.calls.size()) {
        return false;
    }
    const call &c                  = prog.calls[p.call];
    const std::vector<step> &steps = prog.steps[p.call];
    const step &st                 = steps[p.step];
    gate &g                        = s.gates[st.gate];
    bool is_done                   = false;

    if (st.kind == 'l') {
        --g.inside[st.side];
        is_done = true;
    } else if (st.kind == 'j') {
        if (!p.is_in_row) {
            p.is_in_row = true;
            ++g.inside[st.side]; /* nobody of the other kind comes in any more */
        } else if (g.inside[1 - st.side] == 0) {
            is_done = true;
        } else {
            return false;
        }
    } else if (!p.is_in_row) {
        if (g.row.empty() && lets_in(g, st)) {
            ++g.inside[st.side];
            is_done = true;
        } else {
            g.row.push_back(number);
            p.is_in_row = true;
        }
    } else if ((g.row.front() == number) && lets_in(g, st)) {
        g.row.erase(std::find(g.row.begin(), g.row.end(), number));
        ++g.inside[st.side];
        is_done = true;
    } else {
        return false;
    }
    if (!is_done) {
        return true;
    }
    p.is_in_row = false;
    ++p.step;
    hold(p, c, steps.size());
    if (p.step == steps.size()) {
        p.step = 0;
        ++p.call;
    }
    return true;
}

/* What is wrong in a state, or nothing. */
const char *wrong(const state &s)
{
    for (int rank = 0; rank < RANKS; ++rank) {
        int exclusive = 0, other = 0;

        for (const process &p : s.processes) {
            exclusive += (p.held[rank] == 'x');
            other += (p.held[rank] == 's') || p.has_all;
        }
        if ((exclusive > 1) || (exclusive && other)) {
            return "an exclusive lock is held beside another lock";
        }
    }
    return nullptr;
}

struct explorer {
    std::vector<program> programs;
    std::set<std::string> seen;
    std::vector<int> path;
    size_t states = 0;
    std::string violation;

    bool go(const state &s)
    {
        bool can_any = false, all_done = true;

        if (!seen.insert(key_of(s)).second) {
            return true;
        }
        ++states;
        if (const char *what = wrong(s)) {
            violation = what;
            return false;
        }
        for (size_t p = 0; p < programs.size(); ++p) {
            state next = s;

            all_done = all_done && (s.processes[p].call == programs[p].calls.size());
            if (take(next, int(p), programs[p])) {
                can_any = true;
                path.push_back(int(p));
                if (!go(next)) {
                    return false;
                }
                path.pop_back();
            }
        }
        if (!can_any && !all_done) {
            violation = "all wait";
            return false;
        }
        return true;
    }
};

std::string name_of(const program &prog)
{
    std::string name;

    for (const call &c : prog.calls) {
        switch (c.kind) {
        case 's':
            name += " lock-shared-";
            break;
        case 'x':
            name += " lock-exclusive-";
            break;
        case 'u':
            name += " unlock-";
            break;
        case 'S':
        case 'R':
            name += " lock-all";
            continue;
        default:
            name += " unlock-all";
            continue;
        }
        name += char('0' + c.rank);
    }
    return name;
}

/* One lock, two at a time, one after the other, and all. */
std::vector<program> all_programs()
{
    std::vector<program> programs = {{{{'S', 0}, {'U', 0}}, {}}};

    for (char first : {'s', 'x'}) {
        for (int rank = 0; rank < RANKS; ++rank) {
            programs.push_back({{{first, rank}, {'u', rank}}, {}});
        }
        for (char second : {'s', 'x'}) {
            programs.push_back({{{first, 0}, {second, 1}, {'u', 0}, {'u', 1}}, {}});
            programs.push_back({{{first, 0}, {second, 1}, {'u', 1}, {'u', 0}}, {}});
        }
    }
    if (!g_rules.ordered) {
        programs.push_back({{{'R', 0}, {'U', 0}}, {}});
    }
    programs.push_back({{{'x', 0}, {'u', 0}, {'S', 0}, {'U', 0}}, {}});
    programs.push_back({{{'S', 0}, {'U', 0}, {'x', 1}, {'u', 1}}, {}});
    for (program &prog : programs) {
        process p;

        for (const call &c : prog.calls) {
            prog.steps.push_back(steps_of(p, c));
            for (p.step = 1; p.step <= prog.steps.back().size(); ++p.step) {
                hold(p, c, prog.steps.back().size());
            }
        }
    }
    return programs;
}

/* Explore each choice of programs, in which the order of processes does not matter. */
bool explore(size_t processes)
{
    const std::vector<program> programs = all_programs();
    std::vector<size_t> choice(processes, 0);
    size_t states = 0, choices = 0;

    for (;;) {
        explorer e;
        state start;

        for (size_t p : choice) {
            e.programs.push_back(programs[p]);
        }
        start.processes.resize(processes);
        ++choices;
        if (!e.go(start)) {
            for (size_t p = 0; p < processes; ++p) {
                printf("process %zu:%s\n", p, name_of(e.programs[p]).c_str());
            }
            for (size_t i = 0; i < e.path.size(); ++i) {
                printf("%3zu  process %d goes on\n", i + 1, e.path[i]);
            }
            printf("VIOLATION: %s\n", e.violation.c_str());
            return false;
        }
        states += e.states;
        size_t at = processes;
        while ((at > 0) && (choice[at - 1] == programs.size() - 1)) {
            --at;
        }
        if (at == 0) {
            break;
        }
        ++choice[at - 1];
        std::fill(choice.begin() + long(at), choice.end(), choice[at - 1]);
    }
    printf("%zu processes, %d host%s: %zu choices of programs, %zu states, no "
           "violation\n",
           processes, g_hosts, (g_hosts > 1) ? "s" : "", choices, states);
    return true;
}

const std::vector<mutation> mutations = {
        {"join", "three", "who has locks waits in the row of a host's gate",
         []() { g_rules.join = false; }},
        {"alone", "two", "exclusive locks are inside together",
         []() { g_rules.alone = false; }},
        {"gate-last", "four", "the host's gate is passed behind that of the rank",
         []() { g_rules.gate_last = true; }},
        {"order", "four-hosts", "the gates of hosts are passed in any order",
         []() { g_rules.ordered = false; }},
};

struct config {
    size_t processes;
    int hosts;
};

const std::map<std::string, config> configs = {
        {"two", {2, 1}},       {"three", {3, 1}},       {"four", {4, 1}},
        {"two-hosts", {2, 2}}, {"three-hosts", {3, 2}}, {"four-hosts", {4, 2}}};

void print(const char *name, const config &one)
{
    printf("  * %-12s %zu processes, ranks on %d host%s\n", name, one.processes,
           one.hosts, (one.hosts > 1) ? "s" : "");
}

bool run(const config &chosen)
{
    g_hosts = chosen.hosts;
    return explore(chosen.processes);
}

} // namespace

int main(int argc, char **argv)
{
    return command_line<config>{"Goes through all interleavings of the locks of windows.",
                                configs, mutations, print, run}
            .main(argc, argv);
}
