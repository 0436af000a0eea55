/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A stripe is taken by a compare-and-swap of its holder's rank, in the order of the stripes, so
 * that ranks do not wait for each other in a circle. What a rank holds that has died is taken over
 * from it.
 */
#include "stripe.h"
#include "../ucs/log.h"

_Static_assert(RI_WINDOW_STRIPES == 64, "a bit for each stripe");

/* One lock. A wait for it looks whether its holder lives. */
static void stripe_lock(ri_window_t *window, ri_window_word_t *stripe)
{
    ri_window_wait_t wait = {.window = window};
    uint32_t mine         = (uint32_t)window->rank + 1;
    uint32_t holder       = 0;

    while (!atomic_compare_exchange_weak_explicit(
            &stripe->value, &holder, mine, memory_order_acquire, memory_order_relaxed)) {
        wait.only = (int)holder;
        if ((holder != 0) && (ri_window_wait(&wait) != MPI_SUCCESS) &&
            atomic_compare_exchange_strong_explicit(&stripe->value, &holder, mine,
                                                    memory_order_acquire,
                                                    memory_order_relaxed)) {
            ri_warn("rank %d of a window has died in an accumulate", wait.only - 1);
            return;
        }
        holder = 0;
    }
}

void ri_stripes_lock(ri_window_t *window, ri_window_control_t *control,
                     ri_stripes_t stripes)
{
    while (stripes != 0) {
        stripe_lock(window, &control->stripes[__builtin_ctzll(stripes)]);
        stripes &= stripes - 1;
    }
}

int ri_stripes_trylock(int rank, ri_window_control_t *control, ri_stripes_t stripes)
{
    uint32_t mine      = (uint32_t)rank + 1;
    ri_stripes_t taken = 0, rest = stripes;
    uint32_t holder;

    for (; rest != 0; rest &= rest - 1) {
        holder = 0;
        if (!atomic_compare_exchange_strong_explicit(
                    &control->stripes[__builtin_ctzll(rest)].value, &holder, mine,
                    memory_order_acquire, memory_order_relaxed)) {
            ri_stripes_unlock(control, taken);
            return 0;
        }
        taken |= rest & -rest;
    }
    return 1;
}

void ri_stripes_unlock(ri_window_control_t *control, ri_stripes_t stripes)
{
    while (stripes != 0) {
        atomic_store_explicit(&control->stripes[__builtin_ctzll(stripes)].value, 0,
                              memory_order_release);
        stripes &= stripes - 1;
    }
}

void ri_stripes_unlock_of(int rank, ri_window_control_t *control, ri_stripes_t stripes)
{
    uint32_t holder;

    for (; stripes != 0; stripes &= stripes - 1) {
        holder = (uint32_t)rank + 1;
        atomic_compare_exchange_strong_explicit(
                &control->stripes[__builtin_ctzll(stripes)].value, &holder, 0,
                memory_order_release, memory_order_relaxed);
    }
}

static ri_stripes_t stripe_of(size_t offset)
{
    return UINT64_C(1) << ((offset / RI_WINDOW_STRIPE_SIZE) % RI_WINDOW_STRIPES);
}

ri_stripes_t ri_stripes_between(size_t first, size_t last)
{
    ri_stripes_t stripes = 0;
    size_t at;

    if (last - first >= RI_WINDOW_STRIPES * RI_WINDOW_STRIPE_SIZE) {
        return ~UINT64_C(0);
    }
    for (at = first; at / RI_WINDOW_STRIPE_SIZE < last / RI_WINDOW_STRIPE_SIZE;
         at += RI_WINDOW_STRIPE_SIZE) {
        stripes |= stripe_of(at);
    }
    return stripes | stripe_of(last);
}
