/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Processes that are spawned while others run: both sides exchange messages, send one that nobody
 * receives, and disconnect. Neither MPI_Comm_disconnect nor MPI_Finalize waits for it.
 *
 * Run: mpiexec -n 1 disconnect [--size BYTES] [--children N]
 */

#include "mpitest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 10 /* the library sends in other ways after the first few */

static long size     = 60000;
static long children = 2;

/* Of each process with each one of the other side */
static void exchange(MPI_Comm inter)
{
    char *out          = mt_alloc((size_t)size);
    char *in           = mt_alloc((size_t)size);
    const uint64_t key = mt_key((uint64_t)size, 0, 0, 0);
    int peers;

    MPI_Comm_remote_size(inter, &peers);
    mt_fill(out, (size_t)size, key);
    for (int i = 0; i < ROUNDS * peers; i++) {
        mt_stage("message %d", i);
        memset(in, 0, (size_t)size);
        MPI_Sendrecv(out, (int)size, MPI_BYTE, i % peers, 0, in, (int)size, MPI_BYTE,
                     i % peers, 0, inter, MPI_STATUS_IGNORE);
        mt_expect(in, (size_t)size, key, i % peers, 0);
    }
    free(out);
    free(in);
}

static void leave(MPI_Comm inter)
{
    char *buf = mt_alloc((size_t)size); /* never freed, as nobody says when it may be */
    int peers;
    MPI_Request req;

    MPI_Comm_remote_size(inter, &peers);
    for (int i = 0; i < peers; i++) {
        mt_stage("a message that nobody receives, to %d", i);
        MPI_Isend(buf, (int)size, MPI_BYTE, i, 1, inter, &req);
        MPI_Request_free(&req);
    }
    mt_stage("MPI_Comm_disconnect");
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"size", &size, "of each message"},
            {"children", &children, "processes that are spawned"},
    };
    char value[32];
    char *child_argv[] = {"--size", value, NULL};
    MPI_Comm inter;

    mt_start(&argc, &argv, "disconnect", "processes that are spawned and disconnect",
             opts, MT_LEN(opts), MPI_THREAD_SINGLE, 1);
    MPI_Comm_get_parent(&inter);
    if (inter == MPI_COMM_NULL) {
#ifdef MPICH
        mt_skip("MPICH has no dynamic processes over UCX");
#endif
        snprintf(value, sizeof(value), "%ld", size);
        mt_stage("MPI_Comm_spawn");
        MPI_Comm_spawn(argv[0], child_argv, (int)children, MPI_INFO_NULL, 0,
                       MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
        exchange(inter);
        leave(inter);
        printf("PASS disconnect ranks=%d seed=%ld size=%ld children=%ld\n", mt_size,
               mt_seed, size, children);
        fflush(stdout);
    } else {
        exchange(inter);
        leave(inter);
    }
    mt_stage("MPI_Finalize");
    MPI_Finalize();
    return 0;
}
