/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Data in one piece is put and got as it is. Of other data the pieces are found first: by the
 * layout of its type; or, if that is not understood, by having the MPI unpack ones to where there
 * were zeros.
 */
#include "remote.h"
#include "element.h"
#include "pieces.h"
#include "temporary.h"
#include "buffer_walk.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Gaps are got as well if there are no more bytes to a piece than a system call copies in the time
 * that it takes for one; and no more in all than are worth the memory. */
#define REMOTE_GAP      1024
/* Through a network all bytes together are at most those of the data, times this. */
#define REMOTE_NET_GAPS 2
#define REMOTE_SPAN     ((size_t)1 << 22)

const ri_window_ops_t *ri_remote_ops(void)
{
    const ri_window_ops_t *(*look)(unsigned version) = dlsym(RTLD_DEFAULT,
                                                             RI_WINDOW_OPS_SYMBOL);

    return (look != NULL) ? look(RI_WINDOW_OPS_VERSION) : NULL;
}

int ri_remote_error(ri_window_fate_t fate)
{
    switch (fate) {
    case RI_WINDOW_OPS_DONE:
    case RI_WINDOW_OPS_POSTED:
        return MPI_SUCCESS;
    case RI_WINDOW_OPS_BAD:
        return MPI_ERR_RMA_RANGE;
    default:
        return MPI_ERR_OTHER;
    }
}

/* Wait until memory of the library is not used any more. @return @a error, or what has become of
 * what used it. */
static int remote_here(const ri_window_part_t *part, int error)
{
    int here = ri_remote_settle_part(part);

    return (error == MPI_SUCCESS) ? here : error;
}

/* Copy data between a buffer of another process and an image of its memory. */
static int remote_copy_image(const ri_window_part_t *part, int is_put,
                             const ri_typed_t *there, char *image)
{
    ri_segment_t remote[RI_WALK_PIECES], local[RI_WALK_PIECES];
    size_t count, length, i;
    ri_walk_t walk;
    int error = ri_walk_begin(&walk, there, ri_move_typed_size(there));

    while ((error == MPI_SUCCESS) &&
           ((count = ri_walk_next(&walk, remote, &length)) > 0)) {
        for (i = 0; i < count; ++i) {
            local[i] = (ri_segment_t){(uintptr_t)image +
                                              (remote[i].address - (uintptr_t)walk.first),
                                      remote[i].length};
        }
        error = ri_remote_error(part->ops->copy(part->reach, is_put, local, count, remote,
                                                count, length));
    }
    ri_walk_end(&walk);
    return remote_here(part, error);
}

int ri_remote_load(const ri_window_part_t *part, const ri_typed_t *there, char *image)
{
    return remote_copy_image(part, 0, there, image);
}

int ri_remote_store(const ri_window_part_t *part, const ri_typed_t *there, char *image)
{
    return remote_copy_image(part, 1, there, image);
}

/* Copy packed bytes to a buffer of another process whose type has a layout, or from there. */
static int remote_copy_packed(ri_window_t *window, const ri_window_part_t *part,
                              int is_put, const ri_typed_t *there, char *packed,
                              size_t size)
{
    const ri_element_t byte = {.kind = RI_ELEMENT_BYTE, .size = 1, .extent = 1};
    unsigned code           = ri_element_code(&byte, is_put ? MPI_REPLACE : MPI_NO_OP);
    int are_short           = (size <= RI_PIECES_SHORT * ri_walk_count(there));
    ri_segment_t pieces[RI_WALK_PIECES], local;
    size_t count, length, done, at;
    ri_walk_t walk;
    int error = ri_walk_begin(&walk, there, size);

    walk.at = ri_pieces_ask_runs(window, part, code, is_put ? packed : NULL,
                                 is_put ? NULL : packed, there, size);
    packed += walk.at;
    while ((error == MPI_SUCCESS) &&
           ((count = ri_walk_next(&walk, pieces, &length)) > 0)) {
        done = (size_t)are_short;
        for (at = 0; (done > 0) && (at < count); at += done) {
            done = ri_pieces_ask(window, part, code, is_put ? packed : NULL,
                                 is_put ? NULL : packed, pieces + at, count - at);
            packed += ri_walk_bytes(pieces + at, done);
            length -= ri_walk_bytes(pieces + at, done);
        }
        if (at < count) {
            local = (ri_segment_t){(uintptr_t)packed, length};
            error = ri_remote_error(part->ops->copy(part->reach, is_put, &local, 1,
                                                    pieces + at, count - at, length));
            packed += length;
        }
    }
    ri_walk_end(&walk);
    return error;
}

/* @return Whether to get the gaps, too, takes less time than to leave them out. */
static int remote_gets_gaps(const ri_window_t *window, int rank, const ri_typed_t *typed)
{
    size_t span = ri_walk_span(typed);

    /* Gaps of a dynamic window may be no memory, and another call may be told of that */
    if ((window->parts[rank].net != NULL) &&
        ((window->flavor == MPI_WIN_FLAVOR_DYNAMIC) ||
         (span > REMOTE_NET_GAPS * ri_move_typed_size(typed)))) {
        return 0;
    }
    return !typed->type->is_contiguous && (span <= REMOTE_SPAN) &&
           (span <= REMOTE_GAP * ri_walk_count(typed));
}

/* A type that the MPI alone understands. What is not put stays as it is. */
static int remote_put_image(const ri_window_part_t *part, const ri_typed_t *from,
                            const ri_typed_t *to)
{
    char *image = malloc(ri_walk_span(to));
    ri_typed_t here;
    int error = MPI_SUCCESS;

    if (image == NULL) {
        return MPI_ERR_NO_MEM;
    }
    here = ri_walk_image(to, image);
    if (ri_move_typed_size(from) < ri_move_typed_size(to)) {
        error = ri_remote_load(part, to, image);
    }
    error = (error == MPI_SUCCESS) ? ri_move(from, &here) : error;
    error = (error == MPI_SUCCESS) ? ri_remote_store(part, to, image) : error;
    free(image);
    return error;
}

/* Copy all of the memory that data of another process lies in, with its gaps. */
static int remote_load_span(const ri_window_part_t *part, const ri_typed_t *there,
                            char *image)
{
    size_t span               = ri_walk_span(there);
    const ri_segment_t local  = {(uintptr_t)image, span};
    const ri_segment_t remote = {(uintptr_t)ri_walk_first(there), span};

    return remote_here(part, ri_remote_error(part->ops->copy(part->reach, 0, &local, 1,
                                                             &remote, 1, span)));
}

/* Get data by way of an image of its memory, with its gaps or without. */
static int remote_get_image(const ri_window_part_t *part, const ri_typed_t *from,
                            const ri_typed_t *to, int with_gaps)
{
    char *image = malloc(ri_walk_span(from));
    ri_typed_t here;
    int error;

    if (image == NULL) {
        return MPI_ERR_NO_MEM;
    }
    error = (with_gaps ? remote_load_span : ri_remote_load)(part, from, image);
    if (error == MPI_SUCCESS) {
        here  = ri_walk_image(from, image);
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
    fate = part->ops->put(part->reach, part->region, (uintptr_t)to->buffer, packed, size);
    if ((fate == RI_WINDOW_OPS_POSTED) && (part->net == NULL)) {
        atomic_fetch_add_explicit(&window->targets[rank].num_posted, 1,
                                  memory_order_relaxed);
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
    return ri_remote_error(part->ops->get(part->reach, part->region,
                                          (uintptr_t)from->buffer, packed, size));
}

int ri_remote_put(ri_window_t *window, int rank, const ri_typed_t *from,
                  const ri_typed_t *to)
{
    size_t size = ri_move_typed_size(from);
    ri_temporary_t room;
    char *packed;
    int error;

    if (size > ri_move_typed_size(to)) {
        return MPI_ERR_TRUNCATE;
    }
    if (size == 0) {
        return MPI_SUCCESS;
    }
    if (ri_unlikely(ri_walk_is_blind(to->type))) {
        return remote_put_image(&window->parts[rank], from, to);
    }
    if (from->type->is_contiguous) {
        return remote_put_packed(window, rank, from->buffer, size, to);
    }
    packed = ri_temporary_get(&room, size);
    if (packed == NULL) {
        return MPI_ERR_NO_MEM;
    }
    error = ri_move_pack(from, packed);
    if (error == MPI_SUCCESS) {
        error = remote_put_packed(window, rank, packed, size, to);
        error = remote_here(&window->parts[rank], error);
    }
    ri_temporary_free(&room);
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
    size_t size = ri_move_typed_size(from);
    ri_temporary_t room;
    char *packed;
    int error;

    if (size > ri_move_typed_size(to)) {
        return MPI_ERR_TRUNCATE;
    }
    if (size == 0) {
        return MPI_SUCCESS;
    }
    if (remote_gets_gaps(window, rank, from) &&
        (remote_get_image(&window->parts[rank], from, to, 1) == MPI_SUCCESS)) {
        return MPI_SUCCESS;
    }
    if (ri_unlikely(ri_walk_is_blind(from->type))) {
        return remote_get_image(&window->parts[rank], from, to, 0);
    }
    if (to->type->is_contiguous) {
        return remote_get_packed(window, rank, from, to->buffer, size);
    }
    packed = ri_temporary_get(&room, size);
    if (packed == NULL) {
        return MPI_ERR_NO_MEM;
    }
    error = remote_get_packed(window, rank, from, packed, size);
    error = remote_here(&window->parts[rank], error);
    if (error == MPI_SUCCESS) {
        error = remote_unpack(packed, size, to);
    }
    ri_temporary_free(&room);
    return error;
}

/* Settle what is posted to a rank. It counts as settled when this is done: other threads do not
 * rely on it before, and what they post meanwhile stays to be settled. */
static int remote_settle_one(ri_window_t *window, int rank)
{
    ri_window_target_t *target = &window->targets[rank];
    uint32_t posted            = atomic_load(&target->num_posted);
    uint32_t settled           = atomic_load(&target->num_settled);
    int error;

    if (window->parts[rank].net != NULL) {
        return ri_remote_error(
                window->parts[rank].ops->settle(window->parts[rank].reach));
    }
    if ((int32_t)(posted - settled) <= 0) {
        return MPI_SUCCESS;
    }
    error = ri_remote_error(window->parts[rank].ops->settle(window->parts[rank].reach));
    while (((int32_t)(posted - settled) > 0) &&
           !atomic_compare_exchange_weak(&target->num_settled, &settled, posted)) {}
    return error;
}

int ri_remote_settle_slow(ri_window_t *window, int rank)
{
    int error, one, i;

    if (rank >= 0) {
        return remote_settle_one(window, rank);
    }
    /* Of all targets together: what is put, and then the flushes of it */
    error = ri_remote_settle_here_slow(window, -1);
    for (i = 0; i < window->size; ++i) {
        if (window->parts[i].net != NULL) {
            window->parts[i].net->settle_begin(window->parts[i].reach);
        }
    }
    for (i = 0; i < window->size; ++i) {
        one   = remote_settle_one(window, i);
        error = (error == MPI_SUCCESS) ? one : error;
    }
    return error;
}

int ri_remote_settle_here_slow(ri_window_t *window, int rank)
{
    int error = MPI_SUCCESS, one;
    int i;

    if (rank >= 0) {
        return ri_remote_settle_part(&window->parts[rank]);
    }
    for (i = 0; i < window->size; ++i) {
        one   = ri_remote_settle_part(&window->parts[i]);
        error = (error == MPI_SUCCESS) ? one : error;
    }
    return error;
}
