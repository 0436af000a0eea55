/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI between two ranks: latency, message rate, bandwidth in one direction and in both,
 * messages whose receive is posted already, and the progress of messages while the
 * ranks compute.
 *
 *   mpicc -O2 -o mpi_perf mpi_perf.c
 *   mpiexec -n 2 ./mpi_perf latency=0,8,64k fast_receive=1m progress:0/0/60/30/0/0=30k
 *
 * Prints per point "RESULT <bench> <size> <value> <unit> <core probe ns>", the median over
 * the batches; README.md says what the benchmarks are.
 */
#include "../../src/tools/ucxri_perf_progress.h"
#include "bench_mpi.h"

#define WINDOW     64
#define MAX_POINTS 128
#define NUM_COMPS  (2 * PERF_PROGRESS_COMPS)
#define MAX_COMP   10000

/* One unit of computation, that of Small and Yuan (ICS'09) */
#define UNIT_SECONDS 18e-6

#define TAG_DATA 1
#define TAG_ACK  2

static const char usage[] =
        "Usage: mpiexec -n 2 mpi_perf [options] BENCHMARK=SIZES...\n"
        "Median over batches. SIZES are bytes, k and m allowed, as 0,8,64k. Benchmarks:\n"
        "  latency       one way, from a ping-pong of blocking calls           us\n"
        "  rate          windows of 64 messages in one direction               Mmsg/s\n"
        "  bw            the same as bandwidth                                 MB/s\n"
        "  bibw          windows of 64 in both directions at once, the sum     MB/s\n"
        "  fast_receive  receive posted, barrier, then from the send until the\n"
        "                data is there                                         us\n"
        "  progress:C1/C2/C3/C4/C5/C6\n"
        "                computation before, between and after start and wait\n"
        "                (sender's, receiver's), in units of 18 us             us\n"
        "Options:\n"
        "  -t SEC   time per point, without warm-up (0.15)\n"
        "  -b N     batches that the time is split into (50)\n"
        "  -n N     no measurement: each point exactly N times (N messages, N windows)\n"
        "  -h       this help\n";

typedef struct kind kind_t;

typedef struct {
    const kind_t *kind;
    size_t size;
    unsigned comps[NUM_COMPS];
    uint64_t loops_per_unit;
    int warmup; /* latency: messages of a batch before those that are timed */
    int seed;   /* of what rank 0 sends; rank 1's is one more */
    unsigned char *send;
    unsigned char *recv;
} point_t;

/* One kind of benchmark */
struct kind {
    const char *name;
    int has_comps;
    int both_receive; /* else rank 1 only */
    int messages;     /* at a time */
    bench_mpi_step_func_t step;
    void (*print)(const point_t *point, const bench_mpi_result_t *result);
};

typedef struct {
    point_t points[MAX_POINTS];
    int num_points;
    long fixed; /* times that each point runs, 0: measure */
} options_t;


/* A batch begins with both sides there at the same time, as never again in a ping-pong */
#define LATENCY_WARMUP 2

static void latency_step(const bench_mpi_t *bench, void *arg, long count, double *seconds)
{
    const point_t *point = arg;
    int size             = (int)point->size;
    double start         = 0;
    long i;

    for (i = -point->warmup; i < count; ++i) {
        if (i == 0) {
            start = bench_now();
        }
        if (bench->rank == 0) {
            MPI_Send(point->send, size, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD);
        }
        MPI_Recv(point->recv, size, MPI_BYTE, !bench->rank, TAG_DATA, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (bench->rank == 1) {
            MPI_Send(point->send, size, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD);
        }
    }
    seconds[0] = (bench_now() - start) / 2;
}

/* Messages that are on their way at the same time may not share memory */
static unsigned char *window_recv(const point_t *point, int number)
{
    return point->recv + number * point->size;
}

/* Rank 1 says when a window has arrived */
static void window_step(const bench_mpi_t *bench, void *arg, long count, double *seconds)
{
    const point_t *point = arg;
    int size             = (int)point->size;
    char ack             = 0;
    MPI_Request reqs[WINDOW];
    MPI_Status statuses[WINDOW]; /* gcc warns of MPI_STATUSES_IGNORE in MPICH */
    double start = bench_now();
    long i;
    int j;

    for (i = 0; i < count; ++i) {
        if (bench->rank == 0) {
            for (j = 0; j < WINDOW; ++j) {
                MPI_Isend(point->send, size, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD,
                          &reqs[j]);
            }
            MPI_Waitall(WINDOW, reqs, statuses);
            MPI_Recv(&ack, 1, MPI_CHAR, 1, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            for (j = 0; j < WINDOW; ++j) {
                MPI_Irecv(window_recv(point, j), size, MPI_BYTE, 0, TAG_DATA,
                          MPI_COMM_WORLD, &reqs[j]);
            }
            MPI_Waitall(WINDOW, reqs, statuses);
            MPI_Send(&ack, 1, MPI_CHAR, 0, TAG_ACK, MPI_COMM_WORLD);
        }
    }
    seconds[0] = bench_now() - start;
}

/* No side is done before its own receives are, so there is nothing to confirm */
static void both_step(const bench_mpi_t *bench, void *arg, long count, double *seconds)
{
    const point_t *point = arg;
    int size             = (int)point->size;
    MPI_Request reqs[2 * WINDOW];
    MPI_Status statuses[2 * WINDOW];
    double start = bench_now();
    long i;
    int j;

    for (i = 0; i < count; ++i) {
        for (j = 0; j < WINDOW; ++j) {
            MPI_Irecv(window_recv(point, j), size, MPI_BYTE, !bench->rank, TAG_DATA,
                      MPI_COMM_WORLD, &reqs[j]);
        }
        for (j = 0; j < WINDOW; ++j) {
            MPI_Isend(point->send, size, MPI_BYTE, !bench->rank, TAG_DATA, MPI_COMM_WORLD,
                      &reqs[WINDOW + j]);
        }
        MPI_Waitall(2 * WINDOW, reqs, statuses);
    }
    seconds[0] = bench_now() - start;
}

/*
 * The ranks share a host and so a clock: the difference of the sums of the times of arrival
 * and of sending. Sums from a common start keep the digits.
 */
static void fast_receive_step(const bench_mpi_t *bench, void *arg, long count,
                              double *seconds)
{
    const point_t *point = arg;
    int size             = (int)point->size;
    double base          = bench_now();
    double sum           = 0;
    MPI_Request req;
    long i;

    MPI_Bcast(&base, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (i = 0; i < count; ++i) {
        if (bench->rank == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            sum -= bench_now() - base;
            MPI_Send(point->send, size, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(point->recv, size, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD, &req);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Wait(&req, MPI_STATUS_IGNORE);
            sum += bench_now() - base;
        }
    }
    MPI_Allreduce(&sum, &seconds[0], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* One side of the progress benchmark, and the times of its iterations */
typedef struct {
    const bench_mpi_t *bench;
    const point_t *point;
    MPI_Request req;
} progress_t;

static void progress_barrier(void *arg)
{
    (void)arg;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void progress_compute(void *arg, unsigned units)
{
    const progress_t *progress = arg;

    bench_compute(units * progress->point->loops_per_unit);
}

static void progress_start(void *arg)
{
    progress_t *progress = arg;
    const point_t *point = progress->point;
    int size             = (int)point->size;

    if (progress->bench->rank == 0) {
        MPI_Isend(point->send, size, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD,
                  &progress->req);
    } else {
        MPI_Irecv(point->recv, size, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD,
                  &progress->req);
    }
}

static void progress_wait(void *arg)
{
    progress_t *progress = arg;

    MPI_Wait(&progress->req, MPI_STATUS_IGNORE);
}

static double progress_now(void *arg)
{
    (void)arg;
    return bench_now();
}

static void progress_slower(void *arg, double *times, long count)
{
    (void)arg;
    MPI_Allreduce(MPI_IN_PLACE, times, (int)count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

/* Values: the time of an iteration, the computation alone, the least that is possible */
static void progress_step(const bench_mpi_t *bench, void *arg, long count,
                          double *seconds)
{
    progress_t progress           = {bench, arg, MPI_REQUEST_NULL};
    const perf_progress_ops_t ops = {.arg     = &progress,
                                     .barrier = progress_barrier,
                                     .compute = progress_compute,
                                     .start   = progress_start,
                                     .wait    = progress_wait,
                                     .now     = progress_now,
                                     .slower  = progress_slower};
    double *times                 = bench_mpi_alloc(count * sizeof(*times));
    perf_progress_result_t result;

    result     = perf_progress_measure(&ops, progress.point->comps, bench->rank, times,
                                       count);
    seconds[0] = result.time;
    seconds[1] = result.work;
    seconds[2] = result.ideal;
    free(times);
}

static void print_us(const point_t *point, const bench_mpi_result_t *result)
{
    char name[64];

    snprintf(name, sizeof(name), "mpi_%s", point->kind->name);
    bench_print(name, point->size, result->seconds[0] * 1e6, "us", result->probe_ns);
}

static void print_rate(const point_t *point, const bench_mpi_result_t *result)
{
    bench_print("mpi_rate", point->size, WINDOW / result->seconds[0] * 1e-6, "Mmsg/s",
                result->probe_ns);
}

static void print_bandwidth(const point_t *point, const bench_mpi_result_t *result)
{
    char name[64];

    snprintf(name, sizeof(name), "mpi_%s", point->kind->name);
    bench_print(name, point->size,
                (point->kind->both_receive + 1) * WINDOW * (double)point->size /
                        result->seconds[0] * 1e-6,
                "MB/s", result->probe_ns);
}

static void print_progress(const point_t *point, const bench_mpi_result_t *result)
{
    const unsigned *c    = point->comps;
    const double *values = result->seconds;
    char comps[80], name[96];

    snprintf(comps, sizeof(comps), "%u/%u/%u/%u/%u/%u", c[0], c[1], c[2], c[3], c[4],
             c[5]);
    snprintf(name, sizeof(name), "progress:%s", comps);
    bench_print(name, point->size, values[0] * 1e6, "us", result->probe_ns);
    snprintf(name, sizeof(name), "ideal:%s", comps);
    bench_print(name, point->size, values[2] * 1e6, "us", result->probe_ns);
    snprintf(name, sizeof(name), "work:%s", comps);
    bench_print(name, point->size, values[1] * 1e6, "us", result->probe_ns);
}

static const kind_t kinds[] = {
        {"latency", 0, 1, 1, latency_step, print_us},
        {"rate", 0, 0, WINDOW, window_step, print_rate},
        {"bw", 0, 0, WINDOW, window_step, print_bandwidth},
        {"bibw", 0, 1, WINDOW, both_step, print_bandwidth},
        {"fast_receive", 0, 0, 1, fast_receive_step, print_us},
        {"progress", 1, 0, 1, progress_step, print_progress},
};

#define NUM_KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

/* "C1/C2/C3/C4/C5/C6", up to the end of the text; returns 0 or -1 */
static int parse_comps(const char *text, unsigned *comps)
{
    const char *p = text;
    unsigned long value;
    char *end;
    int i;

    for (i = 0; i < NUM_COMPS; ++i) {
        value = strtoul(p, &end, 10);
        if (!isdigit((unsigned char)*p) || (value > MAX_COMP) ||
            (*end != ((i < NUM_COMPS - 1) ? '/' : '\0'))) {
            return -1;
        }
        comps[i] = (unsigned)value;
        p        = end + 1;
    }
    return 0;
}

/* "BENCHMARK=SIZES" adds points; returns 0, or -1 after an error line */
static int parse_points(options_t *options, char *text)
{
    char *list  = strchr(text, '=');
    char *comps = strchr(text, ':');
    int k       = 0;
    size_t sizes[BENCH_MAX_SIZES];
    point_t point = {0};
    int num_sizes, i;

    if (list != NULL) {
        *list++ = '\0';
    }
    if (comps != NULL) {
        *comps++ = '\0';
    }
    while ((k < NUM_KINDS) && strcmp(text, kinds[k].name)) {
        ++k;
    }
    if ((list == NULL) || (k == NUM_KINDS) || ((comps != NULL) != kinds[k].has_comps) ||
        (kinds[k].has_comps && (parse_comps(comps, point.comps) != 0))) {
        fprintf(stderr, "'%s': expected a benchmark and its sizes, as latency=0,8\n",
                text);
        return -1;
    }
    num_sizes = bench_parse_sizes(list, sizes);
    if ((num_sizes < 0) || (num_sizes > MAX_POINTS - options->num_points)) {
        return -1;
    }
    point.kind = &kinds[k];
    for (i = 0; i < num_sizes; ++i) {
        point.size                             = sizes[i];
        point.seed                             = 2 * options->num_points;
        options->points[options->num_points++] = point;
    }
    return 0;
}

/* Returns 0, 1 for help, or -1 after an error line */
static int parse_options(bench_mpi_t *bench, options_t *options, int argc, char **argv)
{
    double batches = 50;
    double fixed   = 0;
    int bad        = 0;
    int c;

    bench->seconds      = 0.15;
    options->num_points = 0;
    while ((c = getopt(argc, argv, "t:b:n:h")) != -1) {
        switch (c) {
        case 't':
            bad |= bench_parse_number("-t", optarg, 0.001, 1000, &bench->seconds);
            break;
        case 'b':
            bad |= bench_parse_number("-b", optarg, 1, BENCH_MAX_BATCHES, &batches);
            break;
        case 'n':
            bad |= bench_parse_number("-n", optarg, 1, 1e9, &fixed);
            break;
        case 'h':
            return 1;
        default:
            bad = -1;
        }
    }
    for (; !bad && (optind < argc); ++optind) {
        bad = parse_points(options, argv[optind]);
    }
    if (!bad && (options->num_points == 0)) {
        fprintf(stderr, "which benchmark?\n");
        bad = -1;
    }
    bench->batches = (int)batches;
    options->fixed = (long)fixed;
    return bad;
}

/* Both ranks compute at the same time, and take the same result */
static void calibrate_computation(options_t *options)
{
    long loops = 0;
    int i;

    for (i = 0; i < options->num_points; ++i) {
        if (!options->points[i].kind->has_comps) {
            continue;
        }
        if (loops == 0) {
            loops = (long)bench_compute_calibrate(UNIT_SECONDS);
            loops = bench_mpi_agree(loops);
        }
        options->points[i].loops_per_unit = (uint64_t)loops;
    }
}

/* Whether the data was right */
static bool run_point(bench_mpi_t *bench, point_t *point, long fixed)
{
    bench_mpi_result_t result;
    double seconds[BENCH_MPI_VALUES];
    int messages = point->kind->messages;
    bool right   = true;
    int i;

    bench_mpi_fill(point->send, point->size, point->seed + bench->rank);
    if (fixed == 0) {
        result = bench_mpi_measure(point->kind->step, bench, point);
    } else if (fixed > 1) {
        point->kind->step(bench, point, fixed - 1, seconds);
    }

    /* Once more, to look at the data: a benchmark that loses some measures nothing */
    memset(point->recv, ~(point->seed + !bench->rank), messages * point->size);
    point->kind->step(bench, point, 1, seconds);
    if ((bench->rank == 1) || point->kind->both_receive) {
        for (i = 0; right && (i < messages); ++i) {
            right = bench_mpi_check(window_recv(point, i), point->size,
                                    point->seed + !bench->rank);
        }
    }
    if ((fixed == 0) && (bench->rank == 0)) {
        point->kind->print(point, &result);
    }
    return right;
}

/* Whether all data was right */
static bool run_points(bench_mpi_t *bench, options_t *options)
{
    size_t max_size = 0;
    size_t max_recv = 0;
    bool right      = true;
    unsigned char *send, *recv;
    int i;

    for (i = 0; i < options->num_points; ++i) {
        if (options->points[i].size > max_size) {
            max_size = options->points[i].size;
        }
        if (options->points[i].kind->messages * options->points[i].size > max_recv) {
            max_recv = options->points[i].kind->messages * options->points[i].size;
        }
    }
    send = bench_mpi_alloc(max_size);
    recv = bench_mpi_alloc(max_recv);
    bench_mpi_probe_open(bench);
    calibrate_computation(options);
    for (i = 0; i < options->num_points; ++i) {
        options->points[i].send   = send;
        options->points[i].recv   = recv;
        options->points[i].warmup = (options->fixed == 0) ? LATENCY_WARMUP : 0;
        right &= run_point(bench, &options->points[i], options->fixed);
    }
    bench_mpi_probe_close(bench);
    free(send);
    free(recv);
    return right;
}

int main(int argc, char **argv)
{
    static options_t options;
    bench_mpi_t bench;
    int status, bad;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    bad = parse_options(&bench, &options, argc, argv);
    if (bench_mpi_may_run(&bench, bad, usage, &status) && !run_points(&bench, &options)) {
        status = EXIT_FAILURE;
    }
    MPI_Finalize();
    return status;
}
