/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is in one piece is asked for in parts that an entry of the mailbox has room for, and in
 * longer ones by system calls. Pieces go together, many at a time, in both ways. Of elements with
 * gaps the memory is brought here, changed, and brought back, while all of its locks are held.
 */
#include "accumulate_remote.h"
#include "accumulate_local.h"
#include "rank_command.h"
#include "pieces.h"
#include "temporary.h"
#include "remote.h"
#include "stripe.h"
#include "buffer_walk.h"

#include <stdlib.h>
#include <string.h>

/* Flags of an operation, beside RI_WINDOW_OPS_KIND and the code of ri_element_code(): it asks for
 * the elements as they were; or it is to compare and swap one element, without a code. */
#define REMOTE_FETCH RI_PIECES_FETCH
#define REMOTE_SWAP  0x2000u

/* So often a process is asked that refuses. */
#define REMOTE_REFUSALS 8

/* An operation is a system call to read, and one to write. */
#define REMOTE_CALLS 2

/* The bytes of the longest element of a predefined type: two long doubles. */
#define REMOTE_ELEMENT 32

/* Bytes that are combined at once by system calls. */
#define REMOTE_LONG 65536

/* Copy pieces to packed bytes, or back, by a system call. */
static int remote_copy(const ri_window_part_t *part, int is_put,
                       const ri_segment_t *pieces, size_t count, void *packed,
                       size_t bytes)
{
    const ri_segment_t local = {(uintptr_t)packed, bytes};
    int error                = ri_remote_error(
                           part->ops->copy(part->reach, is_put, &local, 1, pieces, count, bytes));
    int here = ri_remote_settle_part(part);

    return (error == MPI_SUCCESS) ? here : error;
}

/* Give locks back. @return @a error, or what has become of what was written under the locks. */
static int remote_unlock(ri_window_t *window, const ri_window_part_t *part,
                         ri_stripes_t stripes, int error)
{
    int unlocked = ri_command_unlock(window, part, stripes);

    return (error == MPI_SUCCESS) ? unlocked : error;
}

/* Combine pieces, with room for them. The locks are held. */
static int remote_combine_in(const ri_window_part_t *part, const ri_element_t *element,
                             MPI_Op op, const char *from, char *result,
                             const ri_segment_t *pieces, size_t count, size_t bytes,
                             void *room)
{
    int error = MPI_SUCCESS;

    if ((result != NULL) || (op != MPI_REPLACE)) {
        error = remote_copy(part, 0, pieces, count, room, bytes);
    }
    if ((error == MPI_SUCCESS) && (result != NULL)) {
        memcpy(result, room, bytes);
    }
    if ((error != MPI_SUCCESS) || (op == MPI_NO_OP)) {
        return error;
    }
    error = ri_element_apply(element, op, from, room, bytes / element->size);
    return (error == MPI_SUCCESS) ? remote_copy(part, 1, pieces, count, room, bytes) :
                                    error;
}

/* Combine pieces by system calls. */
static int remote_combine(ri_window_t *window, const ri_window_part_t *part,
                          const ri_element_t *element, MPI_Op op, const char *from,
                          char *result, const ri_segment_t *pieces, size_t count,
                          size_t bytes)
{
    ri_temporary_t room;
    char *memory         = ri_temporary_get(&room, bytes);
    ri_stripes_t stripes = 0;
    size_t i;
    int error;

    if (memory == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (i = 0; i < count; ++i) {
        stripes |= ri_stripes_of(part, pieces[i].address, pieces[i].length);
    }
    error = ri_command_lock(window, part, stripes);
    if (error == MPI_SUCCESS) {
        error = remote_combine_in(part, element, op, from, result, pieces, count, bytes,
                                  memory);
        error = remote_unlock(window, part, stripes, error);
    }
    ri_temporary_free(&room);
    return error;
}

/* Ask the process for it. @return Whether it is done. */
static int remote_ask(ri_window_t *window, const ri_window_part_t *part, unsigned code,
                      const char *from, char *result, uintptr_t to, size_t bytes)
{
    const ri_mailbox_head_t head = {
            .kind        = (uint16_t)(RI_WINDOW_OPS_KIND | code |
                               ((result != NULL) ? REMOTE_FETCH : 0)),
            .length      = (uint16_t)bytes,
            .data_length = (uint16_t)((from != NULL) ? bytes : 0),
            .region      = part->region,
            .address     = to};
    ri_window_wait_t wait = {.window = window};
    ri_window_fate_t fate;
    unsigned refusals;

    fate = part->ops->ask(part->reach, &head, from, result, REMOTE_CALLS);
    /* Somebody who has a lock gives it back soon, and the process is faster than all who take it */
    for (refusals = 1; (fate == RI_WINDOW_OPS_REFUSED) && (refusals < REMOTE_REFUSALS);
         ++refusals) {
        ri_window_wait(&wait);
        fate = part->ops->ask(part->reach, &head, from, result, REMOTE_CALLS);
    }
    return (fate == RI_WINDOW_OPS_DONE) || (fate == RI_WINDOW_OPS_POSTED);
}

/* @return The bytes of whole elements of @a bytes, but no more than @a most. */
static size_t remote_part(const ri_element_t *element, size_t bytes, size_t most)
{
    return ri_min(bytes, most / element->size * element->size);
}

/* Elements in one piece. */
static int remote_run(ri_window_t *window, const ri_window_part_t *part,
                      const ri_element_t *element, MPI_Op op, const char *from,
                      char *result, uintptr_t to, size_t bytes)
{
    unsigned code = ri_element_code(element, op);
    int is_asked  = (code != 0) &&
                   ((bytes <= RI_MAILBOX_DATA) ||
                    part->ops->pays(part->reach, ri_min(bytes, (size_t)REMOTE_LONG),
                                    REMOTE_CALLS));
    int error = MPI_SUCCESS;
    ri_segment_t piece;
    size_t now;

    from = (op == MPI_NO_OP) ? NULL : from;
    while ((bytes > 0) && (error == MPI_SUCCESS)) {
        now      = remote_part(element, bytes, part->ops->most);
        is_asked = is_asked && remote_ask(window, part, code, from, result, to, now);
        if (!is_asked) {
            now   = remote_part(element, bytes, REMOTE_LONG);
            piece = (ri_segment_t){to, now};
            error = remote_combine(window, part, element, op, from, result, &piece, 1,
                                   now);
        }
        from += (from == NULL) ? 0 : now;
        result += (result == NULL) ? 0 : now;
        to += now;
        bytes -= now;
    }
    return error;
}

/* @return How many pieces are combined at once, the first of which is shorter than REMOTE_LONG
 * bytes. */
static size_t remote_some(const ri_segment_t *pieces, size_t count, size_t *bytes)
{
    size_t i;

    *bytes = pieces[0].length;
    for (i = 1; (i < count) && (*bytes + pieces[i].length <= REMOTE_LONG); ++i) {
        *bytes += pieces[i].length;
    }
    return i;
}

/* Elements without gaps, in pieces that a layout tells. */
static int remote_pieces(ri_window_t *window, const ri_window_part_t *part,
                         const char *from, char *result, const ri_typed_t *target,
                         MPI_Op op)
{
    const ri_element_t *element = &target->type->basic;
    size_t size                 = ri_move_typed_size(target);
    unsigned code               = ri_element_code(element, op);
    int are_short = (code != 0) && (size <= RI_PIECES_SHORT * ri_walk_count(target));
    ri_segment_t pieces[RI_WALK_PIECES];
    size_t count, length, done, at;
    ri_walk_t walk;
    int error = ri_walk_begin(&walk, target, size);

    from = (op == MPI_NO_OP) ? NULL : from;
    if (are_short) {
        walk.at = ri_pieces_ask_runs(window, part, code | RI_PIECES_LOCK, from, result,
                                     target, size);
        from += (from == NULL) ? 0 : walk.at;
        result += (result == NULL) ? 0 : walk.at;
    }
    while ((error == MPI_SUCCESS) &&
           ((count = ri_walk_next(&walk, pieces, &length)) > 0)) {
        for (at = 0; (at < count) && (error == MPI_SUCCESS); at += done) {
            done = are_short ? ri_pieces_ask(window, part, code | RI_PIECES_LOCK, from,
                                             result, pieces + at, count - at) :
                               0;
            if (done > 0) {
                length = ri_walk_bytes(pieces + at, done);
            } else if (pieces[at].length >= REMOTE_LONG) {
                done   = 1;
                length = pieces[at].length;
                error  = remote_run(window, part, element, op, from, result,
                                    pieces[at].address, length);
            } else {
                done  = remote_some(pieces + at, count - at, &length);
                error = remote_combine(window, part, element, op, from, result,
                                       pieces + at, done, length);
            }
            from += (from == NULL) ? 0 : length;
            result += (result == NULL) ? 0 : length;
        }
    }
    ri_walk_end(&walk);
    return error;
}

/* Elements with gaps, or of a type that the MPI alone understands. */
static int remote_image(ri_window_t *window, const ri_window_part_t *part,
                        const char *from, char *result, const ri_typed_t *target,
                        MPI_Op op)
{
    size_t span = ri_walk_span(target);
    char *image = malloc(span);
    ri_stripes_t stripes;
    ri_typed_t here;
    int error;

    if (image == NULL) {
        return MPI_ERR_NO_MEM;
    }
    here    = ri_walk_image(target, image);
    stripes = ri_stripes_of(part, (uintptr_t)ri_walk_first(target), span);
    error   = ri_command_lock(window, part, stripes);
    if (error == MPI_SUCCESS) {
        error = ri_remote_load(part, target, image);
        if (error == MPI_SUCCESS) {
            error = ri_accumulate_local(window, NULL, from, result, &here, op);
        }
        if ((error == MPI_SUCCESS) && (op != MPI_NO_OP)) {
            error = ri_remote_store(part, target, image);
        }
        error = remote_unlock(window, part, stripes, error);
    }
    free(image);
    return error;
}

int ri_accumulate_remote(ri_window_t *window, const ri_window_part_t *part,
                         const char *from, char *result, const ri_typed_t *target,
                         MPI_Op op)
{
    const ri_datatype_t *type = target->type;

    if (type->is_contiguous && (type->basic.size == (size_t)type->basic.extent)) {
        return remote_run(window, part, &type->basic, op, from, result,
                          (uintptr_t)target->buffer, ri_move_typed_size(target));
    }
    if ((type->layout != NULL) && (type->basic.size == (size_t)type->basic.extent)) {
        return remote_pieces(window, part, from, result, target, op);
    }
    return remote_image(window, part, from, result, target, op);
}

/* By system calls. The locks are held. */
static int remote_swap_in(const ri_window_part_t *part, size_t size, const void *value,
                          const void *compare, void *result, uintptr_t to)
{
    const ri_segment_t there = {to, size};
    char old[REMOTE_ELEMENT], new[REMOTE_ELEMENT];
    int error = remote_copy(part, 0, &there, 1, old, size);

    if (error != MPI_SUCCESS) {
        return error;
    }
    if (!memcmp(old, compare, size)) {
        memcpy(new, value, size);
        error = remote_copy(part, 1, &there, 1, new, size);
    }
    memcpy(result, old, size);
    return error;
}

int ri_accumulate_remote_swap(ri_window_t *window, const ri_window_part_t *part,
                              size_t size, const void *value, const void *compare,
                              void *result, uintptr_t to)
{
    char both[2 * REMOTE_ELEMENT];
    ri_mailbox_head_t head = {.kind        = RI_WINDOW_OPS_KIND | REMOTE_SWAP,
                              .length      = (uint16_t)size,
                              .data_length = (uint16_t)(2 * size),
                              .region      = part->region,
                              .address     = to};
    ri_stripes_t stripes;
    int error;

    if (size > REMOTE_ELEMENT) {
        return MPI_ERR_TYPE;
    }
    memcpy(both, value, size);
    memcpy(both + size, compare, size);
    if (part->ops->ask(part->reach, &head, both, result, REMOTE_CALLS) ==
        RI_WINDOW_OPS_DONE) {
        return MPI_SUCCESS;
    }
    stripes = ri_stripes_of(part, to, size);
    error   = ri_command_lock(window, part, stripes);
    if (error == MPI_SUCCESS) {
        error = remote_swap_in(part, size, both, both + size, result, to);
        error = remote_unlock(window, part, stripes, error);
    }
    return error;
}

/* The locks are held. @return As ri_mailbox_func_t. */
static int remote_serve(const ri_mailbox_head_t *head, uint8_t *data, void *memory)
{
    uint8_t old[RI_MAILBOX_DATA];
    unsigned kind = head->kind & ~RI_WINDOW_OPS_KIND;
    size_t size   = head->length;

    if (kind == REMOTE_SWAP) {
        if ((size > REMOTE_ELEMENT) || (head->data_length != 2 * size)) {
            return -1;
        }
        memcpy(old, data, 2 * size);
        ri_accumulate_local_swap(NULL, NULL, size, old, old + size, data, memory);
        return (int)size;
    }
    if ((kind & ~(REMOTE_FETCH | RI_ELEMENT_CODE_MASK)) ||
        !ri_element_code_fits(kind, size) ||
        (head->data_length != (ri_element_code_has_no_data(kind) ? 0 : size))) {
        return -1;
    }
    if (kind & REMOTE_FETCH) {
        memcpy(old, memory, size);
    }
    if (!ri_element_apply_code(kind & ~REMOTE_FETCH, data, memory, size)) {
        return -1;
    }
    if (kind & REMOTE_FETCH) {
        memcpy(data, old, size);
        return (int)size;
    }
    return 0;
}

int ri_accumulate_remote_serve(void *arg, const ri_mailbox_head_t *head, uint8_t *data)
{
    ri_window_t *window          = arg;
    const ri_window_part_t *part = &window->parts[window->rank];
    ri_stripes_t stripes;
    int result;

    if (head->kind & RI_PIECES_KIND) {
        return ri_pieces_serve(window, head, data);
    }
    if ((head->length == 0) || (head->length > RI_MAILBOX_DATA) ||
        !ri_window_has(window, head->address, head->length)) {
        return -1;
    }
    /* Whoever has a lock may wait for this process */
    stripes = ri_stripes_of(part, head->address, head->length);
    if (!ri_stripes_trylock(window->rank, part->control, stripes)) {
        return RI_WINDOW_OPS_BUSY;
    }
    result = remote_serve(head, data, (void *)(uintptr_t)head->address);
    ri_stripes_unlock(part->control, stripes);
    return result;
}
