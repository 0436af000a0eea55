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
    double extras[PERF_MAX_EXTRAS]; /* medians, in us */
    uint32_t batches;               /* whose times are in the value */
    int disturbed;  /* few batches had no pre-emption, so all of them count */
    double core_ns; /* the core probe, 0 if there is none */
} perf_result_t;

typedef struct {
    perf_result_t results[PERF_MAX_POINTS];
    int count;
} perf_results_t;

/** Print the head of the table */
void perf_table_begin(const perf_bench_t *bench, const char *library, const int *cpus);

/** Print one line of the table; a ~ marks a disturbed result */
void perf_table_add(const perf_result_t *result);

/** Print the notes below the table, once the data of all results was checked */
void perf_table_end(const perf_results_t *results);

/** Print "RESULT <name> <size> <value> <unit> <core probe>" */
void perf_result_print(const perf_result_t *result);

/** Write all results as a CSV file; ends the program if that fails */
void perf_csv_write(const char *path, const perf_results_t *results);

/** Read a file of perf_csv_write(); ends the program if it is none or has no results */
void perf_csv_read(const char *path, perf_results_t *results);

/** Open a file for writing; ends the program if that fails. @return for perf_file_close() */
FILE *perf_file_create(const char *path);

/** Close a file of perf_file_create(); ends the program if something could not be written */
void perf_file_close(FILE *file, const char *path);

#endif
