/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages on stderr, and the end of the program after a failure.
 */
#ifndef UCXRI_PERF_FATAL_H
#define UCXRI_PERF_FATAL_H

#include <stdarg.h>

/** Print "ucxri_perf: <text>" as a line, in place of the text that perf_show() shows */
void perf_message(const char *format, va_list args);

/** Print a message as perf_message() does, and end the program with EXIT_FAILURE */
void __attribute__((noreturn, format(printf, 1, 2))) perf_fatal(const char *format, ...);

/**
 * Show a text until the next text or message replaces it. Does nothing if stderr is not a terminal.
 *
 * @param text  NULL removes the text that is shown
 */
void perf_show(const char *text);

#endif
