/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Results: as a table, as RESULT lines, and to and from CSV files.
 */
#ifndef UCXRI_PERF_RESULT_H
#define UCXRI_PERF_RESULT_H

#include "ucxri_perf_bench.h"
#include "ucxri_perf_stats.h"

#include <stdio.h>

typedef struct {
    const perf_bench_t *bench;
    char library[64]; /* who did the tag matching */
    char config[64];  /* of the progress benchmark, otherwise empty */
    uint64_t size;
    perf_quartiles_t value;
    double extras[PERF_MAX_EXTRAS]; /* us */
    uint32_t batches;               /* that count */
    int disturbed;                  /* too few batches were without pre-emption */
    double core_ns;                 /* the core probe, 0 if there is none */
} perf_result_t;

typedef struct {
    perf_result_t results[PERF_MAX_POINTS];
    int count;
} perf_results_t;

/* The heading of the table, on stdout */
void perf_table_begin(const perf_bench_t *bench, const char *library, const int *cpus);

/* One line of it; a ~ marks disturbed results */
void perf_table_add(const perf_result_t *result);

/* What to know about it; the data of all results was checked */
void perf_table_end(const perf_results_t *results);

/* "RESULT <name> <size> <value> <unit> <core probe>", on stdout */
void perf_result_print(const perf_result_t *result);

/* Write all results; ends the program if that fails */
void perf_csv_write(const char *path, const perf_results_t *results);

/* Read what perf_csv_write() wrote; ends the program if the file holds something else */
void perf_csv_read(const char *path, perf_results_t *results);

/* Open a file for writing, and close it again after a check that all is written */
FILE *perf_file_create(const char *path);
void perf_file_close(FILE *file, const char *path);

#endif
