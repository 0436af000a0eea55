/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages on stderr, and the end after one.
 */
#ifndef UCXRI_PERF_FATAL_H
#define UCXRI_PERF_FATAL_H

#include <stdarg.h>

/* Print "ucxri_perf: <text>" in a line of its own, in place of a progress line */
void perf_message(const char *format, va_list args);

/* The same, then exit(1) */
void __attribute__((noreturn, format(printf, 1, 2))) perf_fatal(const char *format, ...);

/*
 * Show a text that the next one, or the next line of output, replaces; NULL removes it.
 * Does nothing if stderr is not a terminal.
 */
void perf_show(const char *text);

#endif
