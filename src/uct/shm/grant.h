/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A grant: a receive that a sender may write, once. It is a word in memory that both sides see,
 * which either changes by compare-and-swap, so that whoever comes first has it: the receiver, who
 * withdraws the receive for another message, or the sender, who writes. A grant says nothing by
 * itself: an RTR in the ring names it (protocol.md, section 8).
 *
 * The word has a generation, which the receiver counts up for each grant, so that what is late for
 * an earlier one changes nothing.
 */
#ifndef RI_GRANT_H
#define RI_GRANT_H

#include "../../ucs/base.h"

#include <assert.h>

/*
 * States of a grant (ri_ring_grant_t.word), and who changes them:
 *
 *   FREE    -> OUT                receiver: offers
 *   OUT     -> FREE               receiver: withdraws it
 *   OUT     -> USED               sender: writes it alone
 *   OUT     -> SHARING            sender: makes a slot ready, within a call
 *   USED    -> WRITTEN | FAILED   sender
 *   SHARING -> SLOT | FAILED      sender
 *   WRITTEN, FAILED, SLOT -> OUT  receiver: offers another receive, with a new generation
 *
 * What is found in the word is wire input to either side.
 */
enum {
    RI_RING_GRANT_FREE    = 0, /* not given, or withdrawn */
    RI_RING_GRANT_OUT     = 1, /* given: whoever changes this first has it */
    RI_RING_GRANT_USED    = 2, /* the sender writes the receive's memory */
    RI_RING_GRANT_WRITTEN = 3, /* the receive's memory has been written */
    RI_RING_GRANT_FAILED  = 4, /* the receive's memory cannot be written */
    RI_RING_GRANT_SLOT    = 5, /* both sides write the memory: the message names a slot */
    RI_RING_GRANT_SHARING = 6  /* the sender is making that slot ready, within a call */
};

/* A line of its own for each grant, as both sides write it. */
typedef struct ri_ring_grant {
    _Atomic(uint64_t) word; /* generation << 32 | RI_RING_GRANT_* */
    uint8_t pad[RI_CACHE_LINE - 8];
} ri_ring_grant_t;

static_assert(sizeof(ri_ring_grant_t) == RI_CACHE_LINE, "no false sharing");

/** @return The word of a grant. */
static inline uint64_t ri_ring_grant_word(uint32_t generation, uint32_t state)
{
    return ((uint64_t)generation << 32) | state;
}

/** @return The state of a grant, or FREE if it is of another generation. */
static inline uint32_t ri_ring_grant_state(const ri_ring_grant_t *grant,
                                           uint32_t generation)
{
    uint64_t word = atomic_load_explicit(&grant->word, memory_order_acquire);

    return ((word >> 32) == generation) ? (uint32_t)word : (uint32_t)RI_RING_GRANT_FREE;
}

/** Change a grant that is OUT to FREE (receiver), USED or SHARING (sender). @return 0 if it is
 * not OUT, because the other side was first, or of another generation. */
static inline int ri_ring_grant_change(ri_ring_grant_t *grant, uint32_t generation,
                                       uint32_t state)
{
    uint64_t expected = ri_ring_grant_word(generation, RI_RING_GRANT_OUT);

    assert((state == RI_RING_GRANT_FREE) || (state == RI_RING_GRANT_USED) ||
           (state == RI_RING_GRANT_SHARING));
    return atomic_compare_exchange_strong_explicit(
            &grant->word, &expected, ri_ring_grant_word(generation, state),
            memory_order_acq_rel, memory_order_acquire);
}

#endif
