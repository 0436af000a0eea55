/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How stock UCX and the library are measured in turn.
 */
#ifndef UCXRI_PERF_COMPARE_RUN_H
#define UCXRI_PERF_COMPARE_RUN_H

#include "ucxri_perf_compare.h"
#include "ucxri_perf_options.h"

/**
 * Measure both sides in rounds, this program's benchmark or the command of the options. Ends the
 * program if a run failed, or if the library was not active in its own.
 *
 * @param options  the cores are set if they are not given
 * @param compare  all zero; gets the samples, and is concluded
 */
void perf_compare_run(perf_options_t *options, perf_compare_t *compare);

#endif
