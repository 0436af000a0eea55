/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * What measuring by MPI programs needs: the core probe over POSIX shared memory, and the
 * loop of warm-up, calibration and batches.
 */
#ifndef UCXRI_BENCH_MPI_H
#define UCXRI_BENCH_MPI_H

#include "bench.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <getopt.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

/* With fewer undisturbed batches than this, the disturbed ones count as well */
#define BENCH_MPI_MIN_CLEAN 5

/* Steps that are long make fewer batches, but not fewer than this */
#define BENCH_MPI_MIN_BATCHES 7

/* What a program can measure */
#define BENCH_MPI_MAX_POINTS 256

/* What one step can measure at the same time */
#define BENCH_MPI_VALUES 3

typedef struct {
    double seconds; /* per measurement, all batches together */
    double warmup;  /* before it, at least */
    int batches;
    int rank;
    int num_ranks; /* above two they share cores */
    bench_probe_t probe;
} bench_mpi_t;

/*
 * Do the benchmark's step `count` times; all ranks call it. Sets seconds[] to the time
 * of them all, which counts on rank 0.
 */
typedef void (*bench_mpi_step_func_t)(const bench_mpi_t *bench, void *arg, long count,
                                      double *seconds);

/* Medians over the batches, in seconds per step */
typedef struct {
    double seconds[BENCH_MPI_VALUES];
    double probe_ns;
} bench_mpi_result_t;


static inline void bench_mpi_init(bench_mpi_t *bench)
{
    bench->seconds = 0.15;
    bench->warmup  = 0;
    bench->batches = 50;
    MPI_Comm_rank(MPI_COMM_WORLD, &bench->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench->num_ranks);
}

/* Of what was asked for in a wrong way */
#define BENCH_MPI_EXIT_USAGE 2

/* The next option, as getopt() returns it; --help is -h. One rank says what is wrong. */
static inline int bench_mpi_next_option(const bench_mpi_t *bench, int argc, char **argv,
                                        const char *letters)
{
    static const struct option words[] = {{"help", no_argument, NULL, 'h'}, {0}};
    int option;

    bench_is_quiet = (bench->rank != 0);
    opterr         = 0;
    option         = getopt_long(argc, argv, letters, words, NULL);
    if (option == '?') {
        bench_complain("a wrong option, or one without its value: %s", argv[optind - 1]);
    }
    return option;
}

/* An option that several programs have, as getopt() returns it: -t, -w or -b. Returns 0, or -1, for
 * another one or after an error line. */
static inline int bench_mpi_option(bench_mpi_t *bench, int option)
{
    double batches = bench->batches;
    int bad;

    switch (option) {
    case 't':
        return bench_parse_number("-t", optarg, 0.001, 1000, &bench->seconds);
    case 'w':
        return bench_parse_number("-w", optarg, 0, 1000, &bench->warmup);
    case 'b':
        bad            = bench_parse_number("-b", optarg, 1, BENCH_MAX_BATCHES, &batches);
        bench->batches = (int)batches;
        if (!bad && (bench->batches != batches)) {
            bench_complain("-b '%s': expected a whole number", optarg);
            bad = -1;
        }
        return bad;
    default:
        return -1;
    }
}

/* Makes the next point of a program's options, of a benchmark and a size; `more` is NULL, or what the
 * argument has behind a colon. Returns 0, 1 if there is no such benchmark, or -1 after an error line. */
typedef int (*bench_mpi_point_func_t)(void *options, int kind, const char *more,
                                      size_t size);

/* The points of an argument; returns 0, or -1 after an error line */
static inline int bench_mpi_parse_point(char *text, const void *kinds, size_t kind_size,
                                        const char *example, bench_mpi_point_func_t point,
                                        void *options, int *num_points)
{
    char *list              = strchr(text, '=');
    const char *const *name = kinds;
    int kind                = 0;
    int bad                 = 1;
    size_t sizes[BENCH_MAX_SIZES];
    int num_sizes, length, i;

    if (list != NULL) {
        *list++ = '\0';
    }
    length = strcspn(text, ":");
    while ((*name != NULL) && (strncmp(text, *name, length) || (*name)[length])) {
        name = (const char *const *)((const char *)kinds + ++kind * kind_size);
    }
    if ((list != NULL) && (*name != NULL)) {
        num_sizes = bench_parse_sizes(list, sizes);
        if ((num_sizes < 0) || (num_sizes > BENCH_MPI_MAX_POINTS - *num_points)) {
            return -1;
        }
        bad = 0;
        for (i = 0; !bad && (i < num_sizes); ++i) {
            bad = point(options, kind, text[length] ? &text[length + 1] : NULL, sizes[i]);
            *num_points += !bad;
        }
    }
    if (bad > 0) {
        bench_complain("'%s': expected a benchmark and its sizes, as %s", text, example);
    }
    return bad ? -1 : 0;
}

/* The points of all arguments behind the options, each as the example, BENCHMARK=SIZES. `kinds` are
 * structs that begin with a benchmark's name, NULL at their end. Counts the points, of which there is
 * one at least. Returns 0, or -1 after an error line. */
static inline int bench_mpi_parse_points(int argc, char **argv, const void *kinds,
                                         size_t kind_size, const char *example,
                                         bench_mpi_point_func_t point, void *options,
                                         int *num_points)
{
    int bad = 0;

    for (; !bad && (optind < argc); ++optind) {
        bad = bench_mpi_parse_point(argv[optind], kinds, kind_size, example, point,
                                    options, num_points);
    }
    if (!bad && (*num_points == 0)) {
        bench_complain("expected a benchmark and its sizes, as %s", example);
        bad = -1;
    }
    return bad;
}

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

/*
 * The probe, for the leader and one other rank. Of more ranks the first two take it, each on a
 * core of its own of those that all may use, once the others sleep.
 */
static inline double bench_mpi_probe(bench_mpi_t *bench)
{
    const struct timespec nap = {0, 1000000};
    bench_probe_t *probe      = &bench->probe;
    unsigned long asleep;
    cpu_set_t all, one;
    double ns;
    int cpu, number;

    if ((bench->num_ranks == 2) || (probe->line == NULL)) {
        return bench_probe(probe);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench->rank > 1) {
        probe->count += BENCH_PROBE_ROUNDS * BENCH_PROBE_TRIPS;
        atomic_fetch_add(&probe->line->asleep, 1);
        while (atomic_load(&probe->line->pong) != probe->count) {
            nanosleep(&nap, NULL);
        }
        return 0;
    }
    asleep = (bench->num_ranks - 2) *
             (probe->count / (BENCH_PROBE_ROUNDS * BENCH_PROBE_TRIPS) + 1);
    while (atomic_load(&probe->line->asleep) != asleep) {
        nanosleep(&nap, NULL);
    }
    sched_getaffinity(0, sizeof(all), &all);
    for (cpu = 0, number = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &all) && (number++ == bench->rank)) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof(one), &one);
        }
    }
    ns = bench_probe(probe);
    sched_setaffinity(0, sizeof(all), &all);
    return ns;
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

/* Rank 0's value on all ranks */
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
 * same on both ranks: a time slice given to another process is not the library's time. Where
 * ranks share cores, they give slices to each other, and all batches count.
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
        disturbed[i] = (bench->num_ranks == 2) && (after != before);
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

/* The time of some steps in a row */
static inline double bench_mpi_time(bench_mpi_step_func_t step, const bench_mpi_t *bench,
                                    void *arg, long count)
{
    double seconds[BENCH_MPI_VALUES];
    double start = bench_now();

    step(bench, arg, count, seconds);
    return bench_now() - start;
}

/*
 * Double the number of steps until they take a tenth of the time given, once the time for warming
 * up, if any, is over as well. That says how many steps make a batch, which is returned; *batches_p
 * is lowered where a single step is longer than its share of the time.
 */
static inline long bench_mpi_calibrate(bench_mpi_step_func_t step,
                                       const bench_mpi_t *bench, void *arg,
                                       int *batches_p)
{
    double end = bench_now() + bench->warmup;
    double seconds[BENCH_MPI_VALUES];
    double elapsed, again, steps;
    long count;

    for (count = 1; (bench->warmup > 0) && bench_mpi_agree(bench_now() < end);
         count *= 2) {
        step(bench, arg, count, seconds);
    }
    for (count = 1;; count *= 2) {
        elapsed = bench_mpi_time(step, bench, arg, count);
        if (bench_mpi_agree(elapsed >= bench->seconds / 10)) {
            again   = bench_mpi_time(step, bench, arg, count);
            elapsed = (again < elapsed) ? again : elapsed;
        }
        if (!bench_mpi_agree(elapsed < bench->seconds / 10)) {
            break;
        }
    }
    steps = bench->seconds * count / elapsed;
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
        before          = bench_mpi_probe(bench);
        clean           = bench_mpi_batches(step, bench, arg, batches, count, times);
        result.probe_ns = perf_state_join(before, bench_mpi_probe(bench));
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

/* One byte of a pattern that differs from one position and seed to the next */
static inline unsigned char bench_mpi_byte(size_t i, int seed)
{
    return (unsigned char)(i * 7 + (i >> 8) + seed);
}

/* Writes the pattern */
static inline void bench_mpi_fill(unsigned char *buffer, size_t size, int seed)
{
    size_t i;

    for (i = 0; i < size; ++i) {
        buffer[i] = bench_mpi_byte(i, seed);
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
        if (buffer[i] != bench_mpi_byte(i, seed)) {
            fprintf(stderr, "wrong data: byte %zu of %zu is 0x%02x\n", i, size,
                    buffer[i]);
            return false;
        }
    }
    return true;
}

/*
 * Print the version of the MPI, and of the UCX that this process has loaded: another program may find
 * another one.
 */
static inline void bench_mpi_print_version(void)
{
    const char *(*ucx_version)(void) = NULL;
    void *ucp                        = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    if (ucp != NULL) {
        ucx_version = (const char *(*)(void))dlsym(ucp, "ucp_get_version_string");
    }
    MPI_Get_library_version(mpi, &length);
    mpi[strcspn(mpi, ",\n")] = '\0';
    for (length = 0; mpi[length] != '\0'; ++length) {
        mpi[length] = isspace((unsigned char)mpi[length]) ? ' ' : mpi[length];
    }
    printf("VERSION %s; UCX %s\n", mpi, (ucx_version != NULL) ? ucx_version() : "none");
}

/* A program that measures. Its functions get its options, as its own type. */
typedef struct {
    const char *usage; /* its help */
    /* Reads the options. Returns 0, 1 for help, or -1 after an error line */
    int (*parse)(bench_mpi_t *bench, void *options, int argc, char **argv);
    /* The number of ranks that is needed if it is not right, else NULL; no such function: it is 2 */
    const char *(*needed_ranks)(const bench_mpi_t *bench, const void *options);
    /* Measures; returns whether all data was right */
    bool (*run)(bench_mpi_t *bench, void *options);
} bench_mpi_program_t;

static inline int bench_mpi_main(const bench_mpi_program_t *program, void *options,
                                 int argc, char **argv)
{
    int status        = EXIT_SUCCESS;
    const char *ranks = NULL;
    bench_mpi_t bench;
    int bad;

    MPI_Init(&argc, &argv);
    bench_mpi_init(&bench);
    bad = program->parse(&bench, options, argc, argv);
    if (program->needed_ranks != NULL) {
        ranks = program->needed_ranks(&bench, options);
    } else if (bench.num_ranks != 2) {
        ranks = "exactly 2";
    }
    if (bad != 0) {
        status = (bad < 0) ? BENCH_MPI_EXIT_USAGE : EXIT_SUCCESS;
        if ((bad > 0) && (bench.rank == 0)) {
            printf("%s", program->usage);
        }
    } else if (ranks != NULL) {
        status = BENCH_MPI_EXIT_USAGE;
        if (bench.rank == 0) {
            fprintf(stderr, "this needs %s ranks, not %d\n", ranks, bench.num_ranks);
        }
    } else {
        bench_mpi_probe_open(&bench);
        status = program->run(&bench, options) ? EXIT_SUCCESS : EXIT_FAILURE;
        bench_mpi_probe_close(&bench);
    }
    MPI_Finalize();
    return status;
}

#endif
