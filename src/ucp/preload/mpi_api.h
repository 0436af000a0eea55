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

/** A context is served: from now on the layouts of types that are committed are read. */
void ri_mpi_switch_on(void);

/** A generic datatype was created, by this thread. */
void ri_mpi_note_generic(ucp_datatype_t datatype, const void *context);

#endif
