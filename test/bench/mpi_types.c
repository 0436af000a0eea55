/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of derived datatypes between two ranks.
 *
 *   mpicc -O2 -o mpi_types mpi_types.c
 *   mpiexec -n 2 ./mpi_types both:64=16k,1m sender:4k=64k receiver:4k=64k
 *
 * Prints per point "RESULT types_<bench>_<run> <size> <value> us <core probe ns>", the one-way
 * time, median over the batches; README.md says what the benchmarks are.
 */
#define _GNU_SOURCE
#include "bench_mpi.h"

/* The largest size; memory of twice that, and some more, is used */
#define MAX_SIZE (1ul << 24)

static const char usage[] =
        "Usage: mpiexec -n 2 mpi_types [options] BENCHMARK:RUN=SIZES...\n"
        "Median over batches, us for one message of a ping-pong. RUN and SIZES are bytes, k\n"
        "and m allowed, as both:64=16k,1m: messages of 16 KB and of 1 MB in runs of 64\n"
        "bytes, with gaps of the same length. SIZES are multiples of RUN. Benchmarks:\n"
        "  both       the data of both sides is in runs\n"
        "  sender     that of the sender is, and that of the receiver is contiguous\n"
        "  receiver   that of the receiver is, and that of the sender is contiguous\n"
        "  neither    both are contiguous\n"
        "  irregular  as both, with runs of any lengths up to twice RUN, at listed places;\n"
        "             RUN is a multiple of 8\n"
        "Options:\n"
        "  -u       memory is used: written before each send, and read behind each receive,\n"
        "           from its first to its last byte, gaps included\n"
        "  -t SEC   time per point, without warm-up (0.15)\n"
        "  -b N     batches that the time is split into (50)\n"
        "  -h, --help  this help\n";

typedef struct {
    const char *name;
    int sends_runs; /* the sender's data is in runs, */
    int gets_runs;  /* ... and the receiver's */
    int irregular;
} kind_t;

static const kind_t kinds[] = {
        {"both", 1, 1, 0},    {"sender", 1, 0, 0},    {"receiver", 0, 1, 0},
        {"neither", 0, 0, 0}, {"irregular", 1, 1, 1}, {0},
};

typedef struct {
    const kind_t *kind;
    size_t run;
    size_t size;
    MPI_Datatype sent, received; /* one element is the message */
    unsigned char *send;
    unsigned char *recv;
    size_t sent_span, received_span; /* bytes from the first to the last one */
    int used;
} point_t;

typedef struct {
    point_t points[BENCH_MPI_MAX_POINTS];
    int num_points;
    int used; /* memory is written before it is sent, and read when it is received */
} options_t;


/* Runs of lengths from an eighth of the mean on, whose mean is right in pairs */
static MPI_Datatype make_irregular(size_t size, size_t run)
{
    int count    = (int)(size / run);
    int *lengths = bench_mpi_alloc(count * sizeof(*lengths));
    int *places  = bench_mpi_alloc(count * sizeof(*places));
    MPI_Datatype type;
    int i, more;

    for (i = 0; i < count; ++i) {
        more = (i % 16 < 14) ? (int)(run / 8) * (1 + i / 2 % 7) : 0;
        more = ((i | 1) < count) ? more : 0; /* the last one of an odd number is alone */
        lengths[i] = (int)run + ((i % 2) ? -more : more);
        places[i]  = (int)(2 * run) * i + ((i % 2) ? more : 0);
    }
    MPI_Type_indexed(count, lengths, places, MPI_BYTE, &type);
    free(places);
    free(lengths);
    return type;
}

static MPI_Datatype make_type(const point_t *point, int in_runs)
{
    MPI_Datatype type;

    if (!in_runs) {
        MPI_Type_contiguous((int)point->size, MPI_BYTE, &type);
    } else if (point->kind->irregular) {
        type = make_irregular(point->size, point->run);
    } else {
        MPI_Type_vector((int)(point->size / point->run), (int)point->run,
                        2 * (int)point->run, MPI_BYTE, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

static size_t span_of(MPI_Datatype type)
{
    MPI_Aint lb, extent;

    MPI_Type_get_true_extent(type, &lb, &extent);
    return (size_t)extent;
}

/* Write what is sent */
static void use_send(const point_t *point)
{
    volatile long *word = (volatile long *)point->send;
    size_t i;

    for (i = 0; point->used && (i < point->sent_span / sizeof(*word)); ++i) {
        word[i] = word[i] + 1;
    }
}

/* Read what has come */
static void use_recv(const point_t *point)
{
    const volatile long *word = (const volatile long *)point->recv;
    size_t i;

    for (i = 0; point->used && (i < point->received_span / sizeof(*word)); ++i) {
        (void)word[i];
    }
}

static void step(const bench_mpi_t *bench, void *arg, long count, double *seconds)
{
    const point_t *point = arg;
    int other            = !bench->rank;
    double start;
    long i;

    MPI_Barrier(MPI_COMM_WORLD);
    start = bench_now();
    for (i = 0; i < count; ++i) {
        if (bench->rank == 0) {
            use_send(point);
            MPI_Send(point->send, 1, point->sent, other, 0, MPI_COMM_WORLD);
        }
        MPI_Recv(point->recv, 1, point->received, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        use_recv(point);
        if (bench->rank == 1) {
            use_send(point);
            MPI_Send(point->send, 1, point->sent, other, 0, MPI_COMM_WORLD);
        }
    }
    seconds[0] = (bench_now() - start) / 2;
}

static int add_point(void *arg, int kind, const char *more, size_t size)
{
    options_t *options = arg;
    size_t runs[BENCH_MAX_SIZES];
    char text[32];

    snprintf(text, sizeof(text), "%s", (more != NULL) ? more : "");
    if ((more == NULL) || (bench_parse_sizes(text, runs) != 1)) {
        return 1;
    }
    if ((runs[0] == 0) || (size == 0) || (size % runs[0]) || (size > MAX_SIZE) ||
        (kinds[kind].irregular && (runs[0] % 8))) {
        bench_complain("%s: not a size for runs of %zu bytes: %zu", kinds[kind].name,
                       runs[0], size);
        return -1;
    }
    options->points[options->num_points] =
            (point_t){.kind = &kinds[kind], .run = runs[0], .size = size};
    return 0;
}

static int parse_options(bench_mpi_t *bench, void *arg, int argc, char **argv)
{
    options_t *options = arg;
    int bad            = 0;
    int c;

    while ((c = bench_mpi_next_option(bench, argc, argv, "ut:b:h")) != -1) {
        switch (c) {
        case 'u':
            options->used = 1;
            break;
        case 'h':
            return 1;
        default:
            bad |= bench_mpi_option(bench, c);
        }
    }
    return bad ? bad :
                 bench_mpi_parse_points(argc, argv, kinds, sizeof(kinds[0]),
                                        "both:64=16k,1m", add_point, options,
                                        &options->num_points);
}

/* Whether the packed data of one more message is that which was sent */
static bool run_once(const bench_mpi_t *bench, point_t *point, unsigned char *packed)
{
    double seconds[BENCH_MPI_VALUES];
    int position = 0;

    bench_mpi_fill(packed, point->size, 3);
    MPI_Unpack(packed, (int)point->size, &position, point->send, 1, point->sent,
               MPI_COMM_WORLD);
    memset(point->recv, 0, 2 * point->size);
    MPI_Barrier(MPI_COMM_WORLD);
    step(bench, point, 1, seconds);
    position = 0;
    MPI_Pack(point->recv, 1, point->received, packed, (int)point->size, &position,
             MPI_COMM_WORLD);
    return bench_mpi_check(packed, point->size, 3);
}

/* Whether the data was right */
static bool run_point(bench_mpi_t *bench, point_t *point, unsigned char *packed)
{
    bench_mpi_result_t result;
    char name[64];
    bool right;

    point->sent          = make_type(point, point->kind->sends_runs);
    point->received      = make_type(point, point->kind->gets_runs);
    point->sent_span     = span_of(point->sent);
    point->received_span = span_of(point->received);
    result               = bench_mpi_measure(step, bench, point);
    point->used          = 0;
    right                = run_once(bench, point, packed);
    MPI_Type_free(&point->received);
    MPI_Type_free(&point->sent);
    if (bench->rank == 0) {
        snprintf(name, sizeof(name), "types_%s_%zu", point->kind->name, point->run);
        bench_print(name, point->size, result.seconds[0] * 1e6, "us", result.probe_ns);
    }
    return right;
}

static bool run_points(bench_mpi_t *bench, void *arg)
{
    options_t *options    = arg;
    unsigned char *send   = bench_mpi_alloc(2 * MAX_SIZE);
    unsigned char *recv   = bench_mpi_alloc(2 * MAX_SIZE);
    unsigned char *packed = bench_mpi_alloc(MAX_SIZE);
    bool right            = true;
    int i;

    for (i = 0; i < options->num_points; ++i) {
        options->points[i].used = options->used;
        options->points[i].send = send;
        options->points[i].recv = recv;
        right &= run_point(bench, &options->points[i], packed);
    }
    free(packed);
    free(recv);
    free(send);
    return right;
}

int main(int argc, char **argv)
{
    const bench_mpi_program_t program = {usage, parse_options, NULL, run_points};
    static options_t options;

    return bench_mpi_main(&program, &options, argc, argv);
}
