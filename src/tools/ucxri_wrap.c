/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A text is broken at blanks. All of its lines are made in memory and written by one call, so that
 * lines of several ranks do not mix.
 */
#include "ucxri_wrap.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WRAP_TEXT_MAX 4096

/* @return How much of a text goes into @a room columns: up to a blank, or to the end of its first
 * word if that is longer. */
static size_t wrap_take(const char *text, size_t room)
{
    size_t length = strlen(text);
    size_t end;

    if (length <= room) {
        return length;
    }
    for (end = room; end > 0; --end) {
        if (text[end] == ' ') {
            return end;
        }
    }
    return strcspn(text, " ");
}

/* Each further line begins with @a next. */
static void wrap_lines(FILE *stream, const char *first, const char *next,
                       const char *text)
{
    const char *label = first;
    char *all         = NULL;
    size_t size       = 0;
    FILE *memory      = open_memstream(&all, &size);
    size_t length;

    if (memory == NULL) {
        fprintf(stream, "%s%s\n", first, text);
        return;
    }
    do {
        length = wrap_take(text, WRAP_WIDTH - strlen(label));
        fprintf(memory, "%s%.*s\n", label, (int)length, text);
        text += length;
        text += strspn(text, " ");
        label = next;
    } while (*text != '\0');
    fclose(memory);
    fputs(all, stream);
    free(all);
}

void wrap_print(FILE *stream, const char *label, const char *text)
{
    char next[WRAP_WIDTH];

    snprintf(next, sizeof(next), "%.*s  ", WRAP_WIDTH - 20, label);
    wrap_lines(stream, label, next, text);
}

void wrap_printf(FILE *stream, const char *label, const char *format, ...)
{
    char text[WRAP_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    wrap_print(stream, label, text);
}

void wrap_named(FILE *stream, const char *name, const char *format, ...)
{
    char text[WRAP_TEXT_MAX], first[WRAP_NAME + 64], next[WRAP_NAME + 1];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    snprintf(first, sizeof(first), "%-*.64s ", WRAP_NAME - 1, name);
    snprintf(next, sizeof(next), "%*s", WRAP_NAME, "");
    wrap_lines(stream, first, next, text);
}
