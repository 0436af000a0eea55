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
    info_read_lines(info, inert, lines, NULL);
    fclose(lines);
    return 1;
}

/* The output of a job that may still run: what is not of its report is shown at once, if it has
 * lines and is not JSON. */
static int read_stdin(info_t *info, info_inert_t *inert, FILE *others)
{
    int c = getc(stdin);
    size_t length;
    char *text;
    int is_good;

    ungetc(c, stdin);
    if (c != '{') {
        info_read_lines(info, inert, stdin, others);
        return 1;
    }
    text    = read_all(stdin, &length);
    is_good = read_text(info, inert, text, length, "-");
    free(text);
    return is_good;
}

static int read_file(info_t *info, info_inert_t *inert, const char *path, FILE *others)
{
    FILE *stream;
    size_t length;
    char *text;
    int is_good;

    if (!strcmp(path, "-")) {
        return read_stdin(info, inert, others);
    }
    stream = fopen(path, "r");
    if (stream == NULL) {
        fprintf(stderr, "ucxri_info: cannot open %s: %s\n", path, strerror(errno));
        return 0;
    }
    text = read_all(stream, &length);
    if (ferror(stream)) {
        fprintf(stderr, "ucxri_info: cannot read %s: %s\n", path, strerror(errno));
        is_good = 0;
    } else {
        is_good = read_text(info, inert, text, length, path);
    }
    free(text);
    fclose(stream);
    return is_good;
}

int info_read(info_t *info, info_inert_t *inert, char **paths, int count, FILE *others)
{
    int is_good = 1;
    int i;

    for (i = 0; i < count; ++i) {
        is_good &= read_file(info, inert, paths[i], others);
    }
    return is_good;
}
