/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Large receives that are posted long before their messages, on communicators that come and
 * go: the same rank in a communicator, the same context id and the same tag mean another
 * process each time. What the library has learnt about who sends what is wrong again and
 * again, and each receive must get its own message all the same.
 *
 * Run: mpiexec -n 2..4 early_receives [--seed N] [--iters ROUNDS] [--messages N]
 *
 * In each round MPI_COMM_WORLD is split by a permutation, all ranks post receives from all
 * others, by name or from any source, some persistent, some cancelled, and then send.
 */

#include "mpitest.h"

#include <stdlib.h>

enum {
    TAG_NAMED  = 1,
    TAG_ANY    = 2, /* all its receives are from any source */
    TAG_CANCEL = 3,
    MAX_RANKS  = 16
};

static long iters    = 40;
static long messages = 3;
static long max_size = 700 * 1024;

static size_t message_size(int round, int src, int dst, int tag, int index)
{
    static const size_t sizes[] = {0,     100,   8192,   8193,   20000,  65536,
                                   65537, 90000, 200000, 262144, 400000, 700000};
    mt_rng_t rng = mt_rng(mt_key((uint64_t)round, (uint64_t)(src * MAX_RANKS + dst),
                                 (uint64_t)tag, (uint64_t)index));
    size_t size  = sizes[mt_below(&rng, MT_LEN(sizes))];

    return (size > (size_t)max_size) ? (size_t)max_size : size;
}

static uint64_t message_key(int round, int src, int dst, int tag, int index)
{
    return mt_key((uint64_t)round + 77, (uint64_t)(src * MAX_RANKS + dst), (uint64_t)tag,
                  (uint64_t)index);
}

/* Ranks of a communicator in MPI_COMM_WORLD. */
static void world_ranks(MPI_Comm comm, int size, int *world)
{
    MPI_Group group, all;
    int ranks[MAX_RANKS];

    for (int i = 0; i < size; i++) {
        ranks[i] = i;
    }
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(group, size, ranks, all, world);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
}

/* The same permutation on all ranks. */
static MPI_Comm permuted(int round)
{
    mt_rng_t rng = mt_rng(mt_key((uint64_t)round, 5, 5, 5));
    int order[MAX_RANKS];
    MPI_Comm comm;

    for (int i = 0; i < mt_size; i++) {
        order[i] = i;
    }
    mt_shuffle(&rng, order, mt_size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, order[mt_rank], &comm);
    return comm;
}

typedef struct {
    char *buf;
    MPI_Request req;
    int src; /* in the communicator; MPI_ANY_SOURCE */
    int tag;
    int index;
} receive_t;

static void post(receive_t *r, MPI_Comm comm, int src, int tag, int index)
{
    r->src   = src;
    r->tag   = tag;
    r->index = index;
    r->buf   = mt_buf_alloc((size_t)max_size);
    if ((tag == TAG_NAMED) && (index % 2)) {
        MPI_Recv_init(r->buf, (int)max_size, MPI_BYTE, src, tag, comm, &r->req);
        MPI_Start(&r->req);
    } else {
        MPI_Irecv(r->buf, (int)max_size, MPI_BYTE, src, tag, comm, &r->req);
    }
}

static void check(receive_t *r, int round, const int *world, int *next_any)
{
    MPI_Status status;
    size_t size;
    int src, index;

    MPI_Wait(&r->req, &status);
    src   = world[status.MPI_SOURCE];
    index = (r->src == MPI_ANY_SOURCE) ? next_any[status.MPI_SOURCE]++ : r->index;
    size  = message_size(round, src, mt_rank, r->tag, index);
    mt_expect_status(&status, status.MPI_SOURCE, r->tag, size);
    if ((r->src != MPI_ANY_SOURCE) && (r->src != status.MPI_SOURCE)) {
        mt_fail("a message from %d for a receive from %d", status.MPI_SOURCE, r->src);
    }
    mt_expect(r->buf, size, message_key(round, src, mt_rank, r->tag, index), src, r->tag);
    mt_buf_guard(r->buf, size, (size_t)max_size, src, r->tag);
    if (r->req != MPI_REQUEST_NULL) {
        MPI_Request_free(&r->req);
    }
    free(r->buf);
}

/* A receive for which no message comes, with others behind it. */
static void cancel_one(MPI_Comm comm, int src)
{
    char *buf = mt_buf_alloc((size_t)max_size);
    MPI_Request req;
    MPI_Status status;
    int canceled;

    MPI_Irecv(buf, (int)max_size, MPI_BYTE, src, TAG_CANCEL, comm, &req);
    MPI_Cancel(&req);
    MPI_Wait(&req, &status);
    MPI_Test_cancelled(&status, &canceled);
    if (!canceled) {
        mt_fail("a receive without a message was not cancelled");
    }
    free(buf);
}

/* Posts the receives of a round, and cancels others now and then. */
static void post_all(receive_t *receives, MPI_Comm comm, int me, mt_rng_t *rng)
{
    int n = 0, flag;

    for (int i = 0; i < (int)messages; i++) {
        for (int k = 1; k < mt_size; k++) {
            int src = (me + k) % mt_size;

            post(&receives[n++], comm, src, TAG_NAMED, i);
            post(&receives[n++], comm, MPI_ANY_SOURCE, TAG_ANY, i);
            if (mt_chance(rng, 30)) {
                cancel_one(comm, src);
            }
        }
    }
    if (mt_chance(rng, 50)) {
        /* let offers go out */
        for (int i = 0; i < 50; i++) {
            MPI_Iprobe(MPI_ANY_SOURCE, TAG_CANCEL, comm, &flag, MPI_STATUS_IGNORE);
        }
    }
}

static void run_round(int round, MPI_Comm comm)
{
    int total           = 2 * (int)messages * (mt_size - 1);
    receive_t *receives = mt_alloc((size_t)total * sizeof(*receives));
    MPI_Request *sends  = mt_alloc((size_t)total * sizeof(*sends));
    char **out          = mt_alloc((size_t)total * sizeof(*out));
    mt_rng_t rng        = mt_rng(mt_key((uint64_t)round, (uint64_t)mt_rank, 9, 9));
    int world[MAX_RANKS], next_any[MAX_RANKS] = {0};
    int me, n                                 = 0;

    MPI_Comm_rank(comm, &me);
    world_ranks(comm, mt_size, world);

    mt_stage("round %d: receives", round);
    post_all(receives, comm, me, &rng);

    mt_stage("round %d: sends", round);
    for (int i = 0; i < (int)messages; i++) {
        for (int k = 1; k < mt_size; k++) {
            int dst = (me + k) % mt_size;

            for (int tag = TAG_NAMED; tag <= TAG_ANY; tag++) {
                size_t size = message_size(round, mt_rank, world[dst], tag, i);

                out[n] = mt_buf_alloc(size);
                mt_fill(out[n], size, message_key(round, mt_rank, world[dst], tag, i));
                if (mt_chance(&rng, 20)) {
                    MPI_Issend(out[n], (int)size, MPI_BYTE, dst, tag, comm, &sends[n]);
                } else {
                    MPI_Isend(out[n], (int)size, MPI_BYTE, dst, tag, comm, &sends[n]);
                }
                n++;
            }
        }
    }

    mt_stage("round %d: wait", round);
    for (int i = 0; i < total; i++) {
        check(&receives[i], round, world, next_any);
    }
    for (int i = 0; i < total; i++) {
        MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
        free(out[i]);
    }
    free(receives);
    free(sends);
    free(out);
}

int main(int argc, char **argv)
{
    static const mt_opt_t opts[] = {
            {"iters", &iters, "rounds, each with a communicator of its own"},
            {"messages", &messages, "of each kind, to each rank, in a round"},
            {"max-size", &max_size, "longest message"},
    };

    mt_start(&argc, &argv, "early_receives",
             "large receives before their messages, on changing communicators", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 2);
    if (mt_size > MAX_RANKS) {
        mt_skip("more than %d ranks", MAX_RANKS);
    }

    for (int round = 0; round < (int)iters; round++) {
        MPI_Comm comm = permuted(round);

        run_round(round, comm);
        if (round % 4 ==
            3) { /* the same communicator once more; not before all are done */
            MPI_Barrier(comm);
            run_round(round + 1000000, comm);
        }
        MPI_Comm_free(&comm);
    }
    return mt_pass("%ld communicators", iters);
}
