/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI ping-pong: one-way latency by size, from blocking MPI_Send and MPI_Recv
 * between two ranks.
 *
 *   mpicc -O2 -o mpi_pingpong mpi_pingpong.c
 *   mpiexec -n 2 ./mpi_pingpong [-s 0,8,64k] [-t seconds] [-b batches]
 *
 * Prints per size "RESULT mpi_latency <size> <us> us <core probe ns>", the
 * median over the batches.
 */
#include "bench_mpi.h"

#define DEFAULT_SIZES "0,8,16,40,64,256,1k,4k,8k,64k,256k,1m,4m"

static const char usage[] =
        "Usage: mpiexec -n 2 mpi_pingpong [options]\n"
        "One-way latency of blocking sends and receives, median over batches.\n"
        "  -s LIST  message sizes, k and m allowed (" DEFAULT_SIZES ")\n"
        "  -t SEC   time per size, without warm-up (0.15)\n"
        "  -b N     batches that the time is split into (50)\n"
        "  -h       this help\n";

typedef struct {
    unsigned char *send;
    unsigned char *recv;
} buffers_t;


static void pingpong(const bench_mpi_t *bench, void *arg, size_t size, long count)
{
    buffers_t *buffers = arg;
    long i;

    if (bench->rank == 0) {
        for (i = 0; i < count; ++i) {
            MPI_Send(buffers->send, (int)size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(buffers->recv, (int)size, MPI_BYTE, 1, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
    } else {
        for (i = 0; i < count; ++i) {
            MPI_Recv(buffers->recv, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            MPI_Send(buffers->send, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    size_t max_size = 0;
    bench_mpi_t bench;
    buffers_t buffers;
    double seconds, probe_ns;
    int i;

    bench_mpi_init(&bench, &argc, &argv, DEFAULT_SIZES, usage);
    for (i = 0; i < bench.num_sizes; ++i) {
        max_size = (bench.sizes[i] > max_size) ? bench.sizes[i] : max_size;
    }
    buffers.send = bench_mpi_alloc(max_size);
    buffers.recv = bench_mpi_alloc(max_size);

    for (i = 0; i < bench.num_sizes; ++i) {
        bench_mpi_fill(buffers.send, bench.sizes[i], i + bench.rank);
        seconds = bench_mpi_measure(&bench, bench.sizes[i], pingpong, &buffers,
                                    &probe_ns);

        /* A benchmark that loses data measures nothing */
        memset(buffers.recv, 0xff, bench.sizes[i]);
        pingpong(&bench, &buffers, bench.sizes[i], 1);
        bench_mpi_check(buffers.recv, bench.sizes[i], i + 1 - bench.rank);

        if (bench.rank == 0) {
            bench_print("mpi_latency", bench.sizes[i], seconds / 2 * 1e6, "us", probe_ns);
        }
    }

    free(buffers.send);
    free(buffers.recv);
    bench_mpi_cleanup(&bench);
    return EXIT_SUCCESS;
}
