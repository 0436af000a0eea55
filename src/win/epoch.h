/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Synchronisation of a window. An operation on memory that is mapped is over when its call returns.
 * Puts to other memory are settled when an epoch ends, and by flushes.
 *
 * The caller reports an error that a function returns.
 */
#ifndef RI_WIN_EPOCH_H
#define RI_WIN_EPOCH_H

#include "window.h"

/** @return MPI_SUCCESS if an operation may access @a rank in the present epoch, or
 * MPI_ERR_RMA_SYNC. An operation that follows a fence opens the epoch of the fence. */
static inline int ri_epoch_access(ri_window_t *window, int rank)
{
    const ri_window_target_t *target = &window->targets[rank];
    int is_ok;

    switch (atomic_load_explicit(&window->access, memory_order_relaxed)) {
    case RI_WINDOW_LOCK_ALL:
    case RI_WINDOW_FENCE:
        return MPI_SUCCESS;
    case RI_WINDOW_START:
        is_ok = target->is_started;
        break;
    case RI_WINDOW_FENCED:
        ri_window_set_access(window, RI_WINDOW_FENCE);
        return MPI_SUCCESS;
    default:
        is_ok = atomic_load_explicit(&target->lock, memory_order_relaxed) !=
                RI_WINDOW_UNLOCKED;
        break;
    }
    return is_ok ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
}

/** Wait for all ranks of a window: the memory accesses of each before it are done. @return An MPI
 * error class. */
int ri_epoch_barrier(ri_window_t *window);

/** MPI_Win_fence() with the assertions @a mode (MPI_MODE_*). @return An MPI error class. */
int ri_epoch_fence(ri_window_t *window, int mode);

/** Open this process for the ranks of @a group, with the assertions @a mode. @return An MPI error
 * class. */
int ri_epoch_post(ri_window_t *window, MPI_Group group, int mode);

/** Begin to access the ranks of @a group, when each has opened itself, with the assertions @a mode.
 * @return An MPI error
 * class. */
int ri_epoch_start(ri_window_t *window, MPI_Group group, int mode);

/** End what ri_epoch_start() has begun. @return An MPI error class. */
int ri_epoch_complete(ri_window_t *window);

/** End what ri_epoch_post() has begun, when all of its ranks have completed. @return An MPI error
 * class. */
int ri_epoch_wait(ri_window_t *window);

/** End what ri_epoch_post() has begun, if all of its ranks have completed, and do not wait. @a flag
 * is set to whether they have. @return An MPI error class. */
int ri_epoch_test(ri_window_t *window, int *flag);

/** Lock a rank of the window. @a type is MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE, and @a mode has the
 * assertions. @return An MPI
 * error class. */
int ri_epoch_lock(ri_window_t *window, int type, int rank, int mode);

/** Give a rank back that ri_epoch_lock() has locked. @return An MPI error class. */
int ri_epoch_unlock(ri_window_t *window, int rank);

/** Lock all ranks, together with others that do so, with the assertions @a mode. @return An MPI
 * error class. */
int ri_epoch_lock_all(ri_window_t *window, int mode);

/** Give back what ri_epoch_lock_all() has locked. @return An MPI error class. */
int ri_epoch_unlock_all(ri_window_t *window);

/** Flush @a rank; a negative one stands for all ranks. @return An MPI error class: MPI_ERR_RMA_SYNC
 * if the rank is not locked. */
int ri_epoch_flush(ri_window_t *window, int rank);

/** Flush the rank here: all buffers of the program are free again. @return As
 * ri_epoch_flush(). */
int ri_epoch_flush_local(ri_window_t *window, int rank);

/** @return Whether the window may be freed. */
int ri_epoch_is_over(ri_window_t *window);

#endif
