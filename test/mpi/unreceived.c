/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages that nobody receives must not keep MPI_Finalize from ending. Such a program is in
 * error by the MPI standard, and common: a last status message that nobody reads.
 *
 * Run: mpiexec -n 2..16 unreceived [--size BYTES] [--who 1|2|3] [--messages N] [--warm 1] [--all 1]
 *
 * Ranks form pairs of an even rank and the odd one behind it. Who sends: 1: even ranks, 2: odd
 * ones, 3: both. With --all 1 they send to all others. Whoever does not send, or has sent, calls
 * MPI_Finalize at once.
 */

#include "mpitest.h"

#include <stdio.h>
#include <stdlib.h>

#define WARM_SIZE 100000

static long size     = 32768;
static long who      = 3;
static long messages = 1;
static long warm     = 0;
static long all      = 0;

/* Messages that the library sends in other ways after the first few. */
static void warm_up(int peer)
{
    const int sizes[] = {8, 8, 8, 8, 8, 8, WARM_SIZE, WARM_SIZE, 8, WARM_SIZE};
    char *out         = mt_alloc(WARM_SIZE);
    char *in          = mt_alloc(WARM_SIZE);

    for (int i = 0; i < MT_LEN(sizes); i++) {
        mt_stage("warm-up message %d", i);
        MPI_Sendrecv(out, sizes[i], MPI_BYTE, peer, 0, in, sizes[i], MPI_BYTE, peer, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(out);
    free(in);
}

static void send_to(int peer)
{
    char *buf = mt_alloc((size_t)size); /* never freed, as nobody says when it may be */

    for (long i = 0; i < messages; i++) {
        MPI_Request req;

        mt_stage("message %ld of %ld bytes to %d", i, size, peer);
        MPI_Isend(buf, (int)size, MPI_BYTE, peer, (int)i, MPI_COMM_WORLD, &req);
        MPI_Request_free(&req);
    }
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"size", &size, "of each message"},
            {"who", &who, "sends: 1: even ranks, 2: odd ones, 3: both"},
            {"messages", &messages, "of each sender"},
            {"warm", &warm, "1: exchange some messages before"},
            {"all", &all, "1: each rank sends to all others"},
    };
    int peer;

    mt_start(&argc, &argv, "unreceived", "messages that nobody receives", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 2);
    for (peer = 0; peer < mt_size; peer++) {
        if ((peer == mt_rank) || (!all && (peer != (mt_rank ^ 1)))) {
            continue;
        }
        if (warm) {
            warm_up(peer);
        }
        if (who & (1 << (mt_rank % 2))) {
            send_to(peer);
        }
    }
    if (mt_rank == 0) {
        printf("PASS unreceived ranks=%d seed=%ld size=%ld who=%ld messages=%ld\n",
               mt_size, mt_seed, size, who, messages);
        fflush(stdout);
    }
    mt_stage("MPI_Finalize");
    MPI_Finalize();
    return 0;
}
