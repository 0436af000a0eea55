/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "slot.h"

/* How many units to claim of those that are left. */
static uint32_t slot_share(uint32_t left, int rest)
{
    uint32_t count = ri_max(ri_min(left / 2, RI_SLOT_CLAIM_MAX), RI_SLOT_CLAIM_MIN);

    return rest ? left : ri_min(count, left);
}

ucs_status_t ri_slot_claim(ri_ring_slot_t *slot, uint32_t total, ri_slot_side_t side,
                           int rest, ri_slot_part_t *part)
{
    uint64_t claimed = atomic_load_explicit(&slot->claimed, memory_order_acquire);
    uint32_t front, back, count;
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
        count = slot_share(total - front - back, rest);
        if (count == 0) {
            return UCS_OK;
        }
        part->first = (side == RI_SLOT_FRONT) ? front : (total - back - count);
        part->count = count;
        next        = (side == RI_SLOT_FRONT) ? (claimed + count) :
                                                (claimed + ((uint64_t)count << 32));
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
