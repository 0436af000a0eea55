/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First what is known of the memory at both sides, which all operations ask for, then an operation
 * each. A call to MPI_PROC_NULL does nothing.
 */
#include "op_call.h"
#include "accumulate.h"
#include "epoch.h"
#include "remote.h"

/* Whether @a count elements of a type can lie in memory at all. */
static inline int call_fits(const ri_datatype_t *type, MPI_Aint count)
{
    MPI_Aint product;

    return !__builtin_mul_overflow(count, (MPI_Aint)type->size, &product) &&
           !__builtin_mul_overflow(count, type->extent, &product) &&
           !__builtin_add_overflow(product, type->lo, &product) &&
           !__builtin_add_overflow(product, type->hi, &product);
}

/* Set all that describes a buffer, but its address. @return An MPI error class. */
static inline int call_typed(ri_typed_t *typed, const void *buffer, MPI_Aint count,
                             MPI_Datatype handle)
{
    if (count < 0) {
        return MPI_ERR_COUNT;
    }
    typed->buffer = (void *)buffer;
    typed->count  = count;
    typed->type   = ri_datatype_get(handle);
    if (typed->type == NULL) {
        return MPI_ERR_TYPE;
    }
    return call_fits(typed->type, count) ? MPI_SUCCESS : MPI_ERR_COUNT;
}

/* The memory at a target. @return An MPI error class. */
static inline int call_target(ri_window_t *window, const ri_call_target_t *target,
                              ri_typed_t *typed)
{
    const ri_window_part_t *part = &window->parts[target->rank];
    MPI_Aint offset, lo, hi;
    int error;

    error = ri_epoch_access(window, target->rank);
    if (error == MPI_SUCCESS) {
        error = call_typed(typed, NULL, target->count, target->type);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (target->disp < 0) {
        return MPI_ERR_DISP;
    }
    if (__builtin_mul_overflow(target->disp, part->disp_unit, &offset)) {
        return MPI_ERR_RMA_RANGE;
    }
    if (ri_datatype_bounds(typed->type, typed->count, &lo, &hi) &&
        ((offset > part->size) || (lo < -offset) || (hi > part->size - offset))) {
        return MPI_ERR_RMA_RANGE;
    }
    typed->buffer = (void *)((uintptr_t)part->base + (uintptr_t)offset);
    return MPI_SUCCESS;
}

/* Whether there is a target. @a error_p is set if there is none because of an error. */
static inline int call_has_target(const ri_window_t *window, int rank, int *error_p)
{
    if (ri_likely((unsigned)rank < (unsigned)window->size)) {
        return 1;
    }
    *error_p = (rank == MPI_PROC_NULL) ? MPI_SUCCESS : MPI_ERR_RANK;
    return 0;
}

/* The memory at both sides of a put or get. @return An MPI error class. */
static inline int call_both(ri_window_t *window, const ri_call_buffer_t *origin,
                            const ri_call_target_t *target, ri_typed_t *here,
                            ri_typed_t *there)
{
    int error = call_target(window, target, there);

    return (error == MPI_SUCCESS) ?
                   call_typed(here, origin->buffer, origin->count, origin->type) :
                   error;
}

static inline int call_put(ri_window_t *window, int rank, const ri_typed_t *here,
                           const ri_typed_t *there)
{
    return ri_likely(window->parts[rank].reach == NULL) ?
                   ri_move(here, there) :
                   ri_remote_put(window, rank, here, there);
}

static inline int call_get(ri_window_t *window, int rank, const ri_typed_t *there,
                           const ri_typed_t *here)
{
    return ri_likely(window->parts[rank].reach == NULL) ?
                   ri_move(there, here) :
                   ri_remote_get(window, rank, there, here);
}

int ri_call_put(ri_window_t *window, ri_call_buffer_t origin, ri_call_target_t to)
{
    ri_typed_t here, there;
    int error;

    if (call_has_target(window, to.rank, &error)) {
        error = call_both(window, &origin, &to, &here, &there);
        error = (error == MPI_SUCCESS) ? call_put(window, to.rank, &here, &there) : error;
    }
    return ri_window_end(window, error);
}

int ri_call_get(ri_window_t *window, ri_call_buffer_t origin, ri_call_target_t from)
{
    ri_typed_t here, there;
    int error;

    if (call_has_target(window, from.rank, &error)) {
        error = call_both(window, &origin, &from, &here, &there);
        error = (error == MPI_SUCCESS) ? call_get(window, from.rank, &there, &here) :
                                         error;
    }
    return ri_window_end(window, error);
}

static int call_accumulate(ri_window_t *window, const ri_call_buffer_t *origin,
                           const ri_call_buffer_t *result, const ri_call_target_t *to,
                           MPI_Op op)
{
    ri_typed_t here = {0}, old = {0}, there;
    int error;

    error = call_target(window, to, &there);
    if (error == MPI_SUCCESS) {
        error = ri_element_check(&there.type->basic, op);
    }
    if ((error == MPI_SUCCESS) && (op != MPI_NO_OP)) {
        error = call_typed(&here, origin->buffer, origin->count, origin->type);
    }
    if ((error == MPI_SUCCESS) && (result != NULL)) {
        error = call_typed(&old, result->buffer, result->count, result->type);
    }
    if (error == MPI_SUCCESS) {
        error = ri_accumulate(window, to->rank, &here, (result != NULL) ? &old : NULL,
                              &there, op);
    }
    return error;
}

int ri_call_accumulate(ri_window_t *window, ri_call_buffer_t origin,
                       const ri_call_buffer_t *result, ri_call_target_t to, MPI_Op op)
{
    int error;

    if (call_has_target(window, to.rank, &error)) {
        error = call_accumulate(window, &origin, result, &to, op);
    }
    return ri_window_end(window, error);
}

/* Whether compare and swap is for such a type: one element, and no number with a fraction. */
static int call_may_compare(const ri_datatype_t *type)
{
    const ri_element_t *element = &type->basic;

    return type->is_contiguous && (type->size == element->size) &&
           (element->kind != RI_ELEMENT_F32) && (element->kind != RI_ELEMENT_F64) &&
           (element->kind != RI_ELEMENT_COMPLEX) && (element->kind != RI_ELEMENT_PAIR) &&
           (element->handle != MPI_LONG_DOUBLE);
}

int ri_call_compare_and_swap(ri_window_t *window, const void *value, const void *compare,
                             void *result, ri_call_target_t to)
{
    ri_typed_t there;
    int error;

    if (call_has_target(window, to.rank, &error)) {
        error = call_target(window, &to, &there);
        if ((error == MPI_SUCCESS) && !call_may_compare(there.type)) {
            error = MPI_ERR_TYPE;
        }
        if (error == MPI_SUCCESS) {
            error = ri_accumulate_compare_and_swap(window, to.rank, &there.type->basic,
                                                   value, compare, result, there.buffer);
        }
    }
    return ri_window_end(window, error);
}

int ri_call_request(ri_window_t *window, int rank, int error, MPI_Request *request)
{
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (rank != MPI_PROC_NULL) {
        error = ri_remote_settle_here(window, rank);
        if (error != MPI_SUCCESS) {
            return ri_window_error(window, error);
        }
    }
    error = PMPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
    return ri_window_end(window, error);
}
