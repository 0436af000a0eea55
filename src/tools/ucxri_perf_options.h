/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is to be measured, and the command line.
 */
#ifndef UCXRI_PERF_OPTIONS_H
#define UCXRI_PERF_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#define PERF_MAX_POINTS  128
#define PERF_MAX_BATCHES 1000
#define PERF_MAX_SIZE    (1ul << 30)
#define PERF_MAX_WINDOW  4096
#define PERF_MAX_MEMORY  (4ul << 30) /* of the messages of a window */
#define PERF_MAX_UNITS   100000
#define PERF_NUM_COMPS   6
#define PERF_MAX_FILES   8

/* Exit code for options that are wrong */
#define PERF_EXIT_USAGE 2

typedef enum {
    PERF_LATENCY,
    PERF_BANDWIDTH,
    PERF_BIDIRECTIONAL,
    PERF_RATE,
    PERF_FAST_RECEIVE,
    PERF_PROGRESS,
    PERF_NUM_BENCHES
} perf_bench_id_t;

/* One measurement. comps: units of computation, of the progress benchmark only */
typedef struct {
    uint64_t size;
    uint32_t comps[PERF_NUM_COMPS];
} perf_point_t;

/* What both processes must agree on; a connecting process sends it as it is */
typedef struct {
    uint32_t bench; /* perf_bench_id_t */
    uint32_t batches;
    uint32_t window;
    uint32_t num_points;
    double seconds; /* per point */
    double timeout; /* seconds that a message may take */
    double unit_us; /* one unit of computation */
    perf_point_t points[PERF_MAX_POINTS];
} perf_params_t;

typedef enum {
    PERF_RUN_HOST,    /* both processes here */
    PERF_RUN_LISTEN,  /* wait for the other one */
    PERF_RUN_CONNECT, /* go to the other one */
    PERF_RUN_CHART    /* draw files, measure nothing */
} perf_run_t;

typedef struct {
    perf_run_t run;
    perf_params_t params;
    int cpus[2]; /* -1: not given */
    char *host;  /* of --connect */
    char *port;  /* of --connect and --listen */
    int results; /* RESULT lines in place of the table */
    const char *csv;
    const char *svg;
    const char *title;
    int num_files; /* of chart: label=path */
    char *files[PERF_MAX_FILES];
} perf_options_t;

/*
 * Parse the command line. Does not return if it is wrong (exit code 2, after a message) or
 * asks for help or the version.
 */
void perf_options_parse(perf_options_t *options, int argc, char **argv);

/*
 * Whether values that came from another process are within the limits that
 * perf_options_parse() sets.
 */
int perf_params_valid(const perf_params_t *params);

/* From the memory of one message of a window to that of the next: whole cache lines */
static inline size_t perf_buffer_stride(size_t size)
{
    return (size + 63) / 64 * 64;
}

/* "0/0/60/30/0/0", the form in which a configuration is printed */
void perf_config_format(char *text, size_t length, const perf_point_t *point);

#endif
