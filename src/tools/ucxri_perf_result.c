/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The columns of a CSV file are the fields of a result in a fixed order. A file that is read may
 * come from anywhere, so each field is checked.
 */
#include "ucxri_perf_result.h"
#include "ucxri_perf_scale.h"
#include "ucs/size_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 1024

/* The columns of a CSV file, in their order */
enum {
    FIELD_BENCH,
    FIELD_LIBRARY,
    FIELD_SIZE,
    FIELD_CONFIG,
    FIELD_MEDIAN,
    FIELD_Q1,
    FIELD_Q3,
    FIELD_UNIT,
    FIELD_BATCHES,
    FIELD_DISTURBED,
    FIELD_CORE_NS,
    FIELD_EXTRAS,
    NUM_FIELDS = FIELD_EXTRAS + 2
};

static const char csv_header[] = "bench,library,size,config,median,q1,q3,unit,batches,"
                                 "disturbed,core_ns,extra1_us,extra2_us";

void perf_table_begin(const perf_bench_t *bench, const char *library, const int *cpus)
{
    int i;

    printf("%s in %s, by %s", bench->name, bench->unit, library);
    if ((cpus[0] >= 0) && (cpus[1] >= 0)) {
        printf(", cores %d and %d", cpus[0], cpus[1]);
    }
    printf("\n");
    if (bench->has_config) {
        printf("%-18s ", "configuration");
    }
    printf("%8s %11s %11s %11s", "size", "median", "quartile 1", "quartile 3");
    for (i = 0; i < bench->num_extras; ++i) {
        printf(" %11s", bench->extras[i]);
    }
    printf("%s\n", bench->has_config ? "  time/work" : "");
    fflush(stdout);
}

void perf_table_add(const perf_result_t *result)
{
    char size[32];
    int i;

    ri_size_text(result->size, size, sizeof(size));
    if (result->bench->has_config) {
        printf("%-18s ", result->config);
    }
    printf("%8s %11.5g %11.5g %11.5g", size, result->value.median, result->value.q1,
           result->value.q3);
    for (i = 0; i < result->bench->num_extras; ++i) {
        printf(" %11.5g", result->extras[i]);
    }
    if (result->bench->has_config) {
        printf(" %10.3f", result->value.median / result->extras[0]);
    }
    printf("%s\n", result->disturbed ? " ~" : "");
    fflush(stdout);
}

void perf_table_end(const perf_results_t *results)
{
    int disturbed = 0;
    int i;

    for (i = 0; i < results->count; ++i) {
        disturbed |= results->results[i].disturbed;
    }
    if (disturbed) {
        printf("~ other programs took the cores nearly all the time: do not rely on these\n");
    }
    printf("Every byte of one transfer of each line was checked and right.\n");
    fflush(stdout);
}

void perf_result_print(const perf_result_t *result)
{
    printf("RESULT %s%s%s %llu %.4f %s %.1f\n", result->bench->result_name,
           (result->config[0] != '\0') ? "_" : "", result->config,
           (unsigned long long)result->size, result->value.median, result->bench->unit,
           result->core_ns);
    fflush(stdout);
}

FILE *perf_file_create(const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL) {
        perf_fatal("cannot write %s: %s", path, strerror(errno));
    }
    return file;
}

void perf_file_close(FILE *file, const char *path)
{
    int failed = ferror(file);

    if ((fclose(file) != 0) || failed) {
        perf_fatal("cannot write %s: %s", path, strerror(errno));
    }
}

void perf_csv_write(const char *path, const perf_results_t *results)
{
    FILE *file = perf_file_create(path);
    const perf_result_t *result;
    int i, extra;

    fprintf(file, "%s\n", csv_header);
    for (i = 0; i < results->count; ++i) {
        result = &results->results[i];
        fprintf(file, "%s,%s,%llu,%s,%.6g,%.6g,%.6g,%s,%u,%d,%.1f", result->bench->name,
                result->library, (unsigned long long)result->size, result->config,
                result->value.median, result->value.q1, result->value.q3,
                result->bench->unit, result->batches, result->disturbed, result->core_ns);
        for (extra = 0; extra < PERF_MAX_EXTRAS; ++extra) {
            if (extra < result->bench->num_extras) {
                fprintf(file, ",%.6g", result->extras[extra]);
            } else {
                fprintf(file, ",");
            }
        }
        fprintf(file, "\n");
    }
    perf_file_close(file, path);
}

static int split(char *line, char **fields)
{
    int count = 0;
    char *field;

    while ((field = strsep(&line, ",")) != NULL) {
        if (count == NUM_FIELDS) {
            return -1;
        }
        fields[count++] = field;
    }
    return count;
}

/* A number of a CSV file; returns whether there is one */
static int read_number(const char *text, double min, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return (end != text) && (*end == '\0') && (*value >= min) && (*value < 1e18);
}

static int read_text(const char *text, char *copy, size_t length)
{
    return snprintf(copy, length, "%s", text) < (int)length;
}

static int read_result(char *line, perf_result_t *result)
{
    char *fields[NUM_FIELDS];
    double size, batches, disturbed;
    int extra;

    if (split(line, fields) != NUM_FIELDS) {
        return -1;
    }
    result->bench = perf_bench_find(fields[FIELD_BENCH]);
    if ((result->bench == NULL) ||
        !read_text(fields[FIELD_LIBRARY], result->library, sizeof(result->library)) ||
        !read_text(fields[FIELD_CONFIG], result->config, sizeof(result->config)) ||
        !read_number(fields[FIELD_SIZE], 0, &size) ||
        !read_number(fields[FIELD_MEDIAN], -1e18, &result->value.median) ||
        !read_number(fields[FIELD_Q1], -1e18, &result->value.q1) ||
        !read_number(fields[FIELD_Q3], -1e18, &result->value.q3) ||
        strcmp(fields[FIELD_UNIT], result->bench->unit) ||
        !read_number(fields[FIELD_BATCHES], 1, &batches) ||
        !read_number(fields[FIELD_DISTURBED], 0, &disturbed) ||
        !read_number(fields[FIELD_CORE_NS], 0, &result->core_ns)) {
        return -1;
    }
    for (extra = 0; extra < result->bench->num_extras; ++extra) {
        if (!read_number(fields[FIELD_EXTRAS + extra], -1e18, &result->extras[extra])) {
            return -1;
        }
    }
    result->size      = (uint64_t)size;
    result->batches   = (uint32_t)batches;
    result->disturbed = (disturbed != 0);
    return 0;
}

void perf_csv_read(const char *path, perf_results_t *results)
{
    FILE *file = fopen(path, "r");
    int number = 0;
    char line[MAX_LINE];

    results->count = 0;
    if (file == NULL) {
        perf_fatal("cannot read %s: %s", path, strerror(errno));
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        if (++number == 1) {
            if (strcmp(line, csv_header)) {
                perf_fatal("%s is no CSV file of a benchmark of ucxri_perf; of a "
                           "comparison, \"compare --svg\" draws the chart",
                           path);
            }
            continue;
        }
        if (results->count == PERF_MAX_POINTS) {
            perf_fatal("%s: more than %d results", path, PERF_MAX_POINTS);
        }
        if (read_result(line, &results->results[results->count]) != 0) {
            perf_fatal("%s, line %d: not a result of ucxri_perf", path, number);
        }
        ++results->count;
    }
    if (ferror(file)) {
        perf_fatal("cannot read %s: %s", path, strerror(errno));
    }
    fclose(file);
    if (results->count == 0) {
        perf_fatal("%s holds no results", path);
    }
}
