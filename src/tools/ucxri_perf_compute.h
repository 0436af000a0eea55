/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Computation that does not touch memory and that the compiler cannot shorten.
 */
#ifndef UCXRI_PERF_COMPUTE_H
#define UCXRI_PERF_COMPUTE_H

#include <stdint.h>

/** Compute: @a loops loops */
void perf_compute(uint64_t loops);

/** Measure for some milliseconds. @return how many loops take @a seconds on this core */
uint64_t perf_compute_calibrate(double seconds);

#endif
