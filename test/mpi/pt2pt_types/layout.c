/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Derived datatypes at random, and the bytes that they select. */

#include "layout.h"

#include <stdlib.h>
#include <string.h>

/* More than that one does not have. */
#define MAX_PIECES 65536

const layout_base_t bases[NUM_BASES] = {{MPI_BYTE, 1},
                                        {MPI_SHORT, sizeof(short)},
                                        {MPI_INT, sizeof(int)},
                                        {MPI_DOUBLE, sizeof(double)}};

static void layout_add(layout_t *layout, size_t offset, size_t length)
{
    if (length == 0) {
        return;
    }

    layout->size += length;
    layout->end = (offset + length > layout->end) ? offset + length : layout->end;
    if ((layout->count > 0) && (layout->pieces[layout->count - 1].offset +
                                        layout->pieces[layout->count - 1].length ==
                                offset)) {
        layout->pieces[layout->count - 1].length += length;
        return;
    }

    if (layout->count == layout->space) {
        layout->space  = layout->space ? 2 * layout->space : 16;
        layout->pieces = realloc(layout->pieces,
                                 (size_t)layout->space * sizeof(*layout->pieces));
        if (layout->pieces == NULL) {
            mt_fail("out of memory");
        }
    }
    layout->pieces[layout->count].offset   = offset;
    layout->pieces[layout->count++].length = length;
}

/* Add count elements of the inner type, one behind the other. */
static void layout_repeat(layout_t *layout, const layout_t *inner, size_t offset,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (int j = 0; j < inner->count; j++) {
            layout_add(layout,
                       offset + i * (size_t)inner->extent + inner->pieces[j].offset,
                       inner->pieces[j].length);
        }
    }
}

static void layout_close(layout_t *layout)
{
    MPI_Aint lb;
    int size;

    MPI_Type_get_extent(layout->type, &lb, &layout->extent);
    MPI_Type_size(layout->type, &size);
    if ((size_t)size != layout->size) {
        mt_fail("MPI_Type_size says %d, expected %zu", size, layout->size);
    }
}

void layout_free(layout_t *layout, int predefined)
{
    if (!predefined) {
        MPI_Type_free(&layout->type);
    }
    free(layout->pieces);
    memset(layout, 0, sizeof(*layout));
}

static layout_t layout_base(int base)
{
    layout_t layout = {.type = bases[base].type};

    layout_add(&layout, 0, bases[base].size);
    layout_close(&layout);
    return layout;
}

/* Blocks at growing distances, in any order. */
static int random_blocks(mt_rng_t *rng, int max, int *lengths, int *disps)
{
    int order[8];
    int n  = 1 + (int)mt_below(rng, (uint64_t)max);
    int at = (int)mt_below(rng, 3);

    for (int i = 0; i < n; i++) {
        order[i] = i;
    }
    if (mt_chance(rng, 30)) {
        mt_shuffle(rng, order, n);
    }
    for (int i = 0; i < n; i++) {
        lengths[order[i]] = (int)mt_below(rng, 4);
        disps[order[i]]   = at;
        at += lengths[order[i]] + (int)mt_below(rng, 3);
    }
    return n;
}

/* Makes the outer type of blocks that are away from each other: by elements (indexed), by bytes
 * (hindexed), or each with a type (struct). */
static void wrap_blocks(mt_rng_t *rng, layout_t *inner, layout_t *outer, int kind)
{
    size_t extent = (size_t)inner->extent;
    int lengths[8], disps[8];
    MPI_Aint bytes[8];
    MPI_Datatype types[8];
    int n = random_blocks(rng, 8, lengths, disps);

    /* Not at a multiple of the inner type, where that may be */
    extent += (kind == MPI_COMBINER_HINDEXED) ? 1 : (kind == MPI_COMBINER_STRUCT) ? 3 : 0;
    for (int i = 0; i < n; i++) {
        bytes[i] = (MPI_Aint)((size_t)disps[i] * extent);
        types[i] = inner->type;
    }
    if (kind == MPI_COMBINER_INDEXED) {
        MPI_Type_indexed(n, lengths, disps, inner->type, &outer->type);
    } else if (kind == MPI_COMBINER_HINDEXED) {
        MPI_Type_create_hindexed(n, lengths, bytes, inner->type, &outer->type);
    } else {
        MPI_Type_create_struct(n, lengths, bytes, types, &outer->type);
    }
    for (int i = 0; i < n; i++) {
        layout_repeat(outer, inner, (size_t)bytes[i], (size_t)lengths[i]);
    }
}

/* Makes the outer type a part of a field of two dimensions. */
static void wrap_subarray(mt_rng_t *rng, layout_t *inner, layout_t *outer)
{
    int sizes[2], subsizes[2], starts[2];

    for (int i = 0; i < 2; i++) {
        sizes[i]    = 1 + (int)mt_below(rng, 8);
        subsizes[i] = 1 + (int)mt_below(rng, (uint64_t)sizes[i]);
        starts[i]   = (int)mt_below(rng, (uint64_t)(sizes[i] - subsizes[i] + 1));
    }
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, inner->type,
                             &outer->type);
    for (int i = 0; i < subsizes[0]; i++) {
        layout_repeat(outer, inner,
                      (size_t)((starts[0] + i) * sizes[1] + starts[1]) *
                              (size_t)inner->extent,
                      (size_t)subsizes[1]);
    }
}

/* One constructor around the inner type, which is consumed. */
static layout_t wrap(mt_rng_t *rng, layout_t *inner, int predefined)
{
    layout_t outer = {0};
    size_t extent  = (size_t)inner->extent;
    int n, length, stride;

    switch (mt_below(rng, 7)) {
    case 0:
        n = 1 + (int)mt_below(rng, 6);
        MPI_Type_contiguous(n, inner->type, &outer.type);
        layout_repeat(&outer, inner, 0, (size_t)n);
        break;
    case 1:
        n      = 1 + (int)mt_below(rng, mt_chance(rng, 30) ? 64 : 6);
        length = 1 + (int)mt_below(rng, 4);
        stride = length + (int)mt_below(rng, 4);
        MPI_Type_vector(n, length, stride, inner->type, &outer.type);
        for (int i = 0; i < n; i++) {
            layout_repeat(&outer, inner, (size_t)(i * stride) * extent, (size_t)length);
        }
        break;
    case 2:
        wrap_blocks(rng, inner, &outer, MPI_COMBINER_INDEXED);
        break;
    case 3:
        wrap_blocks(rng, inner, &outer, MPI_COMBINER_HINDEXED);
        break;
    case 4:
        wrap_blocks(rng, inner, &outer, MPI_COMBINER_STRUCT);
        break;
    case 5:
        n = (int)mt_below(rng, 40);
        MPI_Type_create_resized(inner->type, 0, (MPI_Aint)(inner->end + (size_t)n),
                                &outer.type);
        layout_repeat(&outer, inner, 0, 1);
        break;
    default:
        wrap_subarray(rng, inner, &outer);
        break;
    }

    layout_close(&outer);
    layout_free(inner, predefined);
    return outer;
}

layout_t layout_random(mt_rng_t *rng, int base, size_t size)
{
    layout_t inner  = layout_base(base);
    layout_t result = {0};
    int depth       = 1 + (int)mt_below(rng, 3);
    int predefined  = 1;
    int lengths[2];
    MPI_Aint disps[2];
    MPI_Datatype types[2];
    size_t count, rest;

    for (int i = 0; i < depth; i++) {
        inner      = wrap(rng, &inner, predefined);
        predefined = 0;
    }
    if ((inner.size == 0) || (inner.size > size) ||
        (size / inner.size * (size_t)inner.count > MAX_PIECES) ||
        (size / inner.size * (size_t)inner.extent > (size_t)1 << 25)) {
        layout_free(&inner, predefined);
        inner      = layout_base(base);
        predefined = 1;
    }

    /* The type's extent may end before its last byte: then it must not be repeated. */
    count = ((size_t)inner.extent < inner.end) ? 1 : size / inner.size;
    rest  = size - count * inner.size;

    lengths[0] = (int)count;
    lengths[1] = (int)(rest / bases[base].size);
    disps[0]   = 0;
    disps[1]   = (MPI_Aint)(count * (size_t)inner.extent + inner.end + 8);
    types[0]   = inner.type;
    types[1]   = bases[base].type;
    MPI_Type_create_struct(2, lengths, disps, types, &result.type);
    MPI_Type_commit(&result.type);
    layout_repeat(&result, &inner, 0, count);
    layout_add(&result, (size_t)disps[1], rest);
    layout_close(&result);
    layout_free(&inner, predefined);
    return result;
}

void layout_scatter(const layout_t *layout, char *to, const char *packed, size_t size)
{
    for (int i = 0; (i < layout->count) && (size > 0); i++) {
        size_t n = layout->pieces[i].length;

        n = (n < size) ? n : size;
        memcpy(to + layout->pieces[i].offset, packed, n);
        packed += n;
        size -= n;
    }
}
