/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the measuring programs share: clock, median, size lists, the format of
 * a result line, and the core probe.
 *
 * The core probe is the one-way time of a bare cache line between the two
 * processes. It has nothing to do with UCX. On a virtual machine the
 * hypervisor moves the virtual cores about, and the same program is several
 * times faster on two neighbouring cores than across a socket. The probe tells
 * these placements apart, so that contrib/compare.sh compares like with like.
 */
#ifndef UCXRI_BENCH_H
#define UCXRI_BENCH_H

#include "../../src/tools/ucxri_perf_state.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define BENCH_MAX_SIZES   64
#define BENCH_MAX_BATCHES 1000

/* How often a measurement is repeated whose two probes differ */
#define BENCH_PROBE_TRIES 3

/* A probe is the median of some rounds */
#define BENCH_PROBE_ROUNDS 5
#define BENCH_PROBE_TRIPS  1000

typedef struct {
    _Alignas(128) atomic_ulong ping;
    _Alignas(128) atomic_ulong pong;
    _Alignas(128) atomic_ulong asleep; /* how often others than these two went to sleep */
} bench_probe_line_t;

typedef struct {
    bench_probe_line_t *line; /* NULL: the processes share no memory */
    unsigned long count;      /* last value written, the same on both sides */
    int leader;               /* this side sends first */
} bench_probe_t;


static inline double bench_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static inline int bench_compare_double(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median of n > 0 values; sorts them in place */
static inline double bench_median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), bench_compare_double);
    return (n % 2) ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Whether another process says what is wrong with the options */
static int bench_is_quiet;

/* The line on stderr that says what is wrong with the options */
__attribute__((format(printf, 1, 2))) static inline void
bench_complain(const char *format, ...)
{
    va_list args;

    if (!bench_is_quiet) {
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fprintf(stderr, "; see --help\n");
    }
}

/*
 * Parse "0,8,64k,4m" into sizes[]; returns the number of sizes, or -1 after an
 * error line on stderr.
 */
static inline int bench_parse_sizes(const char *list, size_t *sizes)
{
    const char *p = list;
    int n         = 0;
    unsigned long long value;
    char *end;

    for (;;) {
        errno = 0;
        value = strtoull(p, &end, 10);
        if ((end == p) || !isdigit((unsigned char)*p) || (errno != 0)) {
            break;
        }
        if ((*end == 'k') || (*end == 'K')) {
            value <<= 10;
            ++end;
        } else if ((*end == 'm') || (*end == 'M')) {
            value <<= 20;
            ++end;
        }
        if ((value > (1ull << 30)) || (n == BENCH_MAX_SIZES)) {
            bench_complain("size list '%s': a size above 1 GB, or more than %d sizes",
                           list, BENCH_MAX_SIZES);
            return -1;
        }
        sizes[n++] = value;
        if (*end == '\0') {
            return n;
        }
        if (*end != ',') {
            break;
        }
        p = end + 1;
    }

    bench_complain(
            "size list '%s': expected numbers with an optional k or m, separated by commas",
            list);
    return -1;
}

/* Parse a number in [min, max]; returns 0, or -1 after an error line */
static inline int bench_parse_number(const char *name, const char *text, double min,
                                     double max, double *value)
{
    char *end;

    *value = strtod(text, &end);
    if ((end == text) || (*end != '\0') || !(*value >= min) || !(*value <= max)) {
        bench_complain("%s '%s': expected a number from %g to %g", name, text, min, max);
        return -1;
    }
    return 0;
}

/*
 * Print one result, the first one below the names of the columns. probe_ns is the core probe of the measurement, 0 if it
 * could not be taken or did not stay the same; see README.md for the format.
 */
static inline void bench_print(const char *name, size_t size, double value,
                               const char *unit, double probe_ns)
{
    static int has_names;

    if (!has_names) {
        printf("%-6s %-22s %8s %12s %-6s %7s\n", "#", "benchmark", "size", "value",
               "unit", "core_ns");
        has_names = 1;
    }
    printf("RESULT %-22s %8zu %12.4f %-6s %7.1f\n", name, size, value, unit, probe_ns);
    fflush(stdout);
}

/* Computation that touches no memory, as that of ucxri_perf */
static inline void bench_compute(uint64_t loops)
{
    uint64_t x = 1;
    uint64_t i;

    for (i = 0; i < loops; ++i) {
        x = x * 3 + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

/* How many loops of bench_compute() take `seconds`: whatever disturbs makes it longer */
static inline uint64_t bench_compute_calibrate(double seconds)
{
    enum {
        ROUNDS = 20,
        LOOPS  = 1000000
    };
    double best = 0;
    double start, time;
    int round;

    for (round = 0; round < ROUNDS; ++round) {
        start = bench_now();
        bench_compute(LOOPS);
        time = bench_now() - start;
        best = ((round == 0) || (time < best)) ? time : best;
    }
    return (uint64_t)(seconds / best * LOOPS + 0.5);
}

/*
 * Both sides call this at the same time; each gets its own view of the median
 * one-way time of a cache line in ns (0 where there is no shared memory).
 */
static inline double bench_probe(bench_probe_t *probe)
{
    bench_probe_line_t *line = probe->line;
    double times[BENCH_PROBE_ROUNDS];
    double start;
    int round, i;

    if (line == NULL) {
        return 0;
    }

    for (round = 0; round < BENCH_PROBE_ROUNDS; ++round) {
        start = bench_now();
        for (i = 0; i < BENCH_PROBE_TRIPS; ++i) {
            ++probe->count;
            if (probe->leader) {
                atomic_store_explicit(&line->ping, probe->count, memory_order_release);
                while (atomic_load_explicit(&line->pong, memory_order_acquire) !=
                       probe->count) {}
            } else {
                while (atomic_load_explicit(&line->ping, memory_order_acquire) !=
                       probe->count) {}
                atomic_store_explicit(&line->pong, probe->count, memory_order_release);
            }
        }
        times[round] = (bench_now() - start) / BENCH_PROBE_TRIPS / 2 * 1e9;
    }
    return bench_median(times, BENCH_PROBE_ROUNDS);
}

#endif
