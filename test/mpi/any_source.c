/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives from any source that are there before their messages.
 *
 * Run: mpiexec -n 2..4 any_source [--seed N] [--iters N] [--size N]
 *
 * In each round rank 0 posts a receive from any source, and then one of the others, in turn,
 * sends. With two ranks there is one sender, whom a library may guess.
 */

#include "mpitest.h"

#include <stdlib.h>

#define TAG 5

static long iters = 50;
static long size  = 100000;

/* Rank 0: the receive is there when the others leave the barrier. */
static void receive_one(char *in, int from, uint64_t key)
{
    MPI_Request request;
    MPI_Status status;

    MPI_Irecv(in, (int)size, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    mt_expect_status(&status, from, TAG, (size_t)size);
    mt_expect(in, (size_t)size, key, from, TAG);
    mt_buf_guard(in, (size_t)size, (size_t)size, from, TAG);
}

static void send_one(char *out, int from, uint64_t key)
{
    mt_fill(out, (size_t)size, key);
    MPI_Barrier(MPI_COMM_WORLD);
    if (mt_rank == from) {
        MPI_Send(out, (int)size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {{"iters", &iters, "rounds"},
                             {"size", &size, "bytes of a message"}};
    char *buffer;

    mt_start(&argc, &argv, "any_source", "receives from any source, posted early", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 2);
    buffer = mt_buf_alloc((size_t)size);
    for (long i = 0; i < iters; i++) {
        int from     = 1 + (int)(i % (mt_size - 1));
        uint64_t key = (uint64_t)(mt_seed * 1000 + i);

        mt_stage("round %ld, message of rank %d", i, from);
        if (mt_rank == 0) {
            receive_one(buffer, from, key);
        } else {
            send_one(buffer, from, key);
        }
    }
    free(buffer);
    return mt_pass("%ld messages of %ld bytes", iters, size);
}
