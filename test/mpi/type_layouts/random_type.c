/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Derived datatypes at random: a base type, with one constructor after the other around it. */

#include "random_type.h"

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
    MPI_Datatype type;

    for (int i = 0; i < n; i++) {
        sizes[i]    = 1 + (int)mt_below(rng, 7);
        subsizes[i] = 1 + (int)mt_below(rng, (uint64_t)sizes[i]);
        starts[i]   = (int)mt_below(rng, (uint64_t)(sizes[i] - subsizes[i] + 1));
    }
    MPI_Type_create_subarray(n, sizes, subsizes, starts, order, inner, &type);
    return type;
}

static MPI_Datatype random_darray(mt_rng_t *rng, MPI_Datatype inner)
{
    static const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                                MPI_DISTRIBUTE_NONE};
    int n                    = 1 + (int)mt_below(rng, 3);
    int order                = mt_chance(rng, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int procs                = 1;
    int sizes[3], kind[3], args[3], grid[3];
    MPI_Datatype type;
    int ret;

    for (int i = 0; i < n; i++) {
        kind[i]  = kinds[mt_below(rng, MT_LEN(kinds))];
        grid[i]  = (kind[i] == MPI_DISTRIBUTE_NONE) ? 1 : 1 + (int)mt_below(rng, 3);
        sizes[i] = 1 + (int)mt_below(rng, 9);
        args[i]  = MPI_DISTRIBUTE_DFLT_DARG;
        if (mt_chance(rng, 50)) {
            /* blocks of that length have to take all elements */
            args[i] = (kind[i] == MPI_DISTRIBUTE_CYCLIC) ?
                              1 + (int)mt_below(rng, 4) :
                              (sizes[i] + grid[i] - 1) / grid[i] + (int)mt_below(rng, 2);
        }
        if (kind[i] == MPI_DISTRIBUTE_NONE) {
            args[i] = MPI_DISTRIBUTE_DFLT_DARG;
        }
        procs *= grid[i];
    }
    /* Open MPI refuses some in which a process has no elements. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    ret = MPI_Type_create_darray(procs, (int)mt_below(rng, (uint64_t)procs), n, sizes,
                                 kind, args, grid, order, inner, &type);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (ret != MPI_SUCCESS) {
        MPI_Type_dup(inner, &type);
    }
    return type;
}

static MPI_Datatype random_struct(mt_rng_t *rng, MPI_Datatype inner, int n, int *lengths,
                                  const MPI_Aint *places)
{
    MPI_Datatype types[MAX_BLOCKS];
    MPI_Datatype type;

    for (int i = 0; i < n; i++) {
        types[i] = mt_chance(rng, 60) ? inner : MPI_CHAR;
    }
    MPI_Type_create_struct(n, lengths, places, types, &type);
    return type;
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
        MPI_Type_contiguous((int)mt_below(rng, 7), inner, &type);
        break;
    case 1:
        /* not -1: Open MPI goes forward then */
        MPI_Type_vector((int)mt_below(rng, mt_chance(rng, 20) ? 60 : 7), length,
                        mt_chance(rng, 30) ? -length - 1 : length + (int)mt_below(rng, 3),
                        inner, &type);
        break;
    case 2:
        MPI_Type_create_hvector((int)mt_below(rng, 7), length,
                                ((length + 1) * unit + 5) * (mt_chance(rng, 30) ? -1 : 1),
                                inner, &type);
        break;
    case 3:
        MPI_Type_indexed(n, lengths, disps, inner, &type);
        break;
    case 4:
        MPI_Type_create_hindexed(n, lengths, places, inner, &type);
        break;
    case 5:
        MPI_Type_create_indexed_block(n, overlap ? length : 1, disps, inner, &type);
        break;
    case 6:
        MPI_Type_create_hindexed_block(n, 1, places, inner, &type);
        break;
    case 7:
        type = random_struct(rng, inner, n, lengths, places);
        break;
    case 8:
        MPI_Type_create_resized(inner, true_lb - (MPI_Aint)mt_below(rng, 9),
                                true_extent + (MPI_Aint)mt_below(rng, 40), &type);
        break;
    case 9:
        MPI_Type_dup(inner, &type);
        break;
    case 10:
        type = random_array(rng, inner);
        break;
    default:
        type = random_darray(rng, inner);
        break;
    }
    return type;
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
