/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks of accumulates: each guards some stripes of the memory of a rank. A lock says who holds it,
 * and that of a rank that has died is taken over.
 */
#ifndef RI_WIN_STRIPE_H
#define RI_WIN_STRIPE_H

#include "window.h"

#include <stddef.h>
#include <stdint.h>

/* Locks, as bits. */
typedef uint64_t ri_stripes_t;

/** @return The locks of all bytes from one offset to another one, which is not behind it. */
ri_stripes_t ri_stripes_between(size_t first, size_t last);

/** @return The locks of @a bytes bytes, at least one, at an address in the process that has
 * them. */
static inline ri_stripes_t ri_stripes_of(const ri_window_part_t *part, uintptr_t address,
                                         size_t bytes)
{
    size_t offset = address - (uintptr_t)part->base;

    return ri_stripes_between(offset, offset + bytes - 1);
}

/** Take locks of a rank, in the order of their numbers, and wait for each. */
void ri_stripes_lock(ri_window_t *window, ri_window_control_t *control,
                     ri_stripes_t stripes);

/** Take locks of a rank, for @a rank, if all of them are free. @return Whether they are taken. */
int ri_stripes_trylock(int rank, ri_window_control_t *control, ri_stripes_t stripes);

/** Give locks back of those that @a rank has. */
void ri_stripes_unlock_of(int rank, ri_window_control_t *control, ri_stripes_t stripes);

/** Give locks back. */
void ri_stripes_unlock(ri_window_control_t *control, ri_stripes_t stripes);

#endif
