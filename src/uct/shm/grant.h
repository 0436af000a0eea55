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
 *
 * RTRs through a network have no shared memory. The sender notes in such words of its own which of
 * them it has used, and a message, REVOKE, does to them what a receiver does to a grant
 * (protocol-rndv.md, section 4.6).
 */
#ifndef RI_GRANT_H
#define RI_GRANT_H

#include "../../ucs/base.h"

#include <assert.h>

/*
 * States of a grant (ri_ring_grant_t.word), who changes them, and by which function:
 *
 *   FREE    -> OUT                receiver: offers; ri_grant_offer()
 *   OUT     -> FREE               receiver: withdraws it; ri_grant_change()
 *   OUT     -> USED               sender: writes it alone; ri_grant_change()
 *   OUT     -> SHARING            sender: makes a slot ready, within a call; ri_grant_change()
 *   USED    -> WRITTEN | FAILED   sender; ri_grant_end()
 *   SHARING -> SLOT | FAILED      sender; ri_grant_end()
 *   WRITTEN -> FREE               receiver: the message has come that tells as much, so it stores
 *                                 without a look; ri_grant_free()
 *   WRITTEN, FAILED, SLOT -> OUT  receiver: offers another receive, with a new generation;
 *                                 ri_grant_offer()
 *   USED, SHARING -> OUT          receiver: offers another receive, as the sender of the earlier
 *                                 one is gone, or was given up; ri_grant_offer()
 *
 * What is found in the word is wire input to either side, and so nothing that could be asserted:
 * the functions assert what their own side changes it to.
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

/* A grant. It has a cache line of its own, as both sides write it. */
typedef struct ri_ring_grant {
    _Atomic(uint64_t) word; /* generation << 32 | RI_RING_GRANT_* */
    uint8_t pad[RI_CACHE_LINE - 8];
} ri_ring_grant_t;

static_assert(sizeof(ri_ring_grant_t) == RI_CACHE_LINE, "no false sharing");

/** @return The word of a grant of that generation and state (RI_RING_GRANT_*). */
static inline uint64_t ri_grant_word(uint32_t generation, uint32_t state)
{
    return ((uint64_t)generation << 32) | state;
}

/** @return The state of a grant, or FREE if it is of another generation. It may be any number, as
 * the other side writes it. What the other side had written before is seen afterwards. */
static inline uint32_t ri_grant_state(const ri_ring_grant_t *grant, uint32_t generation)
{
    uint64_t word = atomic_load_explicit(&grant->word, memory_order_acquire);

    return ((word >> 32) == generation) ? (uint32_t)word : (uint32_t)RI_RING_GRANT_FREE;
}

/** Receiver: offer a receive by a grant that no other one has. All that was written before is seen
 * by a sender that finds it OUT. */
static inline void ri_grant_offer(ri_ring_grant_t *grant, uint32_t generation)
{
    atomic_store_explicit(&grant->word, ri_grant_word(generation, RI_RING_GRANT_OUT),
                          memory_order_release);
}

/** Receiver: free a grant of which the sender has told by a message that it is WRITTEN. */
static inline void ri_grant_free(ri_ring_grant_t *grant, uint32_t generation)
{
    atomic_store_explicit(&grant->word, ri_grant_word(generation, RI_RING_GRANT_FREE),
                          memory_order_relaxed);
}

/** Sender: end a grant that it has made USED, as WRITTEN or FAILED, or SHARING, as SLOT or FAILED.
 * All that was written before is seen by a receiver that reads this. */
static inline void ri_grant_end(ri_ring_grant_t *grant, uint32_t generation,
                                uint32_t state)
{
    assert((state == RI_RING_GRANT_WRITTEN) || (state == RI_RING_GRANT_FAILED) ||
           (state == RI_RING_GRANT_SLOT));
    atomic_store_explicit(&grant->word, ri_grant_word(generation, state),
                          memory_order_release);
}

/** Change a grant that is OUT to FREE (receiver), USED or SHARING (sender). @return 0 if it is
 * not OUT, because the other side was first, or of another generation. */
static inline int ri_grant_change(ri_ring_grant_t *grant, uint32_t generation,
                                  uint32_t state)
{
    uint64_t expected = ri_grant_word(generation, RI_RING_GRANT_OUT);

    assert((state == RI_RING_GRANT_FREE) || (state == RI_RING_GRANT_USED) ||
           (state == RI_RING_GRANT_SHARING));
    return atomic_compare_exchange_strong_explicit(
            &grant->word, &expected, ri_grant_word(generation, state),
            memory_order_acq_rel, memory_order_acquire);
}

#endif
