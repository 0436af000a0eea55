/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A file whose first character but for blanks is a brace is JSON.
 */
#include "ucxri_info_read.h"
#include "ucxri_info_read_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define READ_PIECE 65536ul

/* @return All of a stream with a zero behind it, which is the caller's. */
static char *read_all(FILE *stream, size_t *length)
{
    char *text  = NULL;
    size_t size = 0;
    size_t got;

    *length = 0;
    do {
        if (size < *length + READ_PIECE + 1) {
            size = 2 * size + READ_PIECE + 1;
            text = info_grow(text, size);
        }
        got = fread(text + *length, 1, READ_PIECE, stream);
        *length += got;
    } while (got > 0);
    text[*length] = '\0';
    return text;
}

static int read_text(info_t *info, info_inert_t *inert, char *text, size_t length,
                     const char *path)
{
    FILE *lines;

    if (text[strspn(text, " \t\r\n")] == '{') {
        return info_read_json(info, inert, text, path);
    }
    if (length == 0) {
        return 1;
    }
    lines = fmemopen(text, length, "r");
    if (lines == NULL) {
        fprintf(stderr, "ucxri_info: %s: %s\n", path, strerror(errno));
        return 0;
    }
    info_read_lines(info, inert, lines);
    fclose(lines);
    return 1;
}

static int read_file(info_t *info, info_inert_t *inert, const char *path)
{
    FILE *stream = strcmp(path, "-") ? fopen(path, "r") : stdin;
    size_t length;
    char *text;
    int is_good;

    if (stream == NULL) {
        fprintf(stderr, "ucxri_info: cannot open %s: %s\n", path, strerror(errno));
        return 0;
    }
    text    = read_all(stream, &length);
    is_good = read_text(info, inert, text, length, path);
    free(text);
    if (stream != stdin) {
        fclose(stream);
    }
    return is_good;
}

int info_read(info_t *info, info_inert_t *inert, char **paths, int count)
{
    int is_good = 1;
    int i;

    for (i = 0; i < count; ++i) {
        is_good &= read_file(info, inert, paths[i]);
    }
    return is_good;
}
