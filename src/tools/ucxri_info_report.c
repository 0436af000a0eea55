/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines of a report are printed by each process on its own, so they come in any order, among
 * other output, and some may be lost. A process is known by its rank and its name. Lines are
 * collected by process, sorted by rank and summed up. The hints compare sums and say nothing about
 * few messages.
 */
#include "ucxri_info_report.h"
#include "ucp/run/report_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The processes of a job; each has a line in every table, unless one was lost. */
#define JOB_REASONS 8

typedef struct job {
    ri_report_row_t *rows;
    size_t count;
    ri_report_row_t sum;
    struct {
        char *text; /* why the library was inert in a process */
        size_t count;
    } inert[JOB_REASONS];
} job_t;

static ri_report_row_t *job_find(job_t *job, const ri_report_row_t *row)
{
    ri_report_row_t *rows;
    size_t i;

    /* From the end: the lines of a process mostly follow each other. */
    for (i = job->count; i-- > 0;) {
        if (!strcmp(job->rows[i].process, row->process) &&
            !strcmp(job->rows[i].rank, row->rank)) {
            return &job->rows[i];
        }
    }
    rows = realloc(job->rows, (job->count + 1) * sizeof(*rows));
    if (rows == NULL) {
        fprintf(stderr, "ucxri_info: out of memory\n");
        exit(EXIT_FAILURE);
    }
    job->rows = rows;
    rows      = &rows[job->count++];
    *rows     = (ri_report_row_t){0};
    memcpy(rows->rank, row->rank, sizeof(row->rank));
    memcpy(rows->process, row->process, sizeof(row->process));
    return rows;
}

/* Count a process in which the library was inert. @return Whether the line says so. */
static int job_add_inert(job_t *job, const char *line)
{
    static const char begin[] = "ucxri:inert ", because[] = ", because ";
    const char *text = strstr(line, because);
    size_t length, i;

    if (strncmp(line, begin, sizeof(begin) - 1) || (text == NULL)) {
        return 0;
    }
    text += sizeof(because) - 1;
    length = strcspn(text, "\n");
    for (i = 0; i < JOB_REASONS; ++i) {
        if (job->inert[i].text == NULL) {
            job->inert[i].text = strndup(text, length);
        }
        if ((job->inert[i].text == NULL) || (i == JOB_REASONS - 1) ||
            ((strlen(job->inert[i].text) == length) &&
             !strncmp(job->inert[i].text, text, length))) {
            break;
        }
    }
    ++job->inert[i].count;
    return 1;
}

static void job_print_inert(const job_t *job)
{
    size_t i;

    for (i = 0; i < JOB_REASONS; ++i) {
        if (job->inert[i].text != NULL) {
            printf("inert in %zu process%s, because %s\n", job->inert[i].count,
                   (job->inert[i].count == 1) ? "" : "es", job->inert[i].text);
        }
    }
}

static int job_compare(const void *a, const void *b)
{
    const ri_report_row_t *left = a, *right = b;
    long left_rank  = strcmp(left->rank, "-") ? atol(left->rank) : -1;
    long right_rank = strcmp(right->rank, "-") ? atol(right->rank) : -1;

    return (left_rank != right_rank) ? ((left_rank > right_rank) ? 1 : -1) :
                                       strcmp(left->process, right->process);
}

static void job_read(job_t *job, FILE *stream)
{
    ri_report_row_t row = {0};
    ri_report_row_t *known;
    char *line  = NULL;
    size_t size = 0;
    size_t i, j;

    while (getline(&line, &size, stream) > 0) {
        if (job_add_inert(job, line)) {
            continue;
        }
        if (ri_report_parse_row(line, &row) != RI_REPORT_TABLES) {
            known = job_find(job, &row);
            ri_report_parse_row(line, known);
        }
    }
    free(line);

    if (job->count > 0) {
        qsort(job->rows, job->count, sizeof(*job->rows), job_compare);
    }
    strcpy(job->sum.rank, "all");
    snprintf(job->sum.process, sizeof(job->sum.process), "%zu", job->count);
    for (i = 0; i < job->count; ++i) {
        for (j = 0; j < RI_REPORT_VALUES; ++j) {
            job->sum.values[j] += job->rows[i].values[j];
        }
    }
}

static void job_print(const job_t *job)
{
    char line[RI_REPORT_LINE_MAX];
    size_t i;
    int table;

    for (table = 0; table < RI_REPORT_TABLES; ++table) {
        ri_report_format_names(table, line);
        fputs(line, stdout);
        for (i = 0; i < job->count; ++i) {
            ri_report_format_row(table, &job->rows[i], line);
            fputs(line, stdout);
        }
        ri_report_format_row(table, &job->sum, line);
        printf("%s\n", line);
    }
}

/* Print one hint; a headline comes before the first one. */
__attribute__((format(printf, 2, 3))) static void hint(int *count, const char *format,
                                                       ...)
{
    va_list args;

    if ((*count)++ == 0) {
        printf("What stands out (" INFO_GUIDE ", \"Reading the report\"):\n");
    }
    printf("- ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

/* The first messages of a pair take other ways, so few messages give no hint. */
#define HINT_MIN 100

static void job_hints(const job_t *job)
{
    const uint64_t *v = job->sum.values;
    uint64_t longer   = ri_report_messages(&job->sum, 1);
    uint64_t calls = v[RI_REPORT_SEND_US] + v[RI_REPORT_RECV_US] + v[RI_REPORT_WORK_US];
    int count      = 0;

    if ((v[RI_REPORT_AM] >= HINT_MIN) && (v[RI_REPORT_AM] > v[RI_REPORT_RING])) {
        hint(&count, "%d %% of the short messages did not go through rings",
             ri_report_permille(v[RI_REPORT_AM], v[RI_REPORT_RING]) / 10);
    }
    if ((v[RI_REPORT_UCP] >= HINT_MIN) && (v[RI_REPORT_UCP] > longer / 2)) {
        hint(&count, "%d %% of the long messages were left to UCP",
             ri_report_permille(v[RI_REPORT_UCP], longer - v[RI_REPORT_UCP]) / 10);
    }
    if ((v[RI_REPORT_LATE] >= HINT_MIN) && (v[RI_REPORT_LATE] > v[RI_REPORT_FAST] / 2)) {
        hint(&count, "%d %% of the messages came before their receive was posted",
             ri_report_permille(v[RI_REPORT_LATE], v[RI_REPORT_FAST]) / 10);
    }
    if ((v[RI_REPORT_RTR_SENT] >= HINT_MIN) &&
        (v[RI_REPORT_RTR_DROPPED] > v[RI_REPORT_RTR_USED])) {
        hint(&count, "%d %% of the RTRs were not used",
             ri_report_permille(v[RI_REPORT_RTR_DROPPED], v[RI_REPORT_RTR_USED]) / 10);
    }
    if ((v[RI_REPORT_RTR_SUPPRESSED] >= HINT_MIN) &&
        (v[RI_REPORT_RTR_SUPPRESSED] > v[RI_REPORT_RTR_SENT])) {
        hint(&count,
             "%d %% of the receives that could have sent an RTR did not, as it would not "
             "pay",
             ri_report_permille(v[RI_REPORT_RTR_SUPPRESSED], v[RI_REPORT_RTR_SENT]) / 10);
    }
    if (v[RI_REPORT_IDLE_US] > calls + v[RI_REPORT_LIFE_US] / 4) {
        hint(&count, "%d %% of the time was spent waiting for messages",
             ri_report_permille(v[RI_REPORT_IDLE_US],
                                v[RI_REPORT_LIFE_US] - v[RI_REPORT_IDLE_US]) /
                     10);
    }
}

int ri_info_report(const char *path)
{
    FILE *stream = strcmp(path, "-") ? fopen(path, "r") : stdin;
    job_t job    = {0};
    size_t i;

    if (stream == NULL) {
        fprintf(stderr, "ucxri_info: cannot open %s: %s\n", path, strerror(errno));
        return EXIT_FAILURE;
    }
    job_read(&job, stream);
    if (stream != stdin) {
        fclose(stream);
    }
    if ((job.count == 0) && (job.inert[0].count == 0)) {
        fprintf(stderr, "ucxri_info: no line of a report (UCXRI_REPORT=y) in %s\n", path);
        return EXIT_FAILURE;
    }
    if (job.count > 0) {
        job_print(&job);
        job_hints(&job);
    }
    job_print_inert(&job);
    for (i = 0; i < JOB_REASONS; ++i) {
        free(job.inert[i].text);
    }
    free(job.rows);
    return EXIT_SUCCESS;
}
