/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Only who has the turn hands it on, and leaving and joining touch no other number than that of
 * their own kind. So a compare-and-swap fails only because somebody has come or gone.
 */
#include "gate.h"

#define GATE_NUMBER UINT64_C(0xffff)

/* Where the numbers of tickets are. */
enum {
    GATE_NEXT = 0,
    GATE_TURN = 16
};

static inline uint64_t gate_number(uint64_t word, unsigned shift)
{
    return (word >> shift) & GATE_NUMBER;
}

/* The word with one more of a number, which wraps within its 16 bits. */
static inline uint64_t gate_add(uint64_t word, unsigned shift)
{
    uint64_t mask = GATE_NUMBER << shift;

    return (word & ~mask) | ((word + (UINT64_C(1) << shift)) & mask);
}

static inline uint64_t gate_others(uint64_t word, ri_gate_kind_t kind)
{
    return gate_number(word, (RI_GATE_A + RI_GATE_B) - kind);
}

/* Whether those who are inside let a user in. */
static inline int gate_lets_in(uint64_t word, ri_gate_kind_t kind, int is_alone)
{
    return (gate_others(word, kind) == 0) &&
           (!is_alone || (gate_number(word, kind) == 0));
}

/* Replace the word if it is as expected. */
static inline int gate_swap(ri_gate_t *gate, uint64_t *word, uint64_t next)
{
    return atomic_compare_exchange_weak_explicit(gate, word, next, memory_order_acquire,
                                                 memory_order_relaxed);
}

int ri_gate_take(ri_gate_t *gate, ri_gate_kind_t kind, int is_alone, uint64_t *ticket_p)
{
    uint64_t word = atomic_load_explicit(gate, memory_order_relaxed);
    uint64_t ticket, next;
    int is_in;

    do {
        ticket = gate_number(word, GATE_NEXT);
        next   = gate_add(word, GATE_NEXT);
        is_in  = (ticket == gate_number(word, GATE_TURN)) &&
                gate_lets_in(word, kind, is_alone);
        if (is_in) {
            next = gate_add(gate_add(next, GATE_TURN), kind);
        }
    } while (!gate_swap(gate, &word, next));
    *ticket_p = ticket;
    return is_in;
}

int ri_gate_try(ri_gate_t *gate, ri_gate_kind_t kind, int is_alone, uint64_t ticket)
{
    uint64_t word = atomic_load_explicit(gate, memory_order_relaxed);

    while ((gate_number(word, GATE_TURN) == ticket) &&
           gate_lets_in(word, kind, is_alone)) {
        if (gate_swap(gate, &word, gate_add(gate_add(word, GATE_TURN), kind))) {
            return 1;
        }
    }
    return 0;
}

int ri_gate_enter(ri_gate_t *gate, ri_gate_kind_t kind, int is_alone, ri_gate_wait_t wait,
                  void *arg)
{
    uint64_t ticket;
    int ret;

    if (ri_gate_take(gate, kind, is_alone, &ticket)) {
        return 0;
    }
    while (!ri_gate_try(gate, kind, is_alone, ticket)) {
        ret = wait(arg);
        if (ret != 0) {
            return ret;
        }
    }
    return 0;
}

void ri_gate_push(ri_gate_t *gate, ri_gate_kind_t kind)
{
    atomic_fetch_add_explicit(gate, UINT64_C(1) << kind, memory_order_acquire);
}

int ri_gate_is_joined(ri_gate_t *gate, ri_gate_kind_t kind)
{
    return gate_others(atomic_load_explicit(gate, memory_order_acquire), kind) == 0;
}

int ri_gate_join(ri_gate_t *gate, ri_gate_kind_t kind, ri_gate_wait_t wait, void *arg)
{
    int ret;

    ri_gate_push(gate, kind);
    while (!ri_gate_is_joined(gate, kind)) {
        ret = wait(arg);
        if (ret != 0) {
            ri_gate_leave(gate, kind);
            return ret;
        }
    }
    return 0;
}
