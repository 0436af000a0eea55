/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * MPI for win_present.c: functions that know no more than numbers of ranks.
 */
#ifndef FAKE_WORLD_H
#define FAKE_WORLD_H

#include <mpi.h>
#include <string.h>
#include <unistd.h>

#define RANKS 4

static int my_rank;

/* The world of this process; a case may make several. */
static int world_size = RANKS;

/* By rank of the communicator: of MPI_COMM_WORLD. */
static const int *mapping;

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = world_size;
    return MPI_SUCCESS;
}

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = my_rank;
    return MPI_SUCCESS;
}

int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    (void)comm;
    memset(group, 0, sizeof(*group));
    return MPI_SUCCESS;
}

int PMPI_Group_free(MPI_Group *group)
{
    (void)group;
    return MPI_SUCCESS;
}

int PMPI_Group_translate_ranks(MPI_Group group, int n, const int *ranks, MPI_Group other,
                               int *translated)
{
    int i;

    (void)group;
    (void)other;
    for (i = 0; i < n; ++i) {
        translated[i] = mapping[ranks[i]];
    }
    return MPI_SUCCESS;
}

#endif
