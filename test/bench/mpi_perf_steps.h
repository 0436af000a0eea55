/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * What mpi_perf times: a step of each of its benchmarks.
 */
#ifndef UCXRI_MPI_PERF_STEPS_H
#define UCXRI_MPI_PERF_STEPS_H

#include "../../src/tools/ucxri_perf_progress.h"
#include "bench_mpi.h"

#define WINDOW    64
#define NUM_COMPS (2 * PERF_PROGRESS_COMPS)

#define TAG_DATA 1
#define TAG_ACK  2

typedef struct kind kind_t;

typedef struct {
    const kind_t *kind;
    size_t size;
    unsigned comps[NUM_COMPS];
    uint64_t loops_per_unit;
    int messages; /* at a time */
    int warmup;   /* latency: messages of a batch before those that are timed */
    int seed;     /* of what rank 0 sends; rank 1's is one more */
    unsigned char *send;
    unsigned char *recv;
} point_t;

/* One kind of benchmark */
struct kind {
    const char *name;
    int has_comps;
    int both_receive; /* else rank 1 only, the odd ranks of more than one pair */
    int messages;     /* at a time, or fewer */
    int pairs;        /* also measures more than one */
    int has_sends;    /* each message at a time is sent from memory of its own */
    bench_mpi_step_func_t step;
    void (*print)(const point_t *point, const bench_mpi_result_t *result);
};


/* A batch begins with both sides there at the same time, as never again in a ping-pong */
#define LATENCY_WARMUP 2

/* Writes each word of a buffer, and leaves it as it is */
static void write_all(unsigned char *buffer, size_t size)
{
    volatile uint64_t *words      = (volatile uint64_t *)buffer;
    volatile unsigned char *volat = buffer;
    size_t i;

    for (i = 0; i < size / sizeof(*words); ++i) {
        words[i] = words[i];
    }
    for (i *= sizeof(*words); i < size; ++i) {
        volat[i] = volat[i];
    }
}

static void read_all(const unsigned char *buffer, size_t size)
{
    const uint64_t *words = (const uint64_t *)buffer;
    uint64_t sum          = 0;
    size_t i;

    for (i = 0; i < size / sizeof(*words); ++i) {
        sum += words[i];
    }
    for (i *= sizeof(*words); i < size; ++i) {
        sum += buffer[i];
    }
    __asm__ volatile("" : : "r"(sum) : "memory");
}

static inline void send_one(const point_t *point, int rank, bool used)
{
    if (used) {
        write_all(point->send, point->size);
    }
    MPI_Send(point->send, (int)point->size, MPI_BYTE, rank, TAG_DATA, MPI_COMM_WORLD);
}

/* used: the sender writes its buffer before each send, the receiver reads its own after it */
static inline void ping_pong(const bench_mpi_t *bench, const point_t *point, long count,
                             bool used, double *seconds)
{
    int size     = (int)point->size;
    double start = 0;
    long i;

    for (i = -point->warmup; i < count; ++i) {
        if (i == 0) {
            start = bench_now();
        }
        if (bench->rank == 0) {
            send_one(point, 1, used);
        }
        MPI_Recv(point->recv, size, MPI_BYTE, !bench->rank, TAG_DATA, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (used) {
            read_all(point->recv, point->size);
        }
        if (bench->rank == 1) {
            send_one(point, 0, used);
        }
    }
    seconds[0] = (bench_now() - start) / 2;
}

static void latency_step(const bench_mpi_t *bench, void *arg, long count, double *seconds)
{
    ping_pong(bench, arg, count, false, seconds);
}

static void latency_used_step(const bench_mpi_t *bench, void *arg, long count,
                              double *seconds)
{
    ping_pong(bench, arg, count, true, seconds);
}

/* Messages that are on their way at the same time may not share memory */
static unsigned char *window_recv(const point_t *point, int number)
{
    return point->recv + number * point->size;
}

/* Messages that are written meanwhile may not either */
static unsigned char *window_send(const point_t *point, int number)
{
    return point->send + (point->kind->has_sends ? number * point->size : 0);
}

static inline void send_window(const point_t *point, int peer, bool used)
{
    MPI_Request reqs[WINDOW];
    MPI_Status statuses[WINDOW]; /* gcc warns of MPI_STATUSES_IGNORE in MPICH */
    char ack;
    int i;

    for (i = 0; i < point->messages; ++i) {
        if (used) {
            write_all(window_send(point, i), point->size);
        }
        MPI_Isend(window_send(point, i), (int)point->size, MPI_BYTE, peer, TAG_DATA,
                  MPI_COMM_WORLD, &reqs[i]);
    }
    MPI_Waitall(point->messages, reqs, statuses);
    MPI_Recv(&ack, 1, MPI_CHAR, peer, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static inline void receive_window(const point_t *point, int peer, bool used)
{
    MPI_Request reqs[WINDOW];
    MPI_Status statuses[WINDOW];
    char ack = 0;
    int i;

    for (i = 0; i < point->messages; ++i) {
        MPI_Irecv(window_recv(point, i), (int)point->size, MPI_BYTE, peer, TAG_DATA,
                  MPI_COMM_WORLD, &reqs[i]);
    }
    MPI_Waitall(point->messages, reqs, statuses);
    if (used) {
        read_all(point->recv, point->messages * point->size);
    }
    MPI_Send(&ack, 1, MPI_CHAR, peer, TAG_ACK, MPI_COMM_WORLD);
}

/* The receiver says when a window has arrived. More than one pair: until all of them are done. */
static inline void windows(const bench_mpi_t *bench, const point_t *point, long count,
                           bool used, double *seconds)
{
    double start = bench_now();
    long i;

    for (i = 0; i < count; ++i) {
        if (bench->rank % 2 == 0) {
            send_window(point, bench->rank ^ 1, used);
        } else {
            receive_window(point, bench->rank ^ 1, used);
        }
    }
    if (bench->num_ranks > 2) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    seconds[0] = bench_now() - start;
}

static void window_step(const bench_mpi_t *bench, void *arg, long count, double *seconds)
{
    windows(bench, arg, count, false, seconds);
}

static void window_used_step(const bench_mpi_t *bench, void *arg, long count,
                             double *seconds)
{
    windows(bench, arg, count, true, seconds);
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
        for (j = 0; j < point->messages; ++j) {
            MPI_Irecv(window_recv(point, j), size, MPI_BYTE, !bench->rank, TAG_DATA,
                      MPI_COMM_WORLD, &reqs[j]);
        }
        for (j = 0; j < point->messages; ++j) {
            MPI_Isend(point->send, size, MPI_BYTE, !bench->rank, TAG_DATA, MPI_COMM_WORLD,
                      &reqs[point->messages + j]);
        }
        MPI_Waitall(2 * point->messages, reqs, statuses);
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

    int peer = progress->bench->rank ^ 1;

    if (progress->bench->rank % 2 == 0) {
        MPI_Isend(point->send, size, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD,
                  &progress->req);
    } else {
        MPI_Irecv(point->recv, size, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD,
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

    result = perf_progress_measure(&ops, progress.point->comps, bench->rank % 2, times,
                                   count);
    seconds[0] = result.time;
    seconds[1] = result.work;
    seconds[2] = result.ideal;
    free(times);
}

#endif
