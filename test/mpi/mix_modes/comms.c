/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Communicators of all kinds. */

#include "mix.h"

comm_t comms[MAX_COMMS];

static int comm_color(const comm_t *comm, int rank)
{
    switch (comm->kind) {
    case COMM_PARITY:
        return rank & 1;
    case COMM_LEAVE_OUT:
    case COMM_GROUP:
        return (rank == comm->left_out) ? -1 : 0;
    default:
        return 0;
    }
}

int comm_rank(const comm_t *comm, int rank)
{
    switch (comm->kind) {
    case COMM_REVERSED:
        return mt_size - 1 - rank;
    case COMM_PARITY:
        return rank / 2;
    case COMM_LEAVE_OUT:
    case COMM_GROUP:
        return rank - (rank > comm->left_out);
    default:
        return rank;
    }
}

int world_rank(const comm_t *comm, int rank)
{
    for (int i = 0; i < mt_size; i++) {
        if ((comm_color(comm, i) == comm_color(comm, mt_rank)) &&
            (comm_rank(comm, i) == rank)) {
            return i;
        }
    }
    mt_fail("source %d is no member of communicator kind %d", rank, comm->kind);
}

int comm_joins(const comm_t *comm, int a, int b)
{
    return (comm_color(comm, a) >= 0) && (comm_color(comm, a) == comm_color(comm, b));
}

void comm_open(comm_t *comm, int kind, int left_out)
{
    MPI_Group world, group;
    MPI_Request request;
    int color, rank;

    comm->kind     = kind;
    comm->left_out = left_out;
    comm->handle   = MPI_COMM_NULL;
    color          = comm_color(comm, mt_rank);
    switch (kind) {
    case COMM_WORLD:
        comm->handle = MPI_COMM_WORLD;
        break;
    case COMM_DUP:
        MPI_Comm_dup(MPI_COMM_WORLD, &comm->handle);
        break;
    case COMM_IDUP:
        MPI_Comm_idup(MPI_COMM_WORLD, &comm->handle, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case COMM_GROUP:
        if (color >= 0) {
            MPI_Comm_group(MPI_COMM_WORLD, &world);
            MPI_Group_excl(world, 1, &left_out, &group);
            MPI_Comm_create_group(MPI_COMM_WORLD, group, 77, &comm->handle);
            MPI_Group_free(&group);
            MPI_Group_free(&world);
        }
        break;
    default:
        MPI_Comm_split(MPI_COMM_WORLD, (color < 0) ? MPI_UNDEFINED : color,
                       (kind == COMM_REVERSED) ? -mt_rank : mt_rank, &comm->handle);
        break;
    }

    if (comm->handle != MPI_COMM_NULL) {
        MPI_Comm_rank(comm->handle, &rank);
        if (rank != comm_rank(comm, mt_rank)) {
            mt_fail("rank %d in communicator kind %d, not %d", rank, kind,
                    comm_rank(comm, mt_rank));
        }
    }
}

void comm_close(comm_t *comm)
{
    if ((comm->kind != COMM_WORLD) && (comm->handle != MPI_COMM_NULL)) {
        MPI_Comm_free(&comm->handle);
    }
}
