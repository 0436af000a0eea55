/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is to be measured: a benchmark and its points. Both processes have the same parameters,
 * whichever of them has the command line.
 */
#ifndef UCXRI_PERF_PARAMS_H
#define UCXRI_PERF_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#define PERF_MAX_POINTS  128
#define PERF_MAX_BATCHES 1000
#define PERF_MAX_SIZE    (1ul << 30)
#define PERF_MAX_WINDOW  4096
#define PERF_MAX_UNITS   100000
#define PERF_NUM_COMPS   6

/* Index of perf_benches */
typedef enum {
    PERF_LATENCY,
    PERF_BANDWIDTH,
    PERF_BIDIRECTIONAL,
    PERF_RATE,
    PERF_FAST_RECEIVE,
    PERF_PROGRESS,
    PERF_PUT,
    PERF_GET,
    PERF_ATOMIC,
    PERF_PUT_RATE,
    PERF_PUT_BANDWIDTH,
    PERF_GET_BANDWIDTH,
    PERF_NUM_BENCHES
} perf_bench_id_t;

/* One line of the table */
typedef struct {
    uint64_t size; /* of a message, in bytes */
    uint32_t comps
            [PERF_NUM_COMPS]; /* units of computation, of the progress benchmark only */
} perf_point_t;

/* The connecting process sends this to the listening one as it is */
typedef struct {
    uint32_t bench; /* perf_bench_id_t */
    uint32_t batches;
    uint32_t window; /* messages at a time */
    uint32_t num_points;
    double seconds; /* for each point */
    double timeout; /* seconds that a message may take */
    double unit_us; /* one unit of computation */
    double target_us; /* computation of the target of one-sided operations between two progresses */
    perf_point_t points[PERF_MAX_POINTS];
} perf_params_t;

/**
 * Whether parameters that came from another process are within the limits of the command line.
 * The memory of a window is looked at by perf_bench_fits(), which relies on this.
 *
 * @return 1 or 0
 */
int perf_params_valid(const perf_params_t *params);

/** @return whether the benchmark is one of one-sided operations */
static inline int perf_params_is_one_sided(const perf_params_t *params)
{
    switch (params->bench) {
    case PERF_PUT:
    case PERF_GET:
    case PERF_ATOMIC:
    case PERF_PUT_RATE:
    case PERF_PUT_BANDWIDTH:
    case PERF_GET_BANDWIDTH:
        return 1;
    default:
        return 0;
    }
}

/** @return the distance of the messages of a window in memory: whole cache lines */
static inline size_t perf_params_stride(size_t size)
{
    return (size + 63) / 64 * 64;
}

/** Write the configuration of a point of progress to text, as in "0/0/60/30/0/0" */
void perf_params_format_config(char *text, size_t length, const perf_point_t *point);

/**
 * Write what a configuration of progress means in words, as in "sender is ready at once, computes
 * 60 units afterwards; receiver is ready after 10 units".
 *
 * @param config  of perf_params_format_config(); another text is copied
 */
void perf_params_format_caption(char *text, size_t length, const char *config);

#endif
