/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What only reports as JSON tell of a job: sizes of messages, and who sends to whom.
 */
#ifndef UCXRI_INFO_TRAFFIC_H
#define UCXRI_INFO_TRAFFIC_H

#include "ucxri_info_job.h"

/** Print the number of messages by size and protocol, in at most 18 lines of at most 100 columns;
 * nothing if no size is known. */
void info_sizes_print(const info_job_t *job);

/** Print the pairs of ranks that sent most; nothing if no pair is known. */
void info_pairs_print(const info_job_t *job);

#endif
