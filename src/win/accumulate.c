/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes from the origin and goes there is packed first, if it is not one piece.
 */
#include "accumulate.h"
#include "accumulate_local.h"
#include "accumulate_remote.h"

#include <stdlib.h>

int ri_accumulate(ri_window_t *window, int rank, const ri_typed_t *origin,
                  const ri_typed_t *result, const ri_typed_t *target, MPI_Op op)
{
    const ri_window_part_t *part = &window->parts[rank];
    const ri_datatype_t *type    = target->type;
    size_t size                  = ri_move_typed_size(target);
    void *from_copy = NULL, *result_copy = NULL;
    const char *from = NULL;
    char *old        = NULL;
    int error        = MPI_SUCCESS;

    if (size == 0) {
        return MPI_SUCCESS;
    }
    ri_window_serve(window);
    if (type->basic.size == 0) {
        return MPI_ERR_TYPE; /* of several basic types */
    }
    if (op != MPI_NO_OP) {
        if (ri_move_typed_size(origin) != size) {
            return MPI_ERR_TRUNCATE;
        }
        from = origin->buffer;
        if (!origin->type->is_contiguous) {
            from = from_copy = malloc(size);
            error = (from == NULL) ? MPI_ERR_NO_MEM : ri_move_pack(origin, from_copy);
        }
    }
    if (result != NULL) {
        if (ri_move_typed_size(result) != size) {
            error = (error == MPI_SUCCESS) ? MPI_ERR_TRUNCATE : error;
        } else if (result->type->is_contiguous) {
            old = result->buffer;
        } else {
            old = result_copy = malloc(size);
            error = ((old == NULL) && (error == MPI_SUCCESS)) ? MPI_ERR_NO_MEM : error;
        }
    }
    if (error == MPI_SUCCESS) {
        error = (part->reach == NULL) ?
                        ri_accumulate_local(window, part, from, old, target, op) :
                        ri_accumulate_remote(window, part, from, old, target, op);
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

    if (part->reach != NULL) {
        return ri_accumulate_remote_swap(window, part, element->size, value, compare,
                                         result, (uintptr_t)to);
    }
    ri_window_serve(window);
    ri_accumulate_local_swap(window, part, element->size, value, compare, result, to);
    return MPI_SUCCESS;
}
