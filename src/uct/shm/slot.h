/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who copies which part of a message that both sides copy (ri_ring_slot_t in ring.h). The
 * receiver claims from the front, the sender from the back, so that the lines that either
 * has in its cache stay there; a common counter gained nothing below 1 MB. A claim takes
 * half of what is left, so that both end at about the same time, but not so little that the
 * call costs more than the copy, and not so much that a process that loses the processor, or
 * that has other things to do, holds the message up. As long as nothing is copied yet, the
 * second side takes the other half at once: calls are what short messages cost.
 *
 * The other side may write anything into a slot at any time. What these functions return
 * is within the message.
 */
#ifndef RI_SLOT_H
#define RI_SLOT_H

#include "ring.h"

/* What is claimed and counted, in bytes; the last one of a message may be shorter. */
#define RI_SLOT_UNIT 4096

/* Units in one claim: 16 KB, 256 KB. */
#define RI_SLOT_CLAIM_MIN 4u
#define RI_SLOT_CLAIM_MAX 64u

/* The longest message: its units fit half of ri_ring_slot_t.claimed. */
#define RI_SLOT_LENGTH_MAX ((size_t)RI_SLOT_UNIT << 30)

/* The sides. */
typedef enum ri_slot_side {
    RI_SLOT_FRONT, /* the receiver */
    RI_SLOT_BACK   /* the sender */
} ri_slot_side_t;

/* A part of a message, in units. */
typedef struct ri_slot_part {
    uint32_t first;
    uint32_t count;
} ri_slot_part_t;

/** @return How many units a message has. */
static inline uint32_t ri_slot_units(size_t length)
{
    return (length + RI_SLOT_UNIT - 1) / RI_SLOT_UNIT;
}

/** @return Where a part starts. */
static inline size_t ri_slot_offset(const ri_slot_part_t *part)
{
    return (size_t)part->first * RI_SLOT_UNIT;
}

/** @return How many bytes of a message of @a length bytes a part has. */
static inline size_t ri_slot_length(const ri_slot_part_t *part, size_t length)
{
    return ri_min((size_t)part->count * RI_SLOT_UNIT, length - ri_slot_offset(part));
}

/**
 * Claim a part of a message.
 *
 * @param total  Units of the message.
 * @param rest   Claim all that is left.
 * @param part   Set to what this side now has; no units if nothing is left, or the sender
 *               has taken the message back.
 *
 * @return UCS_OK; UCS_ERR_INVALID_PARAM if the slot cannot be true.
 */
ucs_status_t ri_slot_claim(ri_ring_slot_t *slot, uint32_t total, ri_slot_side_t side,
                           int rest, ri_slot_part_t *part);

/** Sender: make the slot ready for a message that the receiver will be told of. */
void ri_slot_init(ri_ring_slot_t *slot, uint32_t id, uint64_t address);

/** Sender: take the message back, if nothing has been claimed yet. @return Whether it was. */
int ri_slot_withdraw(ri_ring_slot_t *slot);

/** @return Whether the sender has taken the message back. */
static inline int ri_slot_is_withdrawn(const ri_ring_slot_t *slot)
{
    return !!(atomic_load_explicit(&slot->claimed, memory_order_acquire) &
              RI_RING_SLOT_WITHDRAWN);
}

/** What was claimed is there. @return How many units are, in all. */
static inline uint64_t ri_slot_add_done(ri_ring_slot_t *slot, uint32_t count)
{
    return atomic_fetch_add_explicit(&slot->done, count, memory_order_acq_rel) + count;
}

/** @return How many units are there, in all. */
static inline uint64_t ri_slot_done(const ri_ring_slot_t *slot)
{
    return atomic_load_explicit(&slot->done, memory_order_acquire);
}

/** Say that not all will be copied; before the units that are not are counted as done. */
static inline void ri_slot_fail(ri_ring_slot_t *slot, uint32_t why)
{
    atomic_fetch_or_explicit(&slot->failed, why, memory_order_release);
}

/** @return RI_RING_SLOT_*. */
static inline uint32_t ri_slot_failed(const ri_ring_slot_t *slot)
{
    return atomic_load_explicit(&slot->failed, memory_order_acquire);
}

/** @return Whether the receiver may still use the slot. */
static inline int ri_slot_is_busy(const ri_ring_slot_t *slot)
{
    return atomic_load_explicit(&slot->busy, memory_order_acquire) != 0;
}

/** The receiver will not use the slot any more. */
static inline void ri_slot_release(ri_ring_slot_t *slot)
{
    atomic_store_explicit(&slot->busy, 0, memory_order_release);
}

#endif
