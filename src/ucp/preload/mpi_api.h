/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which generic datatype an MPI makes for which of its own, where it does so when a type is
 * committed (MPICH).
 */
#ifndef RI_MPI_API_H
#define RI_MPI_API_H

#include "../../ucs/base.h"

/** A context is served: from now on the layouts of types that are committed are read. Any thread
 * may call it, several times. */
void ri_mpi_switch_on(void);

/** A generic datatype was created, by this thread. If it is within MPI_Type_commit() for MPICH,
 * note that the datatype is that of the type which is committed.
 *
 * @param context  What the creator has given for the datatype's callbacks, or NULL. Within a commit
 *                 of MPICH it is MPICH's object of a datatype, which is read. */
void ri_mpi_note_generic(ucp_datatype_t datatype, const void *context);

#endif
