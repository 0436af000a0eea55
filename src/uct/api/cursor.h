/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A place in a list of segments. Who copies between two lists has a cursor in each, and moves both
 * on by what was copied.
 */
#ifndef RI_CURSOR_H
#define RI_CURSOR_H

#include "plane.h"

typedef struct ri_cursor {
    const ri_segment_t *segment; /* never empty, but at the end of the list */
    const ri_segment_t *end;
    uint64_t offset; /* within the segment */
} ri_cursor_t;

/** Go on by @a length bytes, at most to the end of the list. */
static inline void ri_cursor_advance(ri_cursor_t *cursor, uint64_t length)
{
    uint64_t left;

    for (; cursor->segment < cursor->end; ++cursor->segment, cursor->offset = 0) {
        left = cursor->segment->length - cursor->offset;
        if (length < left) {
            cursor->offset += length;
            return;
        }
        length -= left;
    }
}

/** @return A cursor that is @a offset bytes behind the start of a list, at most at its end. */
static inline ri_cursor_t ri_cursor_at(const ri_segment_t *list, size_t count,
                                       uint64_t offset)
{
    ri_cursor_t cursor = {.segment = list, .end = list + count, .offset = 0};

    ri_cursor_advance(&cursor, offset);
    return cursor;
}

/** @return How many bytes there are from the cursor to the end of its segment; 0: the list ends. */
static inline uint64_t ri_cursor_rest(const ri_cursor_t *cursor)
{
    return (cursor->segment < cursor->end) ? cursor->segment->length - cursor->offset : 0;
}

/** @return The address of the byte that the cursor is at, which is not the end of the list. */
static inline uint64_t ri_cursor_address(const ri_cursor_t *cursor)
{
    return cursor->segment->address + cursor->offset;
}

#endif
