/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Files with reports, of whatever form.
 */
#ifndef UCXRI_INFO_READ_H
#define UCXRI_INFO_READ_H

#include "ucxri_info_read_lines.h"

/**
 * Read all reports in some files: lines among the output of jobs, or JSON.
 *
 * @param inert  INFO_REASONS of them, see ucxri_info_read_lines.h.
 * @param paths  "-" is the standard input.
 * @param others  Where its lines that are not of a report are written as they come, or NULL.
 *
 * @return Whether all files could be read. A message was printed for each that could not; the other
 *         ones are read all the same.
 */
int info_read(info_t *info, info_inert_t *inert, char **paths, int count, FILE *others);

#endif
