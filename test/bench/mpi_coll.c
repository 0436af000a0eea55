/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations of any number of ranks.
 *
 *   mpicc -O2 -o mpi_coll mpi_coll.c
 *   mpiexec -n 4 ./mpi_coll barrier=0 bcast=8,1k alltoall=64k
 *
 * Prints per point "RESULT coll_<bench>:<ranks> <size> <value> us <core probe ns>", the median
 * over the batches; README.md says what the benchmarks are.
 */
#define _GNU_SOURCE
#include "bench_mpi.h"

static const char usage[] =
        "Usage: mpiexec -n N mpi_coll [options] BENCHMARK=SIZES...\n"
        "Median over batches, us for one operation. SIZES are bytes, k and m allowed, as 8,64k.\n"
        "Benchmarks:\n"
        "  barrier    the size is ignored\n"
        "  bcast      of SIZE bytes; each rank is the root in its turn\n"
        "  allreduce  sums of SIZE / 8 integers of 8 bytes\n"
        "  alltoall   SIZE bytes from each rank to each\n"
        "  allgather  SIZE bytes from each rank\n"
        "Options:\n"
        "  -t SEC   time per point, without warm-up (0.15)\n"
        "  -w SEC   warm-up per point, beside what sets the length of a batch (0)\n"
        "  -b N     batches that the time is split into (50)\n"
        "  -h, --help  this help\n";

typedef struct kind kind_t;

typedef struct {
    const kind_t *kind;
    size_t size;
    unsigned char *send; /* all that a rank sends, and all that it receives */
    unsigned char *recv;
} point_t;

/* One kind of benchmark */
struct kind {
    const char *name;
    int send_all; /* each rank sends SIZE bytes to each, else to all */
    int recv_all; /* each rank receives SIZE bytes from each, else SIZE bytes */
    void (*run)(const bench_mpi_t *bench, const point_t *point, long number);
    bool (*check)(const bench_mpi_t *bench, const point_t *point);
};

typedef struct {
    point_t points[BENCH_MPI_MAX_POINTS];
    int num_points;
} options_t;


static void run_barrier(const bench_mpi_t *bench, const point_t *point, long number)
{
    (void)bench;
    (void)point;
    (void)number;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* With one root for all, it would not wait for those that it sends to */
static void run_bcast(const bench_mpi_t *bench, const point_t *point, long number)
{
    int root = (int)(number % bench->num_ranks);

    MPI_Bcast((bench->rank == root) ? point->send : point->recv, (int)point->size,
              MPI_BYTE, root, MPI_COMM_WORLD);
}

static void run_allreduce(const bench_mpi_t *bench, const point_t *point, long number)
{
    (void)bench;
    (void)number;
    MPI_Allreduce(point->send, point->recv, (int)(point->size / sizeof(uint64_t)),
                  MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static void run_alltoall(const bench_mpi_t *bench, const point_t *point, long number)
{
    (void)bench;
    (void)number;
    MPI_Alltoall(point->send, (int)point->size, MPI_BYTE, point->recv, (int)point->size,
                 MPI_BYTE, MPI_COMM_WORLD);
}

static void run_allgather(const bench_mpi_t *bench, const point_t *point, long number)
{
    (void)bench;
    (void)number;
    MPI_Allgather(point->send, (int)point->size, MPI_BYTE, point->recv, (int)point->size,
                  MPI_BYTE, MPI_COMM_WORLD);
}

static bool check_nothing(const bench_mpi_t *bench, const point_t *point)
{
    (void)bench;
    (void)point;
    return true;
}

/* The last root is the first rank: what is checked is one operation */
static bool check_bcast(const bench_mpi_t *bench, const point_t *point)
{
    return (bench->rank == 0) || bench_mpi_check(point->recv, point->size, 0);
}

static bool check_allreduce(const bench_mpi_t *bench, const point_t *point)
{
    const uint64_t *words = (const uint64_t *)point->recv;
    uint64_t sent, expected;
    unsigned char *bytes = (unsigned char *)&sent;
    size_t i, j;
    int rank;

    for (i = 0; i < point->size / sizeof(*words); ++i) {
        for (rank = 0, expected = 0; rank < bench->num_ranks; ++rank) {
            for (j = 0; j < sizeof(sent); ++j) {
                bytes[j] = bench_mpi_byte(i * sizeof(sent) + j, rank);
            }
            expected += sent;
        }
        if (words[i] != expected) {
            fprintf(stderr, "wrong data: sum %zu of %zu bytes\n", i, point->size);
            return false;
        }
    }
    return true;
}

/* What each rank sends to each is a part of one pattern */
static bool check_alltoall(const bench_mpi_t *bench, const point_t *point)
{
    size_t begin = bench->rank * point->size;
    bool right   = true;
    size_t i;
    int rank;

    for (rank = 0; right && (rank < bench->num_ranks); ++rank) {
        for (i = 0; right && (i < point->size); ++i) {
            right = point->recv[rank * point->size + i] ==
                    bench_mpi_byte(begin + i, rank);
        }
    }
    if (!right) {
        fprintf(stderr, "wrong data: byte %zu of %zu from rank %d\n", i - 1, point->size,
                rank - 1);
    }
    return right;
}

static bool check_allgather(const bench_mpi_t *bench, const point_t *point)
{
    bool right = true;
    int rank;

    for (rank = 0; right && (rank < bench->num_ranks); ++rank) {
        right = bench_mpi_check(point->recv + rank * point->size, point->size, rank);
    }
    return right;
}

static const kind_t kinds[] = {
        {"barrier", 0, 0, run_barrier, check_nothing},
        {"bcast", 0, 0, run_bcast, check_bcast},
        {"allreduce", 0, 0, run_allreduce, check_allreduce},
        {"alltoall", 1, 1, run_alltoall, check_alltoall},
        {"allgather", 0, 1, run_allgather, check_allgather},
        {0},
};

/* An operation begins when the last one is complete at this rank; a barrier ends a batch */
static void coll_step(const bench_mpi_t *bench, void *arg, long count, double *seconds)
{
    const point_t *point = arg;
    double start         = bench_now();
    long i;

    for (i = 0; i < count; ++i) {
        point->kind->run(bench, point, i);
    }
    if (point->kind->run != run_barrier) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    seconds[0] = bench_now() - start;
}

static int add_point(void *arg, int kind, const char *more, size_t size)
{
    options_t *options = arg;

    options->points[options->num_points] = (point_t){.kind = &kinds[kind], .size = size};
    return more != NULL;
}

static int parse_options(bench_mpi_t *bench, void *arg, int argc, char **argv)
{
    options_t *options = arg;
    int bad            = 0;
    int c;

    while ((c = bench_mpi_next_option(bench, argc, argv, "t:w:b:h")) != -1) {
        switch (c) {
        case 'h':
            return 1;
        default:
            bad |= bench_mpi_option(bench, c);
        }
    }
    return bad ? bad :
                 bench_mpi_parse_points(argc, argv, kinds, sizeof(kinds[0]), "bcast=8,1k",
                                        add_point, options, &options->num_points);
}

/* Whether the data was right */
static bool run_point(bench_mpi_t *bench, point_t *point)
{
    size_t send_size = point->size * (point->kind->send_all ? bench->num_ranks : 1);
    size_t recv_size = point->size * (point->kind->recv_all ? bench->num_ranks : 1);
    bench_mpi_result_t result;
    double seconds[BENCH_MPI_VALUES];
    char name[64];
    bool right;

    point->send = bench_mpi_alloc(send_size);
    point->recv = bench_mpi_alloc(recv_size);
    bench_mpi_fill(point->send, send_size, bench->rank);
    result = bench_mpi_measure(coll_step, bench, point);

    memset(point->recv, 0x5a, recv_size);
    coll_step(bench, point, 1, seconds);
    right = point->kind->check(bench, point);
    free(point->send);
    free(point->recv);
    if (bench->rank == 0) {
        snprintf(name, sizeof(name), "coll_%s:%d", point->kind->name, bench->num_ranks);
        bench_print(name, point->size, result.seconds[0] * 1e6, "us", result.probe_ns);
    }
    return right;
}

static const char *needed_ranks(const bench_mpi_t *bench, const void *options)
{
    (void)options;
    return (bench->num_ranks > 1) ? NULL : "two or more";
}

static bool run_points(bench_mpi_t *bench, void *arg)
{
    options_t *options = arg;
    bool right         = true;
    int i;

    for (i = 0; i < options->num_points; ++i) {
        right &= run_point(bench, &options->points[i]);
    }
    return right;
}

int main(int argc, char **argv)
{
    const bench_mpi_program_t program = {usage, parse_options, needed_ranks, run_points};
    static options_t options;

    return bench_mpi_main(&program, &options, argc, argv);
}
