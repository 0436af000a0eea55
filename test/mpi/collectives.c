/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Collectives, blocking and not, on communicators that come and go.
 *
 * Run: mpiexec -n 2..4 collectives [--seed N] [--iters N] [--max-size BYTES]
 *
 * Reductions use 64-bit integers with sums that are computed here as well.
 */

#include "mpitest.h"

#include <stdlib.h>
#include <string.h>

static long iters    = 12;
static long max_size = 1 << 20;

static MPI_Comm comm;
static int rank, size;
static mt_rng_t rng; /* the same on all ranks */
static uint64_t key; /* of the current collective */

static size_t random_size(void)
{
    size_t limit = (size_t)max_size;

    return mt_chance(&rng, 20) ? 1 + mt_below(&rng, limit) :
                                 1 + mt_rand_size(&rng, limit - 1);
}

static uint64_t element(int r, size_t i)
{
    return mt_mix(key + (uint64_t)r * 1000003 + i) >> 8;
}

static uint64_t *vector(size_t n)
{
    uint64_t *v = mt_alloc(n * sizeof(*v));

    for (size_t i = 0; i < n; i++) {
        v[i] = element(rank, i);
    }
    return v;
}

/* The sums over the ranks from 0 to last. */
static void check_sums(const char *what, const uint64_t *v, size_t n, int last)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t sum = 0;

        for (int r = 0; r <= last; r++) {
            sum += element(r, i);
        }
        if (v[i] != sum) {
            mt_fail("%s of %zu elements: element %zu is %llx, expected %llx", what, n, i,
                    (unsigned long long)v[i], (unsigned long long)sum);
        }
    }
}

static void wait_for(int nonblocking, MPI_Request *req)
{
    int flag = 0;

    if (nonblocking && mt_chance(&rng, 50)) {
        while (!flag) {
            MPI_Test(req, &flag, MPI_STATUS_IGNORE);
            if (!flag) {
                mt_idle();
            }
        }
    } else if (nonblocking) {
        MPI_Wait(req, MPI_STATUS_IGNORE);
    }
}

static void test_bcast(int nb)
{
    size_t n  = random_size();
    int root  = (int)mt_below(&rng, (uint64_t)size);
    char *buf = mt_buf_alloc(n);
    MPI_Request req;

    mt_stage("Bcast of %zu bytes from %d, non-blocking %d", n, root, nb);
    if (rank == root) {
        mt_fill(buf, n, key);
    }
    if (nb) {
        MPI_Ibcast(buf, (int)n, MPI_BYTE, root, comm, &req);
    } else {
        MPI_Bcast(buf, (int)n, MPI_BYTE, root, comm);
    }
    wait_for(nb, &req);
    mt_expect(buf, n, key, root, -1);
    mt_buf_guard(buf, n, n, root, -1);
    free(buf);
}

static void test_reduce(int nb)
{
    size_t n      = 1 + random_size() / sizeof(uint64_t);
    int root      = (int)mt_below(&rng, (uint64_t)size);
    uint64_t *in  = vector(n);
    uint64_t *out = mt_alloc(n * sizeof(*out));
    MPI_Request req;

    mt_stage("Reduce of %zu elements to %d, non-blocking %d", n, root, nb);
    if (nb) {
        MPI_Ireduce(in, out, (int)n, MPI_UINT64_T, MPI_SUM, root, comm, &req);
    } else {
        MPI_Reduce(in, out, (int)n, MPI_UINT64_T, MPI_SUM, root, comm);
    }
    wait_for(nb, &req);
    if (rank == root) {
        check_sums("Reduce", out, n, size - 1);
    }

    mt_stage("Allreduce of %zu elements, non-blocking %d", n, nb);
    if (nb) {
        MPI_Iallreduce(in, out, (int)n, MPI_UINT64_T, MPI_SUM, comm, &req);
    } else {
        MPI_Allreduce(in, out, (int)n, MPI_UINT64_T, MPI_SUM, comm);
    }
    wait_for(nb, &req);
    check_sums("Allreduce", out, n, size - 1);

    mt_stage("Scan of %zu elements, non-blocking %d", n, nb);
    if (nb) {
        MPI_Iscan(in, out, (int)n, MPI_UINT64_T, MPI_SUM, comm, &req);
    } else {
        MPI_Scan(in, out, (int)n, MPI_UINT64_T, MPI_SUM, comm);
    }
    wait_for(nb, &req);
    check_sums("Scan", out, n, rank);
    free(in);
    free(out);
}

static uint64_t pair_key(int from, int to)
{
    return key + (uint64_t)(from * 1000 + to);
}

static void test_alltoall(int nb)
{
    size_t n  = 1 + random_size() / (size_t)size;
    char *in  = mt_alloc(n * (size_t)size);
    char *out = mt_buf_alloc(n * (size_t)size);
    MPI_Request req;

    mt_stage("Alltoall of %zu bytes, non-blocking %d", n, nb);
    for (int r = 0; r < size; r++) {
        mt_fill(in + (size_t)r * n, n, pair_key(rank, r));
    }
    if (nb) {
        MPI_Ialltoall(in, (int)n, MPI_BYTE, out, (int)n, MPI_BYTE, comm, &req);
    } else {
        MPI_Alltoall(in, (int)n, MPI_BYTE, out, (int)n, MPI_BYTE, comm);
    }
    wait_for(nb, &req);
    for (int r = 0; r < size; r++) {
        mt_expect(out + (size_t)r * n, n, pair_key(r, rank), r, -1);
    }

    mt_stage("Allgather of %zu bytes, non-blocking %d", n, nb);
    mt_fill(in, n, pair_key(rank, 999));
    if (nb) {
        MPI_Iallgather(in, (int)n, MPI_BYTE, out, (int)n, MPI_BYTE, comm, &req);
    } else {
        MPI_Allgather(in, (int)n, MPI_BYTE, out, (int)n, MPI_BYTE, comm);
    }
    wait_for(nb, &req);
    for (int r = 0; r < size; r++) {
        mt_expect(out + (size_t)r * n, n, pair_key(r, 999), r, -1);
    }
    mt_buf_guard(out, n * (size_t)size, n * (size_t)size, -1, -1);
    free(in);
    free(out);
}

static void test_alltoallv(int nb)
{
    int *in_n     = mt_alloc(4 * (size_t)size * sizeof(int));
    int *in_at    = in_n + size;
    int *out_n    = in_at + size;
    int *out_at   = out_n + size;
    size_t limit  = random_size() / (size_t)size + 1;
    int in_total  = 0;
    int out_total = 0;
    MPI_Request req;
    char *in, *out;

    for (int a = 0; a < size; a++) {
        for (int b = 0; b < size; b++) {
            int n = (int)mt_below(&rng, limit);

            if (a == rank) {
                in_n[b]  = n;
                in_at[b] = in_total;
                in_total += n;
            }
            if (b == rank) {
                out_n[a]  = n;
                out_at[a] = out_total;
                out_total += n;
            }
        }
    }

    mt_stage("Alltoallv of up to %zu bytes, non-blocking %d", limit, nb);
    in  = mt_alloc((size_t)in_total);
    out = mt_buf_alloc((size_t)out_total);
    for (int r = 0; r < size; r++) {
        mt_fill(in + in_at[r], (size_t)in_n[r], pair_key(rank, r));
    }
    if (nb) {
        MPI_Ialltoallv(in, in_n, in_at, MPI_BYTE, out, out_n, out_at, MPI_BYTE, comm,
                       &req);
    } else {
        MPI_Alltoallv(in, in_n, in_at, MPI_BYTE, out, out_n, out_at, MPI_BYTE, comm);
    }
    wait_for(nb, &req);
    for (int r = 0; r < size; r++) {
        mt_expect(out + out_at[r], (size_t)out_n[r], pair_key(r, rank), r, -1);
    }
    mt_buf_guard(out, (size_t)out_total, (size_t)out_total, -1, -1);
    free(in);
    free(out);
    free(in_n);
}

/* No rank may leave before the last has come. */
static void test_barrier(int nb)
{
    int last = (int)mt_below(&rng, (uint64_t)size);
    int note = 0;
    MPI_Request req, recv_req;
    int flag;

    mt_stage("Barrier, non-blocking %d", nb);
    if (size == 1) {
        return;
    }
    if (rank == (last + 1) % size) {
        MPI_Irecv(&note, 1, MPI_INT, last, 1, comm, &recv_req);
    }
    if (rank == last) {
        note = 1;
        MPI_Ssend(&note, 1, MPI_INT, (last + 1) % size, 1, comm);
    }
    if (nb) {
        MPI_Ibarrier(comm, &req);
    } else {
        MPI_Barrier(comm);
    }
    wait_for(nb, &req);
    if (rank == (last + 1) % size) {
        MPI_Test(&recv_req, &flag, MPI_STATUS_IGNORE);
        for (int i = 0; !flag && (i < 1000); i++) {
            MPI_Test(&recv_req, &flag, MPI_STATUS_IGNORE);
        }
        /* The synchronous send had ended before its sender came to the barrier. */
        if (!flag || (note != 1)) {
            mt_fail("Barrier ended before rank %d entered it", last);
        }
    }
}

/* Several collectives at once, and a communicator that is freed while one is used. */
static void test_overlap(void)
{
    enum {
        COUNT = 6
    };
    size_t n[COUNT];
    char *buf[COUNT];
    MPI_Request reqs[COUNT + 2];
    MPI_Comm extra;
    int to   = (rank + 1) % size;
    int from = (rank + size - 1) % size;
    char *in, *out;
    size_t bytes = random_size();

    mt_stage("%d Ibcasts at once, and Comm_free with messages under way", COUNT);
    for (int i = 0; i < COUNT; i++) {
        n[i]   = random_size() / 4 + 1;
        buf[i] = mt_buf_alloc(n[i]);
        if (rank == i % size) {
            mt_fill(buf[i], n[i], key + (uint64_t)i);
        }
        MPI_Ibcast(buf[i], (int)n[i], MPI_BYTE, i % size, comm, &reqs[i]);
    }

    MPI_Comm_dup(comm, &extra);
    in  = mt_buf_alloc(bytes);
    out = mt_alloc(bytes);
    mt_fill(out, bytes, pair_key(rank, to));
    MPI_Isend(out, (int)bytes, MPI_BYTE, to, 5, extra, &reqs[COUNT]);
    MPI_Irecv(in, (int)bytes, MPI_BYTE, from, 5, extra, &reqs[COUNT + 1]);
    MPI_Comm_free(&extra);
    MPI_Waitall(COUNT + 2, reqs, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COUNT; i++) {
        mt_expect(buf[i], n[i], key + (uint64_t)i, i % size, -1);
        free(buf[i]);
    }
    mt_expect(in, bytes, pair_key(from, rank), from, 5);
    free(in);
    free(out);
}

static void test_all(MPI_Comm use, uint64_t id)
{
    comm = use;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    rng = mt_rng(mt_key(id, 1, 0, 0));
    for (int nb = 0; nb < 2; nb++) {
        key = mt_rand(&rng);
        test_barrier(nb);
        test_bcast(nb);
        test_reduce(nb);
        test_alltoall(nb);
        test_alltoallv(nb);
    }
    test_overlap();
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"iters", &iters, "number of rounds"},
            {"max-size", &max_size, "largest message"},
    };

    mt_start(&argc, &argv, "collectives", "collectives on changing communicators", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 1);
    if (max_size < 1) {
        mt_fail("--max-size is at least 1");
    }
    for (long i = 0; i < iters; i++) {
        MPI_Comm dup, split;
        int color = (int)((mt_rank + i) % 2);

        mt_stage("round %ld, communicators", i);
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        MPI_Comm_split(dup, color, -mt_rank, &split);
        test_all((i % 3 == 0) ? MPI_COMM_WORLD : dup, (uint64_t)i);
        MPI_Comm_free(&dup);
        test_all(split, (uint64_t)(1000 + 2 * i + color));
        MPI_Comm_free(&split);
    }
    return mt_pass("rounds=%ld:", iters);
}
