/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * What measuring by MPI programs needs: the core probe over POSIX shared memory, and the
 * loop of warm-up, calibration and batches.
 */
#ifndef UCXRI_BENCH_MPI_H
#define UCXRI_BENCH_MPI_H

#include "bench.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

/* With fewer undisturbed batches than this, the disturbed ones count as well */
#define BENCH_MPI_MIN_CLEAN 5

/* Steps that are long make fewer batches, but not fewer than this */
#define BENCH_MPI_MIN_BATCHES 7

/* What one step can measure at the same time */
#define BENCH_MPI_VALUES 3

typedef struct {
    double seconds; /* per measurement, all batches together */
    int batches;
    int rank;
    bench_probe_t probe;
} bench_mpi_t;

/*
 * Do the benchmark's step `count` times; both ranks call it. Sets seconds[] to the time
 * of them all, which counts on rank 0.
 */
typedef void (*bench_mpi_step_func_t)(const bench_mpi_t *bench, void *arg, long count,
                                      double *seconds);

/* Medians over the batches, in seconds per step */
typedef struct {
    double seconds[BENCH_MPI_VALUES];
    double probe_ns;
} bench_mpi_result_t;


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

static inline void bench_mpi_probe_close(bench_mpi_t *bench)
{
    if (bench->probe.line != NULL) {
        munmap(bench->probe.line, sizeof(*bench->probe.line));
    }
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
 * Time `batches` batches of `count` steps. Sets times[value][] to seconds per step, those
 * of the batches first in which neither rank was pre-empted, and returns their number, the
 * same on both ranks: a time slice given to another process is not the library's time.
 */
static inline int bench_mpi_batches(bench_mpi_step_func_t step, const bench_mpi_t *bench,
                                    void *arg, int batches, long count,
                                    double times[][BENCH_MAX_BATCHES])
{
    double seconds[BENCH_MPI_VALUES] = {0};
    int disturbed[BENCH_MAX_BATCHES], any_disturbed[BENCH_MAX_BATCHES];
    int clean = 0;
    long before, after;
    double time;
    int i, v;

    before = bench_mpi_preemptions();
    for (i = 0; i < batches; ++i) {
        step(bench, arg, count, seconds);
        for (v = 0; v < BENCH_MPI_VALUES; ++v) {
            times[v][i] = seconds[v] / count;
        }
        after        = bench_mpi_preemptions();
        disturbed[i] = (after != before);
        before       = after;
    }

    MPI_Allreduce(disturbed, any_disturbed, batches, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (i = 0; i < batches; ++i) {
        if (any_disturbed[i]) {
            continue;
        }
        for (v = 0; v < BENCH_MPI_VALUES; ++v) {
            time            = times[v][clean];
            times[v][clean] = times[v][i];
            times[v][i]     = time;
        }
        ++clean;
    }
    return clean;
}

/*
 * Warm up: double the number of steps until they take a tenth of the time given. That
 * says how many steps make a batch, which is returned; *batches_p is lowered where a
 * single step is longer than its share of the time.
 */
static inline long bench_mpi_calibrate(bench_mpi_step_func_t step,
                                       const bench_mpi_t *bench, void *arg,
                                       int *batches_p)
{
    double seconds[BENCH_MPI_VALUES];
    double start, elapsed, steps;
    long count, more;

    for (count = 1, more = 1; more; count *= 2) {
        start = bench_now();
        step(bench, arg, count, seconds);
        elapsed = bench_now() - start;
        more    = bench_mpi_agree(elapsed < bench->seconds / 10);
    }
    steps = bench->seconds * (count / 2) / elapsed;
    count = bench_mpi_agree((long)(steps / bench->batches));
    if (count > 0) {
        *batches_p = bench->batches;
        return count;
    }
    steps      = (steps > BENCH_MPI_MIN_BATCHES) ? steps : BENCH_MPI_MIN_BATCHES;
    steps      = (steps < bench->batches) ? steps : bench->batches;
    *batches_p = (int)bench_mpi_agree((long)steps);
    return 1;
}

/* Time the step. The result counts on rank 0. What was disturbed is measured again. */
static inline bench_mpi_result_t bench_mpi_measure(bench_mpi_step_func_t step,
                                                   bench_mpi_t *bench, void *arg)
{
    static double times[BENCH_MPI_VALUES][BENCH_MAX_BATCHES];
    bench_mpi_result_t result;
    int batches, clean, try, v;
    double before;
    long count, more;

    count = bench_mpi_calibrate(step, bench, arg, &batches);
    for (try = 0, more = 1; more; ++try) {
        MPI_Barrier(MPI_COMM_WORLD);
        before          = bench_probe(&bench->probe);
        clean           = bench_mpi_batches(step, bench, arg, batches, count, times);
        result.probe_ns = bench_probe_join(before, bench_probe(&bench->probe));
        more = bench_mpi_agree((((result.probe_ns == 0) && (bench->probe.line != NULL)) ||
                                (clean < BENCH_MPI_MIN_CLEAN)) &&
                               (try + 1 < BENCH_PROBE_TRIES));
    }
    for (v = 0; v < BENCH_MPI_VALUES; ++v) {
        result.seconds[v] = bench_median(times[v],
                                         (clean < BENCH_MPI_MIN_CLEAN) ? batches : clean);
    }
    return result;
}

/* A byte pattern that differs from one position and seed to the next */
static inline void bench_mpi_fill(unsigned char *buffer, size_t size, int seed)
{
    size_t i;

    for (i = 0; i < size; ++i) {
        buffer[i] = (unsigned char)(i * 7 + (i >> 8) + seed);
    }
}

/*
 * Whether the buffer holds what bench_mpi_fill() writes. Whoever finds that it does not ends
 * with an error later, not by MPI_Abort: launchers may lose what is printed just before that.
 */
static inline bool bench_mpi_check(const unsigned char *buffer, size_t size, int seed)
{
    size_t i;

    for (i = 0; i < size; ++i) {
        if (buffer[i] != (unsigned char)(i * 7 + (i >> 8) + seed)) {
            fprintf(stderr, "wrong data: byte %zu of %zu is 0x%02x\n", i, size,
                    buffer[i]);
            return false;
        }
    }
    return true;
}

/*
 * Before measuring. `bad` is what reading the options gave: above 0: help is wanted, below 0: they
 * are wrong, which has been said. Returns whether to go on; else *status is the program's.
 */
static inline bool bench_mpi_may_run(const bench_mpi_t *bench, int bad, const char *usage,
                                     int *status)
{
    int num_ranks;

    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    *status = EXIT_SUCCESS;
    if (bad > 0) {
        if (bench->rank == 0) {
            printf("%s", usage);
        }
        return false;
    }
    if ((bad == 0) && (num_ranks == 2)) {
        return true;
    }
    *status = EXIT_FAILURE;
    if ((bench->rank == 0) && (bad < 0)) {
        fprintf(stderr, "%s", usage);
    } else if (bench->rank == 0) {
        fprintf(stderr, "this program needs exactly 2 ranks, not %d\n", num_ranks);
    }
    return false;
}

#endif
