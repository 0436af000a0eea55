/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The benchmarks: what one batch of each does, and what is made of its time.
 */
#ifndef UCXRI_PERF_BENCH_H
#define UCXRI_PERF_BENCH_H

#include "ucxri_perf_options.h"
#include "ucxri_perf_peer.h"

/* A benchmark measures its value and up to so many other times in the same batch */
#define PERF_MAX_EXTRAS 2

typedef struct {
    const char *name;        /* on the command line and in files */
    const char *result_name; /* in RESULT lines */
    const char *unit;
    const char *title;         /* of its chart */
    const char *axis;          /* of its chart, vertical */
    const char *default_sizes; /* NULL: a configuration has its own */
    int both_receive;          /* otherwise rank 1 only */
    int has_windows;           /* of params->window messages at a time */
    int has_config;            /* computation, of which the first extra is the time */
    int num_extras;
    const char *extras[PERF_MAX_EXTRAS]; /* columns of these, in us */

    /*
     * Do it count times, in both processes. Sets seconds[0] for the value and the ones
     * behind it for the extras, in all, valid in rank 0.
     */
    void (*run)(perf_peer_t *peer, const perf_params_t *params, const perf_point_t *point,
                long count, double *seconds);

    /* The value from the seconds of one time */
    double (*value)(const perf_params_t *params, const perf_point_t *point,
                    double seconds);
} perf_bench_t;

/* By perf_bench_id_t */
extern const perf_bench_t perf_benches[PERF_NUM_BENCHES];

/* How many messages are on their way at a time, each into its own memory */
static inline uint32_t perf_bench_messages(const perf_params_t *params)
{
    return perf_benches[params->bench].has_windows ? params->window : 1;
}

/* The one of this name, or NULL */
const perf_bench_t *perf_bench_find(const char *name);

#endif
