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

/** Be one of those who are present. To be called before MPI_Init() of the MPI. Only the first call of a
 * process does anything. */
void ri_present_begin(void);

/** See who is present: nobody else will be. To be called after MPI_Init() of the MPI. Only the first
 * call of a process does anything. @param is_init  Whether that has worked. */
void ri_present_end(int is_init);

/** Look whether all ranks of a communicator are present. Nothing is sent, and no rank waits for another
 * one. All ranks that are present come to the same result.
 *
 * @param ranks      Of the communicator.
 * @param speaker_p  Set to its first rank that is present on this host, or to 0.
 *
 * @return NULL, or why not all of them are. */
const char *ri_present_objection(MPI_Comm comm, int ranks, int *speaker_p);

#endif
