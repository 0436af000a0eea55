/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks of a window on several hosts come to the memory of ranks on other hosts.
 */
#ifndef RI_WIN_MAKE_NET_H
#define RI_WIN_MAKE_NET_H

#include "window.h"

/** @return What libucxri.so can do for such a window; NULL: it is not there, not in use, or windows
 * of several hosts are left to the MPI. */
const ri_window_ops_t *ri_make_net_ops(void);

/** Connect all ranks of a window with those of other hosts. Collective. The window has all but that
 * and a handle. @return Whether all are connected, the same on all ranks. */
int ri_make_net(ri_window_t *window, const ri_window_ops_t *ops, MPI_Comm comm);

#endif
