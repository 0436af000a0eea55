/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * MPI_THREAD_MULTIPLE: several threads per rank send and receive at once.
 *
 * Run: mpiexec -n 2..4 threads [--seed N] [--threads N] [--iters N] [--max-size BYTES]
 *
 * Thread t of a rank exchanges messages with thread t of the neighbours by tags of its
 * own, which keep their order. In between, every thread sends messages of the shared
 * communicator and receives as many from it with MPI_Improbe for any source and tag, so
 * that threads compete for messages there; each message says by its tag what is in it.
 */

#include "mpitest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_THREADS     = 32,
    TAGS_PER_THREAD = 16,
    WINDOW          = 8
};

static long threads  = 4;
static long iters    = 12;
static long max_size = 1 << 20;
static MPI_Comm shared;

typedef struct {
    int id;
    mt_rng_t rng;
} worker_t;

static size_t own_size(int src, int id, long round, int index)
{
    mt_rng_t rng =
            mt_rng(mt_key((uint64_t)src, (uint64_t)id, (uint64_t)round, (uint64_t)index));

    return mt_chance(&rng, 6) ? mt_below(&rng, (uint64_t)max_size + 1) :
                                mt_rand_size(&rng, 32768);
}

static uint64_t own_key(int src, int id, long round, int index)
{
    return mt_key((uint64_t)(src * MAX_THREADS + id), (uint64_t)round, (uint64_t)index,
                  9);
}

/* The tag of a shared message names its sending thread and its number. */
static size_t shared_size(int src, int tag)
{
    mt_rng_t rng = mt_rng(mt_key((uint64_t)src, (uint64_t)tag, 11, 0));

    return mt_rand_size(&rng, 65536);
}

static uint64_t shared_key(int src, int tag)
{
    return mt_key((uint64_t)src, (uint64_t)tag, 12, 0);
}

static void receive_shared(void)
{
    MPI_Message message;
    MPI_Status status;
    int found = 0;
    int size;
    char *buf;

    while (!found) {
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, shared, &found, &message, &status);
        if (!found) {
            mt_idle();
        }
    }

    MPI_Get_count(&status, MPI_BYTE, &size);
    buf = mt_buf_alloc((size_t)size);
    MPI_Mrecv(buf, size, MPI_BYTE, &message, &status);
    mt_expect_status(&status, status.MPI_SOURCE, status.MPI_TAG,
                     shared_size(status.MPI_SOURCE, status.MPI_TAG));
    mt_expect(buf, (size_t)size, shared_key(status.MPI_SOURCE, status.MPI_TAG),
              status.MPI_SOURCE, status.MPI_TAG);
    mt_buf_guard(buf, (size_t)size, (size_t)size, status.MPI_SOURCE, status.MPI_TAG);
    free(buf);
}

/* Which tag the i-th message of a window has: the same for two in a row. */
static int own_tag(int id, int index)
{
    return id * TAGS_PER_THREAD + index / 2;
}

static void run_round(worker_t *self, long round)
{
    int left  = (mt_rank + mt_size - 1) % mt_size;
    int right = (mt_rank + 1) % mt_size;
    int early = mt_chance(&self->rng, 50);
    int tag   = (int)round * (int)threads + self->id;
    MPI_Request reqs[2 * WINDOW + 1];
    MPI_Status stats[2 * WINDOW + 1];
    char *in[WINDOW], *out[WINDOW], *extra;
    int peer;

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; (pass != early) && (i < WINDOW); i++) {
            size_t size = own_size(left, self->id, round, i);

            /* Two messages of a tag may come to either buffer if order is violated. */
            in[i] = mt_buf_alloc((size_t)max_size);
            MPI_Irecv(in[i], (int)((i % 2) ? (size_t)max_size : size), MPI_BYTE, left,
                      own_tag(self->id, i), MPI_COMM_WORLD, &reqs[i]);
        }
        for (int i = 0; (pass == early) && (i < WINDOW); i++) {
            size_t size = own_size(mt_rank, self->id, round, i);

            out[i] = mt_alloc(size);
            mt_fill(out[i], size, own_key(mt_rank, self->id, round, i));
            if (mt_chance(&self->rng, 25)) {
                MPI_Issend(out[i], (int)size, MPI_BYTE, right, own_tag(self->id, i),
                           MPI_COMM_WORLD, &reqs[WINDOW + i]);
            } else {
                MPI_Isend(out[i], (int)size, MPI_BYTE, right, own_tag(self->id, i),
                          MPI_COMM_WORLD, &reqs[WINDOW + i]);
            }
        }
    }

    /* As many threads receive one shared message as send one to this rank. */
    peer  = (mt_rank + 1 + (int)round % mt_size) % mt_size;
    extra = mt_alloc(shared_size(mt_rank, tag));
    mt_fill(extra, shared_size(mt_rank, tag), shared_key(mt_rank, tag));
    MPI_Isend(extra, (int)shared_size(mt_rank, tag), MPI_BYTE, peer, tag, shared,
              &reqs[2 * WINDOW]);
    receive_shared();

    MPI_Waitall(2 * WINDOW + 1, reqs, stats);
    for (int i = 0; i < WINDOW; i++) {
        size_t size = own_size(left, self->id, round, i);

        mt_expect_status(&stats[i], left, own_tag(self->id, i), size);
        mt_expect(in[i], size, own_key(left, self->id, round, i), left,
                  own_tag(self->id, i));
        mt_buf_guard(in[i], size, (size_t)max_size, left, own_tag(self->id, i));
        free(in[i]);
        free(out[i]);
    }
    free(extra);
}

static void *worker(void *arg)
{
    worker_t *self = arg;

    for (long round = 0; round < iters; round++) {
        run_round(self, round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"threads", &threads, "per rank, at most 32"},
            {"iters", &iters, "rounds per thread"},
            {"max-size", &max_size, "largest message"},
    };
    pthread_t handles[MAX_THREADS];
    worker_t workers[MAX_THREADS];

    mt_start(&argc, &argv, "threads", "threads that send and receive at once", opts,
             MT_LEN(opts), MPI_THREAD_MULTIPLE, 2);
    if (mt_thread_level < MPI_THREAD_MULTIPLE) {
        mt_skip("thread level %d is all that MPI provides", mt_thread_level);
    }
    if ((threads < 1) || (threads > MAX_THREADS)) {
        mt_fail("--threads is 1 to %d", MAX_THREADS);
    }

    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    mt_stage("%ld threads", threads);
    for (int i = 0; i < (int)threads; i++) {
        workers[i].id  = i;
        workers[i].rng = mt_rng(mt_key((uint64_t)mt_rank, (uint64_t)i, 13, 0));
        if (pthread_create(&handles[i], NULL, worker, &workers[i]) != 0) {
            mt_fail("cannot create thread %d", i);
        }
    }
    for (int i = 0; i < (int)threads; i++) {
        pthread_join(handles[i], NULL);
    }

    MPI_Comm_free(&shared);
    return mt_pass("threads=%ld iters=%ld:", threads, iters);
}
