/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How processes are divided into jobs. The launcher's name of the job decides, and its number of
 * ranks. Where one launcher runs several programs in turn within a job of the batch system, or has no
 * name for the job (Hydra alone), the ranks decide: no job has a rank twice, so a process whose rank is
 * there already belongs to another run. Of several runs that lack its rank it belongs to the latest, as
 * runs mostly follow each other.
 */
#include "ucxri_info_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *info_grow(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (memory == NULL) {
        fprintf(stderr, "ucxri_info: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

void info_host(const ri_report_row_t *row, char *host, size_t max)
{
    const char *end = strrchr(row->process, ':');

    snprintf(host, max, "%.*s",
             (end == NULL) ? (int)strlen(row->process) : (int)(end - row->process),
             row->process);
}

info_process_t *info_find(info_t *info, const char *rank, const char *process)
{
    info_process_t *found;
    size_t i;

    /* From the end: what is known of a process mostly comes in one piece. */
    for (i = info->count; i-- > 0;) {
        found = &info->processes[i];
        if (!strcmp(found->row.process, process) && !strcmp(found->row.rank, rank)) {
            return found;
        }
    }
    if ((info->count & (info->count - 1)) == 0) { /* full: powers of two */
        info->processes = info_grow(info->processes, (info->count ? 2 * info->count : 1) *
                                                             sizeof(*info->processes));
    }
    found  = &info->processes[info->count++];
    *found = (info_process_t){0};
    snprintf(found->row.rank, sizeof(found->row.rank), "%s", rank);
    snprintf(found->row.process, sizeof(found->row.process), "%s", process);
    strcpy(found->row.job, "-");
    strcpy(found->row.ranks, "-");
    return found;
}

/* @return Whether a process may belong to a job of which some processes are known. */
static int job_fits(const info_t *info, size_t job, size_t process)
{
    const ri_report_row_t *row = &info->processes[process].row;
    const ri_report_row_t *other;
    size_t i;

    for (i = 0; i < process; ++i) {
        if (info->processes[i].job != job) {
            continue;
        }
        other = &info->processes[i].row;
        if (strcmp(other->job, row->job) || strcmp(other->ranks, row->ranks) ||
            (strcmp(row->rank, "-") && !strcmp(row->rank, other->rank))) {
            return 0;
        }
    }
    return 1;
}

static int process_compare(const void *a, const void *b)
{
    const info_process_t *left = a, *right = b;
    long left_rank  = strcmp(left->row.rank, "-") ? atol(left->row.rank) : -1;
    long right_rank = strcmp(right->row.rank, "-") ? atol(right->row.rank) : -1;

    if (left->job != right->job) {
        return (left->job > right->job) ? 1 : -1;
    }
    if (left_rank != right_rank) {
        return (left_rank > right_rank) ? 1 : -1;
    }
    return strcmp(left->row.process, right->row.process);
}

/* Hosts are few, and the processes of one mostly follow each other. */
static size_t job_count_hosts(const info_job_t *job)
{
    char(*hosts)[sizeof(job->sum.process)] = NULL;
    char host[sizeof(job->sum.process)];
    size_t count = 0;
    size_t i, j;

    for (i = 0; i < job->count; ++i) {
        info_host(&job->processes[i].row, host, sizeof(host));
        for (j = count; (j > 0) && strcmp(hosts[j - 1], host); --j) {}
        if (j == 0) {
            hosts = info_grow(hosts, (count + 1) * sizeof(*hosts));
            strcpy(hosts[count++], host);
        }
    }
    free(hosts);
    return count;
}

static void job_sum(info_job_t *job)
{
    size_t i, j;

    strcpy(job->sum.rank, "all");
    strcpy(job->sum.job, job->processes[0].row.job);
    strcpy(job->sum.ranks, job->processes[0].row.ranks);
    snprintf(job->sum.process, sizeof(job->sum.process), "%zu", job->count);
    for (i = 0; i < job->count; ++i) {
        for (j = 0; j < RI_REPORT_VALUES; ++j) {
            job->sum.values[j] += job->processes[i].row.values[j];
        }
    }
    job->hosts = job_count_hosts(job);
}

void info_divide(info_t *info)
{
    size_t i, job;

    for (i = 0; i < info->count; ++i) {
        for (job = info->num_jobs; (job > 0) && !job_fits(info, job - 1, i); --job) {}
        info->processes[i].job = (job > 0) ? job - 1 : info->num_jobs++;
    }
    if (info->count == 0) {
        return;
    }

    qsort(info->processes, info->count, sizeof(*info->processes), process_compare);
    info->jobs = info_grow(NULL, info->num_jobs * sizeof(*info->jobs));
    memset(info->jobs, 0, info->num_jobs * sizeof(*info->jobs));
    for (i = info->count; i-- > 0;) {
        info->jobs[info->processes[i].job].processes = &info->processes[i];
        ++info->jobs[info->processes[i].job].count;
    }
    for (job = 0; job < info->num_jobs; ++job) {
        job_sum(&info->jobs[job]);
    }
}

void info_free(info_t *info)
{
    free(info->processes);
    free(info->jobs);
}
