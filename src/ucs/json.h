/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions that write JSON. Bytes beyond ASCII are passed on: names of programs and files are
 * mostly UTF-8.
 */
#ifndef RI_JSON_H
#define RI_JSON_H

#include <stdio.h>

/* A list that is being written; the separator is empty before its first entry. */
typedef struct ri_json_list {
    FILE *stream;
    const char *separator; /* in front of the next entry */
} ri_json_list_t;

/** Begin an entry of a list. @return Its stream. */
FILE *ri_json_next(ri_json_list_t *list);

/** Write a string, with quotes. @a also: further characters that must not stand there as they
 * are. */
void ri_json_string(const char *text, const char *also, FILE *stream);

#endif
