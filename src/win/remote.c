/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Data in one piece is put and got as it is. Of other data the pieces are found first: by the layout
 * of its type; or, if that is not understood, by having the MPI unpack ones to where there were zeros.
 */
#include "remote.h"
#include "../ucp/dt/layout_copy.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of memory in one system call. */
#define REMOTE_PIECES 256

/* Packed data of so many bytes is on the stack. */
#define REMOTE_STACK 1024

const ri_window_ops_t *ri_remote_ops(void)
{
    const ri_window_ops_t *(*look)(unsigned version) = dlsym(RTLD_DEFAULT,
                                                             RI_WINDOW_OPS_SYMBOL);

    return (look != NULL) ? look(RI_WINDOW_OPS_VERSION) : NULL;
}

int ri_remote_error(ri_window_fate_t fate)
{
    switch (fate) {
    case RI_WINDOW_DONE:
    case RI_WINDOW_POSTED:
        return MPI_SUCCESS;
    case RI_WINDOW_BAD:
        return MPI_ERR_RMA_RANGE;
    default:
        return MPI_ERR_OTHER;
    }
}

/* A walk along the pieces of a buffer of another process. */
typedef struct remote_walk {
    const ri_typed_t *there;
    size_t size; /* bytes of data; by the mask: of the memory that they lie in */
    size_t at;   /* so many of them are behind */
    char *mask; /* a byte for each of that memory: 0 in gaps; NULL: the type has a layout */
    char *first; /* where that memory begins */
} remote_walk_t;

/* The first byte that data lies in. */
static char *remote_first(const ri_typed_t *typed)
{
    MPI_Aint lo, hi;

    ri_datatype_bounds(typed->type, typed->count, &lo, &hi);
    return (char *)typed->buffer + lo;
}

/* How many bytes data lies in, with its gaps. */
static size_t remote_span(const ri_typed_t *typed)
{
    MPI_Aint lo, hi;

    return ri_datatype_bounds(typed->type, typed->count, &lo, &hi) ? (size_t)(hi - lo) :
                                                                     0;
}

/* The same buffer, with its memory from @a image on. */
static ri_typed_t remote_image(const ri_typed_t *typed, char *image)
{
    ri_typed_t here = *typed;

    here.buffer = image + ((char *)typed->buffer - remote_first(typed));
    return here;
}

/* @return A mask for memory of which the MPI alone knows where the data is, or NULL. */
static char *remote_mask(const ri_typed_t *there)
{
    size_t size = ri_typed_size(there);
    char *mask  = calloc(1, remote_span(there));
    char *ones  = malloc(size);
    ri_typed_t here;
    int error = MPI_ERR_NO_MEM;

    if ((mask != NULL) && (ones != NULL)) {
        memset(ones, 0xff, size);
        here  = remote_image(there, mask);
        error = ri_move_unpack(ones, &here);
    }
    free(ones);
    if (error != MPI_SUCCESS) {
        free(mask);
        mask = NULL;
    }
    return mask;
}

/* Begin a walk over @a size bytes of data. @return An MPI error class. */
static int remote_walk_begin(remote_walk_t *walk, const ri_typed_t *there, size_t size)
{
    *walk = (remote_walk_t){.there = there, .size = size, .first = remote_first(there)};
    if (there->type->is_contiguous || (there->type->layout != NULL)) {
        return MPI_SUCCESS;
    }
    walk->size = remote_span(there);
    walk->mask = remote_mask(there);
    return (walk->mask != NULL) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static size_t remote_walk_mask(remote_walk_t *walk, ri_segment_t *pieces, size_t *length)
{
    size_t count = 0, from;

    *length = 0;
    while ((walk->at < walk->size) && (count < REMOTE_PIECES)) {
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

/* The next pieces, and how many bytes they are together. @return Their number; 0: there are none any
 * more. */
static size_t remote_walk_next(remote_walk_t *walk, ri_segment_t *pieces, size_t *length)
{
    const ri_typed_t *there = walk->there;
    size_t count;

    if (walk->mask != NULL) {
        return remote_walk_mask(walk, pieces, length);
    }
    *length = walk->size - walk->at;
    if (*length == 0) {
        return 0;
    }
    if (there->type->is_contiguous) {
        pieces[0] = (ri_segment_t){(uintptr_t)there->buffer, *length};
        count     = 1;
    } else {
        count = ri_layout_segments(there->type->layout, there->buffer,
                                   (size_t)there->count, walk->at, length, pieces,
                                   REMOTE_PIECES);
    }
    walk->at += *length;
    return count;
}

static void remote_walk_end(remote_walk_t *walk)
{
    free(walk->mask);
}

/* Copy data between a buffer of another process and an image of its memory. */
static int remote_copy_image(ri_window_t *window, const ri_window_part_t *part,
                             int is_put, const ri_typed_t *there, char *image)
{
    ri_segment_t remote[REMOTE_PIECES], local[REMOTE_PIECES];
    size_t count, length, i;
    remote_walk_t walk;
    int error = remote_walk_begin(&walk, there, ri_typed_size(there));

    while ((error == MPI_SUCCESS) &&
           ((count = remote_walk_next(&walk, remote, &length)) > 0)) {
        for (i = 0; i < count; ++i) {
            local[i] = (ri_segment_t){(uintptr_t)image +
                                              (remote[i].address - (uintptr_t)walk.first),
                                      remote[i].length};
        }
        error = ri_remote_error(window->ops->copy(part->reach, is_put, local, count,
                                                  remote, count, length));
    }
    remote_walk_end(&walk);
    return error;
}

int ri_remote_load(ri_window_t *window, const ri_window_part_t *part,
                   const ri_typed_t *there, char *image)
{
    return remote_copy_image(window, part, 0, there, image);
}

int ri_remote_store(ri_window_t *window, const ri_window_part_t *part,
                    const ri_typed_t *there, char *image)
{
    return remote_copy_image(window, part, 1, there, image);
}

/* Copy packed bytes to a buffer of another process whose type has a layout, or from there. */
static int remote_copy_packed(ri_window_t *window, const ri_window_part_t *part,
                              int is_put, const ri_typed_t *there, char *packed,
                              size_t size)
{
    ri_segment_t remote[REMOTE_PIECES], local;
    size_t count, length;
    remote_walk_t walk;
    int error = remote_walk_begin(&walk, there, size);

    while ((error == MPI_SUCCESS) &&
           ((count = remote_walk_next(&walk, remote, &length)) > 0)) {
        local = (ri_segment_t){(uintptr_t)packed, length};
        packed += length;
        error = ri_remote_error(
                window->ops->copy(part->reach, is_put, &local, 1, remote, count, length));
    }
    remote_walk_end(&walk);
    return error;
}

/* A type that the MPI alone understands. What is not put stays as it is. */
static int remote_put_image(ri_window_t *window, const ri_window_part_t *part,
                            const ri_typed_t *from, const ri_typed_t *to)
{
    char *image = malloc(remote_span(to));
    ri_typed_t here;
    int error = MPI_SUCCESS;

    if (image == NULL) {
        return MPI_ERR_NO_MEM;
    }
    here = remote_image(to, image);
    if (ri_typed_size(from) < ri_typed_size(to)) {
        error = ri_remote_load(window, part, to, image);
    }
    error = (error == MPI_SUCCESS) ? ri_move(from, &here) : error;
    error = (error == MPI_SUCCESS) ? ri_remote_store(window, part, to, image) : error;
    free(image);
    return error;
}

static int remote_get_image(ri_window_t *window, const ri_window_part_t *part,
                            const ri_typed_t *from, const ri_typed_t *to)
{
    char *image = malloc(remote_span(from));
    ri_typed_t here;
    int error;

    if (image == NULL) {
        return MPI_ERR_NO_MEM;
    }
    error = ri_remote_load(window, part, from, image);
    if (error == MPI_SUCCESS) {
        here  = remote_image(from, image);
        error = ri_move(&here, to);
    }
    free(image);
    return error;
}

/* Packed bytes to a buffer with a layout, or in one piece. */
static int remote_put_packed(ri_window_t *window, int rank, char *packed, size_t size,
                             const ri_typed_t *to)
{
    const ri_window_part_t *part = &window->parts[rank];
    ri_window_fate_t fate;

    if (!to->type->is_contiguous) {
        return remote_copy_packed(window, part, 1, to, packed, size);
    }
    fate = window->ops->put(part->reach, part->region, (uintptr_t)to->buffer, packed,
                            size);
    if (fate == RI_WINDOW_POSTED) {
        atomic_store_explicit(&window->targets[rank].has_posts, 1, memory_order_relaxed);
    }
    return ri_remote_error(fate);
}

static int remote_get_packed(ri_window_t *window, int rank, const ri_typed_t *from,
                             char *packed, size_t size)
{
    const ri_window_part_t *part = &window->parts[rank];

    if (!from->type->is_contiguous) {
        return remote_copy_packed(window, part, 0, from, packed, size);
    }
    return ri_remote_error(window->ops->get(part->reach, part->region,
                                            (uintptr_t)from->buffer, packed, size));
}

/* @return Whether nothing but the MPI knows where the data of a type is. */
static int remote_is_unknown(const ri_datatype_t *type)
{
    return !type->is_contiguous && (type->layout == NULL);
}

int ri_remote_put(ri_window_t *window, int rank, const ri_typed_t *from,
                  const ri_typed_t *to)
{
    size_t size = ri_typed_size(from);
    char room[REMOTE_STACK];
    char *packed;
    int error;

    if (size > ri_typed_size(to)) {
        return MPI_ERR_TRUNCATE;
    }
    if (size == 0) {
        return MPI_SUCCESS;
    }
    if (ri_unlikely(remote_is_unknown(to->type))) {
        return remote_put_image(window, &window->parts[rank], from, to);
    }
    if (from->type->is_contiguous) {
        return remote_put_packed(window, rank, from->buffer, size, to);
    }
    packed = (size <= sizeof(room)) ? room : malloc(size);
    if (packed == NULL) {
        return MPI_ERR_NO_MEM;
    }
    error = ri_move_pack(from, packed);
    if (error == MPI_SUCCESS) {
        error = remote_put_packed(window, rank, packed, size, to);
    }
    if (packed != room) {
        free(packed);
    }
    return error;
}

/* Packed bytes to the start of a buffer that is no piece, and may be longer. */
static int remote_unpack(const char *packed, size_t size, const ri_typed_t *to)
{
    const ri_datatype_t *bytes = ri_datatype_get(MPI_BYTE);
    ri_typed_t from = {.buffer = (void *)packed, .count = (MPI_Aint)size, .type = bytes};

    return (bytes == NULL) ? MPI_ERR_NO_MEM : ri_move(&from, to);
}

int ri_remote_get(ri_window_t *window, int rank, const ri_typed_t *from,
                  const ri_typed_t *to)
{
    size_t size = ri_typed_size(from);
    char room[REMOTE_STACK];
    char *packed;
    int error;

    if (size > ri_typed_size(to)) {
        return MPI_ERR_TRUNCATE;
    }
    if (size == 0) {
        return MPI_SUCCESS;
    }
    if (ri_unlikely(remote_is_unknown(from->type))) {
        return remote_get_image(window, &window->parts[rank], from, to);
    }
    if (to->type->is_contiguous) {
        return remote_get_packed(window, rank, from, to->buffer, size);
    }
    packed = (size <= sizeof(room)) ? room : malloc(size);
    if (packed == NULL) {
        return MPI_ERR_NO_MEM;
    }
    error = remote_get_packed(window, rank, from, packed, size);
    if (error == MPI_SUCCESS) {
        error = remote_unpack(packed, size, to);
    }
    if (packed != room) {
        free(packed);
    }
    return error;
}

static int remote_settle_one(ri_window_t *window, int rank)
{
    _Atomic(char) *has_posts = &window->targets[rank].has_posts;

    if (!atomic_load_explicit(has_posts, memory_order_relaxed)) {
        return MPI_SUCCESS;
    }
    atomic_store_explicit(has_posts, 0, memory_order_relaxed);
    return ri_remote_error(window->ops->settle(window->parts[rank].reach));
}

int ri_remote_settle_slow(ri_window_t *window, int rank)
{
    int error = MPI_SUCCESS, one;
    int i;

    if (rank >= 0) {
        return remote_settle_one(window, rank);
    }
    for (i = 0; i < window->size; ++i) {
        one   = remote_settle_one(window, i);
        error = (error == MPI_SUCCESS) ? one : error;
    }
    return error;
}
