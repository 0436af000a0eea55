/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A stripe is locked for the elements that begin in it, and the next one, too, if the last of them
 * ends there.
 */
#include "accumulate_local.h"
#include "stripe.h"
#include "../ucp/dt/layout_copy.h"

#include <stdlib.h>
#include <string.h>

/* Pieces of memory that are asked of a layout at once. */
#define LOCAL_SEGMENTS 64

/* Lock bytes. @return What is locked: nothing if there is no part. */
static ri_stripes_t local_lock(ri_window_t *window, const ri_window_part_t *part,
                               const char *at, size_t bytes)
{
    ri_stripes_t stripes = 0;

    if (part != NULL) {
        stripes = ri_stripes_of(part, (uintptr_t)at, bytes);
        ri_stripes_lock(window, part->control, stripes);
    }
    return stripes;
}

static void local_unlock(const ri_window_part_t *part, ri_stripes_t stripes)
{
    if (part != NULL) {
        ri_stripes_unlock(part->control, stripes);
    }
}

/* As many bytes as are combined at once: whole elements, up to the end of a stripe. */
static size_t local_piece(const ri_window_part_t *part, const ri_element_t *element,
                          const char *at, size_t bytes)
{
    size_t room;

    if (part == NULL) {
        return bytes;
    }
    room = RI_WINDOW_STRIPE_SIZE - (size_t)(at - part->base) % RI_WINDOW_STRIPE_SIZE;
    return ri_min(bytes, (room + element->size - 1) / element->size * element->size);
}

/* Elements one after the other, without gaps, at @a to. @a from and @a result are packed;
 * @a result may be NULL. */
static int local_run(ri_window_t *window, const ri_window_part_t *part,
                     const ri_element_t *element, MPI_Op op, const char *from,
                     char *result, char *to, size_t bytes)
{
    int error = MPI_SUCCESS;
    ri_stripes_t stripes;
    size_t now;

    while ((bytes > 0) && (error == MPI_SUCCESS)) {
        now     = local_piece(part, element, to, bytes);
        stripes = local_lock(window, part, to, now);
        if (result != NULL) {
            memcpy(result, to, now);
            result += now;
        }
        if (op != MPI_NO_OP) {
            error = ri_element_apply(element, op, from, to, now / element->size);
            from += now;
        }
        local_unlock(part, stripes);
        to += now;
        bytes -= now;
    }
    return error;
}

/* A target whose elements have no gaps within, by its pieces of memory. */
static int local_runs(ri_window_t *window, const ri_window_part_t *part, const char *from,
                      char *result, const ri_typed_t *target, MPI_Op op)
{
    const ri_datatype_t *type = target->type;
    size_t size               = ri_move_typed_size(target);
    int error                 = MPI_SUCCESS;
    ri_segment_t segments[LOCAL_SEGMENTS];
    size_t at, length, count, i;

    if (type->is_contiguous) {
        return local_run(window, part, &type->basic, op, from, result, target->buffer,
                         size);
    }
    for (at = 0; (at < size) && (error == MPI_SUCCESS); at += length) {
        length = size - at;
        count  = ri_layout_copy_segments(type->layout, target->buffer,
                                         (size_t)target->count, at, &length, segments,
                                         LOCAL_SEGMENTS);
        for (i = 0; (i < count) && (error == MPI_SUCCESS); ++i) {
            error = local_run(window, part, &type->basic, op, from, result,
                              (char *)(uintptr_t)segments[i].address, segments[i].length);
            from += (op == MPI_NO_OP) ? 0 : segments[i].length;
            result += (result == NULL) ? 0 : segments[i].length;
        }
    }
    return error;
}

/* Any target: its elements are combined in an array of their own. The locks are held. @a from and
 * @a packed are the packed origin, and room for the packed target. */
static int local_array(const char *from, const ri_typed_t *target, MPI_Op op,
                       char *packed)
{
    const ri_datatype_t *basic = ri_datatype_get(target->type->basic.handle);
    MPI_Aint count = (MPI_Aint)(ri_move_typed_size(target) / target->type->basic.size);
    ri_typed_t in  = {.count = count, .type = basic};
    ri_typed_t out = in;
    int error      = MPI_ERR_NO_MEM;

    in.buffer  = malloc((size_t)count * (size_t)basic->extent);
    out.buffer = malloc((size_t)count * (size_t)basic->extent);
    if ((in.buffer != NULL) && (out.buffer != NULL)) {
        error = ri_move_unpack(from, &in);
        if (error == MPI_SUCCESS) {
            error = ri_move_unpack(packed, &out);
        }
        if (error == MPI_SUCCESS) {
            error = ri_element_apply(&target->type->basic, op, in.buffer, out.buffer,
                                     (size_t)count);
        }
        if (error == MPI_SUCCESS) {
            error = ri_move_pack(&out, packed);
        }
        if (error == MPI_SUCCESS) {
            error = ri_move_unpack(packed, target);
        }
    }
    free(in.buffer);
    free(out.buffer);
    return error;
}

static int local_any(ri_window_t *window, const ri_window_part_t *part, const char *from,
                     char *result, const ri_typed_t *target, MPI_Op op)
{
    size_t size  = ri_move_typed_size(target);
    char *packed = (result != NULL) ? result : malloc(size);
    char *old    = (result != NULL) ? malloc(size) : NULL;
    int error    = MPI_ERR_NO_MEM;
    ri_stripes_t stripes;
    MPI_Aint lo, hi;

    if ((packed != NULL) && ((result == NULL) || (old != NULL)) &&
        ri_datatype_bounds(target->type, target->count, &lo, &hi)) {
        stripes = local_lock(window, part, (char *)target->buffer + lo,
                             (size_t)(hi - lo));
        error   = ri_move_pack(target, packed);
        if ((error == MPI_SUCCESS) && (result != NULL)) {
            memcpy(old, packed, size);
        }
        if ((error == MPI_SUCCESS) && (op == MPI_REPLACE)) {
            error = ri_move_unpack(from, target);
        } else if ((error == MPI_SUCCESS) && (op != MPI_NO_OP)) {
            error = local_array(from, target, op, packed);
        }
        local_unlock(part, stripes);
        if ((error == MPI_SUCCESS) && (result != NULL)) {
            memcpy(result, old, size);
        }
    }
    if (result == NULL) {
        free(packed);
    }
    free(old);
    return error;
}

int ri_accumulate_local(ri_window_t *window, const ri_window_part_t *part,
                        const char *from, char *result, const ri_typed_t *target,
                        MPI_Op op)
{
    const ri_datatype_t *type = target->type;

    if ((type->basic.size == (size_t)type->basic.extent) &&
        (type->is_contiguous || (type->layout != NULL))) {
        return local_runs(window, part, from, result, target, op);
    }
    return local_any(window, part, from, result, target, op);
}

void ri_accumulate_local_swap(ri_window_t *window, const ri_window_part_t *part,
                              size_t size, const void *value, const void *compare,
                              void *result, void *to)
{
    ri_stripes_t stripes = local_lock(window, part, to, size);
    int is_equal         = !memcmp(to, compare, size);

    /* The result may go to where the expected bytes are */
    memcpy(result, to, size);
    if (is_equal) {
        memcpy(to, value, size);
    }
    local_unlock(part, stripes);
}
