/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See ucxri_perf_fatal.h.
 */
#include "ucxri_perf_fatal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int shown;

void perf_message(const char *format, va_list args)
{
    perf_show(NULL);
    fputs("ucxri_perf: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void perf_fatal(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    perf_message(format, args);
    va_end(args);
    exit(EXIT_FAILURE);
}

void perf_show(const char *text)
{
    if (((text == NULL) && !shown) || !isatty(STDERR_FILENO)) {
        return;
    }
    fprintf(stderr, "\r\033[K%s", (text == NULL) ? "" : text);
    fflush(stderr);
    shown = (text != NULL);
}
