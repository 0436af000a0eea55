/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A job on one page, however many ranks it has.
 */
#ifndef UCXRI_INFO_SUMMARY_H
#define UCXRI_INFO_SUMMARY_H

#include "ucxri_info_job.h"

/* One value over the ranks of a job. */
typedef struct info_spread {
    double sum, mean, least, most;
    const info_process_t
            *worst; /* the process that has the worst value, the first of several */
} info_spread_t;

/** Print the job: what it is, and each value that is not 0 everywhere as sum, mean, least, most and
 * the rank with the worst value. */
void info_summary_print(const info_job_t *job);

#endif
