/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Accumulates on memory that this process has mapped.
 */
#ifndef RI_WIN_ACCUMULATE_LOCAL_H
#define RI_WIN_ACCUMULATE_LOCAL_H

#include "buffer_move.h"
#include "window.h"

/**
 * Combine elements with those of a target.
 *
 * @param part    The memory that the target is in, of which the bytes are locked; NULL: nobody else
 *                uses them.
 * @param from    As many packed bytes as the target has, or NULL for MPI_NO_OP.
 * @param result  NULL, or room for as many, which get the elements of the target as they were.
 *
 * @return An MPI error class.
 */
int ri_accumulate_local(ri_window_t *window, const ri_window_part_t *part,
                        const char *from, char *result, const ri_typed_t *target,
                        MPI_Op op);

/** Put the @a size bytes of @a value in the place of those at @a to if they are those of @a
 * compare. @a result gets them as they were, and may be @a compare. @a part is the part of the
 * window that has them, as for ri_accumulate_local(). */
void ri_accumulate_local_swap(ri_window_t *window, const ri_window_part_t *part,
                              size_t size, const void *value, const void *compare,
                              void *result, void *to);

#endif
