/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations of a process on memory of a window that a process of another host has.
 */
#ifndef RI_WINDOW_NET_REACH_H
#define RI_WINDOW_NET_REACH_H

#include "../core/types/window_ops.h"

extern const ri_window_net_ops_t ri_window_net_ops;

#endif
