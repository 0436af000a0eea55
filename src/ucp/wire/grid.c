/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The limits of a grid that is valid are such that no sum or product here overflows.
 */
#include "grid.h"

/* Addresses of programs have fewer bits. */
#define GRID_ADDRESS_BITS 62

static int grid_loops_are_valid(const ri_wire_grid_t *grid, uint64_t length)
{
    const int64_t far = INT64_C(1)
                        << (GRID_ADDRESS_BITS - 16); /* times RI_GRID_RUNS_MAX */
    uint64_t runs = 1;
    uint64_t bytes;
    unsigned i;

    for (i = 0; i < RI_WIRE_GRID_LOOPS; ++i) {
        if ((grid->loop[i].count == 0) ||
            (grid->loop[i].count > RI_GRID_RUNS_MAX / runs) ||
            (grid->loop[i].stride > far) || (grid->loop[i].stride < -far)) {
            return 0;
        }
        runs *= grid->loop[i].count;
    }
    return (length != 0) && !__builtin_mul_overflow(grid->run, runs, &bytes) &&
           (bytes == length) && (length <= RI_WIRE_LENGTH_MAX);
}

void ri_grid_hull(const ri_wire_grid_t *grid, int64_t *lo, int64_t *hi)
{
    int64_t reach;
    unsigned i;

    *lo = 0;
    *hi = grid->run;
    for (i = 0; i < RI_WIRE_GRID_LOOPS; ++i) {
        reach = (grid->loop[i].count - INT64_C(1)) * grid->loop[i].stride;
        if (reach < 0) {
            *lo += reach;
        } else {
            *hi += reach;
        }
    }
}

int ri_grid_is_valid(const ri_wire_grid_t *grid, uint64_t address, uint64_t length)
{
    int64_t lo, hi;

    if ((address >> GRID_ADDRESS_BITS) || !grid_loops_are_valid(grid, length)) {
        return 0;
    }
    /* Loops of more than one turn reach less than 2^62 in all, a run too */
    ri_grid_hull(grid, &lo, &hi);
    return ((int64_t)address + lo >= 0) &&
           ((uint64_t)hi <= (UINT64_C(1) << GRID_ADDRESS_BITS) - address);
}

/* @return Where a run is, from the first one. */
static int64_t grid_place(const ri_wire_grid_t *grid, uint64_t run)
{
    int64_t place = 0;
    unsigned i;

    for (i = 0; i < RI_WIRE_GRID_LOOPS; ++i) {
        place += (int64_t)(run % grid->loop[i].count) * grid->loop[i].stride;
        run /= grid->loop[i].count;
    }
    return place;
}

size_t ri_grid_segments(const ri_wire_grid_t *grid, uint64_t address, uint64_t offset,
                        uint64_t *length_p, ri_segment_t *segments, size_t max)
{
    uint64_t run  = offset / grid->run;
    uint64_t skip = offset % grid->run;
    uint64_t left = *length_p;
    size_t count;

    for (count = 0; (count < max) && (left > 0); ++count, ++run) {
        segments[count].address = address + grid_place(grid, run) + skip;
        segments[count].length  = ri_min(grid->run - skip, left);
        left -= segments[count].length;
        skip = 0;
    }
    *length_p -= left;
    return count;
}
