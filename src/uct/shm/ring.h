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
 * Where a line of the other core's cache takes longer to come than one of memory, as between
 * sockets, the sender is far: it writes long payloads past its cache, and the receiver reads them
 * from memory, of which it gets many lines at a time. How far the sender is shows when it reads the
 * receiver's index, which the receiver has written since (distance.h).
 *
 * Flow control: the receiver publishes how far it has read every quarter of a lap, or every 64 KB;
 * the sender reads that word only when its last copy says that there is no room.
 *
 * A ring of 1 MB is small at first, as its memory takes time to be made (1 ms): the sender
 * begins the next lap after 256 KB of this one (RI_RING_FIRST).
 *
 * Positions count lines from the start of the ring and wrap around at 2^32; all
 * differences are taken modulo 2^32.
 *
 * The memory is a shared file that the receiver makes (shared_file.h).
 */
#ifndef RI_RING_H
#define RI_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "distance.h"
#include "grant.h"
#include "quick.h"
#include "slot.h"
#include "../../ucs/base.h"
#include "../../ucs/copy.h"

#define RI_RING_LINE   64
#define RI_RING_INLINE 40 /* payload bytes in a record's first line */

/* The most payload lines of a record that are fetched before it comes (expect.h). */
#define RI_RING_FETCH_MAX 8

/* Types of records that are the ring's own. */
#define RI_RING_PAD   0xff /* fills a lap; has no payload */
#define RI_RING_START 0xfe /* first part of a payload that is published in parts */
#define RI_RING_PART  0xfd /* a further part of such a payload */

/* The number of messages of EAGER_THRESH bytes that a ring has room for, where its size is left to
 * the library. */
#define RI_RING_MESSAGES      8
/* A message above EAGER_THRESH goes through a ring that has room for this number of such
 * messages. */
#define RI_RING_LONG_MESSAGES 4

/* Payloads from RI_RING_PARTS_MIN bytes on may be published in parts. Shorter ones take longer that
 * way: 1 KB 0.24 us rather than 0.22, between far cores 0.71 rather than 0.65. Far senders have
 * other limits, RI_RING_STREAM_MIN and RI_RING_STREAM_PART. */
#define RI_RING_PARTS_MIN 1536

/* Length of the parts of a payload that is not written past the cache: half of it or an eighth,
 * where an eighth counts as at least the first length, and at most the second. 8 KB took 0.87 us in
 * parts of 2 KB, 0.64 in parts of 4 KB; 64 KB 5.3 us in parts of 2 KB, 3.2 in parts of 8 KB. */
#define RI_RING_EIGHTH_MIN 8192
#define RI_RING_EIGHTH_MAX 16384

/* A sender that writes record after record gets lines for writing so far ahead. */
#define RI_RING_AHEAD 3

/* A far sender writes payloads from this length on past its cache. Up to 2 KB the caches are
 * faster: a payload of 2 KB took 0.72 us rather than 0.84, one of 3 KB 1.03 rather than 0.92, one
 * of 8 KB 1.9 rather than 1.35. Either way each goes in one record: in halves one of 2 KB took 0.93
 * rather than 0.68. */
#define RI_RING_STREAM_MIN 3072

/* A far sender writes payloads of a series of messages from this length on past its cache: the
 * receiver is behind, and reads from memory what it would otherwise wait for line by line. */
#define RI_RING_STREAM_MIN_ROW 2048

/* A far sender writes payloads that are longer than this in parts of this number of bytes, so that
 * the receiver copies one part while the next one is written. */
#define RI_RING_STREAM_PART 16384

static_assert(RI_RING_STREAM_PART >= RI_RING_EIGHTH_MAX,
              "ri_ring_tx_has_room() is enough for both");

/* A larger ring uses RI_RING_FIRST lines of a lap at first. It uses all after RI_RING_FIRST_LAPS
 * laps, or when a message takes more than RI_RING_FIRST_ENOUGH lines, for which there might never
 * be room: the receiver tells its index up to RI_RING_TOLD lines late, and the end of a lap may be
 * skipped. */
#define RI_RING_FIRST        4096
#define RI_RING_FIRST_LAPS   32
#define RI_RING_FIRST_ENOUGH ((RI_RING_FIRST - RI_RING_TOLD) / 2)

/* The receiver publishes its index after this number of lines, or after a quarter of a lap if that
 * is less. */
#define RI_RING_TOLD 1024

/*
 * The head of a record, which is the first line of it. What value, extra and tag are depends on the
 * type (protocol.md, section 3, has the types' numbers and what their payload is):
 *
 *   type                  value              extra                           tag
 *   EAGER                 sequence number    pool buffer released, or 0      of the message
 *   EAGER_SYNC, RTS, POOL sequence number    id of the send request          of the message
 *   PLACED                sequence number    id of the receive               of the message
 *   RTR                   id of the receive  id of the conn addressed        of the receive
 *   LAYOUT                generation         slot                            -
 *   SYNC_ACK, FIN         id of the send     id of the conn addressed        -
 *   WRITTEN               id of the receive  -                               -
 *   RELEASE               -                  -                               -
 *   CLOSING, RING_CLOSE   -                  -                               -
 *   RI_RING_START         sequence number    length of the whole payload     of the message
 *   RI_RING_PART, _PAD    -                  -                               -
 *
 * All fields are wire input to the receiver.
 */
typedef struct ri_ring_record {
    _Atomic(uint32_t) seq; /* ri_ring_stamp() of the position, stored last */
    uint16_t length;       /* bytes of payload in this record */
    uint8_t type;          /* of the users of the ring, or RI_RING_PAD, START or PART */
    uint8_t hint;          /* RI_RING_HINT_*, of the writer */
    uint32_t value;        /* what the table says */
    uint32_t extra;        /* what the table says */
    uint64_t tag;          /* what the table says */
    uint8_t payload[RI_RING_INLINE]; /* a longer one is in the lines that follow */
} ri_ring_record_t;

/* The hints of a record's writer about long messages of its reader. */
enum {
    RI_RING_HINT_WAITS = 1 << 0, /* the writer waits for them */
    RI_RING_HINT_SOON  = 1 << 1, /* the writer asks for them soon after they have come */
    RI_RING_HINT_AWAY  = 1 << 2, /* the writer has done neither, with its latest ones */
    RI_RING_HINT_SLOW  = 1 << 3, /* the writer reads them slowly, by the plane */
    RI_RING_HINT_SAID  = 1 << 7  /* the hint of a RI_RING_START is to be read */
};
static_assert(sizeof(ri_ring_record_t) == RI_RING_LINE, "a record starts as one line");
static_assert(offsetof(ri_ring_record_t, payload) == 24, "24 bytes of header");

/* Beside the lines a ring has slots, for messages of its sender that both sides copy (slot.h); and
 * grants, for receives of its sender that its receiver may write (grant.h). */
#define RI_RING_SLOTS  47
#define RI_RING_GRANTS 32

/* The first pages of the shared memory; the lines follow. */
typedef struct ri_ring_control {
    uint64_t cookie;  /* known to both sides by the offer of the ring */
    uint32_t version; /* RI_RING_VERSION */
    uint32_t lines;   /* a power of two */
    /* the sender is about to close its end, or its worker to end */
    _Atomic(uint32_t) left;
    uint32_t shelf_size; /* bytes for parts of the shelf (shelf.h), if there is one */
    _Atomic(uint32_t) shelf_fd; /* 1 + its descriptor at the receiver; 0: there is none */
    _Atomic(uint32_t) shelf_state; /* RI_RING_SHELF_*, by the sender */
    uint8_t pad[RI_RING_LINE - 32];
    _Atomic(uint32_t) consumed; /* position up to which the receiver has read */
    uint8_t pad2[RI_RING_LINE - 4];
    ri_ring_slot_t slots[RI_RING_SLOTS];
    ri_ring_grant_t grants[RI_RING_GRANTS];
} ri_ring_control_t;

/* The version of ri_ring_control_t and of the records. */
#define RI_RING_VERSION      3
#define RI_RING_CONTROL_SIZE 8192

/* The states of the shelf, set by the sender (ri_ring_control_t.shelf_state). */
enum {
    RI_RING_SHELF_UNSEEN, /* the sender has not looked at the shelf yet */
    RI_RING_SHELF_MAPPED, /* the sender has mapped the shelf */
    RI_RING_SHELF_REFUSED /* the sender could not map the shelf, and does not try again */
};

static_assert(offsetof(ri_ring_control_t, consumed) == RI_RING_LINE, "a line of its own");
static_assert(sizeof(ri_ring_control_t) <= RI_RING_CONTROL_SIZE, "the first pages");

/*
 * The sender's end. It is open from ri_ring_open() to ri_ring_tx_close(): then control is NULL, and
 * nothing may be called for it. While it is open
 *
 *   pos <= limit, modulo 2^32. They are equal only if the ring is full, or after
 *   ri_ring_tx_finish(), which takes the line that all other records leave free.
 */
typedef struct ri_ring_tx {
    ri_ring_record_t *lines; /* of the ring */
    uint32_t mask;           /* number of lines - 1 */
    uint32_t end;            /* number of lines of a lap that are used */
    uint32_t pos;            /* position of the next record */
    /* position that must not be reached: lines from there on are not known to have been read, or
     * are not used yet */
    uint32_t limit;
    uint32_t left_small;    /* number of lines to write until all of a lap are used */
    uint32_t max_payload;   /* bytes of payload that a record may have */
    ri_distance_t distance; /* of the receiver, by its index */
    ri_quick_t quick;       /* whether the ring is quick */
    /* one bit for each line: its first word is not that of an old header */
    uint64_t *dirty;
    ri_ring_control_t *control; /* NULL: closed */
    size_t map_size;            /* bytes that are mapped at control */
    uint32_t pid;               /* of the receiver */
} ri_ring_tx_t;

/*
 * The receiver's end. It is open from ri_ring_create() to ri_ring_rx_close(): then control is NULL,
 * and nothing may be called for it. While it is open
 *
 *   published <= pos, modulo 2^32, and they are less than told lines apart after
 *   ri_ring_rx_advance()
 */
typedef struct ri_ring_rx {
    ri_ring_record_t *lines; /* of the ring */
    uint32_t mask;           /* number of lines - 1 */
    uint32_t pos;            /* position of the next record */
    uint32_t published; /* position that the sender was told of by control->consumed */
    uint32_t told;      /* number of lines after which the sender is told */
    /* number of payload lines of the latest record; 0: none, or more than RI_RING_FETCH_MAX */
    uint32_t payload_lines;
    uint32_t expected_lines; /* payload lines of the record that is expected (expect.h) */
    ri_ring_control_t *control; /* NULL: closed */
    size_t map_size;            /* bytes that are mapped at control */
    int fd; /* of the memory; -1: it is closed, as the sender has mapped the ring, or never will */
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
 * @param size    Bytes for records, a power of two, at least 4096; not checked.
 * @param cookie  What the sender must find in it.
 *
 * @return UCS_OK; @a rx is open then, until ri_ring_rx_close(). UCS_ERR_IO_ERROR, with errno set,
 *         and nothing is left.
 */
ucs_status_t ri_ring_create(ri_ring_rx_t *rx, size_t size, uint64_t cookie);

/** @return What to add to the text of an error of @ref ri_ring_create: what a person can do; "" if
 * that is not known. @a error: as errno. */
const char *ri_ring_remedy(int error);

/** Unmap the receiver's end, which is open, and close its descriptor. The sender's end stays as it
 * is. */
void ri_ring_rx_close(ri_ring_rx_t *rx);

/** The sender has mapped the ring, or never will: the descriptor is closed. It may be closed
 * already. */
void ri_ring_rx_mapped(ri_ring_rx_t *rx);

/**
 * Map the sender's end of a ring that process @a pid made. All arguments are wire input.
 *
 * @return UCS_OK; @a tx is open then, until ri_ring_tx_close(). UCS_ERR_UNREACHABLE if it cannot be
 *         opened, is not that ring, or there is no memory; nothing is left then.
 */
ucs_status_t ri_ring_open(ri_ring_tx_t *tx, uint32_t pid, uint32_t fd, size_t size,
                          uint64_t cookie);

/** Unmap the sender's end, which is open, and say so. What was written can still be read. */
void ri_ring_tx_close(ri_ring_tx_t *tx);

/**
 * Find room when the fast path found none: read the receiver's index again, and end the
 * lap with padding if the record does not fit before its end.
 *
 * @return Whether there is room for @a lines now.
 */
int ri_ring_tx_make_room(ri_ring_tx_t *tx, uint32_t lines);

/** @return The line of the next record. Whether it is free is another question. */
static inline ri_ring_record_t *ri_ring_tx_next(const ri_ring_tx_t *tx)
{
    return &tx->lines[tx->pos & tx->mask];
}

/** @return Whether there is room for a record of one line, as far as that is known without a look
 * at what the receiver has read. */
static inline int ri_ring_tx_has_line(const ri_ring_tx_t *tx)
{
    /* one line more, as the word behind the record may have to be cleared */
    return (int32_t)(tx->limit - tx->pos) > 1;
}

/**
 * Reserve consecutive lines for records. Until one of them is published nobody holds them: who does
 * not publish has only asked for room, and the end of the lap may be padded.
 *
 * @return The first line; NULL if there is no room. The lines are given to the receiver by @ref
 *         ri_ring_tx_publish, record by record.
 */
static inline ri_ring_record_t *ri_ring_tx_reserve_lines(ri_ring_tx_t *tx, uint32_t lines)
{
    /* One line more, as the word behind the record may have to be cleared. */
    if (((int32_t)(tx->limit - (tx->pos + lines)) <= 0) ||
        ((tx->pos & tx->mask) + lines > tx->mask + 1)) {
        if (!ri_ring_tx_make_room(tx, lines)) {
            return NULL;
        }
    }
    return ri_ring_tx_next(tx);
}

/**
 * Reserve the next record, for @a length <= max_payload bytes of payload at ri_ring_payload(). Who
 * only wants to know whether there is room may leave it at that.
 *
 * @return NULL if there is no room; else @ref ri_ring_tx_commit gives the record to the receiver.
 */
static inline ri_ring_record_t *ri_ring_tx_reserve(ri_ring_tx_t *tx, uint32_t length)
{
    return ri_ring_tx_reserve_lines(tx, ri_ring_lines(length));
}

/** Assert that the sender's end is open and as ri_ring_tx_t says. */
static inline void ri_ring_tx_check(const ri_ring_tx_t *tx)
{
    (void)tx;
    assert((tx->control != NULL) && ((int32_t)(tx->limit - tx->pos) >= 0));
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

/** Fetch lines for writing, from @a first to before @a end lines behind the last record, as far as
 * they are known to be free. */
static inline void ri_ring_tx_prefetch_lines(ri_ring_tx_t *tx, uint32_t first,
                                             uint32_t end)
{
    uint32_t i;

    end = ri_min(end, tx->limit - tx->pos);
    for (i = first; i < end; ++i) {
        ri_copy_prefetch(&tx->lines[(tx->pos + i) & tx->mask]);
    }
}

/** Fetch the payload lines of a next record of @a lines lines, which the receiver still has in its
 * cache. The first line is left out: the receiver polls it, so it would only go back and forth once
 * more. */
static inline void ri_ring_tx_prefetch(ri_ring_tx_t *tx, uint32_t lines)
{
    ri_ring_tx_prefetch_lines(tx, 1, lines);
}

/** Fetch @a lines lines for records that follow soon, from RI_RING_AHEAD lines on. It is called for
 * each record of a series: earlier calls have fetched the lines in between, and the receiver, which
 * is behind, does not look at them yet. */
static inline void ri_ring_tx_prefetch_ahead(ri_ring_tx_t *tx, uint32_t lines)
{
    ri_ring_tx_prefetch_lines(tx, RI_RING_AHEAD, RI_RING_AHEAD + lines);
}

/** @return Whether a payload of @a length bytes is to go past the cache: in one record, as its
 * receiver gains nothing by a part of it. @a in_row: the message is one of many that follow each
 * other. */
static inline int ri_ring_tx_streams(const ri_ring_tx_t *tx, uint32_t length, int in_row)
{
    return (length >= (in_row ? RI_RING_STREAM_MIN_ROW : RI_RING_STREAM_MIN)) &&
           ri_distance_is_far(&tx->distance);
}

/** @return Whether the ring is quick (quick.h). */
static inline int ri_ring_tx_is_quick(const ri_ring_tx_t *tx)
{
    return ri_quick_is(&tx->quick) && !ri_distance_is_far(&tx->distance);
}

/** @return Whether a payload of @a length bytes goes in one record; else it may go in parts. */
static inline int ri_ring_tx_is_one(const ri_ring_tx_t *tx, size_t length)
{
    if (length <
        RI_RING_PARTS_MIN) { /* a statement of its own: gcc makes better code of it */
        return 1;
    }
    return ri_distance_is_far(&tx->distance) && (length <= RI_RING_STREAM_PART);
}

/** Write the payload of the reserved record, longer than RI_RING_INLINE; if @a streams, past the
 * cache. No store goes to its first line, which the receiver polls, or the line would be fetched
 * back and forth once more. */
static inline void ri_ring_tx_write(ri_ring_tx_t *tx, ri_ring_record_t *record,
                                    const void *data, uint32_t length, int streams)
{
    if (ri_unlikely(streams)) {
        /* may have to be cleared by ri_ring_tx_publish() */
        ri_copy_prefetch(&tx->lines[(tx->pos + ri_ring_lines(length)) & tx->mask]);
        ri_copy_past_caches(record + 1, data, length);
        ri_copy_fence();
    } else {
        ri_copy_lines(record + 1, data, length);
    }
}

/** Give the reserved record to the receiver. The caller has set all fields but seq and length. */
static ri_inline void ri_ring_tx_publish(ri_ring_tx_t *tx, ri_ring_record_t *record,
                                         uint32_t length)
{
    uint32_t lines = ri_ring_lines(length);
    uint32_t slot  = tx->pos & tx->mask;
    uint32_t next  = (slot + lines) & tx->mask;

    assert(length <= UINT16_MAX);
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
    ri_ring_tx_check(tx);
}

/** Give the reserved record to the receiver, and prefetch lines for the next one. The caller has
 * set all fields but seq and length. */
static inline void ri_ring_tx_commit(ri_ring_tx_t *tx, ri_ring_record_t *record,
                                     uint32_t length)
{
    ri_ring_tx_publish(tx, record, length);
    if ((length > RI_RING_INLINE) && !ri_ring_tx_streams(tx, length, 0)) {
        ri_ring_tx_prefetch(tx, ri_ring_lines(length));
    }
}

/** @return The length of all parts but the last of a payload of @a length bytes that is sent in
 * parts by the caches. */
static inline uint32_t ri_ring_part_length(uint32_t length)
{
    uint32_t half = ((length + 1) / 2 + RI_RING_LINE - 1) & ~(RI_RING_LINE - 1u);
    uint32_t max  = ri_max(length / 8, (uint32_t)RI_RING_EIGHTH_MIN);

    max = ri_min(max, (uint32_t)RI_RING_EIGHTH_MAX) & ~(RI_RING_LINE - 1u);
    return ri_min(half, max);
}

/** @return How many lines a payload of @a length bytes takes in parts of @a part bytes. */
static inline uint32_t ri_ring_lines_in_parts(uint32_t length, uint32_t part)
{
    uint32_t rest = length % part;

    return (length / part) * ri_ring_lines(part) + ((rest > 0) ? ri_ring_lines(rest) : 0);
}

/** @return Whether there is room for a payload of @a length bytes, in one record or in parts of any
 * length. */
static inline int ri_ring_tx_has_room(ri_ring_tx_t *tx, uint32_t length)
{
    uint32_t lines = (length < RI_RING_PARTS_MIN) ?
                             ri_ring_lines(length) :
                             ri_ring_lines_in_parts(length, ri_ring_part_length(length));

    return ri_ring_tx_reserve_lines(tx, lines) != NULL;
}

/**
 * Write the last record of the ring, without payload; nothing may be written after it. There is
 * always room for it: every other record leaves one line free for the stamp that follows it, and
 * after this one nothing follows.
 */
static inline void ri_ring_tx_finish(ri_ring_tx_t *tx, uint8_t type)
{
    ri_ring_record_t *record = ri_ring_tx_next(tx);

    record->length = 0;
    record->type   = type;
    record->value  = 0;
    record->extra  = 0;
    record->tag    = 0;
    atomic_store_explicit(&record->seq, ri_ring_stamp(tx->pos), memory_order_release);
    ++tx->pos;
    ri_ring_tx_check(tx);
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
 * Check the length of the record at the head against the ring. Type and length were read once.
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

/** Say that the sender is about to close its end, or to give memory back that its messages have
 * named. What the caller does after that is seen by the receiver after it, too. */
static inline void ri_ring_tx_leave(ri_ring_tx_t *tx)
{
    atomic_store_explicit(&tx->control->left, 1, memory_order_release);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* before what follows */
}

/** @return Whether the sender has called ri_ring_tx_leave(). If not, what the receiver has read
 * of the sender's memory until now was as its messages have told. */
static inline int ri_ring_rx_is_left(const ri_ring_rx_t *rx)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* after what was read */
    return atomic_load_explicit(&rx->control->left, memory_order_acquire) != 0;
}

/** @return How far the receiver has read, as it has said every rx->told lines: wire input. */
static inline uint32_t ri_ring_tx_consumed(const ri_ring_tx_t *tx)
{
    return atomic_load_explicit(&tx->control->consumed, memory_order_relaxed);
}

/** Go on behind the record at the head, which has @a lines lines. The sender gets what was read
 * back every rx->told lines. */
static inline void ri_ring_rx_advance(ri_ring_rx_t *rx, uint32_t lines)
{
    rx->pos += lines;
    rx->expected_lines = 0;
    rx->payload_lines  = (lines <= RI_RING_FETCH_MAX + 1) ? lines - 1 : 0;
    if (rx->pos - rx->published >= rx->told) {
        rx->published = rx->pos;
        atomic_store_explicit(&rx->control->consumed, rx->pos, memory_order_release);
    }
}

#endif
