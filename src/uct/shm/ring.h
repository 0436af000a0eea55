/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The eager channel of one host: a ring in shared memory for one direction of one pair,
 * written by the sender alone and polled by the receiver (the persistent buffer
 * association of Small and Yuan, section 3.1).
 *
 * The ring is an array of 64-byte lines. A record starts on a line with a 24-byte header.
 * Up to 40 bytes of payload follow in the same line; more goes into consecutive lines of
 * its own, aligned, so that neither side's copy straddles cache lines. Records do not
 * wrap: one that would is preceded by a padding record that ends the lap. The header's
 * first word is a stamp made of the record's position and is stored last, so that the
 * receiver needs to look at one word to know that a whole record is there, and small
 * messages move exactly one cache line. No read-modify-write, no lock.
 *
 * The receiver polls the header's line, and takes it back as soon as any of its words is
 * written. So the payload is written first, and then all of the header.
 *
 * A long payload goes in parts, each a record: the receiver copies one while the sender
 * writes the next. Room is reserved for all of them at once, so that they follow each other
 * and a message that was begun never waits for room.
 *
 * What could go wrong is a line that once held payload, and in which stale payload looks
 * like the stamp that the receiver waits for. The sender therefore remembers, in
 * private memory, which lines do not hold an old header (old headers carry old stamps and
 * never match), and clears the first word of the line that follows a record before it
 * publishes the record. A ring that carries only small messages never has to.
 * Rejected: clearing the next line always (touches a second cache line for each message:
 * 0.21 instead of 0.17 us); a sequence word in every line (payload no longer consecutive).
 *
 * Flow control: the receiver publishes how far it has read every quarter of a lap; the
 * sender reads that word only when its last copy says that there is no room.
 *
 * Positions count lines from the start of the ring and wrap around at 2^32; all
 * differences are taken modulo 2^32.
 *
 * The memory is a memfd that the receiver makes and the sender opens through
 * /proc/<pid>/fd: it has no name that could be left behind, and is gone with the last
 * process that maps it, however that process ends. It is sealed, so that neither side can
 * change its size under the other.
 */
#ifndef RI_RING_H
#define RI_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../ucs/base.h"

#define RI_RING_LINE   64
#define RI_RING_INLINE 40 /* payload bytes in a record's first line */

/* Types of records that are the ring's own. */
#define RI_RING_PAD   0xff /* fills a lap; has no payload */
#define RI_RING_START 0xfe /* first part of a long payload */
#define RI_RING_PART  0xfd /* a further part of it */

/* Payloads from RI_RING_PARTS_MIN bytes on may be published in parts. */
#define RI_RING_PARTS_MIN 1024
#define RI_RING_PART_MAX  2048

/* Header of a record, at the head of its first line. */
typedef struct ri_ring_record {
    _Atomic(uint32_t) seq; /* ri_ring_stamp() of the position, stored last */
    uint16_t length;       /* payload bytes */
    uint8_t type;          /* the user's; RI_RING_PAD is the ring's own */
    uint8_t hint;          /* the user's */
    uint32_t value;        /* the user's */
    uint32_t extra;        /* the user's; of RI_RING_START: length of the whole payload */
    uint64_t tag;          /* the user's */
    uint8_t payload[RI_RING_INLINE];
} ri_ring_record_t;

static_assert(sizeof(ri_ring_record_t) == RI_RING_LINE, "a record starts as one line");
static_assert(offsetof(ri_ring_record_t, payload) == 24, "24 bytes of header");

/*
 * Memory that both sides of a pair see, for what is decided by whoever comes first. It says
 * nothing by itself: messages in the ring name slots and grants. (protocol.md)
 */

/* A copy that both sides do together. The ring's sender is the message's. (slot.h) */
typedef struct ri_ring_slot {
    _Atomic(uint64_t) claimed; /* units from the front (lower half) and from the back */
    _Atomic(uint32_t) busy;    /* set by the sender, cleared by the receiver at its end */
    _Atomic(uint32_t) failed;  /* RI_RING_SLOT_*: what is there is void */
    _Atomic(uint32_t) id;      /* of the sender's request: a slot is used again */
    uint8_t pad[RI_RING_LINE - 20];
    _Atomic(uint64_t) done;    /* units that have been copied, by either side */
    _Atomic(uint64_t) address; /* of the receive's memory, 0: not known */
    uint8_t pad2[RI_RING_LINE - 16];
} ri_ring_slot_t;

/* A receive that the ring's receiver may write, once. The ring's sender is the message's
 * receiver. */
typedef struct ri_ring_grant {
    _Atomic(uint64_t) word; /* generation << 32 | RI_RING_GRANT_* */
    uint8_t pad[RI_RING_LINE - 8];
} ri_ring_grant_t;

/* Of a slot: why not all of it was copied. */
enum {
    RI_RING_SLOT_FAILED    = 1 << 0, /* a copy failed: the data has to come another way */
    RI_RING_SLOT_ABANDONED = 1 << 1  /* the send has ended: the data does not come */
};

/* Of a slot's claimed: the sender has taken it back before anything was claimed. */
#define RI_RING_SLOT_WITHDRAWN (1ul << 63)

/* States of a grant. */
enum {
    RI_RING_GRANT_FREE    = 0, /* not given, or taken back */
    RI_RING_GRANT_OUT     = 1, /* given: whoever changes this first has it */
    RI_RING_GRANT_USED    = 2, /* the memory is being written */
    RI_RING_GRANT_WRITTEN = 3, /* ... has been */
    RI_RING_GRANT_FAILED  = 4, /* ... cannot be */
    RI_RING_GRANT_SLOT    = 5, /* ... is, by both sides: the message names a slot */
    RI_RING_GRANT_SHARING = 6  /* the sender is making that slot ready, within a call */
};

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

/** Change a grant that is out. @return 0 if it is not, because the other side was first. */
static inline int ri_ring_grant_change(ri_ring_grant_t *grant, uint32_t generation,
                                       uint32_t state)
{
    uint64_t expected = ri_ring_grant_word(generation, RI_RING_GRANT_OUT);

    return atomic_compare_exchange_strong_explicit(
            &grant->word, &expected, ri_ring_grant_word(generation, state),
            memory_order_acq_rel, memory_order_acquire);
}

#define RI_RING_SLOTS  15
#define RI_RING_GRANTS 32

static_assert(sizeof(ri_ring_slot_t) == 2 * RI_RING_LINE, "no false sharing");
static_assert(sizeof(ri_ring_grant_t) == RI_RING_LINE, "no false sharing");

/* First page of the shared memory; the lines follow. */
typedef struct ri_ring_control {
    uint64_t cookie;  /* known to both sides by the offer */
    uint32_t version; /* RI_RING_VERSION */
    uint32_t lines;   /* a power of two */
    _Atomic(uint32_t)
            left; /* the sender is about to close its end, or its worker to end */
    uint8_t pad[RI_RING_LINE - 20];
    _Atomic(uint32_t) consumed; /* position up to which the receiver has read */
    uint8_t pad2[RI_RING_LINE - 4];
    ri_ring_slot_t slots[RI_RING_SLOTS];
    ri_ring_grant_t grants[RI_RING_GRANTS];
} ri_ring_control_t;

#define RI_RING_VERSION      2
#define RI_RING_CONTROL_SIZE 4096

static_assert(offsetof(ri_ring_control_t, consumed) == RI_RING_LINE, "a line of its own");
static_assert(sizeof(ri_ring_control_t) <= RI_RING_CONTROL_SIZE, "the first page");

/* The sender's end. */
typedef struct ri_ring_tx {
    ri_ring_record_t *lines;
    uint32_t mask;  /* lines - 1 */
    uint32_t pos;   /* where the next record goes */
    uint32_t limit; /* position that must not be reached: lines beyond it are
                                not known to be free */
    uint32_t max_payload;
    uint64_t *dirty; /* one bit per line: its first word is not an old header's */
    ri_ring_control_t *control;
    size_t map_size;
} ri_ring_tx_t;

/* The receiver's end. */
typedef struct ri_ring_rx {
    ri_ring_record_t *lines;
    uint32_t mask;
    uint32_t pos;       /* of the next record */
    uint32_t published; /* what control->consumed says */
    ri_ring_control_t *control;
    size_t map_size;
    int fd; /* -1 once the sender has mapped it */
} ri_ring_rx_t;

/** @return What the first word of a record at @a pos holds; never 0. */
static inline uint32_t ri_ring_stamp(uint32_t pos)
{
    return pos * 2 + 1;
}

/** @return How many lines a record with @a length bytes of payload takes. */
static inline uint32_t ri_ring_lines(uint32_t length)
{
    return (length <= RI_RING_INLINE) ? 1 :
                                        1 + (length + RI_RING_LINE - 1) / RI_RING_LINE;
}

/** @return Where the payload of a record stands that has @a length bytes of it. */
static inline uint8_t *ri_ring_payload(const ri_ring_record_t *record, uint32_t length)
{
    return (uint8_t *)((length <= RI_RING_INLINE) ? record->payload :
                                                    (const uint8_t *)(record + 1));
}

/**
 * Make a ring and the receiver's end of it.
 *
 * @param size    Bytes for records, a power of two, at least 4096.
 * @param cookie  What the sender must find in it.
 *
 * @return UCS_OK, or UCS_ERR_IO_ERROR with errno set.
 */
ucs_status_t ri_ring_create(ri_ring_rx_t *rx, size_t size, uint64_t cookie);

/** @return What to add to the text of an error of @ref ri_ring_create: what a person can do. */
const char *ri_ring_remedy(int error);

/** Unmap the receiver's end. */
void ri_ring_rx_close(ri_ring_rx_t *rx);

/** The sender has mapped the ring: its descriptor is no longer needed. */
void ri_ring_rx_mapped(ri_ring_rx_t *rx);

/**
 * Map the sender's end of a ring that process @a pid made.
 *
 * @return UCS_OK; UCS_ERR_UNREACHABLE if it cannot be opened or is not that ring.
 */
ucs_status_t ri_ring_open(ri_ring_tx_t *tx, uint32_t pid, uint32_t fd, size_t size,
                          uint64_t cookie);

/** Unmap the sender's end; what was written stays readable. */
void ri_ring_tx_close(ri_ring_tx_t *tx);

/**
 * Find room when the fast path found none: read the receiver's index again, and end the
 * lap with padding if the record does not fit before its end.
 *
 * @return Whether there is room for @a lines now.
 */
int ri_ring_tx_make_room(ri_ring_tx_t *tx, uint32_t lines);

/** Reserve that many consecutive lines; as @ref ri_ring_tx_reserve. */
static inline ri_ring_record_t *ri_ring_tx_reserve_lines(ri_ring_tx_t *tx, uint32_t lines)
{
    /* One line more, as the word behind the record may have to be cleared. */
    if (((int32_t)(tx->limit - (tx->pos + lines)) <= 0) ||
        ((tx->pos & tx->mask) + lines > tx->mask + 1)) {
        if (!ri_ring_tx_make_room(tx, lines)) {
            return NULL;
        }
    }
    return &tx->lines[tx->pos & tx->mask];
}

/**
 * Reserve the next record: where to write @a length <= max_payload bytes of payload.
 *
 * @return NULL if there is no room. Otherwise @ref ri_ring_tx_commit must follow.
 */
static inline ri_ring_record_t *ri_ring_tx_reserve(ri_ring_tx_t *tx, uint32_t length)
{
    return ri_ring_tx_reserve_lines(tx, ri_ring_lines(length));
}

/** Mark the lines from @a first to before @a end: they do not hold an old header. */
static inline void ri_ring_tx_set_dirty(ri_ring_tx_t *tx, uint32_t first, uint32_t end)
{
    uint32_t word = first / 64;

    if (word == end / 64) {
        tx->dirty[word] |= (~0ul << (first % 64)) & ~(~0ul << (end % 64));
        return;
    }
    tx->dirty[word] |= ~0ul << (first % 64);
    for (++word; word < end / 64; ++word) {
        tx->dirty[word] = ~0ul;
    }
    if (end % 64) {
        tx->dirty[word] |= ~(~0ul << (end % 64));
    }
}

/** Get a cache line for writing, before it is needed. */
static inline void ri_prefetch_write(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

/**
 * Get the payload lines of a record like the last one, as far as they are known to be free:
 * the receiver still has them in its cache. Not the first line, which the receiver polls:
 * it would only have to be fetched back and forth once more.
 */
static inline void ri_ring_tx_prefetch(ri_ring_tx_t *tx, uint32_t lines)
{
    uint32_t count = ri_min(lines, tx->limit - tx->pos);
    uint32_t i;

    for (i = 1; i < count; ++i) {
        ri_prefetch_write(&tx->lines[(tx->pos + i) & tx->mask]);
    }
}

/** Publish the reserved record, whose fields but seq and length are set; without
 * prefetching. */
static inline void ri_ring_tx_publish(ri_ring_tx_t *tx, ri_ring_record_t *record,
                                      uint32_t length)
{
    uint32_t lines = ri_ring_lines(length);
    uint32_t slot  = tx->pos & tx->mask;
    uint32_t next  = (slot + lines) & tx->mask;

    tx->dirty[slot / 64] &= ~(1ul << (slot % 64));
    if (lines > 1) {
        ri_ring_tx_set_dirty(tx, slot + 1, slot + lines);
    }
    if (tx->dirty[next / 64] & (1ul << (next % 64))) {
        atomic_store_explicit(&tx->lines[next].seq, 0, memory_order_relaxed);
        tx->dirty[next / 64] &= ~(1ul << (next % 64));
    }

    record->length = length;
    atomic_store_explicit(&record->seq, ri_ring_stamp(tx->pos), memory_order_release);
    tx->pos += lines;
}

/** Publish the reserved record; all fields but seq and length are the caller's. */
static inline void ri_ring_tx_commit(ri_ring_tx_t *tx, ri_ring_record_t *record,
                                     uint32_t length)
{
    ri_ring_tx_publish(tx, record, length);
    if (length > RI_RING_INLINE) {
        ri_ring_tx_prefetch(tx, ri_ring_lines(length));
    }
}

/** @return How long the parts of a payload are that is sent in parts (but the last). */
static inline uint32_t ri_ring_part_length(uint32_t length)
{
    uint32_t half = ((length + 1) / 2 + RI_RING_LINE - 1) & ~(RI_RING_LINE - 1u);

    return ri_min(half, (uint32_t)RI_RING_PART_MAX);
}

/**
 * Write a message in parts, each published as soon as it is written, so that the receiver
 * copies one while the next is written.
 *
 * @param length  At least RI_RING_PARTS_MIN, at most max_payload.
 *
 * @return 0 if there is no room.
 */
int ri_ring_tx_put_parts(ri_ring_tx_t *tx, uint32_t value, uint64_t tag, const void *data,
                         uint32_t length);

/**
 * Write the last record of the ring, without payload. There is always room for it: every
 * other record leaves one line free for the stamp that follows it, and after this one
 * nothing follows.
 */
static inline void ri_ring_tx_finish(ri_ring_tx_t *tx, uint8_t type)
{
    ri_ring_record_t *record = &tx->lines[tx->pos & tx->mask];

    record->length = 0;
    record->type   = type;
    record->value  = 0;
    record->extra  = 0;
    record->tag    = 0;
    atomic_store_explicit(&record->seq, ri_ring_stamp(tx->pos), memory_order_release);
    ++tx->pos;
}

/** @return The next record if it is there, else NULL. Its fields are wire input. */
static inline const ri_ring_record_t *ri_ring_rx_peek(const ri_ring_rx_t *rx)
{
    const ri_ring_record_t *record = &rx->lines[rx->pos & rx->mask];

    return (atomic_load_explicit(&record->seq, memory_order_acquire) ==
            ri_ring_stamp(rx->pos)) ?
                   record :
                   NULL;
}

/**
 * Check a record's length against the ring.
 *
 * @return Lines the record takes, or 0 if it is malformed.
 */
static inline uint32_t ri_ring_rx_lines(const ri_ring_rx_t *rx, uint8_t type,
                                        uint32_t length)
{
    uint32_t left = rx->mask + 1 - (rx->pos & rx->mask);
    uint32_t lines;

    if (type == RI_RING_PAD) {
        return left;
    }
    lines = ri_ring_lines(length);
    return (lines <= left) ? lines : 0;
}

/** The sender is about to close its end, or to give memory back of which its messages have told. */
static inline void ri_ring_tx_leave(ri_ring_tx_t *tx)
{
    atomic_store_explicit(&tx->control->left, 1, memory_order_release);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* before what follows */
}

/** @return Whether the sender has said that; if not, what was read of its memory before was as its
 * messages have told. */
static inline int ri_ring_rx_is_left(const ri_ring_rx_t *rx)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* after what was read */
    return atomic_load_explicit(&rx->control->left, memory_order_acquire) != 0;
}

/** @return How far the receiver has read, as it has said. */
static inline uint32_t ri_ring_tx_consumed(const ri_ring_tx_t *tx)
{
    return atomic_load_explicit(&tx->control->consumed, memory_order_relaxed);
}

/** Give the lines of the record at the head back to the sender. */
static inline void ri_ring_rx_advance(ri_ring_rx_t *rx, uint32_t lines)
{
    rx->pos += lines;
    if (rx->pos - rx->published >= (rx->mask + 1) / 4) {
        rx->published = rx->pos;
        atomic_store_explicit(&rx->control->consumed, rx->pos, memory_order_release);
    }
}

#endif
