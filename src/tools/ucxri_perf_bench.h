/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The benchmarks: what one batch of each does, and what is made of its time.
 */
#ifndef UCXRI_PERF_BENCH_H
#define UCXRI_PERF_BENCH_H

#include "ucxri_perf_params.h"
#include "ucxri_perf_peer.h"

/* Memory of all messages of a window, in bytes */
#define PERF_MAX_MEMORY (4ul << 30)

/* Number of other times, the extras, that a benchmark measures beside its value, at most */
#define PERF_MAX_EXTRAS 2

typedef struct {
    const char *name;        /* on the command line and in files */
    const char *result_name; /* in RESULT lines */
    const char *unit;
    const char *title;         /* of its chart */
    const char *axis;          /* of its chart, vertical */
    const char *default_sizes; /* NULL: a configuration has its own */
    unsigned receivers; /* 1 << rank: where data arrives; 0: there is none to look at */
    int has_windows;    /* params->window messages are on their way at a time */
    int has_config;     /* points have computation; its time is the first extra */
    int num_extras;
    const char *extras[PERF_MAX_EXTRAS]; /* names of their columns; their unit is us */

    /*
     * Do it count times, in both processes. In rank 0 it sets seconds[0], the sum of what the value
     * is made of, and behind it the sum of each extra.
     */
    void (*run)(perf_peer_t *peer, const perf_params_t *params, const perf_point_t *point,
                long count, double *seconds);

    /* The value, from the seconds of doing it once */
    double (*value)(const perf_params_t *params, const perf_point_t *point,
                    double seconds);
} perf_bench_t;

/* By perf_bench_id_t */
extern const perf_bench_t perf_benches[PERF_NUM_BENCHES];

/** @return how many messages are on their way at a time, each into its own memory */
static inline uint32_t perf_bench_messages(const perf_params_t *params)
{
    return perf_benches[params->bench].has_windows ? params->window : 1;
}

/** @return whether the messages of a window of valid parameters take PERF_MAX_MEMORY at most */
int perf_bench_fits(const perf_params_t *params);

/** @return the benchmark of this name, or NULL */
const perf_bench_t *perf_bench_find(const char *name);

#endif
