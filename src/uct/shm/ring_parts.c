/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A part is written past the cache where the receiver is far, and then packed into a small piece of
 * memory first: single stores to lines that are written past the cache would each go to memory.
 */
#include "ring_parts.h"
#include "../../ucs/clock.h"
#include "../../ucs/copy.h"

/* The bytes that are packed into this core's cache before they are written past the caches. */
#define PARTS_NEAR 4096

void ri_ring_parts_fill_one(ri_ring_tx_t *tx, ri_ring_record_t *record,
                            ri_ring_fill_t fill, void *arg, size_t offset,
                            uint32_t length, int streams)
{
    _Alignas(RI_RING_LINE) uint8_t near[PARTS_NEAR];
    uint8_t *dest = (uint8_t *)(record + 1);
    uint32_t done, now;

    if (!streams) {
        fill(arg, offset, dest, length);
        return;
    }
    ri_copy_prefetch(&tx->lines[(tx->pos + ri_ring_lines(length)) & tx->mask]);
    for (done = 0; done < length; done += now) {
        now = ri_min(length - done, (uint32_t)sizeof(near));
        fill(arg, offset + done, near, now);
        ri_copy_past_caches(dest + done, near, now);
    }
    ri_copy_fence();
}

/* A message in parts. */
typedef struct parts_message {
    uint32_t value;
    uint8_t hint;
    uint64_t tag;
    uint32_t length;
    const uint8_t *data; /* NULL: fill tells it */
    ri_ring_fill_t fill;
    void *arg;
} parts_message_t;

/* Write the payload of a part. */
static ri_inline void parts_write(ri_ring_tx_t *tx, ri_ring_record_t *record,
                                  const parts_message_t *parts, uint32_t offset,
                                  uint32_t length, int streams)
{
    if (length <= RI_RING_INLINE) {
        if (parts->fill != NULL) {
            parts->fill(parts->arg, offset, record->payload, length);
        } else {
            ri_copy_short(record->payload, parts->data + offset, length);
        }
    } else if (parts->fill != NULL) {
        ri_ring_parts_fill_one(tx, record, parts->fill, parts->arg, offset, length,
                               streams);
    } else {
        ri_ring_tx_write(tx, record, parts->data + offset, length, streams);
    }
}

/* One of its callers has data, and the other one a function: each has a copy of this without the
 * other case. */
static ri_inline int parts_put(ri_ring_tx_t *tx, const parts_message_t *parts)
{
    uint32_t length = parts->length;
    int streams     = ri_ring_tx_streams(tx, length, 0);
    uint32_t part   = (streams && (length > RI_RING_STREAM_PART)) ?
                              RI_RING_STREAM_PART :
                              ri_ring_part_length(length); /* never the whole */
    uint32_t lines  = ri_ring_lines_in_parts(length, part);
    uint8_t type    = RI_RING_START;
    uint64_t begin  = 0;
    ri_ring_record_t *record;
    uint32_t done, now;

    if (ri_ring_tx_reserve_lines(tx, lines) == NULL) {
        return 0;
    }
    if ((length >= RI_QUICK_LENGTH) && (parts->fill == NULL)) {
        begin = ri_clock_ticks();
    }

    for (done = 0; done < length; done += now) {
        now    = ri_min(part, length - done);
        record = ri_ring_tx_next(tx);
        parts_write(tx, record, parts, done, now, streams);
        record->type  = type;
        record->hint  = parts->hint;
        record->value = parts->value;
        record->extra = length;
        record->tag   = parts->tag;
        ri_ring_tx_publish(tx, record, now);
        type = RI_RING_PART;
    }
    if (streams) {
        return 1;
    }
    /* How long it takes to pack tells nothing of the ring */
    if ((length >= RI_QUICK_LENGTH) && (parts->fill == NULL)) {
        ri_quick_judge(&tx->quick, length, ri_clock_ticks() - begin);
    }
    ri_ring_tx_prefetch(tx, ri_ring_lines(part));
    return 1;
}

int ri_ring_parts_put(ri_ring_tx_t *tx, uint32_t value, uint64_t tag, uint8_t hint,
                      const void *data, uint32_t length)
{
    const parts_message_t parts = {
            .value = value, .tag = tag, .hint = hint, .length = length, .data = data};

    return parts_put(tx, &parts);
}

int ri_ring_parts_fill(ri_ring_tx_t *tx, uint32_t value, uint64_t tag, uint8_t hint,
                       ri_ring_fill_t fill, void *arg, uint32_t length)
{
    const parts_message_t parts = {.value  = value,
                                   .tag    = tag,
                                   .hint   = hint,
                                   .length = length,
                                   .fill   = fill,
                                   .arg    = arg};

    return parts_put(tx, &parts);
}
