/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How a benchmark is measured: calibration, batches, quartiles, a check of the data.
 */
#ifndef UCXRI_PERF_RUN_H
#define UCXRI_PERF_RUN_H

#include "ucxri_perf_options.h"
#include "ucxri_perf_peer.h"
#include "ucxri_perf_result.h"

/**
 * Measure all points of the options. Both processes call this. Ends the program if data arrives
 * wrong.
 *
 * @param results  to which a result is added for each point; rank 0 has printed it
 */
void perf_run(perf_peer_t *peer, const perf_options_t *options, perf_results_t *results);

#endif
