/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that take several records of a ring: a long payload is published part by part, so that
 * the receiver copies one part while the next is written. The payload is in one place, or a
 * function packs it, straight into the ring.
 */
#ifndef RI_RING_PARTS_H
#define RI_RING_PARTS_H

#include "ring.h"

/** Writes @a length bytes of a message, from @a offset bytes behind its start on, to @a dest. */
typedef void (*ri_ring_fill_t)(void *arg, size_t offset, void *dest, size_t length);

/**
 * Write a message in parts.
 *
 * @param value   Of the records: the sequence number.
 * @param tag     Of the message.
 * @param hint    Of the records: RI_RING_HINT_*.
 * @param length  At least RI_RING_PARTS_MIN, and not more than a quarter of the ring.
 *
 * @return 0 if there is no room for all of it; then nothing of it is written, though the end of the
 *         lap may be padded.
 */
int ri_ring_parts_put(ri_ring_tx_t *tx, uint32_t value, uint64_t tag, uint8_t hint,
                      const void *data, uint32_t length);

/** What ri_ring_parts_put() does, for a payload that @a fill packs. @return As there. */
int ri_ring_parts_fill(ri_ring_tx_t *tx, uint32_t value, uint64_t tag, uint8_t hint,
                       ri_ring_fill_t fill, void *arg, uint32_t length);

/** Write the payload of one reserved record, longer than RI_RING_INLINE, as ri_ring_tx_write(). @a
 * fill packs it from @a offset on. With @a streams it is written past the caches. */
void ri_ring_parts_fill_one(ri_ring_tx_t *tx, ri_ring_record_t *record,
                            ri_ring_fill_t fill, void *arg, size_t offset,
                            uint32_t length, int streams);

#endif
