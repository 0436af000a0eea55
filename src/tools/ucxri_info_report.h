/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The report of a whole job: the lines that its processes printed, in order and summed up.
 */
#ifndef UCXRI_INFO_REPORT_H
#define UCXRI_INFO_REPORT_H

/**
 * Read the lines of UCXRI_REPORT=y from the output of a job, and print them by rank, with their
 * sums and with hints.
 *
 * @param path  "-" is the standard input.
 *
 * @return EXIT_SUCCESS, or EXIT_FAILURE if there are no such lines.
 */
int ri_info_report(const char *path);

#endif
