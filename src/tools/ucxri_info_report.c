/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All files are read before anything is printed, as the processes of a job may be in any of them.
 */
#include "ucxri_info_report.h"
#include "ucxri_info_divide.h"
#include "ucxri_info_hints.h"
#include "ucxri_info_html.h"
#include "ucxri_info_job.h"
#include "ucxri_info_read_lines.h"
#include "ucxri_info_traffic.h"
#include "ucxri_info_read.h"
#include "ucxri_info_strips.h"
#include "ucxri_info_summary.h"
#include "ucxri_info_verdict.h"
#include "ucxri_wrap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lines of more processes fill more than a page. */
#define REPORT_FEW 16

static void report_print_ranks(const info_job_t *job)
{
    char line[RI_REPORT_LINE_MAX];
    size_t i;
    int table;

    for (table = 0; table < RI_REPORT_TABLES; ++table) {
        if (!ri_report_table_has(table, &job->sum)) {
            continue;
        }
        ri_report_table_format_names(table, line);
        fputs(line, stdout);
        for (i = 0; i < job->count; ++i) {
            ri_report_table_format_row(table, &job->processes[i].row, line);
            fputs(line, stdout);
        }
        ri_report_table_format_row(table, &job->sum, line);
        fputs(line, stdout);
    }
}

/* A headline comes before the first hint. */
static void report_print_hint(const char *text, const char *advice, void *arg)
{
    int *is_first = arg;

    if (*is_first) {
        printf("\nWhat stands out (sections are those of %s):\n", info_guide());
    }
    *is_first = 0;
    printf("- %s\n", text);
    wrap_printf(stdout, "  ", "(%s)", advice);
}

/* Print what was found in a job: what matters most comes first. */
static void report_print_job(const info_job_t *job, int all)
{
    int is_first = 1;

    info_summary_print_head(job);
    info_verdict_print(job);
    if (info_hints(job, report_print_hint, &is_first) == 0) {
        printf("\nNothing stands out.\n");
    }
    printf("\n");
    info_summary_print(job);
    info_sizes_print(job);
    info_pairs_print(job);
    if (all || (job->count <= REPORT_FEW)) {
        printf("\n");
        report_print_ranks(job);
    }
}

static void report_print(const info_t *info, int all)
{
    size_t i;

    for (i = 0; i < info->num_jobs; ++i) {
        printf("%s", (i > 0) ? "\n" : "");
        report_print_job(&info->jobs[i], all);
    }
}

int info_report(char **paths, int count, int all)
{
    info_inert_t inert[INFO_REASONS] = {{0}};
    info_t info                      = {0};
    int status;

    status = info_read(&info, inert, paths, count, stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
    if ((status == EXIT_SUCCESS) && (info.count == 0) && (inert[0].count == 0)) {
        fprintf(stderr, "ucxri_info: no line of a report (UCXRI_REPORT=y) in %s%s%s\n",
                paths[0], (count > 1) ? " and the others" : "",
                strcmp(paths[0], "-") ?
                        "" :
                        ": reports are on standard error, so write 2>&1 |");
        status = EXIT_FAILURE;
    }
    info_divide(&info);
    report_print(&info, all);
    if ((info.num_jobs > 0) && (inert[0].count > 0)) {
        printf("\n");
    }
    info_inert_print(inert);
    info_inert_free(inert);
    info_free(&info);
    return status;
}

static int page_write(const info_t *info, const info_inert_t *inert,
                      const info_strips_t *strips, const char *out)
{
    FILE *stream = strcmp(out, "-") ? fopen(out, "w") : stdout;
    int is_bad;

    if (stream != NULL) {
        info_html_write(info, inert, strips, stream);
        is_bad = (fflush(stream) != 0) || ferror(stream);
        if (stream != stdout) {
            is_bad |= (fclose(stream) != 0);
        }
        if (!is_bad) {
            return EXIT_SUCCESS;
        }
    }
    fprintf(stderr, "ucxri_info: cannot write %s: %s\n", out, strerror(errno));
    return EXIT_FAILURE;
}

/* Put the files of timelines behind the others. @return How many others there are. */
static int page_sort_files(char **paths, int count)
{
    int reports = 0;
    char *path;
    int i;

    for (i = 0; i < count; ++i) {
        if (!timeline_job_is_file(paths[i])) {
            path             = paths[i];
            paths[i]         = paths[reports];
            paths[reports++] = path;
        }
    }
    return reports;
}

/* @return Whether there is something to be drawn, of one of the jobs. */
static int page_read_strips(info_strips_t *strips, const info_t *info, char **paths,
                            int count)
{
    size_t i;

    if (!info_strips_read(strips, paths, count)) {
        return 0;
    }
    for (i = 0; i < info->num_jobs; ++i) {
        if (info_html_is_of_job(strips, &info->jobs[i])) {
            return 1;
        }
    }
    return timeline_job_fail(paths[0], "there is no report of the job of this timeline");
}

/* The page is written without a timeline if that cannot be drawn. */
static int page_make(const info_t *info, const info_inert_t *inert, const char *out,
                     char **paths, int count)
{
    info_strips_t strips = {0};
    int has_strips       = (count > 0) && page_read_strips(&strips, info, paths, count);
    int all_read         = (count == 0) || (has_strips && strips.job.all_read);
    int status           = page_write(info, inert, has_strips ? &strips : NULL, out);

    info_strips_cleanup(&strips);
    return all_read ? status : EXIT_FAILURE;
}

int info_page(const char *out, char **paths, int count)
{
    info_inert_t inert[INFO_REASONS] = {{0}};
    info_t info                      = {0};
    int status                       = EXIT_FAILURE;
    int reports                      = page_sort_files(paths, count);
    const char *loss = timeline_job_would_lose(out, "<!DOCTYPE html>", paths, count);

    if (loss != NULL) {
        timeline_job_fail(out, loss);
        return EXIT_FAILURE;
    }
    if (info_read(&info, inert, paths, reports, NULL)) {
        info_divide(&info);
        if (info.count == 0) {
            fprintf(stderr, "ucxri_info: no report of a process in %s%s\n", paths[0],
                    (count > 1) ? " and the others" : "");
            info_inert_print(inert);
        } else {
            status = page_make(&info, inert, out, paths + reports, count - reports);
        }
    }
    info_inert_free(inert);
    info_free(&info);
    return status;
}
