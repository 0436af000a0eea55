/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks of a window come to memory that only its own process has mapped.
 */
#ifndef RI_WIN_MAKE_REMOTE_H
#define RI_WIN_MAKE_REMOTE_H

#include "window.h"

/** @return What libucxri.so can do for such a window, with memory of this rank at @a base; NULL:
 * others cannot reach that. */
const ri_window_ops_t *ri_make_remote_ops(const void *base, MPI_Aint size);

/** Let this rank serve others by @a ops, which the window keeps. The region of its part is 0 then
 * if there is no memory. */
void ri_make_remote_open(ri_window_t *window, const ri_window_ops_t *ops);

/** Connect all ranks of a window on this host with the memory of each other. Collective. The window
 * has all but that and a handle. @return Whether all are connected, the same on all ranks. */
int ri_make_remote(ri_window_t *window, const ri_window_ops_t *ops, MPI_Comm comm,
                   void *base);

/** End what ri_make_remote() and ri_make_net() have made, also if they have failed. Nobody uses the
 * memory of this rank any more when it returns. */
void ri_make_remote_end(ri_window_t *window);

#endif
