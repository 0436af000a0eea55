/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions by which libraries for windows reach memory of other processes
 * (core/types/window_ops.h).
 */
#ifndef RI_WINDOW_MEMORY_H
#define RI_WINDOW_MEMORY_H

#include "../core/types/window_ops.h"

/** @return The table, or NULL for another version than RI_WINDOW_OPS_VERSION. */
const ri_window_ops_t *ri_window_memory(unsigned version);

#endif
