/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "slot.h"

/* How many units to claim of those that are left: @a own and @a other are what the two sides
 * have claimed. The second one to come makes it halves at once, in one call each, if the first
 * one is still busy with as much: it has hardly begun. */
static uint32_t slot_share(const ri_ring_slot_t *slot, uint32_t own, uint32_t other,
                           uint32_t left)
{
    int is_second  = (own == 0) && (left <= other + 1) && (ri_slot_done(slot) == 0);
    uint32_t count = is_second ? left : (left / 2);

    return ri_min(ri_max(ri_min(count, RI_SLOT_CLAIM_MAX), RI_SLOT_CLAIM_MIN), left);
}

ucs_status_t ri_slot_claim(ri_ring_slot_t *slot, uint32_t total, ri_slot_side_t side,
                           uint32_t most, ri_slot_part_t *part)
{
    uint64_t claimed = atomic_load_explicit(&slot->claimed, memory_order_acquire);
    int is_front     = (side == RI_SLOT_FRONT);
    uint32_t front, back, left, count;
    uint64_t next;

    do {
        part->first = 0;
        part->count = 0;
        if (claimed & RI_RING_SLOT_WITHDRAWN) {
            return (claimed == RI_RING_SLOT_WITHDRAWN) ? UCS_OK : UCS_ERR_INVALID_PARAM;
        }
        front = (uint32_t)claimed;
        back  = claimed >> 32;
        if ((front > total) || (back > total - front)) {
            return UCS_ERR_INVALID_PARAM;
        }
        left  = total - front - back;
        count = (most != RI_SLOT_SHARE) ? ri_min(most, left) :
                                          slot_share(slot, is_front ? front : back,
                                                     is_front ? back : front, left);
        if (count == 0) {
            return UCS_OK;
        }
        part->first = is_front ? front : (total - back - count);
        part->count = count;
        next        = claimed + (is_front ? count : ((uint64_t)count << 32));
    } while (!atomic_compare_exchange_weak_explicit(
            &slot->claimed, &claimed, next, memory_order_acq_rel, memory_order_acquire));
    return UCS_OK;
}

void ri_slot_init(ri_ring_slot_t *slot, uint32_t id, uint64_t address)
{
    atomic_store_explicit(&slot->claimed, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->failed, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->done, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->address, address, memory_order_relaxed);
    atomic_store_explicit(&slot->method, RI_RING_SLOT_METHOD_UNKNOWN,
                          memory_order_relaxed);
    atomic_store_explicit(&slot->hint, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->id, id, memory_order_relaxed);
    atomic_store_explicit(&slot->busy, 1, memory_order_release);
}

int ri_slot_withdraw(ri_ring_slot_t *slot)
{
    uint64_t none = 0;

    return atomic_compare_exchange_strong_explicit(
            &slot->claimed, &none, RI_RING_SLOT_WITHDRAWN, memory_order_acq_rel,
            memory_order_acquire);
}
