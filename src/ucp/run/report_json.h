/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A report as JSON. docs/user-guide.md ("The report as JSON") describes what there is in it.
 */
#ifndef RI_REPORT_JSON_H
#define RI_REPORT_JSON_H

#include "report_pairs.h"
#include "report_table.h"
#include "../core/notes/sizes.h"

#include <stdio.h>
#include <time.h>

/* Changes when a reader of the old form would understand a new one wrongly. */
#define RI_REPORT_JSON_VERSION 1

/* All that stands in a report. */
typedef struct ri_report_text {
    ri_report_row_t row;
    const char *inert;  /* why the library was inert in the process; NULL: it was not */
    const char *remedy; /* what can be done then, or "" */
    int complete;       /* the process has come to its end */
    time_t started, written; /* when the report began, and was written */
    const uint64_t *workers; /* uids of the workers that the process had */
    size_t num_workers;
    ri_sizes_t sizes;
    ri_report_pairs_t pairs; /* merged */
} ri_report_text_t;

/** Write a report. That of a process in which the library was inert says that, and nothing else.
 * Errors are those of the stream. */
void ri_report_json_write(const ri_report_text_t *text, FILE *stream);

#endif
