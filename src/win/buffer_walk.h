/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The pieces of memory that the data of a buffer lies in. The buffer may be one of another process:
 * nothing is read there.
 */
#ifndef RI_WIN_BUFFER_WALK_H
#define RI_WIN_BUFFER_WALK_H

#include "buffer_move.h"
#include "../uct/api/plane.h"

/* Pieces that are found at once. */
#define RI_WALK_PIECES 512

typedef struct ri_walk {
    const ri_typed_t *typed;
    size_t size; /* bytes of data; by the mask: of the memory that they lie in */
    size_t at;   /* number of them that are behind */
    char *mask; /* a byte for each of that memory: 0 in gaps; NULL: the type has a layout */
    char *first; /* where that memory begins */
} ri_walk_t;

/** @return Whether nothing but the MPI knows where the data of a type is. Then the pieces are in
 * the order of the memory, else in that of the data. */
static inline int ri_walk_is_blind(const ri_datatype_t *type)
{
    return !type->is_contiguous && (type->layout == NULL);
}

/** @return The first byte that data lies in. */
char *ri_walk_first(const ri_typed_t *typed);

/** @return How many bytes pieces are together. */
static inline size_t ri_walk_bytes(const ri_segment_t *pieces, size_t count)
{
    size_t bytes = 0;
    size_t i;

    for (i = 0; i < count; ++i) {
        bytes += pieces[i].length;
    }
    return bytes;
}

/** @return How many bytes data lies in, with its gaps. */
size_t ri_walk_span(const ri_typed_t *typed);

/** @return How many pieces the data lies in, about; 0: it is not known. */
size_t ri_walk_count(const ri_typed_t *typed);

/** @return The same buffer, with its memory from @a image on. */
ri_typed_t ri_walk_image(const ri_typed_t *typed, char *image);

/** Begin a walk over @a size bytes of data, or over all if ri_walk_is_blind(). ri_walk_end() ends
 * it also after an error. @return An MPI error class. */
int ri_walk_begin(ri_walk_t *walk, const ri_typed_t *typed, size_t size);

/** Find the next pieces, up to RI_WALK_PIECES, and how many bytes they are together. @return Their
 * number; 0: there are none any more. */
size_t ri_walk_next(ri_walk_t *walk, ri_segment_t *pieces, size_t *length);

/** End a walk. */
void ri_walk_end(ri_walk_t *walk);

#endif
