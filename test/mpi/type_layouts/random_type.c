/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Derived datatypes at random: a base type, with one constructor after the other around it. */

#include "random_type.h"
#include "make_type.h"

#include <stdlib.h>

enum {
    MAX_DEPTH  = 5,
    MAX_BLOCKS = 12,
    MAX_SPAN   = 1 << 20, /* of a type, in bytes */
    MAX_SIZE   = 1 << 20
};

/* Open MPI 5.0 packs it wrongly, see ../README.md */
#if defined(OMPI_MAJOR_VERSION) && (OMPI_MAJOR_VERSION >= 5)
#define BASE_COMPLEX MPI_DOUBLE
#else
#define BASE_COMPLEX MPI_C_DOUBLE_COMPLEX
#endif

static MPI_Datatype random_base(mt_rng_t *rng)
{
    static const MPI_Datatype bases[] = {
            MPI_CHAR,      MPI_BYTE,     MPI_SHORT,   MPI_INT,       MPI_FLOAT,
            MPI_DOUBLE,    MPI_INT64_T,  MPI_2INT,    MPI_FLOAT_INT, MPI_DOUBLE_INT,
            MPI_SHORT_INT, MPI_LONG_INT, BASE_COMPLEX};

    return bases[mt_below(rng, MT_LEN(bases))];
}

/* Places and lengths of blocks. Without overlap they are in any order, else anywhere. */
static int random_blocks(mt_rng_t *rng, int overlap, int *lengths, int *disps)
{
    int n       = (int)mt_below(rng, MAX_BLOCKS + 1);
    int regular = mt_chance(rng, 20);
    int length  = 1 + (int)mt_below(rng, 4);
    int at      = (int)mt_below(rng, 20) - 10;
    int order[MAX_BLOCKS];

    for (int i = 0; i < n; i++) {
        order[i] = i;
    }
    if (!regular && mt_chance(rng, 40)) {
        mt_shuffle(rng, order, n);
    }
    for (int i = 0; i < n; i++) {
        int *to = &lengths[order[i]];

        *to             = regular ? length : (int)mt_below(rng, 5);
        disps[order[i]] = (overlap && mt_chance(rng, 30)) ? (int)mt_below(rng, 12) - 6 :
                                                            at;
        at += *to + (regular ? 2 : (int)mt_below(rng, 3));
    }
    return n;
}

static MPI_Datatype random_array(mt_rng_t *rng, MPI_Datatype inner)
{
    int n     = 1 + (int)mt_below(rng, 3);
    int order = mt_chance(rng, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int sizes[3], subsizes[3], starts[3];

    for (int i = 0; i < n; i++) {
        sizes[i]    = 1 + (int)mt_below(rng, 7);
        subsizes[i] = 1 + (int)mt_below(rng, (uint64_t)sizes[i]);
        starts[i]   = (int)mt_below(rng, (uint64_t)(sizes[i] - subsizes[i] + 1));
    }
    return make_subarray(rng, n, sizes, subsizes, starts, order, inner);
}

static MPI_Datatype random_darray(mt_rng_t *rng, MPI_Datatype inner)
{
    static const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                                MPI_DISTRIBUTE_NONE};
    make_darray_t array      = {.procs = 1};
    MPI_Datatype type;

    array.n     = 1 + (int)mt_below(rng, 3);
    array.order = mt_chance(rng, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    for (int i = 0; i < array.n; i++) {
        int kind = kinds[mt_below(rng, MT_LEN(kinds))];
        int grid = (kind == MPI_DISTRIBUTE_NONE) ? 1 : 1 + (int)mt_below(rng, 3);
        int size = 1 + (int)mt_below(rng, 9);
        int arg  = MPI_DISTRIBUTE_DFLT_DARG;

        if (mt_chance(rng, 50)) {
            /* blocks of that length have to take all elements */
            arg = (kind == MPI_DISTRIBUTE_CYCLIC) ?
                          1 + (int)mt_below(rng, 4) :
                          (size + grid - 1) / grid + (int)mt_below(rng, 2);
        }
        array.kinds[i] = kind;
        array.grid[i]  = grid;
        array.sizes[i] = size;
        array.args[i]  = (kind == MPI_DISTRIBUTE_NONE) ? MPI_DISTRIBUTE_DFLT_DARG : arg;
        array.procs *= grid;
    }
    array.rank = (int)mt_below(rng, (uint64_t)array.procs);
    type       = make_darray(rng, &array, inner);
    if (type == MPI_DATATYPE_NULL) {
        MPI_Type_dup(inner, &type);
    }
    return type;
}

static MPI_Datatype random_struct(mt_rng_t *rng, MPI_Datatype inner, int n, int *lengths,
                                  const MPI_Aint *places)
{
    MPI_Datatype types[MAX_BLOCKS];

    for (int i = 0; i < n; i++) {
        types[i] = mt_chance(rng, 60) ? inner : MPI_CHAR;
    }
    return make_struct(rng, n, lengths, places, types);
}

/* One constructor around the inner type. */
static MPI_Datatype wrap(mt_rng_t *rng, MPI_Datatype inner, int overlap)
{
    int lengths[MAX_BLOCKS], disps[MAX_BLOCKS];
    int kind   = (int)mt_below(rng, 12);
    int n      = random_blocks(rng, overlap, lengths, disps);
    int length = (int)mt_below(rng, 4);
    MPI_Aint places[MAX_BLOCKS];
    MPI_Aint lb, extent, true_lb, true_extent, unit;
    MPI_Datatype type;

    MPI_Type_get_extent(inner, &lb, &extent);
    MPI_Type_get_true_extent(inner, &true_lb, &true_extent);
    unit = (extent > true_extent) ? extent : true_extent;
    for (int i = 0; i < n; i++) {
        places[i] = disps[i] * (unit + 3);
    }
    switch (kind) {
    case 0:
        return make_contiguous(rng, (int)mt_below(rng, 7), inner);
    case 1:
        /* not -1: Open MPI goes forward then */
        disps[0] = mt_chance(rng, 30) ? -length - 1 : length + (int)mt_below(rng, 3);
        return make_vector(rng, (int)mt_below(rng, mt_chance(rng, 20) ? 60 : 7), length,
                           disps[0], inner);
    case 2:
        places[0] = ((length + 1) * unit + 5) * (mt_chance(rng, 30) ? -1 : 1);
        return make_hvector(rng, (int)mt_below(rng, 7), length, places[0], inner);
    case 3:
        return make_indexed(rng, n, lengths, disps, inner);
    case 4:
        return make_hindexed(rng, n, lengths, places, inner);
    case 5:
        return make_indexed_block(rng, n, overlap ? length : 1, disps, inner);
    case 6:
        return make_hindexed_block(rng, n, 1, places, inner);
    case 7:
        return random_struct(rng, inner, n, lengths, places);
    case 8:
        places[0] = true_lb - (MPI_Aint)mt_below(rng, 9);
        return make_resized(rng, inner, places[0],
                            true_extent + (MPI_Aint)mt_below(rng, 40));
    case 9:
        MPI_Type_dup(inner, &type);
        return type;
    case 10:
        return random_array(rng, inner);
    default:
        return random_darray(rng, inner);
    }
}

/* Whether a type can be used, and others around it: MPICH divides by the size of what is in it. */
static int is_usable(MPI_Datatype type, int is_last)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    int size;

    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    return (size >= !is_last) && (size <= MAX_SIZE) && (labs(true_lb) < MAX_SPAN) &&
           (true_extent < MAX_SPAN) && (labs(extent) < MAX_SPAN) && (labs(lb) < MAX_SPAN);
}

MPI_Datatype random_type(mt_rng_t *rng, int overlap)
{
    int depth          = 1 + (int)mt_below(rng, MAX_DEPTH);
    MPI_Datatype inner = random_base(rng);
    int is_base        = 1;

    for (int i = 0; i < depth; i++) {
        MPI_Datatype outer = wrap(rng, inner, overlap);

        if (!is_usable(outer, i == depth - 1)) {
            MPI_Type_free(&outer);
            break;
        }
        if (!is_base) {
            MPI_Type_free(&inner);
        }
        inner   = outer;
        is_base = 0;
    }
    if (is_base) {
        MPI_Type_dup(inner, &inner);
    }
    MPI_Type_commit(&inner);
    return inner;
}
