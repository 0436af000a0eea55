/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which ranks of MPI_COMM_WORLD are on this host and have this library. A rank without it takes no
 * part in what the others would say to each other, so that they must know before the first word.
 */
#ifndef RI_WIN_RANKS_HERE_H
#define RI_WIN_RANKS_HERE_H

#include "weak_mpi.h"

/** Join the ranks that are present. To be called before MPI_Init() of the MPI. Only the first call
 * of a process does anything. */
void ri_ranks_here_begin(void);

/** Find out which ranks are present. That does not change any more. To be called after MPI_Init()
 * of the MPI. Only the first call of a process does anything.
 *
 * @param is_init  Whether MPI_Init() has worked. */
void ri_ranks_here_end(int is_init);

/** Look whether all ranks of a communicator are present. Nothing is sent, and no rank waits for
 * another one. All ranks that are present come to the same result.
 *
 * @param ranks      Of the communicator.
 * @param speaker_p  Set to its first rank that is present on this host, which speaks for the
 *                   others; -1: each rank speaks for itself.
 *
 * @return NULL, or why not all of them are. */
const char *ri_ranks_here_objection(MPI_Comm comm, int ranks, int *speaker_p);

#endif
