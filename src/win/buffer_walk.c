/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces are found by the layout of the type; or, if that is not understood, by having the MPI
 * unpack ones to where there were zeros.
 */
#include "buffer_walk.h"
#include "../ucp/dt/layout_copy.h"

#include <stdlib.h>
#include <string.h>

char *ri_walk_first(const ri_typed_t *typed)
{
    MPI_Aint lo, hi;

    ri_datatype_bounds(typed->type, typed->count, &lo, &hi);
    return (char *)typed->buffer + lo;
}

size_t ri_walk_span(const ri_typed_t *typed)
{
    MPI_Aint lo, hi;

    return ri_datatype_bounds(typed->type, typed->count, &lo, &hi) ? (size_t)(hi - lo) :
                                                                     0;
}

ri_typed_t ri_walk_image(const ri_typed_t *typed, char *image)
{
    ri_typed_t here = *typed;

    here.buffer = image + ((char *)typed->buffer - ri_walk_first(typed));
    return here;
}

/* @return A mask for memory of which the MPI alone knows where the data is, or NULL. */
static char *walk_mask(const ri_typed_t *typed)
{
    size_t size = ri_move_typed_size(typed);
    char *mask  = calloc(1, ri_walk_span(typed));
    char *ones  = malloc(size);
    ri_typed_t here;
    int error = MPI_ERR_NO_MEM;

    if ((mask != NULL) && (ones != NULL)) {
        memset(ones, 0xff, size);
        here  = ri_walk_image(typed, mask);
        error = ri_move_unpack(ones, &here);
    }
    free(ones);
    if (error != MPI_SUCCESS) {
        free(mask);
        mask = NULL;
    }
    return mask;
}

int ri_walk_begin(ri_walk_t *walk, const ri_typed_t *typed, size_t size)
{
    *walk = (ri_walk_t){.typed = typed, .size = size, .first = ri_walk_first(typed)};
    if (typed->type->is_contiguous || (typed->type->layout != NULL)) {
        return MPI_SUCCESS;
    }
    walk->size = ri_walk_span(typed);
    walk->mask = walk_mask(typed);
    return (walk->mask != NULL) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static size_t walk_next_by_mask(ri_walk_t *walk, ri_segment_t *pieces, size_t *length)
{
    size_t count = 0, from;

    *length = 0;
    while ((walk->at < walk->size) && (count < RI_WALK_PIECES)) {
        if (walk->mask[walk->at] == 0) {
            ++walk->at;
            continue;
        }
        for (from = walk->at; (walk->at < walk->size) && (walk->mask[walk->at] != 0);
             ++walk->at) {}
        pieces[count++] = (ri_segment_t){(uintptr_t)walk->first + from, walk->at - from};
        *length += walk->at - from;
    }
    return count;
}

size_t ri_walk_count(const ri_typed_t *typed)
{
    const ri_datatype_t *type = typed->type;

    if (type->is_contiguous) {
        return 1;
    }
    return (type->layout == NULL) ? 0 : (size_t)typed->count * type->layout->stats.runs;
}

size_t ri_walk_next(ri_walk_t *walk, ri_segment_t *pieces, size_t *length)
{
    const ri_typed_t *typed = walk->typed;
    size_t count;

    if (walk->mask != NULL) {
        return walk_next_by_mask(walk, pieces, length);
    }
    *length = walk->size - walk->at;
    if (*length == 0) {
        return 0;
    }
    if (typed->type->is_contiguous) {
        pieces[0] = (ri_segment_t){(uintptr_t)typed->buffer, *length};
        count     = 1;
    } else {
        count = ri_layout_copy_segments(typed->type->layout, typed->buffer,
                                        (size_t)typed->count, walk->at, length, pieces,
                                        RI_WALK_PIECES);
    }
    walk->at += *length;
    return count;
}

void ri_walk_end(ri_walk_t *walk)
{
    free(walk->mask);
}
