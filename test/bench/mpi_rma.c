/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided MPI between two ranks: each operation with what completes it at the target.
 *
 *   mpicc -O2 -o mpi_rma mpi_rma.c
 *   mpiexec -n 2 ./mpi_rma accumulate=8,1k fence_put=8 pscw=8,64k
 *   mpiexec -n 2 ./mpi_rma -a -c 2000 put=8,64k get=8,64k
 *
 * Prints per point "RESULT <bench> <size> <value> <unit> <core probe ns>", the median over
 * the batches; README.md says what the benchmarks are.
 */
#define _GNU_SOURCE
#include "bench_mpi.h"

/* The largest size, and the window */
#define MAX_SIZE (1ul << 22)

static const char usage[] =
        "Usage: mpiexec -n 2 mpi_rma [options] BENCHMARK=SIZES...\n"
        "Median over batches, us for one operation. SIZES are bytes, multiples of 8, k and m\n"
        "allowed, as 8,1k,64k. Rank 0 is the origin; rank 1 waits in the library, or\n"
        "computes. Benchmarks:\n"
        "  put, get, accumulate, get_accumulate\n"
        "                     of doubles, and MPI_Win_flush\n"
        "  fetch_and_op, compare_and_swap\n"
        "                     of one element of 8 bytes, and MPI_Win_flush\n"
        "  put_many           64 times MPI_Put, and MPI_Win_flush; time of one put\n"
        "  lock               exclusive lock, put, unlock\n"
        "  fence              MPI_Win_fence, nothing else (the size is ignored)\n"
        "  fence_put          put, fence\n"
        "  fence_get          get, fence\n"
        "  pscw               start, put, complete; post and wait at rank 1\n"
        "Options:\n"
        "  -a       memory of the window by MPI_Win_allocate, else the program's own\n"
        "  -c US    rank 1 computes for so long between two calls of MPI, where rank 0\n"
        "           alone takes part in an operation\n"
        "  -t SEC   time per point, without warm-up (0.15)\n"
        "  -b N     batches that the time is split into (50)\n"
        "  -h, --help  this help\n";

/* How the window is opened, and who takes part in a step */
typedef enum {
    EPOCH_LOCK_ALL, /* rank 0 alone, in one epoch */
    EPOCH_LOCK,     /* rank 0 alone, an epoch for each operation */
    EPOCH_FENCE,    /* both ranks */
    EPOCH_PSCW      /* both ranks */
} epoch_t;

typedef struct kind kind_t;

typedef struct {
    const kind_t *kind;
    size_t size;
    double computes; /* see options_t */
    MPI_Win win;
    MPI_Group other;
    unsigned char *memory; /* of the window */
    unsigned char *send;
    unsigned char *recv;
} point_t;

/* One kind of benchmark */
struct kind {
    const char *name;
    epoch_t epoch;
    int many;      /* operations of a step */
    int only_8;    /* one element of 8 bytes */
    int to_origin; /* the data is then at the origin: else at the target, */
    int sums;      /* ... added to what was there */
    void (*start)(const point_t *point);
};

typedef struct {
    point_t points[BENCH_MPI_MAX_POINTS];
    int num_points;
    int allocates;   /* MPI has the memory of the window */
    double computes; /* seconds that rank 1 computes between two calls; 0: it waits */
} options_t;


static void start_put(const point_t *point)
{
    MPI_Put(point->send, (int)point->size, MPI_BYTE, 1, 0, (int)point->size, MPI_BYTE,
            point->win);
}

static void start_get(const point_t *point)
{
    MPI_Get(point->recv, (int)point->size, MPI_BYTE, 1, 0, (int)point->size, MPI_BYTE,
            point->win);
}

static void start_accumulate(const point_t *point)
{
    int count = (int)(point->size / sizeof(double));

    MPI_Accumulate(point->send, count, MPI_DOUBLE, 1, 0, count, MPI_DOUBLE, MPI_SUM,
                   point->win);
}

static void start_get_accumulate(const point_t *point)
{
    int count = (int)(point->size / sizeof(double));

    MPI_Get_accumulate(point->send, count, MPI_DOUBLE, point->recv, count, MPI_DOUBLE, 1,
                       0, count, MPI_DOUBLE, MPI_SUM, point->win);
}

static void start_fetch_and_op(const point_t *point)
{
    MPI_Fetch_and_op(point->send, point->recv, MPI_DOUBLE, 1, 0, MPI_SUM, point->win);
}

/* The value is there always: each one swaps it against itself */
static void start_compare_and_swap(const point_t *point)
{
    MPI_Compare_and_swap(point->send, point->send, point->recv, MPI_INT64_T, 1, 0,
                         point->win);
}

static void start_nothing(const point_t *point)
{
    (void)point;
}

static void step_once(const bench_mpi_t *bench, const point_t *point)
{
    const kind_t *kind = point->kind;
    int origin         = (bench->rank == 0);
    int i;

    if (kind->epoch == EPOCH_LOCK) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, point->win);
    } else if (kind->epoch == EPOCH_PSCW) {
        (origin ? MPI_Win_start : MPI_Win_post)(point->other, 0, point->win);
    }
    for (i = 0; origin && (i < kind->many); ++i) {
        kind->start(point);
    }
    switch (kind->epoch) {
    case EPOCH_LOCK_ALL:
        MPI_Win_flush(1, point->win);
        break;
    case EPOCH_LOCK:
        MPI_Win_unlock(1, point->win);
        break;
    case EPOCH_FENCE:
        MPI_Win_fence(0, point->win);
        break;
    case EPOCH_PSCW:
        (origin ? MPI_Win_complete : MPI_Win_wait)(point->win);
        break;
    }
}

/* The end of a barrier, for a rank that computes and looks only now and then. */
static void compute_until_all_are_here(double seconds)
{
    MPI_Request barrier;
    double start;
    int all_here = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    while (!all_here) {
        for (start = bench_now(); bench_now() - start < seconds;) {}
        MPI_Test(&barrier, &all_here, MPI_STATUS_IGNORE);
    }
}

/* With one origin, rank 1 is in the barrier at the end meanwhile, or computes. */
static void step(const bench_mpi_t *bench, void *arg, long count, double *seconds)
{
    const point_t *point = arg;
    const kind_t *kind   = point->kind;
    int alone            = (kind->epoch == EPOCH_LOCK_ALL) || (kind->epoch == EPOCH_LOCK);
    double start;
    long i;

    MPI_Barrier(MPI_COMM_WORLD);
    start = bench_now();
    for (i = 0; (!alone || (bench->rank == 0)) && (i < count); ++i) {
        step_once(bench, point);
    }
    seconds[0] = (bench_now() - start) / kind->many;
    if (point->computes > 0) {
        compute_until_all_are_here((alone && (bench->rank == 1)) ? point->computes : 0);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static const kind_t kinds[] = {
        {"put", EPOCH_LOCK_ALL, 1, 0, 0, 0, start_put},
        {"put_many", EPOCH_LOCK_ALL, 64, 0, 0, 0, start_put},
        {"get", EPOCH_LOCK_ALL, 1, 0, 1, 0, start_get},
        {"accumulate", EPOCH_LOCK_ALL, 1, 0, 0, 1, start_accumulate},
        {"get_accumulate", EPOCH_LOCK_ALL, 1, 0, 0, 1, start_get_accumulate},
        {"fetch_and_op", EPOCH_LOCK_ALL, 1, 1, 0, 1, start_fetch_and_op},
        {"compare_and_swap", EPOCH_LOCK_ALL, 1, 1, 1, 0, start_compare_and_swap},
        {"lock", EPOCH_LOCK, 1, 0, 0, 0, start_put},
        {"fence", EPOCH_FENCE, 1, 0, 0, 0, start_nothing},
        {"fence_put", EPOCH_FENCE, 1, 0, 0, 0, start_put},
        {"fence_get", EPOCH_FENCE, 1, 0, 1, 0, start_get},
        {"pscw", EPOCH_PSCW, 1, 0, 0, 0, start_put},
        {0},
};

static int add_point(void *arg, int kind, const char *more, size_t size)
{
    options_t *options = arg;

    options->points[options->num_points] = (point_t){.kind = &kinds[kind], .size = size};
    if ((size == 0) || (size % 8) || (size > MAX_SIZE) ||
        (kinds[kind].only_8 && (size != 8))) {
        bench_complain("%s: not a size for it: %zu", kinds[kind].name, size);
        return -1;
    }
    return more != NULL;
}

static int parse_options(bench_mpi_t *bench, void *arg, int argc, char **argv)
{
    options_t *options = arg;
    int bad            = 0;
    int c;

    while ((c = bench_mpi_next_option(bench, argc, argv, "ac:t:b:h")) != -1) {
        switch (c) {
        case 'a':
            options->allocates = 1;
            break;
        case 'c':
            bad |= bench_parse_number("-c", optarg, 0, 1e6, &options->computes);
            break;
        case 'h':
            return 1;
        default:
            bad |= bench_mpi_option(bench, c);
        }
    }
    options->computes *= 1e-6;
    return bad ? bad :
                 bench_mpi_parse_points(argc, argv, kinds, sizeof(kinds[0]), "put=8,1k",
                                        add_point, options, &options->num_points);
}

/* Elements of a point's size, each a double that sums keep exact */
static void fill(unsigned char *buffer, size_t size, int seed)
{
    double *element = (double *)buffer;
    size_t i;

    for (i = 0; i < size / sizeof(*element); ++i) {
        element[i] = seed + (double)(i % 1000);
    }
}

static bool check(const point_t *point, const unsigned char *buffer, int seed, int base)
{
    const double *element = (const double *)buffer;
    double expected;
    size_t i;

    for (i = 0; i < point->size / sizeof(*element); ++i) {
        expected = seed + (double)(i % 1000) + (base ? base + (double)(i % 1000) : 0);
        if (element[i] != expected) {
            fprintf(stderr, "%s, %zu bytes: element %zu is %g, not %g\n",
                    point->kind->name, point->size, i, element[i], expected);
            return false;
        }
    }
    return true;
}

/* Window and buffers as before a run whose data is looked at */
static void prepare(const bench_mpi_t *bench, const point_t *point)
{
    MPI_Barrier(MPI_COMM_WORLD);
    fill(point->send, point->size, 7);
    memset(point->recv, 0, point->size);
    if (bench->rank == 1) {
        /* What is swapped is there already */
        fill(point->memory, point->size,
             point->kind->only_8 && !point->kind->sums ? 7 : 3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Whether the data of one more step is right, on this rank */
static bool run_once(const bench_mpi_t *bench, point_t *point)
{
    const kind_t *kind = point->kind;
    double seconds[BENCH_MPI_VALUES];

    prepare(bench, point);
    step(bench, point, 1, seconds);
    if (kind->start == start_nothing) {
        return true;
    }
    if (kind->to_origin) {
        return (bench->rank == 1) || check(point, point->recv, kind->only_8 ? 7 : 3, 0);
    }
    return (bench->rank == 0) || check(point, point->memory, 7, kind->sums ? 3 : 0);
}

/* Whether the data was right. Sums would grow without end: what is timed adds zeros. */
static bool run_point(bench_mpi_t *bench, point_t *point)
{
    epoch_t epoch = point->kind->epoch;
    bench_mpi_result_t result;
    char name[64];
    bool right;

    prepare(bench, point);
    if (epoch == EPOCH_FENCE) {
        MPI_Win_fence(MPI_MODE_NOPRECEDE, point->win);
    } else if ((epoch == EPOCH_LOCK_ALL) && (bench->rank == 0)) {
        MPI_Win_lock_all(0, point->win);
    }
    if (point->kind->sums) {
        memset(point->send, 0, point->size);
    }
    result = bench_mpi_measure(step, bench, point);
    right  = run_once(bench, point);
    if (epoch == EPOCH_FENCE) {
        MPI_Win_fence(MPI_MODE_NOSUCCEED, point->win);
    } else if ((epoch == EPOCH_LOCK_ALL) && (bench->rank == 0)) {
        MPI_Win_unlock_all(point->win);
    }
    if (bench->rank == 0) {
        snprintf(name, sizeof(name), "rma_%s", point->kind->name);
        bench_print(name, point->size, result.seconds[0] * 1e6, "us", result.probe_ns);
    }
    return right;
}

static bool run_points(bench_mpi_t *bench, void *arg)
{
    options_t *options    = arg;
    unsigned char *own    = bench_mpi_alloc(MAX_SIZE);
    unsigned char *send   = bench_mpi_alloc(MAX_SIZE);
    unsigned char *recv   = bench_mpi_alloc(MAX_SIZE);
    int other_rank        = !bench->rank;
    bool right            = true;
    unsigned char *memory = own;
    MPI_Group world, other;
    MPI_Win win;
    int i;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other_rank, &other);
    if (options->allocates) {
        MPI_Win_allocate(MAX_SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    } else {
        MPI_Win_create(own, MAX_SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    for (i = 0; i < options->num_points; ++i) {
        options->points[i].computes = options->computes;
        options->points[i].win      = win;
        options->points[i].other    = other;
        options->points[i].memory   = memory;
        options->points[i].send     = send;
        options->points[i].recv     = recv;
        right &= run_point(bench, &options->points[i]);
    }
    MPI_Win_free(&win);
    MPI_Group_free(&other);
    MPI_Group_free(&world);
    free(recv);
    free(send);
    free(own);
    return right;
}

int main(int argc, char **argv)
{
    const bench_mpi_program_t program = {usage, parse_options, NULL, run_points};
    static options_t options;

    return bench_mpi_main(&program, &options, argc, argv);
}
