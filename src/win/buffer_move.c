/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A layout that is known is copied by this library. Two of them are copied run by run, or, if the
 * runs are short and differ, by way of a piece of memory that stays in the cache. Of a type that is
 * not understood the MPI makes packed bytes.
 */
#include "buffer_move.h"
#include "../ucp/dt/layout_copy.h"
#include "../uct/api/cursor.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The memory between two layouts. */
#define MOVE_PIECE 16384

/* Runs that are looked for at once, and the bytes of a long one. */
#define MOVE_RUNS 64
#define MOVE_LONG 512

/* One load and one store: others may look at the value all the time */
#define MOVE_VALUE(_type) \
    case sizeof(_type): \
        *(volatile _type *)to = *(const volatile _type *)from; \
        return;

/* @a size is not 0. */
static void move_bytes(const void *from, void *to, size_t size)
{
    if (((uintptr_t)from | (uintptr_t)to) % size == 0) {
        switch (size) {
            MOVE_VALUE(uint8_t)
            MOVE_VALUE(uint16_t)
            MOVE_VALUE(uint32_t)
            MOVE_VALUE(uint64_t)
        default:
            break;
        }
    }
    memcpy(to, from, size);
}

/* By the MPI. The packed form of both MPIs between processes of one kind of machine is the
 * bytes. */
static int move_pack_mpi(const ri_typed_t *from, void *packed)
{
    size_t size  = ri_move_typed_size(from);
    int position = 0;

    if ((size > INT_MAX) || (from->count > INT_MAX)) {
        return MPI_ERR_COUNT;
    }
    return PMPI_Pack(from->buffer, (int)from->count, from->type->handle, packed,
                     (int)size, &position, MPI_COMM_SELF);
}

static int move_unpack_mpi(const void *packed, const ri_typed_t *to)
{
    size_t size  = ri_move_typed_size(to);
    int position = 0;

    if ((size > INT_MAX) || (to->count > INT_MAX)) {
        return MPI_ERR_COUNT;
    }
    return PMPI_Unpack(packed, (int)size, &position, to->buffer, (int)to->count,
                       to->type->handle, MPI_COMM_SELF);
}

int ri_move_pack(const ri_typed_t *from, void *packed)
{
    size_t size = ri_move_typed_size(from);

    if (size == 0) {
        return MPI_SUCCESS;
    }
    if (from->type->is_contiguous) {
        move_bytes(from->buffer, packed, size);
        return MPI_SUCCESS;
    }
    if (from->type->layout != NULL) {
        ri_layout_copy_pack(from->type->layout, from->buffer, (size_t)from->count, 0,
                            packed, size);
        return MPI_SUCCESS;
    }
    return move_pack_mpi(from, packed);
}

int ri_move_unpack(const void *packed, const ri_typed_t *to)
{
    size_t size = ri_move_typed_size(to);

    if (size == 0) {
        return MPI_SUCCESS;
    }
    if (to->type->is_contiguous) {
        move_bytes(packed, to->buffer, size);
        return MPI_SUCCESS;
    }
    if (to->type->layout != NULL) {
        ri_layout_copy_unpack(to->type->layout, to->buffer, (size_t)to->count, 0, packed,
                              size);
        return MPI_SUCCESS;
    }
    return move_unpack_mpi(packed, to);
}

/* By way of a piece of memory. */
static void move_pieces(const ri_typed_t *from, const ri_typed_t *to, size_t size)
{
    char piece[MOVE_PIECE];
    size_t at, now;

    for (at = 0; at < size; at += now) {
        now = ri_min(size - at, sizeof(piece));
        ri_layout_copy_pack(from->type->layout, from->buffer, (size_t)from->count, at,
                            piece, now);
        ri_layout_copy_unpack(to->type->layout, to->buffer, (size_t)to->count, at, piece,
                              now);
    }
}

/* The runs of one side of a copy, one after the other. */
typedef struct move_walk {
    const ri_typed_t *typed;
    size_t size; /* bytes of data that are copied */
    size_t at;   /* of the data: where the runs that are not known yet begin */
    ri_segment_t runs[MOVE_RUNS];
    ri_cursor_t cursor; /* the place in those that are known */
} move_walk_t;

/* Find runs if those that are known are behind. There is data left. @return How long the rest of
 * the run is that the copy is at. */
static ri_inline size_t move_walk_rest(move_walk_t *walk)
{
    size_t length, count;

    if (ri_cursor_rest(&walk->cursor) == 0) {
        length = walk->size - walk->at;
        count  = ri_layout_copy_segments(walk->typed->type->layout, walk->typed->buffer,
                                         (size_t)walk->typed->count, walk->at, &length,
                                         walk->runs, MOVE_RUNS);
        walk->at += length;
        walk->cursor = ri_cursor_at(walk->runs, count, 0);
    }
    return ri_cursor_rest(&walk->cursor);
}

/* The runs of both are long. */
static void move_runs(const ri_typed_t *from, const ri_typed_t *to, size_t size)
{
    move_walk_t in  = {.typed = from, .size = size};
    move_walk_t out = {.typed = to, .size = size};
    size_t source, dest, now;

    for (; size > 0; size -= now) {
        source = move_walk_rest(&in);
        dest   = move_walk_rest(&out);
        now    = ri_min(source, dest);
        memcpy((void *)(uintptr_t)ri_cursor_address(&out.cursor),
               (const void *)(uintptr_t)ri_cursor_address(&in.cursor), now);
        ri_cursor_advance(&in.cursor, now);
        ri_cursor_advance(&out.cursor, now);
    }
}

/* @return Whether the runs of a layout are long on the average. */
static int move_has_long_runs(const ri_layout_t *layout)
{
    return layout->size >= layout->stats.runs * MOVE_LONG;
}

/* Both have a layout. */
static void move_layouts(const ri_typed_t *from, const ri_typed_t *to, size_t size)
{
    const ri_layout_t *in = from->type->layout, *out = to->type->layout;

    if (ri_layout_copy_loops(in, from->buffer, (size_t)from->count, out, to->buffer,
                             (size_t)to->count, size)) {
        return;
    }
    if (move_has_long_runs(in) && move_has_long_runs(out)) {
        move_runs(from, to, size);
    } else {
        move_pieces(from, to, size);
    }
}

/* One is not understood, or is longer than what goes there. */
static int move_packed(const ri_typed_t *from, const ri_typed_t *to, size_t size)
{
    size_t room  = ri_move_typed_size(to);
    void *packed = malloc(room);
    int error    = MPI_SUCCESS;

    if (packed == NULL) {
        return MPI_ERR_NO_MEM;
    }
    if (size < room) { /* what is behind the data stays as it is */
        error = ri_move_pack(to, packed);
    }
    if (error == MPI_SUCCESS) {
        error = ri_move_pack(from, packed);
    }
    if (error == MPI_SUCCESS) {
        error = ri_move_unpack(packed, to);
    }
    free(packed);
    return error;
}

int ri_move(const ri_typed_t *from, const ri_typed_t *to)
{
    const ri_datatype_t *in = from->type, *out = to->type;
    size_t size = ri_move_typed_size(from);

    if (size > ri_move_typed_size(to)) {
        return MPI_ERR_TRUNCATE;
    }
    if (size == 0) {
        return MPI_SUCCESS;
    }
    if (in->is_contiguous && out->is_contiguous) {
        move_bytes(from->buffer, to->buffer, size);
    } else if (in->is_contiguous && (out->layout != NULL)) {
        ri_layout_copy_unpack(out->layout, to->buffer, (size_t)to->count, 0, from->buffer,
                              size);
    } else if (out->is_contiguous && (in->layout != NULL)) {
        ri_layout_copy_pack(in->layout, from->buffer, (size_t)from->count, 0, to->buffer,
                            size);
    } else if ((in->layout != NULL) && (out->layout != NULL)) {
        move_layouts(from, to, size);
    } else {
        return move_packed(from, to, size);
    }
    return MPI_SUCCESS;
}
