/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each benchmark is a function that does it a number of times and gives the sum of its times, and
 * an entry of perf_benches at the end of this file. Both processes run the same function; rank 0 is
 * the sender where only one process sends. A barrier comes before what is timed, and is never timed
 * itself: over a network it costs as much as a message.
 */
#include "ucxri_perf_bench.h"
#include "ucxri_perf_clock.h"
#include "ucxri_perf_compute.h"
#include "ucxri_perf_one_sided.h"
#include "ucxri_perf_progress.h"

#include <stdlib.h>
#include <string.h>

/* How often an empty message goes there and back to learn its time */
#define EMPTY_TURNS 1000

#define SMALL_TO_LARGE "0,8,64,256,1k,4k,8k,16k,64k,256k,1m,4m"

static void pingpong(perf_peer_t *peer, size_t size, long count)
{
    long i;

    for (i = 0; i < count; ++i) {
        if (peer->link.rank == 0) {
            perf_peer_complete(peer,
                               perf_peer_send(peer, peer->sendbuf, size, PERF_TAG_DATA));
        }
        perf_peer_complete(peer,
                           perf_peer_recv(peer, peer->recvbuf, size, PERF_TAG_DATA));
        if (peer->link.rank == 1) {
            perf_peer_complete(peer,
                               perf_peer_send(peer, peer->sendbuf, size, PERF_TAG_DATA));
        }
    }
}

/* After a barrier both sides are there at the same time, as never again in a ping-pong: what a
 * receiver that is early can tell its sender comes too late for the first message. */
#define PINGPONG_WARMUP 2

static void run_latency(perf_peer_t *peer, const perf_params_t *params,
                        const perf_point_t *point, long count, double *seconds)
{
    double start;

    perf_peer_barrier(peer);
    pingpong(peer, point->size, PINGPONG_WARMUP);
    start = perf_clock_now();
    pingpong(peer, point->size, count);
    seconds[0] = (perf_clock_now() - start) / 2;
}

static void complete_window(perf_peer_t *peer, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; ++i) {
        perf_peer_complete(peer, peer->requests[i]);
    }
}

static void run_windows(perf_peer_t *peer, const perf_params_t *params,
                        const perf_point_t *point, long count, double *seconds)
{
    double start;
    uint32_t w;
    long i;

    perf_peer_barrier(peer);
    start = perf_clock_now();
    for (i = 0; i < count; ++i) {
        for (w = 0; w < params->window; ++w) {
            peer->requests[w] =
                    (peer->link.rank == 0) ?
                            perf_peer_send(peer, peer->sendbuf, point->size,
                                           PERF_TAG_DATA) :
                            perf_peer_recv(peer,
                                           perf_peer_recv_buffer(peer, point->size, w),
                                           point->size, PERF_TAG_DATA);
        }
        complete_window(peer, params->window);
        /* The receiver says that all of it has arrived */
        perf_peer_complete(peer, (peer->link.rank == 0) ?
                                         perf_peer_recv(peer, NULL, 0, PERF_TAG_ACK) :
                                         perf_peer_send(peer, NULL, 0, PERF_TAG_ACK));
    }
    seconds[0] = perf_clock_now() - start;
}

static void run_bidirectional(perf_peer_t *peer, const perf_params_t *params,
                              const perf_point_t *point, long count, double *seconds)
{
    double start;
    uint32_t w;
    long i;

    perf_peer_barrier(peer);
    start = perf_clock_now();
    for (i = 0; i < count; ++i) {
        for (w = 0; w < params->window; ++w) {
            peer->requests[w] =
                    perf_peer_recv(peer, perf_peer_recv_buffer(peer, point->size, w),
                                   point->size, PERF_TAG_DATA);
        }
        for (w = 0; w < params->window; ++w) {
            peer->requests[params->window + w] =
                    perf_peer_send(peer, peer->sendbuf, point->size, PERF_TAG_DATA);
        }
        complete_window(peer, 2 * params->window);
    }
    seconds[0] = perf_clock_now() - start;
}

/*
 * On one host the receiver's clock is the sender's: the difference of the sums of the times
 * of arrival and of sending. Sums from a common start keep the digits.
 */
static void fast_receive_host(perf_peer_t *peer, size_t size, long count, double *seconds)
{
    double base = perf_link_agree(&peer->link, perf_clock_now());
    double sum  = 0;
    double sent = 0;
    double start, theirs;
    void *request;
    long i;

    for (i = 0; i < count; ++i) {
        if (peer->link.rank == 1) {
            request = perf_peer_recv(peer, peer->recvbuf, size, PERF_TAG_DATA);
            perf_peer_barrier(peer);
            perf_peer_complete(peer, request);
            sum += perf_clock_now() - base;
        } else {
            perf_peer_barrier(peer);
            start = perf_clock_now();
            perf_peer_complete(peer,
                               perf_peer_send(peer, peer->sendbuf, size, PERF_TAG_DATA));
            sent += perf_clock_now() - start;
            sum += start - base;
        }
    }
    perf_link_exchange(&peer->link, &sum, &theirs, sizeof(sum));
    seconds[0] = theirs - sum;
    seconds[1] = sent;
}

/*
 * Between hosts: until the receiver's answer is here, less the time of that, which is an
 * empty message.
 */
static void fast_receive_answered(perf_peer_t *peer, size_t size, long count,
                                  double *seconds)
{
    double sum  = 0;
    double sent = 0;
    double start;
    void *request;
    long i;

    if (peer->empty_time == 0) {
        pingpong(peer, 0, EMPTY_TURNS / 10);
        start = perf_clock_now();
        pingpong(peer, 0, EMPTY_TURNS);
        peer->empty_time = (perf_clock_now() - start) / EMPTY_TURNS / 2;
    }
    for (i = 0; i < count; ++i) {
        if (peer->link.rank == 1) {
            request = perf_peer_recv(peer, peer->recvbuf, size, PERF_TAG_DATA);
            perf_peer_barrier(peer);
            perf_peer_complete(peer, request);
            perf_peer_complete(peer, perf_peer_send(peer, NULL, 0, PERF_TAG_ACK));
        } else {
            request = perf_peer_recv(peer, NULL, 0, PERF_TAG_ACK);
            perf_peer_barrier(peer);
            start = perf_clock_now();
            perf_peer_complete(peer,
                               perf_peer_send(peer, peer->sendbuf, size, PERF_TAG_DATA));
            sent += perf_clock_now() - start;
            perf_peer_complete(peer, request);
            sum += perf_clock_now() - start - peer->empty_time;
        }
    }
    seconds[0] = sum;
    seconds[1] = sent;
}

/* The receive is posted and known to the sender's side before the send begins */
static void run_fast_receive(perf_peer_t *peer, const perf_params_t *params,
                             const perf_point_t *point, long count, double *seconds)
{
    if (peer->link.shared != NULL) {
        fast_receive_host(peer, point->size, count, seconds);
    } else {
        fast_receive_answered(peer, point->size, count, seconds);
    }
}

static double *allocate_times(long count)
{
    double *times = malloc(count * sizeof(*times));

    if (times == NULL) {
        perf_fatal("out of memory");
    }
    return times;
}

/* One side of the progress benchmark */
typedef struct {
    perf_peer_t *peer;
    const perf_point_t *point;
    void *request;
} progress_t;

static void progress_barrier(void *arg)
{
    perf_peer_barrier(((progress_t *)arg)->peer);
}

static void progress_compute(void *arg, unsigned units)
{
    perf_compute(units * ((progress_t *)arg)->peer->loops_per_unit);
}

static void progress_start(void *arg)
{
    progress_t *progress = arg;
    perf_peer_t *peer    = progress->peer;
    size_t size          = progress->point->size;

    progress->request = (peer->link.rank == 0) ?
                                perf_peer_send(peer, peer->sendbuf, size, PERF_TAG_DATA) :
                                perf_peer_recv(peer, peer->recvbuf, size, PERF_TAG_DATA);
}

static void progress_wait(void *arg)
{
    progress_t *progress = arg;

    perf_peer_complete(progress->peer, progress->request);
}

static double progress_now(void *arg)
{
    return perf_clock_now();
}

static void progress_slower(void *arg, double *times, long count)
{
    double *theirs = allocate_times(count);
    long i;

    perf_link_exchange(&((progress_t *)arg)->peer->link, times, theirs,
                       count * sizeof(*times));
    for (i = 0; i < count; ++i) {
        times[i] = (theirs[i] > times[i]) ? theirs[i] : times[i];
    }
    free(theirs);
}

static void run_progress(perf_peer_t *peer, const perf_params_t *params,
                         const perf_point_t *point, long count, double *seconds)
{
    progress_t progress           = {peer, point, NULL};
    const perf_progress_ops_t ops = {.arg     = &progress,
                                     .barrier = progress_barrier,
                                     .compute = progress_compute,
                                     .start   = progress_start,
                                     .wait    = progress_wait,
                                     .now     = progress_now,
                                     .slower  = progress_slower};
    double *times                 = allocate_times(count);
    perf_progress_result_t result;

    result     = perf_progress_measure(&ops, point->comps, peer->link.rank, times, count);
    seconds[0] = result.time;
    seconds[1] = result.work;
    seconds[2] = result.ideal;
    free(times);
}

static double value_us(const perf_params_t *params, const perf_point_t *point,
                       double seconds)
{
    return seconds * 1e6;
}

static double value_bandwidth(const perf_params_t *params, const perf_point_t *point,
                              double seconds)
{
    return point->size * (double)params->window / seconds * 1e-6;
}

static double value_both(const perf_params_t *params, const perf_point_t *point,
                         double seconds)
{
    return 2 * value_bandwidth(params, point, seconds);
}

static double value_rate(const perf_params_t *params, const perf_point_t *point,
                         double seconds)
{
    return params->window / seconds * 1e-6;
}

const perf_bench_t perf_benches[PERF_NUM_BENCHES] = {
        [PERF_LATENCY]       = {.name          = "latency",
                                .result_name   = "perf_latency",
                                .unit          = "us",
                                .title         = "Latency",
                                .axis          = "one way, µs",
                                .default_sizes = SMALL_TO_LARGE,
                                .receivers     = 3,
                                .run           = run_latency,
                                .value         = value_us},
        [PERF_BANDWIDTH]     = {.name          = "bandwidth",
                                .result_name   = "perf_bandwidth",
                                .unit          = "MB/s",
                                .title         = "Bandwidth, one direction",
                                .axis          = "MB/s",
                                .default_sizes = "64,256,1k,4k,8k,16k,64k,256k,1m,4m",
                                .has_windows   = 1,
                                .receivers     = 2,
                                .run           = run_windows,
                                .value         = value_bandwidth},
        [PERF_BIDIRECTIONAL] = {.name          = "bidirectional",
                                .result_name   = "perf_bidirectional",
                                .unit          = "MB/s",
                                .title         = "Bandwidth, sum of both directions",
                                .axis          = "MB/s",
                                .default_sizes = "64,256,1k,4k,8k,16k,64k,256k,1m,4m",
                                .has_windows   = 1,
                                .receivers     = 3,
                                .run           = run_bidirectional,
                                .value         = value_both},
        [PERF_RATE]          = {.name          = "rate",
                                .result_name   = "perf_rate",
                                .unit          = "Mmsg/s",
                                .title         = "Message rate, one direction",
                                .axis          = "million messages/s",
                                .default_sizes = "0,8,16,64,256,1k,4k,8k",
                                .has_windows   = 1,
                                .receivers     = 2,
                                .run           = run_windows,
                                .value         = value_rate},
        [PERF_FAST_RECEIVE]  = {.name          = "fast-receive",
                                .result_name   = "perf_fast_receive",
                                .unit          = "us",
                                .title         = "From the send to the posted buffer",
                                .axis          = "send to arrival, µs",
                                .default_sizes = SMALL_TO_LARGE,
                                .num_extras    = 1,
                                .extras        = {"send_us"},
                                .receivers     = 2,
                                .run           = run_fast_receive,
                                .value         = value_us},
        [PERF_PROGRESS]      = {.name        = "progress",
                                .result_name = "perf_progress",
                                .unit        = "us",
                                .title       = "Progress benchmark",
                                .axis        = "one iteration, µs",
                                .has_config  = 1,
                                .num_extras  = 2,
                                .extras      = {"work_us", "ideal_us"},
                                .receivers   = 2,
                                .run         = run_progress,
                                .value       = value_us},
        [PERF_PUT]           = {.name          = "put",
                                .result_name   = "perf_put",
                                .unit          = "us",
                                .title         = "Put and flush",
                                .axis          = "put and flush, µs",
                                .default_sizes = "8,64,1k,4k,16k,64k,256k,1m",
                                .receivers     = 2,
                                .run           = perf_one_sided_put,
                                .value         = value_us},
        [PERF_GET]           = {.name          = "get",
                                .result_name   = "perf_get",
                                .unit          = "us",
                                .title         = "Get and flush",
                                .axis          = "get and flush, µs",
                                .default_sizes = "8,64,1k,4k,16k,64k,256k,1m",
                                .receivers     = 1,
                                .run           = perf_one_sided_get,
                                .value         = value_us},
        [PERF_ATOMIC]        = {.name          = "atomic",
                                .result_name   = "perf_atomic",
                                .unit          = "us",
                                .title         = "Fetch and add",
                                .axis          = "fetch and add, µs",
                                .default_sizes = "8",
                                .run           = perf_one_sided_atomic,
                                .value         = value_us},
        [PERF_PUT_RATE]      = {.name          = "put-rate",
                                .result_name   = "perf_put_rate",
                                .unit          = "Mmsg/s",
                                .title         = "Rate of puts",
                                .axis          = "million puts/s",
                                .default_sizes = "8,64,1k,4k",
                                .has_windows   = 1,
                                .receivers     = 2,
                                .run           = perf_one_sided_put_windows,
                                .value         = value_rate},
        [PERF_PUT_BANDWIDTH] = {.name          = "put-bandwidth",
                                .result_name   = "perf_put_bandwidth",
                                .unit          = "MB/s",
                                .title         = "Bandwidth of puts",
                                .axis          = "MB/s",
                                .default_sizes = "1k,4k,16k,64k,256k,1m",
                                .has_windows   = 1,
                                .receivers     = 2,
                                .run           = perf_one_sided_put_windows,
                                .value         = value_bandwidth},
        [PERF_GET_BANDWIDTH] = {.name          = "get-bandwidth",
                                .result_name   = "perf_get_bandwidth",
                                .unit          = "MB/s",
                                .title         = "Bandwidth of gets",
                                .axis          = "MB/s",
                                .default_sizes = "1k,4k,16k,64k,256k,1m",
                                .has_windows   = 1,
                                .receivers     = 1,
                                .run           = perf_one_sided_get_windows,
                                .value         = value_bandwidth},
};

const perf_bench_t *perf_bench_find(const char *name)
{
    int id;

    for (id = 0; id < PERF_NUM_BENCHES; ++id) {
        if (!strcmp(name, perf_benches[id].name)) {
            return &perf_benches[id];
        }
    }
    return NULL;
}

int perf_bench_fits(const perf_params_t *params)
{
    uint32_t i;

    for (i = 0; i < params->num_points; ++i) {
        if (perf_bench_messages(params) * perf_params_stride(params->points[i].size) >
            PERF_MAX_MEMORY) {
            return 0;
        }
    }
    return 1;
}
