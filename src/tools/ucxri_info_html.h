/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reports of jobs as one page for a browser.
 */
#ifndef UCXRI_INFO_HTML_H
#define UCXRI_INFO_HTML_H

#include "ucxri_info_job.h"

#include <stdio.h>

/** Write a page with all jobs, which are divided, to a stream: page.html with what it is to show.
 * The page needs nothing else, and no network. Errors are those of the stream. */
void info_html_write(const info_t *info, FILE *stream);

#endif
