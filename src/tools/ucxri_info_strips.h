/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The timeline of a job in a few hundred steps: how much of each a process computed, waited and
 * copied. For the page of ucxri_info --html.
 */
#ifndef UCXRI_INFO_STRIPS_H
#define UCXRI_INFO_STRIPS_H

#include "ucxri_info_timeline_job.h"

#include <stdio.h>

#define INFO_STRIP_STEPS 300

/* The values of each step. */
enum {
    INFO_STRIP_COMPUTES,
    INFO_STRIP_WAITS,
    INFO_STRIP_COPIES,
    INFO_STRIP_KINDS
};

typedef struct info_strips {
    timeline_job_t job;
    /* of each process, in microseconds */
    double (*steps)[INFO_STRIP_KINDS][INFO_STRIP_STEPS];
} info_strips_t;

/** Read files of UCXRI_TRACE=FILE, of one job. What is wrong is printed. @a strips is to be
 * released by @ref info_strips_cleanup. @return Whether there is anything to be drawn. */
int info_strips_read(info_strips_t *strips, char **paths, int count);

/** Write them as a JSON object: the length of a step, and for each process its rank, its host, and
 * the percentages of its steps. */
void info_strips_write(const info_strips_t *strips, FILE *stream);

/** Free what was read. @a strips may be zero. */
void info_strips_cleanup(info_strips_t *strips);

#endif
