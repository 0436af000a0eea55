/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of an MPI that tell how a datatype was made, in one form for both MPIs, and the
 * numbers in which they differ.
 */
#ifndef RI_MPI_ABI_H
#define RI_MPI_ABI_H

#include "../../ucs/base.h"

typedef enum ri_mpi_kind {
    RI_MPI_NONE, /* there is none, or one that this library does not know */
    RI_MPI_MPICH,
    RI_MPI_OPEN_MPI
} ri_mpi_kind_t;

/** @return Which MPI there is. Any thread may ask, at any time. */
ri_mpi_kind_t ri_mpi_kind(void);

/** @return The version of MPICH, as 402 for 4.2; 0: there is another MPI, or none. Any thread may
 * ask, at any time. */
unsigned ri_mpi_mpich_version(void);

/** @return Whether the function at @a address is a part of Open MPI. */
int ri_mpi_is_open_mpi(const void *address);

/* How a datatype was made, in the order that both MPIs have in common. */
typedef enum ri_mpi_combiner {
    RI_MPI_NAMED,
    RI_MPI_DUP,
    RI_MPI_CONTIGUOUS,
    RI_MPI_VECTOR,
    RI_MPI_HVECTOR_INTEGER,
    RI_MPI_HVECTOR,
    RI_MPI_INDEXED,
    RI_MPI_HINDEXED_INTEGER,
    RI_MPI_HINDEXED,
    RI_MPI_INDEXED_BLOCK,
    RI_MPI_STRUCT_INTEGER,
    RI_MPI_STRUCT,
    RI_MPI_SUBARRAY,
    RI_MPI_DARRAY,
    RI_MPI_F90_REAL,
    RI_MPI_F90_COMPLEX,
    RI_MPI_F90_INTEGER,
    RI_MPI_RESIZED,
    RI_MPI_HINDEXED_BLOCK
} ri_mpi_combiner_t;

/* Numbers of an MPI. */
typedef struct ri_mpi_abi {
    int first_combiner; /* the number of NAMED */
    int order_c;
    int order_fortran;
    int distribute_block;
    int distribute_cyclic;
    int distribute_none;
    int distribute_default; /* the argument of a distribution that has none */
} ri_mpi_abi_t;

/* How many arguments a type was made with, of each kind. Those of a function with counts (as
 * MPI_Type_vector_c) are sorted as the arguments of the function without (MPI_Type_vector) are. */
typedef struct ri_mpi_envelope {
    int64_t num_ints;
    int64_t num_addresses;
    int64_t num_types;
    int64_t num_counts; /* among the ints and addresses; 0: it was a function without counts */
    int combiner;       /* ri_mpi_combiner_t, or another number */
} ri_mpi_envelope_t;

/** @return The numbers of the MPI of this process; not NULL if ri_mpi_kind() is not NONE. */
const ri_mpi_abi_t *ri_mpi_abi(void);

/** Ask how a type was made. @return Whether the MPI has told. */
int ri_mpi_envelope(uintptr_t type, ri_mpi_envelope_t *envelope);

/** Ask for the arguments that a type was made with; for one that is not named. The arrays have room
 * for as many as the envelope says. Types that are not named are to be freed by the caller. @return
 * Whether the MPI has told. */
int ri_mpi_contents(uintptr_t type, const ri_mpi_envelope_t *envelope, int64_t *ints,
                    intptr_t *addresses, uintptr_t *types);

/** Give back a type that is not named, of ri_mpi_contents(). */
void ri_mpi_type_free(uintptr_t type);

/** @return The bytes of a type, or a negative number. */
int64_t ri_mpi_size(uintptr_t type);

/** Ask the MPI for the extent of a type, with @a is_true for the true extent, and set @a lb and @a
 * extent. @return Whether the MPI has told. */
int ri_mpi_extent(uintptr_t type, int is_true, intptr_t *lb, intptr_t *extent);

#endif
