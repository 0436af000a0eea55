/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Put and get for memory of a rank that only its own process has mapped: what programs have made by
 * themselves, and give to MPI_Win_create() or MPI_Win_attach(). libucxri.so leads to it
 * (core/types/window_ops.h).
 */
#ifndef RI_WIN_REMOTE_H
#define RI_WIN_REMOTE_H

#include "buffer_move.h"
#include "window.h"

/** @return What libucxri.so can do, or NULL: it is not there, not in use, or of another version. */
const ri_window_ops_t *ri_remote_ops(void);

/** @return An MPI error class. */
int ri_remote_error(ri_window_fate_t fate);

/** Copy all of @a from to the start of @a to, which is memory of the rank. It is there after
 * ri_remote_settle(). @return An MPI error class; MPI_ERR_TRUNCATE if @a to is shorter. */
int ri_remote_put(ri_window_t *window, int rank, const ri_typed_t *from,
                  const ri_typed_t *to);

/** Copy all of @a from, which is memory of the rank, to the start of @a to. @return As
 * ri_remote_put(). */
int ri_remote_get(ri_window_t *window, int rank, const ri_typed_t *from,
                  const ri_typed_t *to);

/** Copy the data of a buffer of another process, and no bytes in its gaps, to where it has the same
 * place in @a image, which begins with the first byte that the data lies in. @return An MPI error
 * class. */
int ri_remote_load(const ri_window_part_t *part, const ri_typed_t *there, char *image);

/** Copy it back, in the same way. @return An MPI error class. */
int ri_remote_store(const ri_window_part_t *part, const ri_typed_t *there, char *image);

/** Wait until this process may change the source of its puts to the rank of a part, and the data of
 * its gets from there has come. @return An MPI error class. */
static inline int ri_remote_settle_part(const ri_window_part_t *part)
{
    return (part->net == NULL) ? MPI_SUCCESS :
                                 ri_remote_error(part->net->settle_here(part->reach));
}

/** What ri_remote_settle_here() does if there is such memory. @return As
 * ri_remote_settle_here(). */
int ri_remote_settle_here_slow(ri_window_t *window, int rank);

/** Wait until this process may change the source of its puts to @a rank, and the data of its gets
 * from there has come; a negative rank stands for all. @return An MPI error class. */
static inline int ri_remote_settle_here(ri_window_t *window, int rank)
{
    return (window->ops == NULL) ? MPI_SUCCESS : ri_remote_settle_here_slow(window, rank);
}

/** What ri_remote_settle() does if there is such memory. @return As ri_remote_settle(). */
int ri_remote_settle_slow(ri_window_t *window, int rank);

/** Wait until all puts are at @a rank; a negative one stands for all ranks. @return An MPI error
 * class. */
static inline int ri_remote_settle(ri_window_t *window, int rank)
{
    return (window->ops == NULL) ? MPI_SUCCESS : ri_remote_settle_slow(window, rank);
}

#endif
