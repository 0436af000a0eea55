/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "word.h"

/* An operation on a word of _type; _old is what was there. */
#define WORD_ATOMIC(_type, _word, _op, _value, _swap, _old) \
    switch (_op) { \
    case UCP_ATOMIC_OP_ADD: \
        (_old) = __atomic_fetch_add(_word, (_type)(_value), __ATOMIC_SEQ_CST); \
        break; \
    case UCP_ATOMIC_OP_AND: \
        (_old) = __atomic_fetch_and(_word, (_type)(_value), __ATOMIC_SEQ_CST); \
        break; \
    case UCP_ATOMIC_OP_OR: \
        (_old) = __atomic_fetch_or(_word, (_type)(_value), __ATOMIC_SEQ_CST); \
        break; \
    case UCP_ATOMIC_OP_XOR: \
        (_old) = __atomic_fetch_xor(_word, (_type)(_value), __ATOMIC_SEQ_CST); \
        break; \
    case UCP_ATOMIC_OP_SWAP: \
        (_old) = __atomic_exchange_n(_word, (_type)(_value), __ATOMIC_SEQ_CST); \
        break; \
    default: /* UCP_ATOMIC_OP_CSWAP */ \
        (_old) = (_type)(_value); \
        __atomic_compare_exchange_n(_word, &(_old), (_type)(_swap), 0, __ATOMIC_SEQ_CST, \
                                    __ATOMIC_SEQ_CST); \
        break; \
    }

static uint32_t word_atomic_32(uint32_t *word, ucp_atomic_op_t op, uint64_t value,
                               uint64_t swap)
{
    uint32_t old;

    WORD_ATOMIC(uint32_t, word, op, value, swap, old)
    return old;
}

uint64_t ri_word_atomic(void *word, size_t size, ucp_atomic_op_t op, uint64_t value,
                        uint64_t swap)
{
    uint64_t *word_64 = word;
    uint64_t old;

    if (size == sizeof(uint32_t)) {
        return word_atomic_32(word, op, value, swap);
    }
    WORD_ATOMIC(uint64_t, word_64, op, value, swap, old)
    return old;
}
