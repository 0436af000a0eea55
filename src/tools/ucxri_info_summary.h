/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A job on one page, however many ranks it has.
 */
#ifndef UCXRI_INFO_SUMMARY_H
#define UCXRI_INFO_SUMMARY_H

#include "ucxri_info_job.h"

/* A line of the page: a name, sum, mean, least, most, worst rank and its host. */
#define INFO_SUMMARY_CELLS 7

/* One value over the ranks of a job. */
typedef struct info_spread {
    double sum, mean, least, most;
    /* the process that has the worst value, the first of several */
    const info_process_t *worst;
} info_spread_t;

/** Call @a func for each value that is not 0 everywhere, with the INFO_SUMMARY_CELLS texts of its
 * line. */
void info_summary_foreach(const info_job_t *job,
                          void (*func)(const char *const *cells, void *arg), void *arg);

/** Print what the job is: its name, processes and hosts, and what is missing. */
void info_summary_print_head(const info_job_t *job);

/** Print each value that is not 0 everywhere as sum, mean, least, most and
 * the rank with the worst value. */
void info_summary_print(const info_job_t *job);

#endif
