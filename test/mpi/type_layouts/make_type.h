/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* The constructors of datatypes, by integers or by counts as the random numbers say. */

#ifndef MAKE_TYPE_H
#define MAKE_TYPE_H

#include "../mpitest.h"

/* The arguments of MPI_Type_create_darray(). */
typedef struct make_darray {
    int procs;
    int rank;
    int n;
    int sizes[3];
    int kinds[3];
    int args[3];
    int grid[3];
    int order;
} make_darray_t;

MPI_Datatype make_contiguous(mt_rng_t *rng, int count, MPI_Datatype inner);
MPI_Datatype make_vector(mt_rng_t *rng, int count, int length, int stride,
                         MPI_Datatype inner);
MPI_Datatype make_hvector(mt_rng_t *rng, int count, int length, MPI_Aint stride,
                          MPI_Datatype inner);
MPI_Datatype make_indexed(mt_rng_t *rng, int n, const int *lengths, const int *disps,
                          MPI_Datatype inner);
MPI_Datatype make_hindexed(mt_rng_t *rng, int n, const int *lengths,
                           const MPI_Aint *places, MPI_Datatype inner);
MPI_Datatype make_indexed_block(mt_rng_t *rng, int n, int length, const int *disps,
                                MPI_Datatype inner);
MPI_Datatype make_hindexed_block(mt_rng_t *rng, int n, int length, const MPI_Aint *places,
                                 MPI_Datatype inner);
MPI_Datatype make_struct(mt_rng_t *rng, int n, const int *lengths, const MPI_Aint *places,
                         const MPI_Datatype *types);
MPI_Datatype make_resized(mt_rng_t *rng, MPI_Datatype inner, MPI_Aint lb,
                          MPI_Aint extent);
MPI_Datatype make_subarray(mt_rng_t *rng, int n, const int *sizes, const int *subsizes,
                           const int *starts, int order, MPI_Datatype inner);

/* @return The type, or MPI_DATATYPE_NULL if the MPI refuses to make it. */
MPI_Datatype make_darray(mt_rng_t *rng, const make_darray_t *array, MPI_Datatype inner);

#endif
