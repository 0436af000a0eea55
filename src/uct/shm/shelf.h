/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A shelf: shared memory of a pair of processes, in one direction, for long messages that both
 * sides copy (slot.h). The sender puts parts of a message there, and the receiver takes them from
 * there into its place: both copy at the same time, each within its own memory and the shelf. No
 * system call is needed, and two processors copy more than one does by a call. It serves as long as
 * both are in the library: what the shelf has no room for, or nobody puts there, goes by such
 * calls.
 *
 * The shelf has places of RI_SHELF_PLACE bytes, which are used in turn. Each has a mark, in a line
 * of its own, which says of which message and where in it the part is. The mark's stamp is made of
 * the position and is stored last. The receiver takes parts in the order in which they were put
 * there, whichever message they are of, and says how far it is in a word of its own.
 *
 * A part whose message has ended at the receiver is passed over. So a mark names the request of the
 * sender besides the slot, which may be of another message meanwhile.
 *
 * The memory is a shared file that the receiver makes (shared_file.h), when long messages have come
 * that both sides have copied. It says so in the control page of its ring (ring.h), and both give
 * the shelf back with the ring.
 */
#ifndef RI_SHELF_H
#define RI_SHELF_H

#include "distance.h"
#include "slot.h"

#include <assert.h>

/* Bytes of a place, and units of a part in it: half as much needs more looks at lines of the other
 * side, twice as much is more than a cache likes to hold back. */
#define RI_SHELF_UNITS 8u
#define RI_SHELF_PLACE ((size_t)RI_SHELF_UNITS * RI_SLOT_UNIT)

/* The smallest shelf, and the largest. */
#define RI_SHELF_MIN (2 * RI_SHELF_PLACE)
#define RI_SHELF_MAX ((size_t)1 << 30)

/* Whose part lies at a place, and where in the message it belongs: wire input to the receiver. */
typedef struct ri_shelf_part {
    uint32_t id;    /* of the sender's request */
    uint32_t first; /* number of its first unit in the message */
    uint16_t count; /* number of its units */
    uint16_t slot;  /* number of the slot of the message */
} ri_shelf_part_t;

/* The mark of a place. */
typedef struct ri_shelf_mark {
    _Atomic(uint32_t) stamp; /* ri_shelf_stamp() of the position, stored last */
    ri_shelf_part_t part;    /* what lies at the place */
    uint8_t pad[RI_CACHE_LINE - 16];
} ri_shelf_mark_t;

static_assert(sizeof(ri_shelf_mark_t) == RI_CACHE_LINE, "a line of its own");

/* The first lines of the shared memory; the marks follow, and on the next page the places. */
typedef struct ri_shelf_head {
    uint64_t cookie; /* of the ring that it belongs to */
    uint32_t places; /* a power of two */
    uint8_t pad[RI_CACHE_LINE - 12];
    _Atomic(uint32_t) taken; /* position up to which the receiver has taken parts */
    uint8_t pad2[RI_CACHE_LINE - 4];
} ri_shelf_head_t;

static_assert(sizeof(ri_shelf_head_t) == 2 * RI_CACHE_LINE, "no false sharing");

/* The part of a shelf that both ends have: the memory, and the position of the next part, modulo
 * 2^32. */
typedef struct ri_shelf {
    ri_shelf_head_t *head;  /* NULL: the end is not open */
    ri_shelf_mark_t *marks; /* by place */
    uint8_t *places;        /* RI_SHELF_PLACE bytes each */
    uint32_t mask;          /* number of places - 1 */
    uint32_t pos;           /* position of the next part */
    size_t map_size;        /* bytes that are mapped at head */
} ri_shelf_t;

/* The sender's end, open from ri_shelf_open() to ri_shelf_tx_close(). */
typedef struct ri_shelf_tx {
    ri_shelf_t shelf;
    /* the receiver's position when it was read last, as far as it can be true */
    uint32_t taken;
    ri_distance_t distance; /* of the receiver, by its position */
} ri_shelf_tx_t;

/* The receiver's end, open from ri_shelf_create() to ri_shelf_rx_close(). */
typedef struct ri_shelf_rx {
    ri_shelf_t shelf;
    int fd; /* of the memory; -1: closed, as the sender has mapped it, or never will */
} ri_shelf_rx_t;

/** @return What the stamp of a mark at @a pos is; never 0. */
static inline uint32_t ri_shelf_stamp(uint32_t pos)
{
    return pos * 2 + 1;
}

/**
 * Make a shelf and the receiver's end of it.
 *
 * @param size    Bytes of all places: a power of two from RI_SHELF_MIN to RI_SHELF_MAX. It is not
 *                checked.
 * @param cookie  A number that the sender must find in the shelf.
 *
 * @return UCS_OK; @a rx is open then. UCS_ERR_IO_ERROR, with errno set, and nothing is left.
 */
ucs_status_t ri_shelf_create(ri_shelf_rx_t *rx, size_t size, uint64_t cookie);

/** The sender has mapped the shelf, or never will: the descriptor is closed. It may be closed
 * already. */
void ri_shelf_rx_mapped(ri_shelf_rx_t *rx);

/** Unmap the receiver's end, which is open, and close its descriptor. */
void ri_shelf_rx_close(ri_shelf_rx_t *rx);

/**
 * Map the sender's end of a shelf that process @a pid made. All arguments are wire input.
 *
 * @return UCS_OK; @a tx is open then. UCS_ERR_UNREACHABLE if it cannot be opened, or is not that
 *         shelf; nothing is left then.
 */
ucs_status_t ri_shelf_open(ri_shelf_tx_t *tx, uint32_t pid, uint32_t fd, size_t size,
                           uint64_t cookie);

/** Unmap the sender's end, which is open. What was put there can still be taken. */
void ri_shelf_tx_close(ri_shelf_tx_t *tx);

/** @return Whether the sender's end is open. */
static inline int ri_shelf_tx_is_open(const ri_shelf_tx_t *tx)
{
    return tx->shelf.head != NULL;
}

/** @return The place for the next part, of RI_SHELF_PLACE bytes; NULL if there is no room. It is
 * given to the receiver by @ref ri_shelf_tx_put. */
void *ri_shelf_tx_place(ri_shelf_tx_t *tx);

/** Copy @a length bytes of a part to @a place, which is where they belong in what
 * ri_shelf_tx_place() has returned. A part may be copied in pieces: all but the last one are whole
 * cache lines. To a far receiver the copy goes past the caches. */
void ri_shelf_tx_copy(ri_shelf_tx_t *tx, void *place, const void *from, size_t length);

/** The part at the next place is complete: the receiver may take it. */
void ri_shelf_tx_put(ri_shelf_tx_t *tx, const ri_shelf_part_t *part);

/** @return Whether there is a part to be taken; if so, @a part is what its mark says, which is wire
 * input. */
int ri_shelf_rx_look(const ri_shelf_rx_t *rx, ri_shelf_part_t *part);

/** @return Where the next part lies, of RI_SHELF_PLACE bytes. */
static inline const void *ri_shelf_rx_place(const ri_shelf_rx_t *rx)
{
    return rx->shelf.places + (rx->shelf.pos & rx->shelf.mask) * RI_SHELF_PLACE;
}

/** Go on behind the next part, which is there, and was taken or is passed over: the sender may use
 * its place. */
void ri_shelf_rx_advance(ri_shelf_rx_t *rx);

#endif
