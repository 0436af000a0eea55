/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI between two ranks: latency, message rate, bandwidth in one direction and in both,
 * messages whose receive is posted already, and the progress of messages while the
 * ranks compute. With more ranks: message rate and bandwidth of all pairs
 * together, and the slowest pair's progress.
 *
 *   mpicc -O2 -o mpi_perf mpi_perf.c
 *   mpiexec -n 2 ./mpi_perf latency=0,8,64k fast_receive=1m progress:0/0/60/30/0/0=30k
 *
 * Prints per point "RESULT <bench> <size> <value> <unit> <core probe ns>", the median over
 * the batches; README.md says what the benchmarks are.
 */
#define _GNU_SOURCE
#include "mpi_perf_steps.h"

#define MAX_COMP 10000

/* Windows of long messages have fewer, so that no more than this is on its way */
#define MAX_FLIGHT (64ul << 20)

/* One unit of computation, that of Small and Yuan (ICS'09) */
#define UNIT_SECONDS 18e-6

static const char usage[] =
        "Usage: mpiexec -n 2 mpi_perf [options] BENCHMARK=SIZES...\n"
        "Median over batches. SIZES are bytes, k and m allowed, as 0,8,64k. Benchmarks:\n"
        "  latency       one way, from a ping-pong of blocking calls           us\n"
        "  latency_used  the same, with writing before and reading after it    us\n"
        "  rate          windows of 64 messages in one direction               Mmsg/s\n"
        "  bw            the same as bandwidth                                 MB/s\n"
        "  bw_used       the same, with writing before and reading after them  MB/s\n"
        "  bibw          windows of 64 in both directions at once, the sum     MB/s\n"
        "  fast_receive  receive posted, barrier, then from the send until the\n"
        "                data is there                                         us\n"
        "  progress:C1/C2/C3/C4/C5/C6\n"
        "                computation before, between and after start and wait\n"
        "                (sender's, receiver's), in units of 18 us             us\n"
        "rate, bw, bw_used and progress also run with more ranks, an even number: 0 and "
        "1 are\n"
        "a pair, and so on.\n"
        "Options:\n"
        "  -t SEC   time per point, without warm-up (0.15)\n"
        "  -w SEC   warm-up per point, beside what sets the length of a batch (0)\n"
        "  -b N     batches that the time is split into (50)\n"
        "  -n N     no measurement: each point exactly N times (N messages, N windows)\n"
        "  -v       no measurement: print the MPI, and the UCX that is loaded\n"
        "  -h, --help  this help\n";

typedef struct {
    point_t points[BENCH_MPI_MAX_POINTS];
    int num_points;
    long fixed; /* times that each point runs, 0: measure */
    int version;
} options_t;


static void print_us(const point_t *point, const bench_mpi_result_t *result)
{
    char name[64];

    snprintf(name, sizeof(name), "mpi_%s", point->kind->name);
    bench_print(name, point->size, result->seconds[0] * 1e6, "us", result->probe_ns);
}

/* Messages per second, of all pairs and in both directions; sets the name */
static double rate_of(const point_t *point, const bench_mpi_result_t *result, char *name,
                      size_t length)
{
    int num_ranks, directions;

    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    if (num_ranks > 2) {
        snprintf(name, length, "mpi_%s:%d", point->kind->name, num_ranks);
    } else {
        snprintf(name, length, "mpi_%s", point->kind->name);
    }
    directions = point->kind->both_receive ? num_ranks : num_ranks / 2;
    return directions * point->messages / result->seconds[0];
}

static void print_rate(const point_t *point, const bench_mpi_result_t *result)
{
    char name[64];
    double rate = rate_of(point, result, name, sizeof(name));

    bench_print(name, point->size, rate * 1e-6, "Mmsg/s", result->probe_ns);
}

static void print_bandwidth(const point_t *point, const bench_mpi_result_t *result)
{
    char name[64];
    double rate = rate_of(point, result, name, sizeof(name));

    bench_print(name, point->size, rate * point->size * 1e-6, "MB/s", result->probe_ns);
}

static void print_progress(const point_t *point, const bench_mpi_result_t *result)
{
    const unsigned *c    = point->comps;
    const double *values = result->seconds;
    char comps[80], name[96];

    int length = snprintf(comps, sizeof(comps), "%u/%u/%u/%u/%u/%u", c[0], c[1], c[2],
                          c[3], c[4], c[5]);
    int num_ranks;

    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    if (num_ranks > 2) {
        snprintf(comps + length, sizeof(comps) - length, ":%d", num_ranks);
    }
    snprintf(name, sizeof(name), "progress:%s", comps);
    bench_print(name, point->size, values[0] * 1e6, "us", result->probe_ns);
    if (num_ranks == 2) { /* of ranks that share cores it is not known */
        snprintf(name, sizeof(name), "ideal:%s", comps);
        bench_print(name, point->size, values[2] * 1e6, "us", result->probe_ns);
    }
    snprintf(name, sizeof(name), "work:%s", comps);
    bench_print(name, point->size, values[1] * 1e6, "us", result->probe_ns);
}

static const kind_t kinds[] = {
        {"latency", 0, 1, 1, 0, 0, latency_step, print_us},
        {"latency_used", 0, 1, 1, 0, 0, latency_used_step, print_us},
        {"rate", 0, 0, WINDOW, 1, 0, window_step, print_rate},
        {"bw", 0, 0, WINDOW, 1, 0, window_step, print_bandwidth},
        {"bw_used", 0, 0, WINDOW, 1, 1, window_used_step, print_bandwidth},
        {"bibw", 0, 1, WINDOW, 0, 0, both_step, print_bandwidth},
        {"fast_receive", 0, 0, 1, 0, 0, fast_receive_step, print_us},
        {"progress", 1, 0, 1, 1, 0, progress_step, print_progress},
        {0},
};

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

static int messages_of(const kind_t *kind, size_t size)
{
    size_t most = MAX_FLIGHT / ((size > 0) ? size : 1);

    most = (most > 0) ? most : 1;
    return ((size_t)kind->messages < most) ? kind->messages : (int)most;
}

static int add_point(void *arg, int kind, const char *more, size_t size)
{
    options_t *options = arg;
    point_t *point     = &options->points[options->num_points];

    point->kind     = &kinds[kind];
    point->size     = size;
    point->messages = messages_of(point->kind, size);
    point->seed     = 2 * options->num_points;
    return point->kind->has_comps ? (more == NULL) || parse_comps(more, point->comps) :
                                    (more != NULL);
}

static int parse_options(bench_mpi_t *bench, void *arg, int argc, char **argv)
{
    options_t *options = arg;
    double fixed       = 0;
    int bad            = 0;
    int c;

    while ((c = bench_mpi_next_option(bench, argc, argv, "t:w:b:n:vh")) != -1) {
        switch (c) {
        case 'n':
            bad |= bench_parse_number("-n", optarg, 1, 1e9, &fixed);
            break;
        case 'v':
            options->version = 1;
            break;
        case 'h':
            return 1;
        default:
            bad |= bench_mpi_option(bench, c);
        }
    }
    options->fixed = (long)fixed;
    return (bad || (options->version && (optind == argc))) ?
                   bad :
                   bench_mpi_parse_points(argc, argv, kinds, sizeof(kinds[0]),
                                          "latency=0,8", add_point, options,
                                          &options->num_points);
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
    int peer_seed = point->seed + (bench->rank ^ 1);
    int messages  = point->messages;
    bool right    = true;
    int i;

    for (i = 0; i < (point->kind->has_sends ? messages : 1); ++i) {
        bench_mpi_fill(window_send(point, i), point->size, point->seed + bench->rank);
    }
    if (fixed == 0) {
        result = bench_mpi_measure(point->kind->step, bench, point);
    } else if (fixed > 1) {
        point->kind->step(bench, point, fixed - 1, seconds);
    }

    /* Once more, to look at the data: a benchmark that loses some measures nothing */
    memset(point->recv, ~peer_seed, messages * point->size);
    point->kind->step(bench, point, 1, seconds);
    if ((bench->rank % 2 == 1) || point->kind->both_receive) {
        for (i = 0; right && (i < messages); ++i) {
            right = bench_mpi_check(window_recv(point, i), point->size, peer_seed);
        }
    }
    if ((fixed == 0) && (bench->rank == 0)) {
        point->kind->print(point, &result);
    }
    return right;
}

/* Bytes that are enough for some messages of a point, and for what was needed before */
static size_t most_of(size_t before, int messages, const point_t *point)
{
    size_t bytes = messages * point->size;

    return (bytes > before) ? bytes : before;
}

static bool run_points(bench_mpi_t *bench, void *arg)
{
    options_t *options = arg;
    size_t max_send    = 0;
    size_t max_recv    = 0;
    bool right         = true;
    unsigned char *send, *recv;
    const point_t *point;
    int i;

    if (options->version && (bench->rank == 0)) {
        bench_mpi_print_version();
    }
    for (i = 0; i < options->num_points; ++i) {
        point    = &options->points[i];
        max_send = most_of(max_send, point->kind->has_sends ? point->messages : 1, point);
        max_recv = most_of(max_recv, point->messages, point);
    }
    send = bench_mpi_alloc(max_send);
    recv = bench_mpi_alloc(max_recv);
    calibrate_computation(options);
    for (i = 0; i < options->num_points; ++i) {
        options->points[i].send   = send;
        options->points[i].recv   = recv;
        options->points[i].warmup = (options->fixed == 0) ? LATENCY_WARMUP : 0;
        right &= run_point(bench, &options->points[i], options->fixed);
    }
    free(send);
    free(recv);
    return right;
}

static const char *needed_ranks(const bench_mpi_t *bench, const void *arg)
{
    const options_t *options = arg;
    int i;

    for (i = 0; i < options->num_points; ++i) {
        if ((bench->num_ranks != 2) && !options->points[i].kind->pairs) {
            return "exactly 2";
        }
    }
    return (bench->num_ranks % 2 == 0) ? NULL : "an even number of";
}

int main(int argc, char **argv)
{
    const bench_mpi_program_t program = {usage, parse_options, needed_ranks, run_points};
    static options_t options;

    return bench_mpi_main(&program, &options, argc, argv);
}
