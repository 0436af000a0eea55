/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which processes are of one job.
 */
#ifndef UCXRI_INFO_DIVIDE_H
#define UCXRI_INFO_DIVIDE_H

#include "ucxri_info_job.h"

/** Divide the processes into jobs, sort them by job and rank, and sum them up. To be called once,
 * when all processes are known. */
void info_divide(info_t *info);

#endif
