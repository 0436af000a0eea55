/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of the tools, in lines that fit a terminal.
 */
#ifndef UCXRI_WRAP_H
#define UCXRI_WRAP_H

#include <stdio.h>

/* The longest line, but for one word that is longer by itself. */
#define WRAP_WIDTH 100

/* The width of a column of names, with the blank behind it. */
#define WRAP_NAME 17

/** Print a text with @a label in front, and a newline. If it does not fit a line it is broken at
 * blanks, and each further line begins with the label and two blanks. All of it is written in one
 * piece, as other processes write, too. */
void wrap_print(FILE *stream, const char *label, const char *text);

/** Print a text by printf() as wrap_print() does, cut off at 4095 bytes. */
void wrap_printf(FILE *stream, const char *label, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/** Print a text by printf() behind a name, whose column is WRAP_NAME wide. Further lines are
 * indented by as much. */
void wrap_named(FILE *stream, const char *name, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

#endif
