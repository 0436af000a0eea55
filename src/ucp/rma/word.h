/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies and atomic operations that this processor does, on memory that others use at the same
 * time. UCX does its atomics in software in the same way. So operations of UCX and of this library
 * on one word are atomic towards each other.
 */
#ifndef RI_WORD_H
#define RI_WORD_H

#include <ucp/api/ucp.h>

#include <stdint.h>
#include <string.h>

/** Copy memory. An aligned word of 4 or 8 bytes is copied by one load and one store: a process that
 * reads it meanwhile sees its old or its new value, and no mixture of the two. */
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

/** @return Whether ri_word_atomic() can do the operation @a op, which may be one that only a later
 * release of UCX knows, on a word of @a size bytes at @a address. */
static inline int ri_word_can(unsigned op, size_t size, uint64_t address)
{
    return (op < UCP_ATOMIC_OP_LAST) &&
           ((size == sizeof(uint32_t)) || (size == sizeof(uint64_t))) &&
           (address % size == 0);
}

/**
 * Carry out an atomic operation, for which ri_word_can() has returned 1.
 *
 * @param value  The operand. With UCP_ATOMIC_OP_CSWAP, the value that the word is compared with.
 * @param swap   With UCP_ATOMIC_OP_CSWAP, the value that is stored if the two are equal.
 *
 * @return The value that the word had before.
 */
uint64_t ri_word_atomic(void *word, size_t size, ucp_atomic_op_t op, uint64_t value,
                        uint64_t swap);

#endif
