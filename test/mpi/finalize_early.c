/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages that complete locally just before MPI_Finalize have to arrive.
 *
 * Run: mpiexec -n 2..4 finalize_early [--seed N] [--messages N] [--max-size BYTES] [--warm 1]
 *      [--compute MILLISECONDS] [--buffered BYTES]
 *
 * Even ranks send and call MPI_Finalize at once. Their odd neighbours compute first, so
 * that the messages lie around unexpected, or have to be pushed out by MPI_Finalize, and
 * then receive and check all of them.
 */

#include "mpitest.h"

#include <stdio.h>
#include <stdlib.h>

/* Bytes that MPI_Send does not wait with. No MPI has to buffer anything, but all
 * buffer this number of bytes, and programs rely on it. */
static long buffered = 8192;
static long messages = 300;
static long max_size = 4096;
static long warm     = 0;
static long before   = 50;

static size_t size_of(int index)
{
    mt_rng_t rng = mt_rng(mt_key((uint64_t)index, 3, 0, 0));

    return mt_rand_size(&rng, (size_t)max_size);
}

static void compute(double seconds)
{
    double end = MPI_Wtime() + seconds;

    while (MPI_Wtime() < end) {}
}

/* Messages that the library sends in other ways after the first few. */
static void warm_up(int peer)
{
    const int sizes[] = {8, 8, 8, 8, 8, 100000, 100000, 8, 100000};
    char *out         = mt_alloc(100000);
    char *in          = mt_alloc(100000);

    for (int i = 0; i < (int)MT_LEN(sizes); i++) {
        mt_stage("warm-up message %d", i);
        MPI_Sendrecv(out, sizes[i], MPI_BYTE, peer, 0, in, sizes[i], MPI_BYTE, peer, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(out);
    free(in);
}

static void send_all(int peer, long attached)
{
    char *space       = mt_alloc((size_t)attached);
    MPI_Request *reqs = mt_alloc((size_t)messages * sizeof(*reqs));
    char **bufs       = mt_alloc((size_t)messages * sizeof(*bufs));

    MPI_Buffer_attach(space, (int)attached);
    for (int i = 0; i < (int)messages; i++) {
        size_t size = size_of(i);

        mt_stage("message %d of %zu bytes to %d", i, size, peer);
        bufs[i] = mt_alloc(size);
        mt_fill(bufs[i], size, mt_key((uint64_t)i, (uint64_t)mt_rank, 0, 0));
        reqs[i] = MPI_REQUEST_NULL;
        switch (i % 3) {
        case 0:
            MPI_Isend(bufs[i], (int)size, MPI_BYTE, peer, i, MPI_COMM_WORLD, &reqs[i]);
            break;
        case 1:
            MPI_Bsend(bufs[i], (int)size, MPI_BYTE, peer, i, MPI_COMM_WORLD);
            break;
        default:
            if (size <= (size_t)buffered) {
                MPI_Send(bufs[i], (int)size, MPI_BYTE, peer, i, MPI_COMM_WORLD);
            } else {
                MPI_Isend(bufs[i], (int)size, MPI_BYTE, peer, i, MPI_COMM_WORLD,
                          &reqs[i]);
            }
            break;
        }
    }
    mt_stage("wait for sends");
    MPI_Waitall((int)messages, reqs, MPI_STATUSES_IGNORE);
    for (int i = 0; i < (int)messages; i++) {
        free(bufs[i]);
    }
    free(bufs);
    free(reqs);

    /* MPI_Finalize detaches the buffer and has to push out what is in it. */
    mt_stage("MPI_Finalize");
    MPI_Finalize();
    free(space);
}

static void receive_all(int peer)
{
    mt_rng_t rng = mt_rng(mt_key(1, 1, 1, 1));
    int *order   = mt_alloc((size_t)messages * sizeof(*order));

    compute(before * 1e-3);
    for (int i = 0; i < (int)messages; i++) {
        order[i] = i;
    }
    mt_shuffle(&rng, order, (int)messages);
    for (int i = 0; i < (int)messages; i++) {
        int tag     = order[i];
        size_t size = size_of(tag);
        char *buf   = mt_buf_alloc(size);
        MPI_Status status;

        mt_stage("receive of message %d, %zu bytes, from %d", tag, size, peer);
        MPI_Recv(buf, (int)size, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &status);
        mt_expect_status(&status, peer, tag, size);
        mt_expect(buf, size, mt_key((uint64_t)tag, (uint64_t)peer, 0, 0), peer, tag);
        mt_buf_guard(buf, size, size, peer, tag);
        free(buf);
        if (i == (int)messages / 2) {
            compute(0.02);
        }
    }
    free(order);

    /* Rank 0 is gone: the last word is rank 1's. */
    if (mt_rank == 1) {
        printf("PASS finalize_early ranks=%d seed=%ld messages=%ld\n", mt_size, mt_seed,
               messages);
        fflush(stdout);
    }
    mt_stage("MPI_Finalize");
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"messages", &messages, "per pair"},
            {"max-size", &max_size, "largest message"},
            {"warm", &warm, "1: exchange some messages before"},
            {"compute", &before, "milliseconds, before the first receive"},
            {"buffered", &buffered, "longest message that MPI_Send does not wait with"},
    };
    int peer;

    mt_start(&argc, &argv, "finalize_early", "sends before MPI_Finalize arrive", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 2);
    peer = mt_rank ^ 1;
    if (warm && (peer < mt_size)) {
        warm_up(peer);
    }
    if (peer >= mt_size) {
        MPI_Finalize();
    } else if (mt_rank % 2 == 0) {
        send_all(peer, messages * (max_size + MPI_BSEND_OVERHEAD + 64));
    } else {
        receive_all(peer);
    }
    return 0;
}
