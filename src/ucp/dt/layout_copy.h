/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies between memory that a layout describes and packed bytes: any range of the packed bytes, in
 * any order of the ranges. A call finds its place by a division for each loop and a binary search
 * for each list that is on the way to it, and keeps nothing.
 *
 * Nothing but the runs is read or written. The caller makes sure that a range is within the packed
 * bytes of the elements that there are.
 */
#ifndef RI_LAYOUT_COPY_H
#define RI_LAYOUT_COPY_H

#include "layout.h"
#include "../../uct/api/plane.h"

/** Copy @a length packed bytes of @a count elements at @a buffer, from the byte @a offset on, to
 * @a dest. */
void ri_layout_copy_pack(const ri_layout_t *layout, const void *buffer, size_t count,
                         size_t offset, void *dest, size_t length);

/** Place @a length packed bytes in @a count elements at @a buffer, from the packed byte @a offset
 * on. */
void ri_layout_copy_unpack(const ri_layout_t *layout, void *buffer, size_t count,
                           size_t offset, const void *src, size_t length);

/** Copy @a length packed bytes from elements to others, from the first byte of each on, if both are
 * loops of runs of one length, and whole runs are copied. @return 0 if they are not, and nothing
 * was done. */
int ri_layout_copy_loops(const ri_layout_t *from, const void *src, size_t from_count,
                         const ri_layout_t *to, void *dst, size_t to_count,
                         size_t length);

/* Runs of one length at one stride. */
typedef struct ri_layout_runs {
    uint64_t address; /* of the first one */
    int64_t stride;
    size_t length;
    size_t count;
} ri_layout_runs_t;

/** @return Whether the data of @a count elements is such runs; then @a runs is set. */
int ri_layout_copy_is_runs(const ri_layout_t *layout, const void *buffer, size_t count,
                           ri_layout_runs_t *runs);

/** Place packed bytes in runs, all of them. */
void ri_layout_copy_unpack_runs(const ri_layout_runs_t *runs, const void *src);

/**
 * The pieces of memory that @a length packed bytes are in, from the byte @a offset on. Pieces that
 * adjoin are one. @a max is not 0.
 *
 * @param length_p  In: how many bytes, not 0. Out: those of the pieces that there was room for.
 *
 * @return How many pieces.
 */
size_t ri_layout_copy_segments(const ri_layout_t *layout, const void *buffer,
                               size_t count, size_t offset, size_t *length_p,
                               ri_segment_t *segments, size_t max);

#endif
