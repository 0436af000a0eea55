/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reports of jobs: what their processes printed, in order and summed up, each job apart.
 */
#ifndef UCXRI_INFO_REPORT_H
#define UCXRI_INFO_REPORT_H

/**
 * Read reports from files, and print each job: a page of sums with hints, and the lines of its
 * ranks if there are only a few.
 *
 * @param paths  Outputs of jobs that ran with UCXRI_REPORT=y. "-" is the standard input.
 * @param all    Print the lines of all ranks, however many there are.
 *
 * @return EXIT_SUCCESS, or EXIT_FAILURE if a file cannot be read, or none has a report.
 */
int info_report(char **paths, int count, int all);

/**
 * Read reports from files, and write a page for a browser.
 *
 * @param out    The file to write, which is replaced. "-" is the standard output.
 * @param paths  As for info_report().
 *
 * @return EXIT_SUCCESS, or EXIT_FAILURE if a file cannot be read or written, or none has a report
 *         of a process that the library served.
 */
int info_page(const char *out, char **paths, int count);

#endif
