/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a job did, in a few lines.
 */
#ifndef UCXRI_INFO_VERDICT_H
#define UCXRI_INFO_VERDICT_H

#include "ucxri_info_job.h"

/** Call @a func for each line, with what it is of and its text. There are
 * messages, bytes, and the time of the ranks; only messages where there were none. */
void info_verdict_foreach(const info_job_t *job,
                          void (*func)(const char *name, const char *text, void *arg),
                          void *arg);

/** Print these lines. */
void info_verdict_print(const info_job_t *job);

#endif
