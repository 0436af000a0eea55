/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The thresholds that are measured here, as a file for the shell.
 */
#ifndef UCXRI_INFO_TUNE_H
#define UCXRI_INFO_TUNE_H

/** Measure the costs of this machine several times, and print the thresholds that follow from the
 * middle ones on standard output, as lines that a shell can read. What is set in the environment
 * stays as it is set. ri_config_read() was called, and UCX is loaded. */
void info_tune(void);

#endif
