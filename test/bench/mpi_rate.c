/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI message rate and bandwidth in one direction: rank 0 sends windows of
 * MPI_Isend, rank 1 receives them by MPI_Irecv and acknowledges each window.
 *
 *   mpicc -O2 -o mpi_rate mpi_rate.c
 *   mpiexec -n 2 ./mpi_rate [-s 8,64k,4m] [-t seconds] [-b batches]
 *
 * Prints per size "RESULT mpi_rate <size> <Mmsg/s> Mmsg/s <core probe ns>" for
 * sizes below 64 KB and "RESULT mpi_bw <size> <MB/s> MB/s <core probe ns>" from
 * there on (1 MB is 10^6 bytes), the median over the batches.
 */
#include "bench_mpi.h"

#define DEFAULT_SIZES "8,64k,256k,1m,4m"
#define WINDOW        64
#define BW_MIN_SIZE   65536

static const char usage[] =
        "Usage: mpiexec -n 2 mpi_rate [options]\n"
        "Message rate (sizes below 64k) and bandwidth (from 64k) of windows of 64\n"
        "messages in one direction, median over batches.\n"
        "  -s LIST  message sizes, k and m allowed (" DEFAULT_SIZES ")\n"
        "  -t SEC   time per size, without warm-up (0.15)\n"
        "  -b N     batches that the time is split into (50)\n"
        "  -h       this help\n";


static void windows(const bench_mpi_t *bench, void *arg, size_t size, long count)
{
    unsigned char *buffer = arg;
    char ack              = 0;
    MPI_Request reqs[WINDOW];
    MPI_Status statuses[WINDOW]; /* gcc warns of MPI_STATUSES_IGNORE in MPICH */
    long i;
    int j;

    for (i = 0; i < count; ++i) {
        if (bench->rank == 0) {
            for (j = 0; j < WINDOW; ++j) {
                MPI_Isend(buffer, (int)size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &reqs[j]);
            }
            MPI_Waitall(WINDOW, reqs, statuses);
            MPI_Recv(&ack, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            for (j = 0; j < WINDOW; ++j) {
                MPI_Irecv(buffer, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &reqs[j]);
            }
            MPI_Waitall(WINDOW, reqs, statuses);
            MPI_Send(&ack, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    size_t max_size = 0;
    bench_mpi_t bench;
    unsigned char *buffer;
    double rate, probe_ns;
    size_t size;
    int i;

    bench_mpi_init(&bench, &argc, &argv, DEFAULT_SIZES, usage);
    for (i = 0; i < bench.num_sizes; ++i) {
        max_size = (bench.sizes[i] > max_size) ? bench.sizes[i] : max_size;
    }
    buffer = bench_mpi_alloc(max_size);

    for (i = 0; i < bench.num_sizes; ++i) {
        size = bench.sizes[i];
        if (bench.rank == 0) {
            bench_mpi_fill(buffer, size, i);
        }
        rate = WINDOW / bench_mpi_measure(&bench, size, windows, buffer, &probe_ns);

        if (bench.rank == 1) {
            memset(buffer, 0xff, size);
        }
        windows(&bench, buffer, size, 1);
        bench_mpi_check(buffer, size, i);

        if (bench.rank == 0) {
            if (size < BW_MIN_SIZE) {
                bench_print("mpi_rate", size, rate * 1e-6, "Mmsg/s", probe_ns);
            } else {
                bench_print("mpi_bw", size, rate * size * 1e-6, "MB/s", probe_ns);
            }
        }
    }

    free(buffer);
    bench_mpi_cleanup(&bench);
    return EXIT_SUCCESS;
}
