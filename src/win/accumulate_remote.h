/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Accumulates on memory that only its own process has mapped (remote.h). The process does those on
 * numbers of C when it is in the library. If it is not, or does not want to, the origin does them,
 * by system calls, with the same locks.
 */
#ifndef RI_WIN_ACCUMULATE_REMOTE_H
#define RI_WIN_ACCUMULATE_REMOTE_H

#include "buffer_move.h"
#include "window.h"

/** Combine elements with those of a target, whose memory is in the process of @a part. The other
 * parameters are those of ri_accumulate_local(). @return An MPI error class. */
int ri_accumulate_remote(ri_window_t *window, const ri_window_part_t *part,
                         const char *from, char *result, const ri_typed_t *target,
                         MPI_Op op);

/** As ri_accumulate_local_swap(). @return An MPI error class. */
int ri_accumulate_remote_swap(ri_window_t *window, const ri_window_part_t *part,
                              size_t size, const void *value, const void *compare,
                              void *result, uintptr_t to);

/** ri_window_server_t.apply(): an operation of another process on memory of this one. @a arg is the
 * window. @return As ri_mailbox_func_t. */
int ri_accumulate_remote_serve(void *arg, const ri_mailbox_head_t *head, uint8_t *data);

#endif
