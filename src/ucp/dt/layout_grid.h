/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a layout is a grid, which fits a message (wire/grid.h).
 */
#ifndef RI_LAYOUT_GRID_H
#define RI_LAYOUT_GRID_H

#include "layout.h"
#include "../wire/grid.h"

/**
 * Describe @a count elements of a layout, which is not 0, by a grid.
 *
 * @param disp  Set to where the first run is, from the address of the buffer.
 *
 * @return Whether they are one; if not, @a grid has no meaning.
 */
int ri_layout_grid(const ri_layout_t *layout, uint64_t count, int64_t *disp,
                   ri_wire_grid_t *grid);

#endif
