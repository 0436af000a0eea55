/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The launcher's name of the job decides, and its number of ranks. Reports as JSON also tell who
 * has sent to whom: those processes are of one job, in whatever order their files come. Else, where
 * one launcher runs several programs in turn within a job of the batch system, or has no name for
 * the job, the ranks decide: no job has a rank twice, so a process whose rank is
 * there already belongs to another run. Of several runs that lack its rank it belongs to the
 * latest, as runs mostly follow each other.
 */
#include "ucxri_info_divide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIVIDE_NONE SIZE_MAX

/* @return The process that stands for all that are linked with this one. */
static size_t link_root(size_t *links, size_t process)
{
    while (links[process] != process) {
        links[process] = links[links[process]];
        process        = links[process];
    }
    return process;
}

/* Link the processes that have sent to each other. @return For each process, another one of its
 * group, or itself. */
static size_t *link_all(const info_t *info)
{
    size_t *links = info_grow(NULL, (info->count + 1) * sizeof(*links));
    const info_process_t *process;
    info_worker_t *workers;
    size_t count, peer;
    size_t i, j;

    for (i = 0; i < info->count; ++i) {
        links[i] = i;
    }
    count = info_workers(info->processes, info->count, &workers);
    for (i = 0; i < info->count; ++i) {
        process = &info->processes[i];
        for (j = 0; j < process->num_pairs; ++j) {
            peer = info_worker_find(workers, count, process->pairs[j].uid, i);
            if (!strcmp(info->processes[peer].row.job, process->row.job)) {
                links[link_root(links, peer)] = link_root(links, i);
            }
        }
    }
    free(workers);
    return links;
}

/* Lists of processes by their indices. Their rows are large, so what is compared often is kept
 * apart. */
typedef struct divide {
    info_t *info;
    size_t *group; /* the next process of its group; DIVIDE_NONE: it is the last */
    size_t *next;  /* the next process of its job; DIVIDE_NONE: it is the last */
    size_t *jobs;  /* the first process of each job */
    long *ranks;   /* -1: not known */
} divide_t;

/* @return Whether a process may belong to a job beside those that do so far. */
static int job_fits(const divide_t *divide, size_t job, size_t process)
{
    const ri_report_row_t *row   = &divide->info->processes[process].row;
    size_t i                     = divide->jobs[job];
    const ri_report_row_t *first = &divide->info->processes[i].row;

    if (strcmp(first->job, row->job) || strcmp(first->ranks, row->ranks)) {
        return 0;
    }
    for (; (i != DIVIDE_NONE) && (divide->ranks[process] >= 0); i = divide->next[i]) {
        if (divide->ranks[i] == divide->ranks[process]) {
            return 0;
        }
    }
    return 1;
}

/* @return Whether all processes of a group may belong to a job. */
static int job_fits_group(const divide_t *divide, size_t job, size_t process)
{
    for (; process != DIVIDE_NONE; process = divide->group[process]) {
        if (!job_fits(divide, job, process)) {
            return 0;
        }
    }
    return 1;
}

/* Put a group into the latest job that it fits, or into one of its own. */
static void divide_group(divide_t *divide, size_t process)
{
    info_t *info = divide->info;
    size_t job   = info->num_jobs;

    while ((job > 0) && !job_fits_group(divide, job - 1, process)) {
        --job;
    }
    if (job > 0) {
        --job;
    } else {
        job               = info->num_jobs++;
        divide->jobs[job] = DIVIDE_NONE;
    }
    for (; process != DIVIDE_NONE; process = divide->group[process]) {
        info->processes[process].job = job;
        divide->next[process]        = divide->jobs[job];
        divide->jobs[job]            = process;
    }
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

static void job_add_sizes(info_job_t *job, const info_process_t *process)
{
    unsigned protocol, size_class;

    for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        for (size_class = 0; size_class < RI_SIZES_CLASSES; ++size_class) {
            job->sizes[protocol][size_class] += process->sizes[protocol][size_class];
        }
    }
}

static void job_sum(info_job_t *job)
{
    const info_process_t *process;
    size_t i, j;

    strcpy(job->sum.rank, "all");
    strcpy(job->sum.job, job->processes[0].row.job);
    strcpy(job->sum.ranks, job->processes[0].row.ranks);
    snprintf(job->sum.process, sizeof(job->sum.process), "%zu", job->count);
    for (i = 0; i < job->count; ++i) {
        process = &job->processes[i];
        for (j = 0; j < RI_REPORT_VALUES; ++j) {
            job->sum.values[j] += process->row.values[j];
        }
        job_add_sizes(job, process);
        job->num_json += process->is_json;
        job->num_complete += process->complete;
        job->num_ended += process->ended;
    }
    if (strcmp(job->sum.ranks, "-")) {
        job->missing = atol(job->sum.ranks) - (long)job->count;
    }
    job->hosts       = job_count_hosts(job);
    job->num_workers = info_workers(job->processes, job->count, &job->workers);
}

/* Make the lists of groups: the first process of each comes first, the others in any order. @return
 * For each process, whether it is the first, which is the caller's. */
static char *divide_make_groups(divide_t *divide, size_t *links)
{
    size_t count  = divide->info->count;
    char *firsts  = info_grow(NULL, count + 1);
    size_t *heads = info_grow(NULL, (count + 1) * sizeof(*heads)); /* by root */
    size_t i, root;

    for (i = 0; i < count; ++i) {
        heads[i] = DIVIDE_NONE;
    }
    for (i = 0; i < count; ++i) {
        root             = link_root(links, i);
        firsts[i]        = (heads[root] == DIVIDE_NONE);
        divide->group[i] = DIVIDE_NONE;
        if (firsts[i]) {
            heads[root] = i;
        } else {
            divide->group[i]           = divide->group[heads[root]];
            divide->group[heads[root]] = i;
        }
    }
    free(heads);
    return firsts;
}

/* Set the job of each process, and count the jobs. Whole groups go into a job, or none of their
 * processes. */
static void divide_processes(info_t *info)
{
    size_t bytes    = (info->count + 1) * sizeof(size_t);
    size_t *links   = link_all(info);
    divide_t divide = {.info  = info,
                       .group = info_grow(NULL, bytes),
                       .next  = info_grow(NULL, bytes),
                       .jobs  = info_grow(NULL, bytes),
                       .ranks = info_grow(NULL, (info->count + 1) * sizeof(long))};
    char *firsts    = divide_make_groups(&divide, links);
    const char *rank;
    size_t i;

    for (i = 0; i < info->count; ++i) {
        rank            = info->processes[i].row.rank;
        divide.ranks[i] = strcmp(rank, "-") ? atol(rank) : -1;
    }
    for (i = 0; i < info->count; ++i) {
        if (firsts[i]) {
            divide_group(&divide, i);
        }
    }
    free(links);
    free(firsts);
    free(divide.group);
    free(divide.next);
    free(divide.jobs);
    free(divide.ranks);
}

void info_divide(info_t *info)
{
    size_t i, job;

    if (info->count == 0) {
        return;
    }
    divide_processes(info);
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
