/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A layout as bytes that travel: its definition. (protocol.md section 6, LAYOUT)
 *
 * Who receives into a layout that is no grid (wire/grid.h) offers it by its definition. The layout
 * is defined once in a stream, and named by a slot and a generation then (layout_cache.h):
 *
 *     receiver                                          sender
 *       | LAYOUT slot 3 generation 1, the definition      |
 *       |================================================>| ri_layout_wire_parse(), kept in slot 3
 *       | RTR ... address, count, slot 3 generation 1     |
 *       |================================================>| found; its runs are written
 *       | RTR ... address, count, slot 3 generation 1     |
 *       |================================================>| found again
 *
 * Both go through one ring, which keeps their order. The tables of both sides are the ring's: they
 * are made when the first layout is defined, and freed with the ring. So a peer that receives into
 * no such layout costs nothing, and whatever ends a ring makes both sides forget.
 *
 * What comes from a peer is wire input. ri_layout_wire_parse() checks all numbers of a definition,
 * and ri_layout_wire_may_be_at() the address and the count of an RTR, before anything else is done
 * with them. A layout addresses memory of the process that has defined it, and no other.
 */
#ifndef RI_LAYOUT_WIRE_H
#define RI_LAYOUT_WIRE_H

#include "layout.h"
#include "../wire/wire.h"

/**
 * Write the definition of a layout that has bytes. Its length is remembered, and whether it has
 * room. One that has none need not be tried again.
 *
 * @param bytes  Of RI_WIRE_LAYOUT_MAX bytes.
 *
 * @return Its length; 0: it has no room.
 */
size_t ri_layout_wire_define(ri_layout_t *layout, uint8_t *bytes);

/** @return Whether ri_layout_wire_define() found that the definition has no room. Any thread may
 * call it. */
static inline int ri_layout_wire_is_long(const ri_layout_t *layout)
{
    return atomic_load_explicit(&layout->wire_length, memory_order_relaxed) == UINT32_MAX;
}

/** @return How long the definition of a layout is; 0: ri_layout_wire_define() was not called for
 * it. Any thread may call it. */
static inline size_t ri_layout_wire_definition_length(const ri_layout_t *layout)
{
    return atomic_load_explicit(&layout->wire_length, memory_order_relaxed);
}

/** @return Whether a layout has the definition that ri_layout_wire_define() has just written for @a
 * of. It has another one as long as ri_layout_wire_define() was not called for it. */
int ri_layout_wire_is_defined_by(const ri_layout_t *layout, const ri_layout_t *of,
                                 const uint8_t *bytes, size_t length);

/**
 * Read a definition, which is wire input.
 *
 * @param malformed_p  Set to whether it is malformed.
 *
 * @return A layout with one reference; NULL: it is malformed, or too large for this process, or
 *         there is no memory, or layouts of peers take too much of it (ri_layout_peers_max).
 */
ri_layout_t *ri_layout_wire_parse(const void *bytes, size_t length, int *malformed_p);

/** Set @a lo to where the lowest byte of @a count elements of a layout is, and @a hi to where the
 * highest one ends, from the start of the buffer. They can be there
 * (ri_layout_wire_may_be_at()). */
void ri_layout_wire_hull(const ri_layout_t *layout, uint64_t count, int64_t *lo,
                         int64_t *hi);

/** @return Whether @a count elements of a layout, both of which are wire input, can be at @a
 * address: they are @a length bytes, which is not 0, in runs that are not too many, all at
 * addresses that there can be. */
int ri_layout_wire_may_be_at(const ri_layout_t *layout, uint64_t count, uint64_t address,
                             uint64_t length);

#endif
