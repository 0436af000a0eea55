/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The first small message arrives although its sender computes.
 *
 * Run: mpiexec -n 2 compute_first [--seed N] [--milliseconds N] [--size BYTES]
 *
 * Rank 0 starts its very first message to rank 1 with MPI_Isend and then computes, with
 * no call of MPI. Rank 1 must have the message before rank 0's computation ends: MPI
 * programs count on that with stock UCX over shared memory. One message per run is the
 * first one, so the size is an option: without it 8 bytes come first, then 4 KB behind a
 * barrier.
 */

#include "mpitest.h"

#include <stdlib.h>

static long milliseconds = 1000;
static long size         = 0;

static void compute(double seconds)
{
    double end = MPI_Wtime() + seconds;

    while (MPI_Wtime() < end) {}
}

static void run(size_t bytes, int tag)
{
    double limit = (double)milliseconds / 1000;
    char *buf    = mt_buf_alloc(bytes);
    double start = MPI_Wtime();
    double took;
    MPI_Request req;
    MPI_Status status;

    mt_stage("message of %zu bytes", bytes);
    if (mt_rank == 0) {
        mt_fill(buf, bytes, mt_key(bytes, 0, 0, 0));
        MPI_Isend(buf, (int)bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &req);
        compute(limit);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else if (mt_rank == 1) {
        MPI_Recv(buf, (int)bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &status);
        took = MPI_Wtime() - start;
        mt_expect_status(&status, 0, tag, bytes);
        mt_expect(buf, bytes, mt_key(bytes, 0, 0, 0), 0, tag);
        mt_buf_guard(buf, bytes, bytes, 0, tag);

        /* Both started within the start-up's skew, which is far below half of it. */
        if (took > limit / 2) {
            mt_fail("%zu bytes took %.0f ms while the sender computed for %.0f ms", bytes,
                    took * 1000, limit * 1000);
        }
    }
    free(buf);
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"milliseconds", &milliseconds, "how long rank 0 computes"},
            {"size", &size, "of the first message; 0 is 8, then 4096"},
    };

    mt_start(&argc, &argv, "compute_first", "a first message needs no help", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 2);
    run(size ? (size_t)size : 8, 1);
    if (size == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        run(4096, 2);
    }
    return mt_pass("milliseconds=%ld:", milliseconds);
}
