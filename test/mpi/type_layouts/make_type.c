/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The constructors of datatypes, each by its function with integers or, where the MPI has it and as
 * the random numbers say, by the one with counts. Both make the same type.
 */

#include "make_type.h"

#define MOST 64 /* entries of a list */

#if MPI_VERSION >= 4

static int by_counts(mt_rng_t *rng)
{
    return mt_chance(rng, 30);
}

/* A list as one of counts. */
static const MPI_Count *counts_of(MPI_Count *counts, const int *list, int n)
{
    for (int i = 0; i < n; i++) {
        counts[i] = list[i];
    }
    return counts;
}

static const MPI_Count *counts_of_places(MPI_Count *counts, const MPI_Aint *list, int n)
{
    for (int i = 0; i < n; i++) {
        counts[i] = list[i];
    }
    return counts;
}

/* Call the function with counts, and return its type, if it is to be. */
#define MAKE_BY_COUNTS(_rng, ...) \
    do { \
        if (by_counts(_rng)) { \
            MPI_Count c1[MOST], c2[MOST], c3[MOST]; \
            MPI_Datatype made; \
            (void)c1, (void)c2, (void)c3; \
            __VA_ARGS__; \
            return made; \
        } \
    } while (0)

#else

#define MAKE_BY_COUNTS(_rng, ...) ((void)mt_chance(_rng, 30))

#endif

MPI_Datatype make_contiguous(mt_rng_t *rng, int count, MPI_Datatype inner)
{
    MPI_Datatype type;

    MAKE_BY_COUNTS(rng, MPI_Type_contiguous_c(count, inner, &made));
    MPI_Type_contiguous(count, inner, &type);
    return type;
}

MPI_Datatype make_vector(mt_rng_t *rng, int count, int length, int stride,
                         MPI_Datatype inner)
{
    MPI_Datatype type;

    MAKE_BY_COUNTS(rng, MPI_Type_vector_c(count, length, stride, inner, &made));
    MPI_Type_vector(count, length, stride, inner, &type);
    return type;
}

MPI_Datatype make_hvector(mt_rng_t *rng, int count, int length, MPI_Aint stride,
                          MPI_Datatype inner)
{
    MPI_Datatype type;

    MAKE_BY_COUNTS(rng, MPI_Type_create_hvector_c(count, length, stride, inner, &made));
    MPI_Type_create_hvector(count, length, stride, inner, &type);
    return type;
}

MPI_Datatype make_indexed(mt_rng_t *rng, int n, const int *lengths, const int *disps,
                          MPI_Datatype inner)
{
    MPI_Datatype type;

    MAKE_BY_COUNTS(rng, MPI_Type_indexed_c(n, counts_of(c1, lengths, n),
                                           counts_of(c2, disps, n), inner, &made));
    MPI_Type_indexed(n, lengths, disps, inner, &type);
    return type;
}

MPI_Datatype make_hindexed(mt_rng_t *rng, int n, const int *lengths,
                           const MPI_Aint *places, MPI_Datatype inner)
{
    MPI_Datatype type;

    MAKE_BY_COUNTS(rng, MPI_Type_create_hindexed_c(n, counts_of(c1, lengths, n),
                                                   counts_of_places(c2, places, n), inner,
                                                   &made));
    MPI_Type_create_hindexed(n, lengths, places, inner, &type);
    return type;
}

MPI_Datatype make_indexed_block(mt_rng_t *rng, int n, int length, const int *disps,
                                MPI_Datatype inner)
{
    MPI_Datatype type;

    MAKE_BY_COUNTS(rng, MPI_Type_create_indexed_block_c(
                                n, length, counts_of(c1, disps, n), inner, &made));
    MPI_Type_create_indexed_block(n, length, disps, inner, &type);
    return type;
}

MPI_Datatype make_hindexed_block(mt_rng_t *rng, int n, int length, const MPI_Aint *places,
                                 MPI_Datatype inner)
{
    MPI_Datatype type;

    MAKE_BY_COUNTS(rng, MPI_Type_create_hindexed_block_c(n, length,
                                                         counts_of_places(c1, places, n),
                                                         inner, &made));
    MPI_Type_create_hindexed_block(n, length, places, inner, &type);
    return type;
}

MPI_Datatype make_struct(mt_rng_t *rng, int n, const int *lengths, const MPI_Aint *places,
                         const MPI_Datatype *types)
{
    MPI_Datatype type;

    MAKE_BY_COUNTS(rng, MPI_Type_create_struct_c(n, counts_of(c1, lengths, n),
                                                 counts_of_places(c2, places, n), types,
                                                 &made));
    MPI_Type_create_struct(n, lengths, places, types, &type);
    return type;
}

MPI_Datatype make_resized(mt_rng_t *rng, MPI_Datatype inner, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype type;

    MAKE_BY_COUNTS(rng, MPI_Type_create_resized_c(inner, lb, extent, &made));
    MPI_Type_create_resized(inner, lb, extent, &type);
    return type;
}

MPI_Datatype make_subarray(mt_rng_t *rng, int n, const int *sizes, const int *subsizes,
                           const int *starts, int order, MPI_Datatype inner)
{
    MPI_Datatype type;

    MAKE_BY_COUNTS(rng, MPI_Type_create_subarray_c(
                                n, counts_of(c1, sizes, n), counts_of(c2, subsizes, n),
                                counts_of(c3, starts, n), order, inner, &made));
    MPI_Type_create_subarray(n, sizes, subsizes, starts, order, inner, &type);
    return type;
}

MPI_Datatype make_darray(mt_rng_t *rng, const make_darray_t *array, MPI_Datatype inner)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    /* Open MPI refuses some in which a process has no elements. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MAKE_BY_COUNTS(rng, made = MPI_DATATYPE_NULL; MPI_Type_create_darray_c(
                           array->procs, array->rank, array->n,
                           counts_of(c1, array->sizes, array->n), array->kinds,
                           array->args, array->grid, array->order, inner, &made);
                   MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    MPI_Type_create_darray(array->procs, array->rank, array->n, array->sizes,
                           array->kinds, array->args, array->grid, array->order, inner,
                           &type);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return type;
}
