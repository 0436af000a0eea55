/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Accumulates on the memory of a rank: each element is changed, and read, as if there were nobody
 * else. An operation is over when its call returns, whoever does it, so that those of one origin
 * are in the order in which the program has called them.
 */
#ifndef RI_WIN_ACCUMULATE_H
#define RI_WIN_ACCUMULATE_H

#include "buffer_move.h"
#include "window.h"

/**
 * Combine elements with those of a target.
 *
 * @param origin  What is combined with the target's; not looked at for MPI_NO_OP.
 * @param result  NULL, or what gets the elements of the target as they were.
 * @param target  The target's elements; the bytes that they lie in are within its part.
 *
 * @return An MPI error class.
 */
int ri_accumulate(ri_window_t *window, int rank, const ri_typed_t *origin,
                  const ri_typed_t *result, const ri_typed_t *target, MPI_Op op);

/** Put @a value in the place of the element at @a to if that has the bytes of @a compare.
 * @a result gets the element as it was. @return An MPI error class. */
int ri_accumulate_compare_and_swap(ri_window_t *window, int rank,
                                   const ri_element_t *element, const void *value,
                                   const void *compare, void *result, void *to);

#endif
