/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines of UCXRI_REPORT=y among the output of jobs.
 */
#ifndef UCXRI_INFO_READ_LINES_H
#define UCXRI_INFO_READ_LINES_H

#include "ucxri_info_job.h"

#include <stdio.h>

/* Number of reasons that are told apart; more are counted as the last one. */
#define INFO_REASONS 8

/* Longer ones are cut off. */
#define INFO_REASON_MAX 256

/* Processes in which the library was inert, by reason. */
typedef struct info_inert {
    char *text;   /* NULL: none */
    char *remedy; /* NULL: none */
    size_t count;
} info_inert_t;

/** Read all lines of a stream: processes into @a info, and reasons why the library was inert into
 * @a inert, which has INFO_REASONS of them.
 *
 * @param others  Where lines that are not of a report are written as they come, or NULL. */
void info_read_lines(info_t *info, info_inert_t *inert, FILE *stream, FILE *others);

/** Count a process in which the library was inert.
 *
 * @param remedy  What can be done, or "". */
void info_inert_add(info_inert_t *inert, const char *because, const char *remedy);

/** Print in how many processes the library was inert, and why. */
void info_inert_print(const info_inert_t *inert);

/** Free the texts. */
void info_inert_free(info_inert_t *inert);

#endif
