/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How a point is measured. First the number of repetitions in a batch is found, so that a batch
 * takes its share of the time. Then batches are taken until enough of them were not disturbed by
 * another program, within a limit of time. Probes of the cores before and after tell whether a
 * hypervisor moved them meanwhile; then the point is measured again. At last it is done once more
 * with a pattern in the data, which must arrive. Decisions that depend on time are made by rank 0,
 * as both processes must do the same.
 */
#include "ucxri_perf_run.h"
#include "ucxri_perf_clock.h"
#include "ucxri_perf_state.h"
#include "ucs/time_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Number of batches that are timed at least, however long they take */
#define MIN_BATCHES 5

/* With fewer undisturbed batches than this, the disturbed ones count as well */
#define MIN_CLEAN 5

/* Disturbed batches are repeated for at most the time given, times this */
#define MAX_TIMES 4

/* Room for the batches and for the disturbed ones */
#define MAX_SAMPLES (2 * PERF_MAX_BATCHES)

/* How often a point is measured whose core probes differ */
#define MAX_TRIES 3

#define SHOW_INTERVAL 0.1

/* All values of one point: the value itself first, then the extras */
typedef struct {
    double values[1 + PERF_MAX_EXTRAS][MAX_SAMPLES];
    unsigned char disturbed[MAX_SAMPLES];
    uint32_t count;
} samples_t;

/* One run: which point of how many, and since when */
typedef struct {
    perf_peer_t *peer;
    const perf_params_t *params;
    const perf_bench_t *bench;
    uint32_t index;
    double begin;
    double last_shown;
    long repeat;      /* times that one batch does it */
    uint32_t batches; /* that are wanted */
    samples_t samples;
} run_t;

/* A byte pattern that differs from one position and seed to the next */
static unsigned char pattern(size_t i, unsigned seed)
{
    return (unsigned char)(i * 7 + (i >> 8) + seed);
}

static const perf_point_t *run_point(const run_t *run)
{
    return &run->params->points[run->index];
}

static void show_progress(run_t *run, uint32_t clean)
{
    double now = perf_clock_now();
    char text[160], passed[32];

    if ((run->peer->link.rank != 0) || (now - run->last_shown < SHOW_INTERVAL)) {
        return;
    }
    run->last_shown = now;
    ri_time_text((now - run->begin) * 1e6, passed, sizeof(passed));
    snprintf(text, sizeof(text), "[%u/%u] %s, %llu bytes: %u of %u batches, %s",
             run->index + 1, run->params->num_points, run->bench->name,
             (unsigned long long)run_point(run)->size, clean, run->batches, passed);
    perf_show(text);
}

static double run_batch(run_t *run, long repeat, double *seconds)
{
    double start = perf_clock_now();

    run->bench->run(run->peer, run->params, run_point(run), repeat, seconds);
    return perf_clock_now() - start;
}

/* The time of a batch, the shorter of two because one may be disturbed */
static double time_batch(run_t *run, long repeat)
{
    double seconds[1 + PERF_MAX_EXTRAS];
    double first  = run_batch(run, repeat, seconds);
    double second = run_batch(run, repeat, seconds);

    return perf_link_agree(&run->peer->link, (first < second) ? first : second);
}

/*
 * Warm up, with twice as many repetitions each time until they take a part of the time
 * given; that says how many make a batch. A batch that is too long for its share of the
 * time makes the number of batches smaller.
 */
static void calibrate(run_t *run)
{
    const perf_params_t *params = run->params;
    long repeat                 = 1;
    double elapsed, batches;

    while ((elapsed = time_batch(run, repeat)) < params->seconds / 20) {
        repeat *= 2;
    }
    run->repeat  = (long)(params->seconds / params->batches * repeat / elapsed);
    run->repeat  = (run->repeat > 0) ? run->repeat : 1;
    batches      = params->seconds / (elapsed / repeat * run->repeat);
    batches      = (batches > MIN_BATCHES) ? batches : MIN_BATCHES;
    run->batches = (batches < params->batches) ? (uint32_t)batches : params->batches;
}

/* How often this process was pre-empted so far. A target that computes may be by who carries out
 * operations in its place, which is part of what is measured. */
static long preemptions(const run_t *run)
{
    struct rusage usage;

    if ((run->params->target_us > 0) && (run->peer->link.rank == 1)) {
        return 0;
    }
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/* One batch more; returns whether neither process was pre-empted meanwhile */
static int add_sample(run_t *run)
{
    samples_t *samples = &run->samples;
    uint32_t i         = samples->count++;
    long before        = preemptions(run);
    double seconds[1 + PERF_MAX_EXTRAS];
    unsigned char mine, theirs;
    int extra;

    run_batch(run, run->repeat, seconds);
    mine = (preemptions(run) != before);
    perf_link_exchange(&run->peer->link, &mine, &theirs, sizeof(mine));
    samples->disturbed[i] = mine | theirs;
    samples->values[0][i] = run->bench->value(run->params, run_point(run),
                                              seconds[0] / run->repeat);
    for (extra = 1; extra <= run->bench->num_extras; ++extra) {
        samples->values[extra][i] = seconds[extra] / run->repeat * 1e6;
    }
    return !samples->disturbed[i];
}

/*
 * Take as many undisturbed batches as are wanted, within limits. Sets only the values of
 * undisturbed batches, unless they are too few, which sets *disturbed. Returns how many values
 * there are.
 */
static uint32_t take_samples(run_t *run, int *disturbed)
{
    samples_t *samples = &run->samples;
    double end         = perf_clock_now() + MAX_TIMES * run->params->seconds;
    uint32_t clean     = 0;
    uint32_t count     = 0;
    int extra;

    samples->count = 0;
    while ((clean < run->batches) && (samples->count < MAX_SAMPLES)) {
        /* Rank 0's clock decides; while nothing is disturbed, nobody asks for it */
        if ((samples->count >= run->batches) &&
            perf_link_agree(&run->peer->link, perf_clock_now() > end)) {
            break;
        }
        clean += add_sample(run);
        show_progress(run, clean);
    }
    for (extra = 0; extra <= run->bench->num_extras; ++extra) {
        count = (uint32_t)perf_keep(samples->values[extra], samples->disturbed,
                                    samples->count, MIN_CLEAN);
    }
    *disturbed = (count > clean);
    return count;
}

static void measure(run_t *run, perf_result_t *result)
{
    perf_link_t *link = &run->peer->link;
    uint32_t count;
    double before;
    int try, again, extra;

    calibrate(run);
    for (try = 1, again = 1; again; ++try) {
        before          = perf_link_probe(link);
        count           = take_samples(run, &result->disturbed);
        result->core_ns = perf_state_join(before, perf_link_probe(link));
        again = (link->shared != NULL) && (result->core_ns == 0) && (try < MAX_TRIES);
        again = (int)perf_link_agree(link, again);
    }

    result->batches = count;
    result->value   = perf_quartiles(run->samples.values[0], count);
    for (extra = 0; extra < run->bench->num_extras; ++extra) {
        result->extras[extra] =
                perf_quartiles(run->samples.values[extra + 1], count).median;
    }
}

/* The first wrong byte of what was received, or -1 */
static int64_t find_wrong(const unsigned char *data, size_t size, unsigned seed)
{
    size_t i;

    for (i = 0; i < size; ++i) {
        if (data[i] != pattern(i, seed)) {
            return (int64_t)i;
        }
    }
    return -1;
}

/* Do it once more, and look at the data: who loses some measures nothing */
static void check_data(run_t *run)
{
    perf_peer_t *peer   = run->peer;
    size_t size         = run_point(run)->size;
    uint32_t count      = perf_bench_messages(run->params);
    unsigned char *data = peer->recvbuf;
    int64_t wrong       = -1;
    double seconds[1 + PERF_MAX_EXTRAS];
    int64_t theirs;
    unsigned seed;
    uint32_t i;

    seed = 2 * run->index + !peer->link.rank;
    memset(data, ~pattern(0, seed), count * perf_params_stride(size));
    run_batch(run, 1, seconds);
    if (run->bench->receivers & (1u << peer->link.rank)) {
        for (i = 0; (i < count) && (wrong < 0); ++i) {
            data  = perf_peer_recv_buffer(peer, size, i);
            wrong = find_wrong(data, size, seed);
        }
    }
    perf_link_exchange(&peer->link, &wrong, &theirs, sizeof(wrong));
    if (wrong >= 0) {
        perf_fatal("wrong data: byte %lld of %zu is 0x%02x and not 0x%02x",
                   (long long)wrong, size, data[wrong], pattern(wrong, seed));
    }
    if (theirs >= 0) {
        perf_fatal("wrong data in the other process: byte %lld of %zu", (long long)theirs,
                   size);
    }
}

static void fill(run_t *run)
{
    size_t size   = run_point(run)->size;
    unsigned seed = 2 * run->index + run->peer->link.rank;
    size_t i;

    for (i = 0; i < size; ++i) {
        run->peer->sendbuf[i] = pattern(i, seed);
    }
}

static void describe(const run_t *run, perf_result_t *result)
{
    result->bench = run->bench;
    result->size  = run_point(run)->size;
    snprintf(result->library, sizeof(result->library), "%s", run->peer->library);
    if (run->bench->has_config) {
        perf_params_format_config(result->config, sizeof(result->config), run_point(run));
    }
}

static void report(const perf_options_t *options, const perf_result_t *result)
{
    perf_show(NULL);
    if (options->results) {
        perf_result_print(result);
    } else {
        perf_table_add(result);
    }
}

void perf_run(perf_peer_t *peer, const perf_options_t *options, perf_results_t *results)
{
    run_t *run = calloc(1, sizeof(*run));
    perf_result_t *result;

    if (run == NULL) {
        perf_fatal("out of memory");
    }
    run->peer   = peer;
    run->params = &options->params;
    run->bench  = &perf_benches[options->params.bench];
    run->begin  = perf_clock_now();
    if ((peer->link.rank == 0) && !options->results) {
        perf_table_begin(run->bench, peer->library, options->cpus);
    }
    for (run->index = 0; run->index < run->params->num_points; ++run->index) {
        result = &results->results[results->count++];
        describe(run, result);
        fill(run);
        measure(run, result);
        check_data(run);
        if (peer->link.rank == 0) {
            report(options, result);
        }
    }
    if ((peer->link.rank == 0) && !options->results) {
        perf_table_end(results);
    }
    free(run);
}
