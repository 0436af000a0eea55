/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of the heap that a block of memory takes.
 */
#ifndef RI_HEAP_H
#define RI_HEAP_H

#include "base.h"

/** @return What malloc() takes for a block: a word for itself, in steps of two words, as glibc. */
static inline size_t ri_heap_block(size_t size)
{
    size_t step = 2 * sizeof(size_t);

    return ri_max((size + sizeof(size_t) + step - 1) & ~(step - 1), 2 * step);
}

#endif
