/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of processes and of the jobs that they belong to, however it was read. Processes
 * are collected first; then they are divided into jobs, and sums are made (ucxri_info_divide.h).
 */
#ifndef UCXRI_INFO_JOB_H
#define UCXRI_INFO_JOB_H

#include "ucp/core/notes/sizes.h"
#include "ucp/run/report_pairs.h"
#include "ucp/run/report_table.h"

/* A variable and its value; longer ones are cut off. */
typedef struct info_setting {
    char name[40];
    char value[64];
    int is_set; /* to another value than the default */
} info_setting_t;

/* One process of a job. */
typedef struct info_process {
    ri_report_row_t row;
    size_t job; /* index in info_t.jobs, once they are divided */

    int ended; /* by SIGTERM, as its lines say */

    /* Members that only a report as JSON has. */
    int is_json;
    int complete;     /* it was written at the end of the process */
    uint64_t started; /* seconds since 1970 */
    uint64_t written;
    char command[64];
    uint64_t *workers; /* uids */
    size_t num_workers;
    info_setting_t *settings;
    size_t num_settings;
    uint64_t sizes[RI_REPORT_PROTOCOLS][RI_SIZES_CLASSES];
    ri_report_pair_t *pairs; /* to whom it sent what */
    size_t num_pairs;
} info_process_t;

/* Which process had a worker. */
typedef struct info_worker {
    uint64_t uid;
    size_t process; /* index */
} info_worker_t;

/* A job: its processes follow each other in info_t.processes, by rank. */
typedef struct info_job {
    const info_process_t *processes;
    size_t count;
    size_t hosts;
    size_t num_json;        /* how many were read as JSON */
    size_t num_complete;    /* how many processes had come to their end, by JSON */
    size_t num_ended;       /* how many were ended by SIGTERM, by lines */
    info_worker_t *workers; /* of all processes, by uid; indices are those in the job */
    size_t num_workers;
    /* rank "all"; the job's name and number of ranks are those of the first process */
    ri_report_row_t sum;
    long missing; /* ranks of which nothing was read, if it is known how many there are */
    uint64_t sizes[RI_REPORT_PROTOCOLS][RI_SIZES_CLASSES]; /* messages of all processes */
} info_job_t;

typedef struct info {
    info_process_t *processes;
    size_t count;
    info_job_t *jobs;
    size_t num_jobs;
} info_t;

/** @return @a bytes of memory, which the caller frees, in place of @a memory, which may be NULL.
 * Ends the program if there are none. */
void *info_grow(void *memory, size_t bytes);

/** Write the host of a process to @a host, which has room for @a max bytes with the end. */
void info_host(const ri_report_row_t *row, char *host, size_t max);

/** @return The process of a rank and a name, which is made if it is new. The pointer holds until
 * the next call. */
info_process_t *info_find(info_t *info, const char *rank, const char *process);

/** Take what was read as JSON of a process, whose memory is that of @a info from now on. If the
 * same process is known so already, the report that was written later counts. */
void info_add(info_t *info, info_process_t *process);

/** Free what belongs to a process, but not @a process itself. */
void info_process_free(info_process_t *process);

/** Fill @a workers, sorted by uid, from some processes. @return Their number; they are the
 * caller's. */
size_t info_workers(const info_process_t *processes, size_t count,
                    info_worker_t **workers);

/** @return The index of the process that had the worker with this uid, or @a none. */
size_t info_worker_find(const info_worker_t *workers, size_t count, uint64_t uid,
                        size_t none);

/** Free all; @a info itself is the caller's. */
void info_free(info_t *info);

#endif
