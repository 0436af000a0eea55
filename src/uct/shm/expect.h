/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * An answer is expected in a ring.
 *
 * A record of several lines is seen by its first line, which is polled. To fetch the others only
 * then takes the way of a line once more: 130 ns between far cores. So they are fetched with each
 * poll. The sender writes them before the first line, and waits for that, as the receiver has it:
 * in that time they are on their way.
 *
 * Of a series of records the lines would be taken from a sender that is writing them. So a record
 * is expected only as an answer to one that was sent, and to be as long as the latest one was. The
 * sender of more than RI_RING_FETCH_MAX lines is still writing the later ones.
 */
#ifndef RI_EXPECT_H
#define RI_EXPECT_H

#include "ring.h"

/** The next record of @a rx is taken to answer one that was just sent, and to be as long as the
 * latest one. */
static inline void ri_expect_answer(ri_ring_rx_t *rx)
{
    rx->expected_lines = rx->payload_lines;
}

/** Fetch the payload lines of the record that is expected in @a rx, if there is one. It is to be
 * called whenever the record's first line is polled. */
static inline void ri_expect_fetch(const ri_ring_rx_t *rx)
{
    uint32_t i;

    for (i = 1; i <= rx->expected_lines; ++i) {
        __builtin_prefetch(&rx->lines[(rx->pos + i) & rx->mask]);
    }
}

#endif
