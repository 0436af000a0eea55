/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The epochs of windows that need no lock, as src/win/epoch.c makes them of words that ranks write
 * to each other: post, start, complete and wait, and the fence.
 *
 * A scenario says which ranks access which others in each of two rounds, and in which order each
 * rank makes its calls. All scenarios of a configuration that MPI allows are gone through, with
 * groups that overlap in any way, and all interleavings of each. Each access is one put. No put may
 * reach a rank that does not expose its memory to the origin in that round, none may be on its way
 * when the rank is told that the round is over, and never may all wait.
 *
 * What is written to a rank arrives there in order, at any time later. Puts arrive in any order.
 * Within a host words arrive at once, which is among the cases.
 *
 * The steps of a process that others cannot see, and those that only send, are taken at once behind
 * the step before.
 */

#ifndef EPOCH_MODEL_H
#define EPOCH_MODEL_H

#include <cstddef>
#include <string>
#include <vector>

enum {
    RANKS  = 4,
    ROUNDS = 2, /* of a scenario */
    /* words of a rank: by the rank that writes it, and those of a barrier */
    POSTED    = 0,
    COMPLETED = RANKS,
    BARRIER   = 2 * RANKS,
    WORDS     = BARRIER + 2
};

/* What is left out, to see that it is missed. */
struct rules {
    bool settle      = true; /* who completes has waited for its puts */
    bool start_waits = true; /* start waits for the posts */
    /* epochs are counted for each pair of ranks, not for a window */
    bool pair_numbers = true;
    bool pair_words   = true; /* each origin has words of its own */
    bool numbers      = true; /* words are numbers, not bits that their reader clears */
    bool all_rounds = true; /* a barrier has as many rounds as it takes to hear of all */
    bool nocheck_silent = true; /* an epoch without a check is not counted */
};

extern rules g_rules;

/* Whether all scenarios are of fences, and none of post and start. */
extern bool g_has_fences;

/* One atomic step of a rank. */
struct step {
    enum kind {
        WRITE,  /* a word of another rank */
        AWAIT,  /* a word of its own that has a number, or a later one */
        CLEAR,  /* a word of its own */
        PUT,    /* to another rank, in a round */
        SETTLE, /* until all its puts have arrived */
        EXPOSE, /* its memory, to a set of ranks, in a round */
        HIDE,   /* it, at the end of a round */
        MEET,   /* the program's own barrier: until all are here */
        ENTER,  /* a fence */
        LEAVE   /* it */
    };

    kind what;
    int rank;  /* the other one */
    int word;  /* which */
    int value; /* number, round, or a set of ranks */
    int round;
};

typedef std::vector<step> program;

/* Who accesses whom in a round: a set of ranks for each origin. */
typedef std::vector<int> relation;

/* One call of a rank. */
struct call {
    char kind; /* P: post, S: start, C: complete, W: wait, M: the program's own barrier */
    int round; /* from 1 on */
};

struct scenario {
    std::vector<program> programs;
    std::string text;
};

typedef std::vector<std::vector<call>> call_orders; /* of each rank */

/* How much was gone through. */
struct sum {
    size_t scenarios = 0, states = 0;
};

/* Whether the calls come to an end where epochs are what MPI says: start waits for the posts of its
 * targets, wait for the completes of its origins. What does not is the program's own fault. */
bool is_allowed(const call_orders &orders, const relation rounds[]);

/* The steps of the calls of a round. @a nocheck: the round that is not checked, or 0. */
scenario scenario_of(const call_orders &orders, const relation rounds[], int nocheck);

/* Fences of all ranks, each but the last one followed by puts: to the next rank, and to rank 0 as
 * well behind the fences in the set @a also_first. */
scenario scenario_of_fences(int ranks, int also_first);

/* Go through all interleavings of a scenario. What goes wrong is printed, with the steps to it.
 * @return Whether nothing does. */
bool explore(const scenario &what, sum &all);

#endif
