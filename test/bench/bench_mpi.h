/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the MPI measuring programs share: options, the core probe over POSIX
 * shared memory, and the loop of warm-up, calibration and batches.
 */
#ifndef UCXRI_BENCH_MPI_H
#define UCXRI_BENCH_MPI_H

#include "bench.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

/* With fewer undisturbed batches than this, the disturbed ones count as well */
#define BENCH_MPI_MIN_CLEAN 5

typedef struct {
    size_t sizes[BENCH_MAX_SIZES];
    int num_sizes;
    double seconds; /* per size, all batches together */
    int batches;
    int rank;
    bench_probe_t probe;
} bench_mpi_t;

/* Do the benchmark's step `count` times; both ranks call it */
typedef void (*bench_mpi_step_func_t)(const bench_mpi_t *bench, void *arg, size_t size,
                                      long count);


/*
 * The probe's memory is a POSIX segment of its own: MPI's shared windows would
 * bring the library that is measured into the yardstick.
 */
static inline void bench_mpi_probe_open(bench_mpi_t *bench)
{
    char name[64];
    void *mem = MAP_FAILED;
    int fd, ok, all_ok;

    snprintf(name, sizeof(name), "/ucxri_bench.%ld", (long)getpid());
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);

    if (bench->rank == 0) {
        fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if ((fd >= 0) && (ftruncate(fd, sizeof(bench_probe_line_t)) != 0)) {
            close(fd);
            fd = -1;
        }
    } else {
        fd = -1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench->rank != 0) {
        fd = shm_open(name, O_RDWR, 0600);
    }
    if (fd >= 0) {
        mem = mmap(NULL, sizeof(bench_probe_line_t), PROT_READ | PROT_WRITE, MAP_SHARED,
                   fd, 0);
        close(fd);
    }

    ok = (mem != MAP_FAILED);
    MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (bench->rank == 0) {
        shm_unlink(name);
    }

    bench->probe.line   = all_ok ? mem : NULL;
    bench->probe.count  = 0;
    bench->probe.leader = (bench->rank == 0);
}

/*
 * Start MPI, parse the options, open the probe. Exits through MPI_Abort on
 * bad options and unless there are exactly two ranks.
 */
static inline void bench_mpi_init(bench_mpi_t *bench, int *argc, char ***argv,
                                  const char *default_sizes, const char *usage)
{
    double batches    = 50;
    const char *sizes = default_sizes;
    int bad           = 0;
    int num_ranks, c;

    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    bench->seconds = 0.15;

    while ((c = getopt(*argc, *argv, "s:t:b:h")) != -1) {
        switch (c) {
        case 's':
            sizes = optarg;
            break;
        case 't':
            bad |= bench_parse_number("-t", optarg, 0.001, 1000, &bench->seconds);
            break;
        case 'b':
            bad |= bench_parse_number("-b", optarg, 1, BENCH_MAX_BATCHES, &batches);
            break;
        case 'h':
            if (bench->rank == 0) {
                printf("%s", usage);
            }
            MPI_Finalize();
            exit(EXIT_SUCCESS);
        default:
            bad = -1;
        }
    }
    if (optind != *argc) {
        fprintf(stderr, "unexpected argument '%s'\n", (*argv)[optind]);
        bad = -1;
    }

    bench->batches   = (int)batches;
    bench->num_sizes = bench_parse_sizes(sizes, bench->sizes);
    if (bad || (bench->num_sizes < 0)) {
        fprintf(stderr, "%s", usage);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (num_ranks != 2) {
        fprintf(stderr, "this program needs exactly 2 ranks, not %d\n", num_ranks);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }

    bench_mpi_probe_open(bench);
}

/* Page-aligned zeroed memory of at least one byte, or MPI_Abort */
static inline void *bench_mpi_alloc(size_t length)
{
    void *mem = NULL;

    length = (length > 0) ? length : 1;
    if (posix_memalign(&mem, 4096, length) != 0) {
        fprintf(stderr, "cannot allocate %zu bytes\n", length);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    memset(mem, 0, length);
    return mem;
}

/* Rank 0's value on both ranks */
static inline long bench_mpi_agree(long value)
{
    MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return value;
}

/* How often this process was pre-empted so far */
static inline long bench_mpi_preemptions(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/*
 * Time all batches of `count` steps. Sets times[] to seconds per step, those of
 * the batches first in which neither rank was pre-empted, and returns their
 * number, the same on both ranks: a time slice given to another process is not
 * the library's time.
 */
static inline int bench_mpi_batches(const bench_mpi_t *bench, size_t size,
                                    bench_mpi_step_func_t step, void *arg, long count,
                                    double *times)
{
    int clean = 0;
    int disturbed[BENCH_MAX_BATCHES], any_disturbed[BENCH_MAX_BATCHES];
    long before, after;
    double start, time;
    int i;

    before = bench_mpi_preemptions();
    for (i = 0; i < bench->batches; ++i) {
        start = bench_now();
        step(bench, arg, size, count);
        times[i]     = (bench_now() - start) / count;
        after        = bench_mpi_preemptions();
        disturbed[i] = (after != before);
        before       = after;
    }

    MPI_Allreduce(disturbed, any_disturbed, bench->batches, MPI_INT, MPI_MAX,
                  MPI_COMM_WORLD);
    for (i = 0; i < bench->batches; ++i) {
        if (!any_disturbed[i]) {
            time         = times[clean];
            times[clean] = times[i];
            times[i]     = time;
            ++clean;
        }
    }
    return clean;
}

/*
 * Time the step at one size. Returns the median over the batches of the seconds
 * per step, which is meant for rank 0, and sets *probe_ns_p.
 *
 * Warm-up doubles the number of steps until they take a tenth of the time
 * given, which also says how many steps make a batch. What was disturbed is
 * measured again.
 */
static inline double bench_mpi_measure(bench_mpi_t *bench, size_t size,
                                       bench_mpi_step_func_t step, void *arg,
                                       double *probe_ns_p)
{
    double times[BENCH_MAX_BATCHES];
    double start, elapsed, before;
    long count, more;
    int try, clean;

    for (count = 1, more = 1; more; count *= 2) {
        start = bench_now();
        step(bench, arg, size, count);
        elapsed = bench_now() - start;
        more    = bench_mpi_agree(elapsed < bench->seconds / 10);
    }
    count /= 2;
    count = bench_mpi_agree(bench->seconds / bench->batches * count / elapsed);
    count = (count > 0) ? count : 1;

    for (try = 0, more = 1; more; ++try) {
        MPI_Barrier(MPI_COMM_WORLD);
        before      = bench_probe(&bench->probe);
        clean       = bench_mpi_batches(bench, size, step, arg, count, times);
        *probe_ns_p = bench_probe_join(before, bench_probe(&bench->probe));
        more = bench_mpi_agree((((*probe_ns_p == 0) && (bench->probe.line != NULL)) ||
                                (clean < BENCH_MPI_MIN_CLEAN)) &&
                               (try + 1 < BENCH_PROBE_TRIES));
    }
    return bench_median(times, (clean < BENCH_MPI_MIN_CLEAN) ? bench->batches : clean);
}

/* A byte pattern that differs from one position and seed to the next */
static inline void bench_mpi_fill(unsigned char *buffer, size_t size, int seed)
{
    size_t i;

    for (i = 0; i < size; ++i) {
        buffer[i] = (unsigned char)(i * 7 + (i >> 8) + seed);
    }
}

/* MPI_Abort unless the buffer holds what bench_mpi_fill() writes */
static inline void bench_mpi_check(const unsigned char *buffer, size_t size, int seed)
{
    size_t i;

    for (i = 0; i < size; ++i) {
        if (buffer[i] != (unsigned char)(i * 7 + (i >> 8) + seed)) {
            fprintf(stderr, "wrong data: byte %zu of %zu is 0x%02x\n", i, size,
                    buffer[i]);
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
    }
}

static inline void bench_mpi_cleanup(bench_mpi_t *bench)
{
    if (bench->probe.line != NULL) {
        munmap(bench->probe.line, sizeof(*bench->probe.line));
    }
    MPI_Finalize();
}

#endif
