/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of processes and of the jobs that they belong to, however it was read. Processes are
 * collected first; then they are divided into jobs, and sums are made.
 */
#ifndef UCXRI_INFO_JOB_H
#define UCXRI_INFO_JOB_H

#include "ucp/run/report_table.h"

/* One process of a job. */
typedef struct info_process {
    ri_report_row_t row;
    size_t job; /* index in info_t.jobs, once they are divided */
} info_process_t;

/* A job: its processes follow each other in info_t.processes, by rank. */
typedef struct info_job {
    const info_process_t *processes;
    size_t count;
    size_t hosts;
    ri_report_row_t
            sum; /* rank "all"; the job's name and number of ranks are those of the first */
} info_job_t;

typedef struct info {
    info_process_t *processes;
    size_t count;
    info_job_t *jobs;
    size_t num_jobs;
} info_t;

/** @return @a bytes of memory in place of @a memory, which may be NULL. Ends the program if there are
 * none. */
void *info_grow(void *memory, size_t bytes);

/** Write the host of a process to @a host, which has room for @a max bytes with the end. */
void info_host(const ri_report_row_t *row, char *host, size_t max);

/** @return The process of a rank and a name, which is made if it is new. The pointer holds until the
 * next call. */
info_process_t *info_find(info_t *info, const char *rank, const char *process);

/** Divide the processes into jobs, sort them by job and rank, and sum them up. To be called once, when
 * all processes are known. Processes are of one job if the launcher has named it so and their ranks
 * differ; see info_job.c for jobs without names. */
void info_divide(info_t *info);

/** Free all; @a info itself is the caller's. */
void info_free(info_t *info);

#endif
