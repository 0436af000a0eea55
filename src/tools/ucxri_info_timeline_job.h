/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of UCXRI_TRACE=FILE of one job: which process each is of, and how their clocks go
 * together.
 */
#ifndef UCXRI_INFO_TIMELINE_JOB_H
#define UCXRI_INFO_TIMELINE_JOB_H

#include "ucxri_info_timeline_clock.h"
#include "ucxri_info_timeline_file.h"

/* One process of the job. */
typedef struct timeline_process {
    const char *path; /* not freed */
    ri_timeline_head_t head;
    int clock;            /* index */
    uint64_t first, last; /* times of the first and of the last block, by its clock */
    int64_t real;
    unsigned order; /* among all, by rank */
} timeline_process_t;

/* Whose worker it is. */
typedef struct timeline_owner {
    uint64_t uid;
    unsigned process; /* index */
} timeline_owner_t;

typedef struct timeline_job {
    timeline_process_t *processes; /* by rank */
    unsigned count;
    timeline_owner_t *owners; /* by uid */
    size_t num_owners;
    timeline_clocks_t clocks;
    int64_t start, end; /* of all, by the first clock */
    int all_read;       /* no file was left out */
} timeline_job_t;

/** Read what the files are of. What is wrong is printed, and a file that cannot be read is left
 * out. @a job is to be released by @ref timeline_job_cleanup. @return 0: there is nothing to be
 * shown. */
int timeline_job_read(timeline_job_t *job, char **paths, int count);

/** @return A time of a process, in microseconds since the start of the job. */
double timeline_job_us(const timeline_job_t *job, const timeline_process_t *process,
                       uint64_t time);

/** @return The process that has the worker of a uid, or NULL. */
const timeline_process_t *timeline_job_owner(const timeline_job_t *job, uint64_t uid);

/** @return Why the file @a out must not be written: it is one of those to read, or it is there and
 * has something else than what begins with @a head (up to 64 characters), such as a report or a
 * timeline, if its name was forgotten and that of the first file to read came to stand in its
 * place. NULL: it may be written. */
const char *timeline_job_would_lose(const char *out, const char *head, char **paths,
                                    int count);

/** @return Whether a file is one of UCXRI_TRACE=FILE, by how it begins. What comes through a pipe
 * is none, as it could be read once only. */
int timeline_job_is_file(const char *path);

/** Print what is wrong with a file. @return 0. */
int timeline_job_fail(const char *path, const char *why);

/** Free what was read. @a job may be zero. */
void timeline_job_cleanup(timeline_job_t *job);

#endif
