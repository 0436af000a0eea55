/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which ranks of MPI_COMM_WORLD are on this host and have this library. A rank without it takes no
 * part in what the others would say to each other, so that they must know before the first word.
 */
#ifndef RI_WIN_PRESENT_H
#define RI_WIN_PRESENT_H

#include "weak_mpi.h"

/** Be present, for the ranks of this job on this host. To be called before MPI_Init() of the MPI:
 * when that has ended on one rank, all ranks have begun it. */
void ri_present_begin(void);

/** Look whether all ranks of a communicator are present. No rank waits for another one. All ranks that
 * are present come to the same result.
 *
 * @param ranks       Of the communicator.
 * @param speaker_p   Set to its first rank that is present.
 *
 * @return NULL, or why not all of them are. */
const char *ri_present_objection(MPI_Comm comm, int ranks, int *speaker_p);

#endif
