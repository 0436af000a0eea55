/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ranks send each other messages of 8 B to 1 MB and look at every byte.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX (1 << 20)

int main(int argc, char **argv)
{
    unsigned char *out = malloc(MAX);
    unsigned char *in  = malloc(MAX);
    MPI_Request request;
    int rank, size, length, i, round;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if ((size != 2) || (out == NULL) || (in == NULL)) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (length = 8; length <= MAX; length *= 2) {
        for (round = 0; round < 8; ++round) {
            memset(out, length / 8 + round + rank, length);
            memset(in, 0, length);
            MPI_Irecv(in, length, MPI_BYTE, 1 - rank, round, MPI_COMM_WORLD, &request);
            MPI_Send(out, length, MPI_BYTE, 1 - rank, round, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (i = 0; i < length; ++i) {
                if (in[i] != (unsigned char)(length / 8 + round + 1 - rank)) {
                    fprintf(stderr, "rank %d: byte %d of %d is wrong\n", rank, i, length);
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
            }
        }
    }
    if (rank == 0) {
        printf("all messages are right\n");
    }
    MPI_Finalize();
    return 0;
}
