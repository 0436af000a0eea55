/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What stands out in the sums of a job.
 */
#ifndef UCXRI_INFO_HINTS_H
#define UCXRI_INFO_HINTS_H

#include "ucxri_info_job.h"

/* The longest hint, with its end. */
#define INFO_HINT_MAX 128

/** Takes a hint. @param text    A sentence.
 * @param advice  What can be done, which may name a section of the user guide. */
typedef void (*info_hint_func_t)(const char *text, const char *advice, void *arg);

/** Call @a func for each thing that stands out in a job. Nothing is said about few messages.
 * @return How many there were. */
int info_hints(const info_job_t *job, info_hint_func_t func, void *arg);

/** @return The path of the user guide, whose sections the advice names: where it was to be
 * installed, else beside this program, which may have been moved; else what the source calls it. */
const char *info_guide(void);

#endif
