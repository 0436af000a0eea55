/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A gate in shared memory that lets in whoever has come first: users of two kinds, A and B. Those
 * of one kind are inside together, unless each of them asks to be alone. Those of different kinds
 * never are. Nobody overtakes, so nobody starves. Only those that join do overtake, see below.
 *
 * The lock of one target of a window is a gate: shared locks are A, and exclusive locks are B, each
 * of them alone. The gate of a host has those who lock all targets there as A, and those who have
 * any of them to themselves as B: to lock all targets of a host is one step, however many there
 * are.
 *
 * Who holds another lock while it comes to the gate of a host must not wait behind others who wait:
 * one of those inside may wait for it. It joins: it counts as inside at once, which lets nobody of
 * the other kind in, and waits only until those who are inside have left.
 *
 * The word is four numbers of 16 bits: the next ticket, the ticket whose turn it is, users of A and
 * of B that are inside. Without others, a user enters by one compare-and-swap, and leaves by one
 * subtraction. There may be 65,535 users at a time.
 */
#ifndef RI_GATE_H
#define RI_GATE_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic(uint64_t) ri_gate_t;

/* Who enters: where its number is in the word. */
typedef enum ri_gate_kind {
    RI_GATE_A = 32,
    RI_GATE_B = 48
} ri_gate_kind_t;

/* Called again and again by who waits. Anything but 0 ends the wait, and the gate is of no use from
 * then on. */
typedef int (*ri_gate_wait_t)(void *arg);

/**
 * Enter, after all who came before.
 *
 * @param is_alone  Nobody else may be inside. The same for all users of this kind.
 *
 * @return 0, or what @a wait has returned: the caller is not inside.
 */
int ri_gate_enter(ri_gate_t *gate, ri_gate_kind_t kind, int is_alone, ri_gate_wait_t wait,
                  void *arg);

/** Enter after those of the other kind that are inside, but not after those who wait. It is for
 * one kind of users only. @return As ri_gate_enter(). */
int ri_gate_join(ri_gate_t *gate, ri_gate_kind_t kind, ri_gate_wait_t wait, void *arg);

/** Set @a ticket_p to a ticket, which is the first step of ri_gate_enter(), and enter, if it is the
 * ticket's turn. @a is_alone is as there. @return Whether the caller is inside. */
int ri_gate_take(ri_gate_t *gate, ri_gate_kind_t kind, int is_alone, uint64_t *ticket_p);

/** Enter with a ticket, if it is its turn; it has to be called until it is. @a is_alone is as in
 * ri_gate_enter(). @return Whether the
 * caller is inside. */
int ri_gate_try(ri_gate_t *gate, ri_gate_kind_t kind, int is_alone, uint64_t ticket);

/** The first step of ri_gate_join(). */
void ri_gate_push(ri_gate_t *gate, ri_gate_kind_t kind);

/** @return Whether those of the other kind have left, so that the caller, who has pushed, is
 * inside. */
int ri_gate_is_joined(ri_gate_t *gate, ri_gate_kind_t kind);

/** Leave; the caller is inside as a user of @a kind. */
static inline void ri_gate_leave(ri_gate_t *gate, ri_gate_kind_t kind)
{
    atomic_fetch_sub_explicit(gate, UINT64_C(1) << kind, memory_order_release);
}

#endif
