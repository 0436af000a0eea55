/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of files are made of names that the user gave; then they are opened.
 */
#include "output.h"
#include "base.h"
#include "log.h"
#include "rank.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* @return Whether the letter behind a % stands for something, which is written to @a text. */
static int output_expand(char letter, char *text, size_t max)
{
    const char *rank = ri_rank_text();

    switch (letter) {
    case 'p':
        snprintf(text, max, "%d", (int)getpid());
        return 1;
    case 'h':
        text[0] = text[max - 1] = '\0';
        gethostname(text, max - 1);
        return 1;
    case 'r':
        if (rank == NULL) {
            snprintf(text, max, "p%d", (int)getpid());
        } else {
            snprintf(text, max, "%s", rank);
        }
        return 1;
    case 'j':
        if (!ri_rank_job(text, max)) {
            snprintf(text, max, "0");
        }
        return 1;
    default:
        return 0;
    }
}

int ri_output_path(const char *name, char *path, size_t max)
{
    int is_own = 0;
    size_t len = 0;
    char text[64];

    for (; (*name != '\0') && (len < max - 1); ++name) {
        if ((name[0] == '%') && output_expand(name[1], text, sizeof(text))) {
            ++name;
            is_own |= (*name == 'p') || (*name == 'r');
            len += snprintf(path + len, max - len, "%s", text);
            len = ri_min(len, max - 1);
        } else {
            path[len++] = *name;
        }
    }
    path[len] = '\0';
    return is_own;
}

FILE *ri_output_open(const char *dest)
{
    char path[PATH_MAX];
    FILE *stream;

    if (!strcmp(dest, "stderr")) {
        return stderr;
    }
    if (!strcmp(dest, "stdout")) {
        return stdout;
    }

    ri_output_path(dest, path, sizeof(path));
    stream = fopen(path, "a");
    if (stream == NULL) {
        ri_warn("cannot open %s: %s; its output goes to stderr", path, strerror(errno));
        return stderr;
    }
    return stream;
}

void ri_output_close(FILE *stream)
{
    if ((stream == stderr) || (stream == stdout)) {
        fflush(stream);
    } else {
        fclose(stream);
    }
}
