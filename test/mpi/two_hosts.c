/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages of all lengths between all ranks, round by round, while something happens to their
 * hosts or to the network between these.
 *
 * Run: mpiexec -n 2.. two_hosts [--seed N] [--rounds N] [--max-size BYTES]
 *
 * In odd rounds all receives are there before the messages, in even ones the messages are sent
 * first. Rank 0 prints each round before it begins. With MT_UNTIL=FILE in the environment it
 * goes on until it sees that file, and then does as many rounds as it was told. At the end no
 * message must be left. The last line says on which hosts the ranks were, with which process
 * ids, and by how much their clocks differ.
 */

#include "mpitest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TAG_ROUND = 1,
    TAG_DATA,
    NUM_SIZES = 8
};

typedef struct {
    char name[64];
    long pid;
    long clock;
} host_t;

static long rounds   = 4;
static long max_size = 1 << 20;

/* One of each kind for every pair: those that the protocols tell apart, and any. */
static size_t size_of(int round, int src, int dst, int index)
{
    static const size_t kinds[NUM_SIZES] = {0,     64,     4096,    20000,
                                            60000, 300000, 1 << 20, 8};
    mt_rng_t rng                         = mt_rng(
                                    mt_key((uint64_t)round, (uint64_t)src, (uint64_t)dst, (uint64_t)index));
    size_t size = kinds[index];

    size += (size > 64) ? mt_below(&rng, size / 4) : 0;
    return (size > (size_t)max_size) ? (size_t)max_size : size;
}

static uint64_t key_of(int round, int src, int dst, int index)
{
    return mt_key((uint64_t)round * NUM_SIZES + (uint64_t)index, (uint64_t)src,
                  (uint64_t)dst, 7);
}

static void post(int round, int peer, char **in, MPI_Request *reqs)
{
    for (int i = 0; i < NUM_SIZES; i++) {
        in[i] = mt_buf_alloc((size_t)max_size);
        MPI_Irecv(in[i], (int)max_size, MPI_BYTE, peer, TAG_DATA + round % 2,
                  MPI_COMM_WORLD, &reqs[i]);
    }
}

static void send(int round, int peer, char **out, MPI_Request *reqs)
{
    for (int i = 0; i < NUM_SIZES; i++) {
        size_t size = size_of(round, mt_rank, peer, i);

        out[i] = mt_alloc(size + 1);
        mt_fill(out[i], size, key_of(round, mt_rank, peer, i));
        MPI_Isend(out[i], (int)size, MPI_BYTE, peer, TAG_DATA + round % 2, MPI_COMM_WORLD,
                  &reqs[i]);
    }
}

static void check(int round, int peer, char **in, MPI_Status *statuses)
{
    for (int i = 0; i < NUM_SIZES; i++) {
        size_t size = size_of(round, peer, mt_rank, i);

        mt_expect_status(&statuses[i], peer, TAG_DATA + round % 2, size);
        mt_expect(in[i], size, key_of(round, peer, mt_rank, i), peer,
                  TAG_DATA + round % 2);
        mt_buf_guard(in[i], size, (size_t)max_size, peer, TAG_DATA + round % 2);
        free(in[i]);
    }
}

static void do_round(int round)
{
    int n                = mt_size * NUM_SIZES;
    char **in            = mt_alloc((size_t)n * sizeof(*in));
    char **out           = mt_alloc((size_t)n * sizeof(*out));
    MPI_Request *reqs    = mt_alloc(2 * (size_t)n * sizeof(*reqs));
    MPI_Status *statuses = mt_alloc(2 * (size_t)n * sizeof(*statuses));

    for (int i = 0; i < 2 * n; i++) {
        reqs[i] = MPI_REQUEST_NULL;
    }
    for (int step = 0; step < 2; step++) {
        for (int peer = 0; peer < mt_size; peer++) {
            if (peer == mt_rank) {
                continue;
            }
            mt_stage("round %d, rank %d", round, peer);
            if (step == (round & 1)) {
                send(round, peer, out + peer * NUM_SIZES, reqs + n + peer * NUM_SIZES);
            } else {
                post(round, peer, in + peer * NUM_SIZES, reqs + peer * NUM_SIZES);
            }
        }
    }
    mt_stage("round %d, waiting", round);
    MPI_Waitall(2 * n, reqs, statuses);
    for (int peer = 0; peer < mt_size; peer++) {
        if (peer != mt_rank) {
            check(round, peer, in + peer * NUM_SIZES, statuses + peer * NUM_SIZES);
            for (int i = 0; i < NUM_SIZES; i++) {
                free(out[peer * NUM_SIZES + i]);
            }
        }
    }
    free(in);
    free(out);
    free(reqs);
    free(statuses);
}

/* Whether there is another round, as rank 0 tells everybody. */
static int goes_on(int round, long *left)
{
    const char *until = getenv("MT_UNTIL");
    int go            = 0;

    mt_stage("before round %d", round);
    if (mt_rank == 0) {
        if ((until == NULL) || (access(until, F_OK) == 0)) {
            go = ((*left)-- > 0);
        } else {
            go = 1;
        }
        if (go) {
            printf("round %d\n", round);
            fflush(stdout);
        }
        for (int peer = 1; peer < mt_size; peer++) {
            MPI_Send(&go, 1, MPI_INT, peer, TAG_ROUND, MPI_COMM_WORLD);
        }
    } else {
        MPI_Recv(&go, 1, MPI_INT, 0, TAG_ROUND, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return go;
}

/* Into text: the hosts and process ids of all ranks. Returns the seconds between the first and
 * the last of their clocks. */
static long tell_hosts(char *text, size_t max)
{
    host_t *hosts = mt_alloc((size_t)mt_size * sizeof(*hosts));
    host_t mine   = {.pid = getpid(), .clock = (long)time(NULL)};
    long first, last;
    size_t used = 0;

    mt_stage("hosts");
    gethostname(mine.name, sizeof(mine.name) - 1);
    MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, hosts, sizeof(mine), MPI_BYTE,
                  MPI_COMM_WORLD);
    first = last = hosts[0].clock;
    for (int i = 0; i < mt_size; i++) {
        first = (hosts[i].clock < first) ? hosts[i].clock : first;
        last  = (hosts[i].clock > last) ? hosts[i].clock : last;
        if (used < max) {
            used += (size_t)snprintf(text + used, max - used, " %s:%ld", hosts[i].name,
                                     hosts[i].pid);
        }
    }
    free(hosts);
    return last - first;
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"rounds", &rounds, "rounds, behind the file of MT_UNTIL"},
            {"max-size", &max_size, "largest message"},
    };
    char hosts[1024];
    long left, apart;
    int found;
    int round = 0;

    mt_start(&argc, &argv, "two_hosts", "messages while hosts or networks fail", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 2);
    for (left = rounds; goes_on(round, &left); round++) {
        do_round(round);
    }
    apart = tell_hosts(hosts, sizeof(hosts));
    MPI_Barrier(MPI_COMM_WORLD);
    mt_stage("looking for what is left");
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    if (found) {
        mt_fail("a message is there that nobody sent");
    }
    return mt_pass("%d rounds, clocks %ld s apart,%s", round, apart, hosts);
}
