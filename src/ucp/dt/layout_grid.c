/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops of a layout come from the outermost one inwards. The grid is made from its run
 * outwards, as turns that adjoin make a longer run, and loops at one stride make one loop.
 */
#include "layout_grid.h"

/* The elements are one more. */
#define GRID_DEPTH_MAX (RI_LAYOUT_DEPTH_MAX + 1)

typedef struct grid_loop {
    uint64_t count;
    int64_t stride;
} grid_loop_t;

/* Put a loop around a grid of @a depth loops. @return How many it has then; more than it can have:
 * it has no room for this one. */
static unsigned grid_add(ri_wire_grid_t *grid, unsigned depth, const grid_loop_t *loop)
{
    int64_t next;

    if (loop->count == 1) {
        return depth;
    }
    if ((depth == 0) && (loop->stride >= 0) && ((uint64_t)loop->stride == grid->run) &&
        (loop->count <= RI_WIRE_LENGTH_MAX / grid->run)) {
        grid->run *= loop->count;
        return 0;
    }
    if (loop->count > RI_GRID_RUNS_MAX) {
        return RI_WIRE_GRID_LOOPS + 1;
    }
    if ((depth > 0) &&
        !__builtin_mul_overflow(grid->loop[depth - 1].stride,
                                (int64_t)grid->loop[depth - 1].count, &next) &&
        (next == loop->stride)) {
        grid->loop[depth - 1].count = ri_min(grid->loop[depth - 1].count * loop->count,
                                             RI_GRID_RUNS_MAX + 1ul);
        return depth;
    }
    if (depth < RI_WIRE_GRID_LOOPS) {
        grid->loop[depth].count  = loop->count;
        grid->loop[depth].stride = loop->stride;
    }
    return depth + 1;
}

int ri_layout_grid(const ri_layout_t *layout, uint64_t count, int64_t *disp,
                   ri_wire_grid_t *grid)
{
    const ri_layout_node_t *node = layout->root.node;
    uint64_t run                 = layout->root.size;
    unsigned num                 = 0;
    unsigned depth               = 0;
    grid_loop_t loops[GRID_DEPTH_MAX];

    loops[num++] = (grid_loop_t){count, layout->extent};
    for (; node != NULL; node = node->child) {
        if ((node->kind != RI_LAYOUT_LOOP) || (num == GRID_DEPTH_MAX)) {
            return 0;
        }
        loops[num++] = (grid_loop_t){node->count, node->stride};
        run          = node->unit;
    }
    if (run == 0) {
        return 0;
    }
    *disp = layout->root.disp;
    *grid = ri_grid_run(run);
    while ((num > 0) && (depth <= RI_WIRE_GRID_LOOPS)) {
        depth = grid_add(grid, depth, &loops[--num]);
    }
    return depth <= RI_WIRE_GRID_LOOPS;
}
