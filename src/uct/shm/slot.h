/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who copies which part of a message that both sides copy (ri_ring_slot_t). The
 * receiver claims from the front, the sender from the back, so that the lines that either
 * has in its cache stay there; a common counter gained nothing below 1 MB. A claim takes
 * half of what is left, so that both end at about the same time. A part has a least length, below
 * which the call would cost more than the copy. It has a greatest length, as a process that loses
 * the processor, or has other things to do, holds the message up. As long as nothing is copied yet,
 * the second side takes the other half at once: most of the time of short messages is that of the
 * calls.
 *
 * The other side may write anything into a slot at any time. The part that a claim returns is
 * within the message all the same; numbers of copied units may be any.
 */
#ifndef RI_SLOT_H
#define RI_SLOT_H

#include "../../ucs/base.h"

#include <assert.h>

/*
 * A copy that both sides do together, in memory that both see. It says nothing by itself: a message
 * in the ring names it (protocol.md). A slot is used again and again; its life for one message:
 *
 *   free -> busy    ri_slot_init(), by the sender: nothing is claimed
 *   busy            both claim and count what is done; the sender may withdraw it as long as
 *                   nothing is claimed, and either may say that not all will be copied
 *   busy -> free    ri_slot_release(), by the receiver at its end
 */
typedef struct ri_ring_slot {
    /* units claimed from the front (lower half) and from the back (upper half), or WITHDRAWN */
    _Atomic(uint64_t) claimed;
    _Atomic(uint32_t) busy; /* set by the sender, cleared by the receiver at its end */
    /* RI_RING_SLOT_*: why not all of it was copied; 0: it will be */
    _Atomic(uint32_t) failed;
    _Atomic(uint32_t) id; /* of the sender's request, as a slot is used again */
    uint8_t pad[RI_CACHE_LINE - 20];
    _Atomic(uint64_t) done;    /* units that have been copied, by either side */
    _Atomic(uint64_t) address; /* of the receive's memory; 0: not known */
    _Atomic(uint32_t) method;  /* RI_RING_SLOT_METHOD_*, by the receiver */
    /* RI_RING_HINT_* (ring.h), by the receiver; 0: it says nothing */
    _Atomic(uint32_t) hint;
    uint8_t pad2[RI_CACHE_LINE - 24];
} ri_ring_slot_t;

static_assert(sizeof(ri_ring_slot_t) == 2 * RI_CACHE_LINE, "no false sharing");

/* Why not all of a message was copied (ri_ring_slot_t.failed). */
enum {
    RI_RING_SLOT_FAILED    = 1 << 0, /* a copy failed: another protocol has to do it */
    RI_RING_SLOT_ABANDONED = 1 << 1  /* the send has ended: the data does not come */
};

/* How a message is copied (ri_ring_slot_t.method). A sender takes any other value for BOTH. */
enum {
    RI_RING_SLOT_METHOD_UNKNOWN,    /* the message is not matched yet */
    RI_RING_SLOT_METHOD_SHELF,      /* parts go by a shelf */
    RI_RING_SLOT_METHOD_BOTH,       /* the receiver reads, and the sender writes */
    RI_RING_SLOT_METHOD_SHELF_ONLY, /* the sender must not write the receive's memory */
    RI_RING_SLOT_METHOD_READ,  /* the receiver reads all, unless it does not come to it */
    RI_RING_SLOT_METHOD_WRITE, /* the sender writes all, unless it does not come to it */
    /* of a row of messages, the receiver reads the oldest, and the sender writes the newest */
    RI_RING_SLOT_METHOD_ROW
};

/* ri_ring_slot_t.claimed: the slot was withdrawn before anything was claimed. */
#define RI_RING_SLOT_WITHDRAWN (1ul << 63)

/* Bytes of a unit, in which parts are claimed and counted; the last unit of a message may be
 * shorter. */
#define RI_SLOT_UNIT 4096

/* The least and the most units in one claim, 16 KB and 1 MB, of a side that shares the copy. */
#define RI_SLOT_CLAIM_MIN 4u
#define RI_SLOT_CLAIM_MAX 256u

/* Units in one claim, 2 MB, of a side that is to copy all. */
#define RI_SLOT_CLAIM_ALONE 512u

/* How much a side wants to claim, if that is no number of units (ri_slot_claim()). */
#define RI_SLOT_SHARE 0u
#define RI_SLOT_REST  UINT32_MAX

/* The longest message: its units fit half of ri_ring_slot_t.claimed. */
#define RI_SLOT_LENGTH_MAX ((size_t)RI_SLOT_UNIT << 30)

/* Who claims: each side from its own end of the message. */
typedef enum ri_slot_side {
    RI_SLOT_FRONT, /* the receiver */
    RI_SLOT_BACK   /* the sender */
} ri_slot_side_t;

/* A part of a message, in units. */
typedef struct ri_slot_part {
    uint32_t first; /* number of the first unit */
    uint32_t count; /* number of units; 0: nothing */
} ri_slot_part_t;

/** @return How many units a message of @a length bytes has. */
static inline uint32_t ri_slot_units(size_t length)
{
    return (length + RI_SLOT_UNIT - 1) / RI_SLOT_UNIT;
}

/** @return At which byte of its message a part starts. */
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
 * @param most   Not more units than this; RI_SLOT_SHARE: as many as are good for calls;
 *               RI_SLOT_REST: all that is left.
 * @param part   Set to what this side now has; no units if nothing is left, or the slot was
 *               withdrawn, or after an error.
 *
 * @return UCS_OK; UCS_ERR_INVALID_PARAM if what stands in the slot cannot be true, as the other
 *         side is broken.
 */
ucs_status_t ri_slot_claim(ri_ring_slot_t *slot, uint32_t total, ri_slot_side_t side,
                           uint32_t most, ri_slot_part_t *part);

/** Sender: make the slot, which is not busy, ready for a message that the receiver will be told of;
 * it is busy then. @a id: of the request. @a address: of the receive's memory, 0: not known yet. */
void ri_slot_init(ri_ring_slot_t *slot, uint32_t id, uint64_t address);

/** Withdraw the slot, if nothing has been claimed yet: nothing can be claimed then.
 * @return Whether it was withdrawn by this call. */
int ri_slot_withdraw(ri_ring_slot_t *slot);

/** @return Whether the slot was withdrawn. */
static inline int ri_slot_is_withdrawn(const ri_ring_slot_t *slot)
{
    return !!(atomic_load_explicit(&slot->claimed, memory_order_acquire) &
              RI_RING_SLOT_WITHDRAWN);
}

/** Say that @a count units that this side has claimed are copied. @return How many units are
 * copied, in all; any number if the other side is broken. */
static inline uint64_t ri_slot_add_done(ri_ring_slot_t *slot, uint32_t count)
{
    return atomic_fetch_add_explicit(&slot->done, count, memory_order_acq_rel) + count;
}

/** @return How many units are copied, in all; any number if the other side is broken. */
static inline uint64_t ri_slot_done(const ri_ring_slot_t *slot)
{
    return atomic_load_explicit(&slot->done, memory_order_acquire);
}

/** Say that not all will be copied, before the units that are not copied are counted as done.
 * @param why  RI_RING_SLOT_FAILED or RI_RING_SLOT_ABANDONED. */
static inline void ri_slot_fail(ri_ring_slot_t *slot, uint32_t why)
{
    atomic_fetch_or_explicit(&slot->failed, why, memory_order_release);
}

/** @return Why not all is copied: RI_RING_SLOT_*; 0 if nobody has said that. */
static inline uint32_t ri_slot_failed(const ri_ring_slot_t *slot)
{
    return atomic_load_explicit(&slot->failed, memory_order_acquire);
}

/** Sender: @return RI_RING_SLOT_METHOD_*, as the receiver has said; any number if it is broken. */
static inline uint32_t ri_slot_method(const ri_ring_slot_t *slot)
{
    return atomic_load_explicit(&slot->method, memory_order_acquire);
}

/** @return Whether the receiver may still use the slot. */
static inline int ri_slot_is_busy(const ri_ring_slot_t *slot)
{
    return atomic_load_explicit(&slot->busy, memory_order_acquire) != 0;
}

/** Receiver: give the slot up, which the sender may take for another message from now on. */
static inline void ri_slot_release(ri_ring_slot_t *slot)
{
    atomic_store_explicit(&slot->busy, 0, memory_order_release);
}

#endif
