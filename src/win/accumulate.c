/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A stripe is locked for the elements that begin in it, and the next one, too, if the last of them
 * ends there. Locks are always taken in the order of their numbers. A lock says who holds it, and
 * that of a rank that has died is taken over.
 */
#include "accumulate.h"
#include "../ucp/dt/layout_copy.h"
#include "../ucs/log.h"

#include <stdlib.h>
#include <string.h>

/* Pieces of memory that are asked of a layout at once. */
#define ACCUMULATE_SEGMENTS 64

/* Stripes that are locked, as bits. */
typedef uint64_t stripes_t;

_Static_assert(RI_WINDOW_STRIPES == 64, "a bit for each stripe");

/* One lock. A wait for it looks whether its holder lives. */
static void stripe_lock(ri_window_t *window, ri_window_word_t *stripe)
{
    ri_window_wait_t wait = {.window = window};
    uint32_t mine         = (uint32_t)window->rank + 1;
    uint32_t holder       = 0;

    while (!atomic_compare_exchange_weak_explicit(
            &stripe->value, &holder, mine, memory_order_acquire, memory_order_relaxed)) {
        wait.only = (int)holder;
        if ((holder != 0) && (ri_window_wait(&wait) != MPI_SUCCESS) &&
            atomic_compare_exchange_strong_explicit(&stripe->value, &holder, mine,
                                                    memory_order_acquire,
                                                    memory_order_relaxed)) {
            ri_warn("rank %d of a window has died in an accumulate", wait.only - 1);
            return;
        }
        holder = 0;
    }
}

static void stripes_lock(ri_window_t *window, ri_window_control_t *control,
                         stripes_t stripes)
{
    int i;

    while (stripes != 0) {
        i = __builtin_ctzll(stripes);
        stripe_lock(window, &control->stripes[i]);
        stripes &= stripes - 1;
    }
}

static void stripes_unlock(ri_window_control_t *control, stripes_t stripes)
{
    int i;

    while (stripes != 0) {
        i = __builtin_ctzll(stripes);
        atomic_store_explicit(&control->stripes[i].value, 0, memory_order_release);
        stripes &= stripes - 1;
    }
}

static stripes_t stripe_of(size_t offset)
{
    return UINT64_C(1) << ((offset / RI_WINDOW_STRIPE_SIZE) % RI_WINDOW_STRIPES);
}

/* The stripes of all bytes from one offset to another one, which is not behind it. */
static stripes_t stripes_between(size_t first, size_t last)
{
    stripes_t stripes = 0;
    size_t at;

    if (last - first >= RI_WINDOW_STRIPES * RI_WINDOW_STRIPE_SIZE) {
        return ~UINT64_C(0);
    }
    for (at = first; at / RI_WINDOW_STRIPE_SIZE < last / RI_WINDOW_STRIPE_SIZE;
         at += RI_WINDOW_STRIPE_SIZE) {
        stripes |= stripe_of(at);
    }
    return stripes | stripe_of(last);
}

/* Elements one after the other, without gaps, at @a to. @a from and @a result are packed;
 * @a result may be NULL. */
static int accumulate_run(ri_window_t *window, const ri_window_part_t *part,
                          const ri_element_t *element, MPI_Op op, const char *from,
                          char *result, char *to, size_t bytes)
{
    int error = MPI_SUCCESS;
    size_t offset, room, now;
    stripes_t stripes;

    while ((bytes > 0) && (error == MPI_SUCCESS)) {
        offset = (size_t)(to - part->base);
        room   = RI_WINDOW_STRIPE_SIZE - offset % RI_WINDOW_STRIPE_SIZE;
        now = ri_min(bytes, (room + element->size - 1) / element->size * element->size);
        stripes = stripes_between(offset, offset + now - 1);
        stripes_lock(window, part->control, stripes);
        if (result != NULL) {
            memcpy(result, to, now);
            result += now;
        }
        if (op != MPI_NO_OP) {
            error = ri_element_apply(element, op, from, to, now / element->size);
            from += now;
        }
        stripes_unlock(part->control, stripes);
        to += now;
        bytes -= now;
    }
    return error;
}

/* A target whose elements have no gaps within, by its pieces of memory. */
static int accumulate_runs(ri_window_t *window, const ri_window_part_t *part,
                           const char *from, char *result, const ri_typed_t *target,
                           MPI_Op op)
{
    const ri_datatype_t *type = target->type;
    size_t size               = ri_typed_size(target);
    int error                 = MPI_SUCCESS;
    ri_segment_t segments[ACCUMULATE_SEGMENTS];
    size_t at, length, count, i;

    if (type->is_contiguous) {
        return accumulate_run(window, part, &type->basic, op, from, result,
                              target->buffer, size);
    }
    for (at = 0; (at < size) && (error == MPI_SUCCESS); at += length) {
        length = size - at;
        count  = ri_layout_segments(type->layout, target->buffer, (size_t)target->count,
                                    at, &length, segments, ACCUMULATE_SEGMENTS);
        for (i = 0; (i < count) && (error == MPI_SUCCESS); ++i) {
            error = accumulate_run(window, part, &type->basic, op, from, result,
                                   (char *)(uintptr_t)segments[i].address,
                                   segments[i].length);
            from += (op == MPI_NO_OP) ? 0 : segments[i].length;
            result += (result == NULL) ? 0 : segments[i].length;
        }
    }
    return error;
}

/* Any target: its elements are combined in an array of their own. The locks are held. @a from and
 * @a packed are the packed origin, and room for the packed target. */
static int accumulate_array(const char *from, const ri_typed_t *target, MPI_Op op,
                            char *packed)
{
    const ri_datatype_t *basic = ri_datatype_get(target->type->basic.handle);
    MPI_Aint count = (MPI_Aint)(ri_typed_size(target) / target->type->basic.size);
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

static int accumulate_any(ri_window_t *window, const ri_window_part_t *part,
                          const char *from, char *result, const ri_typed_t *target,
                          MPI_Op op)
{
    size_t size  = ri_typed_size(target);
    char *packed = (result != NULL) ? result : malloc(size);
    char *old    = (result != NULL) ? malloc(size) : NULL;
    int error    = MPI_ERR_NO_MEM;
    stripes_t stripes;
    MPI_Aint lo, hi;
    size_t offset;

    if ((packed != NULL) && ((result == NULL) || (old != NULL)) &&
        ri_datatype_bounds(target->type, target->count, &lo, &hi)) {
        offset  = (size_t)((char *)target->buffer - part->base);
        stripes = stripes_between(offset + (size_t)lo, offset + (size_t)hi - 1);
        stripes_lock(window, part->control, stripes);
        error = ri_move_pack(target, packed);
        if ((error == MPI_SUCCESS) && (result != NULL)) {
            memcpy(old, packed, size);
        }
        if ((error == MPI_SUCCESS) && (op == MPI_REPLACE)) {
            error = ri_move_unpack(from, target);
        } else if ((error == MPI_SUCCESS) && (op != MPI_NO_OP)) {
            error = accumulate_array(from, target, op, packed);
        }
        stripes_unlock(part->control, stripes);
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

int ri_accumulate(ri_window_t *window, int rank, const ri_typed_t *origin,
                  const ri_typed_t *result, const ri_typed_t *target, MPI_Op op)
{
    const ri_window_part_t *part = &window->parts[rank];
    const ri_datatype_t *type    = target->type;
    size_t size                  = ri_typed_size(target);
    void *from_copy = NULL, *result_copy = NULL;
    const char *from = NULL;
    char *old        = NULL;
    int error        = MPI_SUCCESS;

    if (size == 0) {
        return MPI_SUCCESS;
    }
    if (type->basic.size == 0) {
        return MPI_ERR_TYPE; /* of several basic types */
    }
    if (op != MPI_NO_OP) {
        if (ri_typed_size(origin) != size) {
            return MPI_ERR_TRUNCATE;
        }
        from = origin->buffer;
        if (!origin->type->is_contiguous) {
            from = from_copy = malloc(size);
            error = (from == NULL) ? MPI_ERR_NO_MEM : ri_move_pack(origin, from_copy);
        }
    }
    if (result != NULL) {
        if (ri_typed_size(result) != size) {
            error = (error == MPI_SUCCESS) ? MPI_ERR_TRUNCATE : error;
        } else if (result->type->is_contiguous) {
            old = result->buffer;
        } else {
            old = result_copy = malloc(size);
            error = ((old == NULL) && (error == MPI_SUCCESS)) ? MPI_ERR_NO_MEM : error;
        }
    }
    if (error == MPI_SUCCESS) {
        if ((type->basic.size == (size_t)type->basic.extent) &&
            (type->is_contiguous || (type->layout != NULL))) {
            error = accumulate_runs(window, part, from, old, target, op);
        } else {
            error = accumulate_any(window, part, from, old, target, op);
        }
    }
    if ((error == MPI_SUCCESS) && (result_copy != NULL)) {
        error = ri_move_unpack(result_copy, result);
    }
    free(from_copy);
    free(result_copy);
    return error;
}

int ri_accumulate_compare_and_swap(ri_window_t *window, int rank,
                                   const ri_element_t *element, const void *value,
                                   const void *compare, void *result, void *to)
{
    const ri_window_part_t *part = &window->parts[rank];
    size_t offset                = (size_t)((char *)to - part->base);
    stripes_t stripes            = stripes_between(offset, offset + element->size - 1);
    int is_equal;

    stripes_lock(window, part->control, stripes);
    /* The result may go to where the expected bytes are */
    is_equal = !memcmp(to, compare, element->size);
    memcpy(result, to, element->size);
    if (is_equal) {
        memcpy(to, value, element->size);
    }
    stripes_unlock(part->control, stripes);
    return MPI_SUCCESS;
}
