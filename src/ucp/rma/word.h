/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies and atomic operations of this processor, on memory that others use at the same time. UCX's
 * software atomics are operations of a processor, too: the two are atomic towards each other.
 */
#ifndef RI_WORD_H
#define RI_WORD_H

#include <ucp/api/ucp.h>

#include <stdint.h>
#include <string.h>

/** Copy memory; whoever reads or writes a word of 4 or 8 bytes at its proper place meanwhile sees the
 * old or the new one. */
static inline void ri_word_copy(void *to, const void *from, size_t length)
{
    uintptr_t at = (uintptr_t)to | (uintptr_t)from;

    if ((length == 8) && (at % 8 == 0)) {
        __atomic_store_n((uint64_t *)to,
                         __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    } else if ((length == 4) && (at % 4 == 0)) {
        __atomic_store_n((uint32_t *)to,
                         __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    } else {
        memcpy(to, from, length);
    }
}

/** @return Whether ri_word_atomic() can do an operation, of any release of UCX, on a word at
 * @a address. */
static inline int ri_word_can(unsigned op, size_t size, uint64_t address)
{
    return (op < UCP_ATOMIC_OP_LAST) &&
           ((size == sizeof(uint32_t)) || (size == sizeof(uint64_t))) &&
           (address % size == 0);
}

/**
 * Carry out an atomic operation that ri_word_can() do.
 *
 * @param value  The operand; of UCP_ATOMIC_OP_CSWAP what is compared.
 * @param swap   Of UCP_ATOMIC_OP_CSWAP: what is to be put there.
 *
 * @return What was there before.
 */
uint64_t ri_word_atomic(void *word, size_t size, ucp_atomic_op_t op, uint64_t value,
                        uint64_t swap);

#endif
