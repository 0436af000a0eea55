/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory in runs of one length at regular places, as a message tells of it: a run, repeated by up
 * to three loops, each inside the next one. Columns of a matrix are one loop, a block of an array
 * of three dimensions is two.
 *
 * What comes from a peer is wire input: only a grid that ri_grid_is_valid() has passed may be given
 * to the other functions.
 */
#ifndef RI_GRID_H
#define RI_GRID_H

#include "forms.h"

/* A grid has no more runs. */
#define RI_GRID_RUNS_MAX 65536u

/* A sender need not write runs that are shorter: each run is a write of its own. */
#define RI_GRID_RUN_MIN 1024u

/** @return A grid of one run of @a length bytes. */
static inline ri_wire_grid_t ri_grid_run(uint64_t length)
{
    ri_wire_grid_t grid = {.run = length};
    unsigned i;

    for (i = 0; i < RI_WIRE_GRID_LOOPS; ++i) {
        grid.loop[i].count = 1;
    }
    return grid;
}

/** @return The number of runs of a grid. */
static inline uint32_t ri_grid_runs(const ri_wire_grid_t *grid)
{
    uint32_t runs = 1;
    unsigned i;

    for (i = 0; i < RI_WIRE_GRID_LOOPS; ++i) {
        runs *= grid->loop[i].count;
    }
    return runs;
}

/** @return Whether a grid, which is wire input, may be used: its runs are @a length bytes in all,
 * which is not 0, and with the first run at @a address all of them are at addresses that there can
 * be. */
int ri_grid_is_valid(const ri_wire_grid_t *grid, uint64_t address, uint64_t length);

/** Set @a lo to where the lowest byte of all runs is, and @a hi to where the highest one ends, both
 * in bytes from the start of the first run. @a lo is 0 or negative. */
void ri_grid_hull(const ri_wire_grid_t *grid, int64_t *lo, int64_t *hi);

/**
 * Write to @a segments where the bytes of a grid are, from its byte @a offset on, in their order:
 * one segment for each run.
 *
 * @param address   Of the first run.
 * @param length_p  In: how many bytes are wanted, not 0, and not more than there are. Out: how many
 *                  the segments have.
 * @param max       Room in @a segments, not 0.
 *
 * @return How many segments were written. The first and the last one may be parts of a run.
 */
size_t ri_grid_segments(const ri_wire_grid_t *grid, uint64_t address, uint64_t offset,
                        uint64_t *length_p, ri_segment_t *segments, size_t max);

#endif
