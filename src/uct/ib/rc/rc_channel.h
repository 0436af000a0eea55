/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The eager channel through a network: as a ring (uct/shm/ring.h), a buffer for one direction
 * of one pair that its receiver polls; but it is written by RDMA, with one write for each
 * record, from a shadow that the sender has. What is here is the memory of both sides: it knows
 * records and positions, nothing of tags, planes or who has a channel.
 *
 * The buffer is an array of 64-byte lines. A record starts on a line with a header of 24 bytes,
 * its payload follows, filled up to whole words, and a sum of 64 bits. Records do not wrap: what
 * would is preceded by a padding record.
 *
 * When is a record there? Verbs promise nothing about the order in which the bytes of a write
 * are placed. Most devices place them in rising order, and MPIs rely on that and poll the last
 * word. But packets may take different ways through a network and be placed as they come, and
 * what copies in software (rxe) copies in whatever order the processor's instructions do. So a
 * record has a stamp in its first word, at which the receiver looks, and the sum over all of it
 * in its last, which tells that the rest has come, too. The sum also tells a record from whatever
 * else may stand there: half of a record over an older one, or payload of an earlier lap that
 * looks like a stamp. Therefore nothing has to be cleared. Both are made with a random number of
 * the channel, which payload cannot know.
 * Rejected: a trailer stamp (relies on the order, and every line that was read has to be cleared
 * before its next use); a stamp in each line (the payload is torn apart, and relies on the order
 * within the line); an immediate for each message (a receive and a completion more).
 *
 * Flow control: the receiver writes how far it has read into a word of the sender's, with a sum,
 * too, every quarter of a lap. The sender looks there when its last copy says that there is no
 * room. It uses a line again when the receiver has read it and its own device has said that it
 * is written.
 *
 * Positions count lines from the start, modulo 2^32.
 */
#ifndef RI_CHANNEL_H
#define RI_CHANNEL_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../ucs/base.h"

#define RI_CHANNEL_LINE 64

/* Sizes of the buffer, powers of two. */
#define RI_CHANNEL_SIZE_MIN 4096ul
#define RI_CHANNEL_SIZE_MAX (1ul << 24)

/* The type of a record that fills a lap, without payload. */
#define RI_CHANNEL_PAD 0xff

/* The head of a record. On the wire. (protocol.md section 6) */
typedef struct ri_channel_record {
    uint32_t stamp;  /* of the position */
    uint16_t length; /* payload bytes */
    uint8_t type;    /* of the users of the channel, or RI_CHANNEL_PAD */
    uint8_t zero;
    uint32_t value; /* by type, as extra and tag (protocol.md section 6) */
    uint32_t extra;
    uint64_t tag;
    uint8_t payload[];
} ri_channel_record_t;

static_assert(sizeof(ri_channel_record_t) == 24, "wire format");

/* The bytes of a record beside its payload: the header and the sum. */
#define RI_CHANNEL_EXTRA (sizeof(ri_channel_record_t) + sizeof(uint64_t))

/*
 * The sender's end. A record goes through three states by position, and each end of them only moves
 * on:
 *
 *   from pos on          free, if it is less than a lap beyond consumed and acked
 *   acked to pos         given to the device, and not known to be written: it is in the shadow,
 *                        as it may have to go another way
 *   before acked         written; before consumed also read, as far as is known
 *
 * acked and consumed are within a lap before pos. Either may be the first: a record may have been
 * read before the device says that it is written.
 */
typedef struct ri_channel_tx {
    uint8_t *shadow;
    uint32_t mask;  /* number of lines - 1 */
    uint32_t pos;   /* position of the next record */
    uint32_t acked; /* position up to which the device has written all */
    /* position up to which the receiver has read all, as far as is known */
    uint32_t consumed;
    uint32_t max_payload;   /* bytes */
    const uint64_t *credit; /* word of the sender's that the receiver writes */
    uint64_t key;           /* the channel's random number */
} ri_channel_tx_t;

/* The receiver's end. published is at most a lap before pos. */
typedef struct ri_channel_rx {
    uint8_t *buffer;
    uint32_t mask;      /* number of lines - 1 */
    uint32_t pos;       /* position of the next record */
    uint32_t published; /* position of which the sender has been told */
    uint64_t key;       /* the channel's random number */
} ri_channel_rx_t;

/** @return Whether a buffer may have that size. */
static inline int ri_channel_size_is_valid(size_t size)
{
    return (size >= RI_CHANNEL_SIZE_MIN) && (size <= RI_CHANNEL_SIZE_MAX) &&
           !(size & (size - 1));
}

/** @return The longest payload in a buffer of @a size: so that one record and the padding in
 * front of it take half of the buffer at most. */
static inline uint32_t ri_channel_max_payload(size_t size)
{
    return ri_min(size / 4, (size_t)UINT16_MAX) - RI_CHANNEL_EXTRA;
}

/** @return Lines that a record takes. */
static inline uint32_t ri_channel_lines(uint32_t length)
{
    return (RI_CHANNEL_EXTRA + length + RI_CHANNEL_LINE - 1) / RI_CHANNEL_LINE;
}

/** @return What the first word of a record at @a pos holds. */
static inline uint32_t ri_channel_stamp(uint64_t key, uint32_t pos)
{
    return (uint32_t)key ^ (2 * pos + 1);
}

/** @return Payload bytes with what fills up the last word, which is zero. */
static inline uint32_t ri_channel_filled(uint32_t length)
{
    return (length + sizeof(uint64_t) - 1) & ~(uint32_t)(sizeof(uint64_t) - 1);
}

/** @return The sum of a record at @a pos with that header and payload. */
uint64_t ri_channel_sum(uint64_t key, uint32_t pos, const ri_channel_record_t *header,
                        const uint8_t *payload);

/**
 * Set up the sender's end.
 *
 * @param shadow  Memory of @a size bytes, the caller's.
 * @param key     The channel's random number.
 * @param credit  Word that the receiver writes, the caller's.
 */
void ri_channel_tx_init(ri_channel_tx_t *tx, void *shadow, size_t size, uint64_t key,
                        const uint64_t *credit);

/** Set up the receiver's end.
 * @param buffer  Memory of @a size bytes, all zeros, the caller's, which the sender writes. */
void ri_channel_rx_init(ri_channel_rx_t *rx, void *buffer, size_t size, uint64_t key);

/** @return The word by which the receiver says that it has read up to @a consumed. */
uint64_t ri_channel_credit(uint64_t key, uint32_t consumed);

/** Read the word of the receiver, and note how far it has read. A value that cannot be is ignored.
 * */
void ri_channel_tx_update(ri_channel_tx_t *tx);

/** @return Whether there is room for a record and the padding that it may need. */
static inline int ri_channel_tx_has_room(ri_channel_tx_t *tx, uint32_t length)
{
    uint32_t lines = ri_channel_lines(length);
    uint32_t left  = tx->mask + 1 - (tx->pos & tx->mask);
    uint32_t end   = tx->pos + lines + ((lines > left) ? left : 0);

    if (ri_unlikely(end - tx->consumed > tx->mask + 1)) {
        ri_channel_tx_update(tx);
    }
    return (end - tx->consumed <= tx->mask + 1) && (end - tx->acked <= tx->mask + 1);
}

/** @return Whether a padding record has to go first. */
static inline int ri_channel_tx_needs_pad(const ri_channel_tx_t *tx, uint32_t length)
{
    return ri_channel_lines(length) > tx->mask + 1 - (tx->pos & tx->mask);
}

/** @return Where the next record is prepared. There is room for it. */
static inline ri_channel_record_t *ri_channel_tx_next(const ri_channel_tx_t *tx)
{
    return (ri_channel_record_t *)(tx->shadow +
                                   (size_t)(tx->pos & tx->mask) * RI_CHANNEL_LINE);
}

/** The next record, of which length, type, value, extra, tag and payload are set, is complete: all
 * other fields, the padding and the sum are filled in. @return Bytes to be written. It does not
 * count before ri_channel_tx_advance(). */
size_t ri_channel_tx_seal(const ri_channel_tx_t *tx, ri_channel_record_t *record);

/** @return Lines of a record at @a pos. */
static inline uint32_t ri_channel_lines_at(uint32_t mask, uint32_t pos, uint8_t type,
                                           uint32_t length)
{
    return (type == RI_CHANNEL_PAD) ? mask + 1 - (pos & mask) : ri_channel_lines(length);
}

/** Assert that the positions of the sender's end are as ri_channel_tx_t says. */
static inline void ri_channel_tx_check(const ri_channel_tx_t *tx)
{
    (void)tx;
    assert((tx->pos - tx->acked <= tx->mask + 1) &&
           (tx->pos - tx->consumed <= tx->mask + 1));
}

/** The record at pos has been given to the device. */
static inline void ri_channel_tx_advance(ri_channel_tx_t *tx)
{
    const ri_channel_record_t *record = ri_channel_tx_next(tx);

    tx->pos += ri_channel_lines_at(tx->mask, tx->pos, record->type, record->length);
    ri_channel_tx_check(tx);
}

/** @return The oldest record that the device has not written, or NULL. */
static inline const ri_channel_record_t *ri_channel_tx_oldest(const ri_channel_tx_t *tx)
{
    return (tx->acked == tx->pos) ?
                   NULL :
                   (const ri_channel_record_t *)(tx->shadow +
                                                 (size_t)(tx->acked & tx->mask) *
                                                         RI_CHANNEL_LINE);
}

/** The device has written the oldest record, or the record goes another way. There is one. */
static inline void ri_channel_tx_pop(ri_channel_tx_t *tx)
{
    const ri_channel_record_t *record = ri_channel_tx_oldest(tx);

    tx->acked += ri_channel_lines_at(tx->mask, tx->acked, record->type, record->length);
    ri_channel_tx_check(tx);
}

/**
 * Look for the next record. Paddings are passed, which moves rx->pos.
 *
 * @param header  A copy of the record's header: wire input, of which the length has been checked.
 *                It may be filled even if no record is found, and means nothing then.
 *
 * @return Its payload, or NULL: it is not there, or not all of it. It stays until
 *         ri_channel_rx_publish(), but a hostile peer may change it.
 */
const void *ri_channel_rx_peek(ri_channel_rx_t *rx, ri_channel_record_t *header);

/** Take the record that was found. */
static inline void ri_channel_rx_advance(ri_channel_rx_t *rx,
                                         const ri_channel_record_t *header)
{
    rx->pos += ri_channel_lines(header->length);
}

/** @return Whether the sender should be told of rx->pos, as at least a quarter of the memory was
 * read since it was last told. If so, rx->pos counts as told: as soon as the sender knows it, it
 * may overwrite what was read. */
static inline int ri_channel_rx_publish(ri_channel_rx_t *rx)
{
    if (rx->pos - rx->published < (rx->mask + 1) / 4) {
        return 0;
    }
    rx->published = rx->pos;
    return 1;
}

#endif
