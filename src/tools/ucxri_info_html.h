/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reports of jobs as one page for a browser.
 */
#ifndef UCXRI_INFO_HTML_H
#define UCXRI_INFO_HTML_H

#include "ucxri_info_job.h"
#include "ucxri_info_read_lines.h"
#include "ucxri_info_strips.h"

#include <stdio.h>

/** Write a page with all jobs, which are divided, to a stream: page.html with what it is to show.
 * The page needs nothing else, and no network. Errors are those of the stream. @a strips: the
 * timeline of one of the jobs, or NULL. @a inert: why the library was inert in other processes, as
 * of info_read_lines(). */
void info_html_write(const info_t *info, const info_inert_t *inert,
                     const info_strips_t *strips, FILE *stream);

/** @return Whether a timeline is that of a job. */
int info_html_is_of_job(const info_strips_t *strips, const info_job_t *job);

#endif
