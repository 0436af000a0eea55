/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What happens to messages to and from a rank whose host is lost.
 *
 * Run: MT_UNTIL=FILE mpiexec -n 2 lost_host [--seed N] [--rounds N] [--patience SECONDS]
 *
 * The ranks exchange messages of all lengths. Behind these rank 0 prints "ready", and waits for the
 * file: then rank 1 is gone, with its host. Rank 0 sends one message of each length and posts a
 * receive, and once the sends have ended, or the time is over, does so once more. It prints what
 * has become of each: "sent" or "received", "error", or "waits". It ends with status 0 by itself,
 * with no MPI_Finalize, which nobody would join.
 */

#include "mpitest.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    NUM_SIZES = 4,
    NUM_REQS  = NUM_SIZES + 1
};

static const int sizes[NUM_SIZES] = {64, 4096, 60000, 1 << 20};
static long rounds                = 4;
static long patience              = 60;

static void exchange(int round, char *out, char *in)
{
    for (int i = 0; i < NUM_SIZES; i++) {
        uint64_t sent = mt_key((uint64_t)round, (uint64_t)i, (uint64_t)mt_rank, 0);
        uint64_t due  = mt_key((uint64_t)round, (uint64_t)i, (uint64_t)!mt_rank, 0);
        MPI_Status status;

        mt_stage("round %d, %d bytes", round, sizes[i]);
        mt_fill(out, (size_t)sizes[i], sent);
        MPI_Sendrecv(out, sizes[i], MPI_BYTE, !mt_rank, i, in, sizes[i], MPI_BYTE,
                     !mt_rank, i, MPI_COMM_WORLD, &status);
        mt_expect_status(&status, !mt_rank, i, (size_t)sizes[i]);
        mt_expect(in, (size_t)sizes[i], due, !mt_rank, i);
    }
}

static void tell(const char *when, int i, const char *what)
{
    if (i < NUM_SIZES) {
        printf("%s send of %d: %s\n", when, sizes[i], what);
    } else {
        printf("%s receive: %s\n", when, what);
    }
    fflush(stdout);
}

/*
 * One message of each length, and a receive, until the former have ended. What they are in is not
 * used again.
 */
static void try_all(const char *when)
{
    MPI_Request reqs[NUM_REQS];
    int over[NUM_REQS] = {0};
    double deadline    = MPI_Wtime() + (double)patience;
    int sends          = NUM_SIZES;

    mt_stage("%s messages", when);
    for (int i = 0; i < NUM_REQS; i++) {
        char *buf = mt_alloc(1 << 20);
        int error = (i < NUM_SIZES) ? MPI_Isend(buf, sizes[i], MPI_BYTE, !mt_rank, i,
                                                MPI_COMM_WORLD, &reqs[i]) :
                                      MPI_Irecv(buf, 1 << 20, MPI_BYTE, !mt_rank, i,
                                                MPI_COMM_WORLD, &reqs[i]);

        if (error != MPI_SUCCESS) {
            over[i] = 1;
            sends -= (i < NUM_SIZES);
            tell(when, i, "error");
        }
    }
    while ((sends > 0) && (MPI_Wtime() < deadline)) {
        for (int i = 0; i < NUM_REQS; i++) {
            int done = 0;
            MPI_Status status;

            if (over[i]) {
                continue;
            }
            status.MPI_ERROR = MPI_SUCCESS;
            if (MPI_Test(&reqs[i], &done, &status) != MPI_SUCCESS) {
                tell(when, i, "error");
            } else if (done) {
                tell(when, i, (i < NUM_SIZES) ? "sent" : "received");
            } else {
                continue;
            }
            over[i] = 1;
            sends -= (i < NUM_SIZES);
        }
        mt_idle();
    }
    for (int i = 0; i < NUM_REQS; i++) {
        if (!over[i]) {
            tell(when, i, "waits");
        }
    }
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"rounds", &rounds, "rounds before the host is lost"},
            {"patience", &patience, "seconds that messages have to end by themselves"},
    };
    const char *until = getenv("MT_UNTIL");
    char *out, *in;

    mt_start(&argc, &argv, "lost_host", "messages to a host that is lost", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 2);
    if (until == NULL) {
        mt_skip("MT_UNTIL names the file that tells of the loss");
    }
    out = mt_alloc(1 << 20);
    in  = mt_alloc(1 << 20);
    for (int round = 0; round < rounds; round++) {
        exchange(round, out, in);
    }
    if (mt_rank == 1) {
        mt_stage("to be lost");
        MPI_Recv(in, 1, MPI_BYTE, 0, NUM_REQS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        mt_fail("it was not");
    }
    if (mt_rank == 0) {
        int found;

        printf("ready\n");
        fflush(stdout);
        while (access(until, F_OK) != 0) {
            MPI_Iprobe(1, NUM_REQS, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
            mt_idle();
        }
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        try_all("first");
        try_all("later");
        printf("lost_host has ended\n");
        fflush(stdout);
        _exit(0);
    }
    return mt_pass("of no use to rank %d", mt_rank);
}
